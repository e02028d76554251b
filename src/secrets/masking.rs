//! Owns the masking of secrets in what tools and providers return: verbatim and in JSON escapes.

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::config::Secret;

/// Shorter secrets are not looked for: masking them would only garble the text.
const SHORTEST: usize = 6;
/// What stands in a secret's place.
const MASK: &str = "***";

/// A text without these secrets. In JSON every string is looked at as it reads, however it is escaped; numbers and the rest stay as written.
pub(crate) fn masked<'a>(text: &str, secrets: impl IntoIterator<Item = &'a str>) -> String {
    let mut secrets: Vec<&str> = secrets.into_iter().filter(|secret| secret.len() >= SHORTEST).collect();
    // One secret may begin with another.
    secrets.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.len()));
    let mut text = Cow::Borrowed(text);
    if !secrets.is_empty() && text.contains('\\') && serde_json::from_str::<&RawValue>(&text).is_ok() {
        text = Cow::Owned(in_strings(&text, &secrets));
    }
    for secret in &secrets {
        for form in forms(secret) {
            if text.contains(&*form) {
                text = Cow::Owned(text.replace(&*form, MASK));
            }
        }
    }
    text.into_owned()
}

/// A secret as it is, as JSON writes it, and as JSON writes it with escaped slashes.
fn forms(secret: &str) -> Vec<Cow<'_, str>> {
    let mut forms = vec![Cow::Borrowed(secret)];
    let quoted = serde_json::Value::from(secret).to_string();
    let escaped = &quoted[1..quoted.len() - 1];
    if escaped != secret {
        forms.push(Cow::Owned(escaped.to_owned()));
    }
    if secret.contains('/') {
        forms.push(Cow::Owned(escaped.replace('/', "\\/")));
    }
    forms
}

/// Secrets that are looked for in what a provider answers, also while the answer comes in pieces.
#[derive(Default)]
pub(crate) struct Masker(Vec<Secret>);

impl Masker {
    /// Looks for those of these secrets that are long enough.
    pub(crate) fn of(secrets: &[Secret]) -> Self {
        let mut secrets: Vec<Secret> = secrets.iter().filter(|secret| secret.0.len() >= SHORTEST).cloned().collect();
        secrets.sort_unstable_by_key(|secret| std::cmp::Reverse(secret.0.len()));
        Self(secrets)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn text(&self, text: &mut String) {
        for secret in &self.0 {
            if text.len() >= secret.0.len() && text.contains(&*secret.0) {
                *text = text.replace(&*secret.0, MASK);
            }
        }
    }

    /// Masks every string in a value.
    pub(crate) fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.value(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Masks a text that may hold JSON, whose strings are read without their escapes.
    pub(crate) fn message(&self, text: &mut String) {
        *text = masked(text, self.0.iter().map(|secret| &*secret.0));
    }

    /// What can be published of a text that comes in pieces; what may be the beginning of a secret stays in `held`.
    pub(crate) fn settled(&self, held: &mut String) -> String {
        self.text(held);
        let open = self.0.iter().map(|secret| open(held, &secret.0)).max().unwrap_or(0);
        let rest = held.split_off(held.len() - open);
        std::mem::replace(held, rest)
    }
}

/// How many bytes at the end of a text a secret may begin with.
fn open(text: &str, secret: &str) -> usize {
    let (text, secret) = (text.as_bytes(), secret.as_bytes());
    let from = (text.len() + 1).saturating_sub(secret.len());
    let begins = |at: &usize| text[*at] == secret[0] && secret.starts_with(&text[*at..]);
    (from..text.len()).find(begins).map_or(0, |at| text.len() - at)
}

/// Masks the strings of a JSON text, read without their escapes.
fn in_strings(json: &str, secrets: &[&str]) -> String {
    let (mut out, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(open) = rest.find('"') {
        out.push_str(&rest[..open]);
        let end = end_of_string(&rest[open..]) + open;
        let written = &rest[open..end];
        let read = if written.contains('\\') { serde_json::from_str::<String>(written).ok() } else { None };
        match read.filter(|read| secrets.iter().any(|secret| read.contains(secret))) {
            Some(read) => {
                let clean = secrets.iter().fold(read, |read, secret| read.replace(secret, MASK));
                out.push_str(&serde_json::Value::from(clean).to_string());
            }
            None => out.push_str(written),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Where the string that a JSON text begins with ends, its quotes included.
fn end_of_string(json: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_however_they_are_escaped() {
        let secrets = ["ab/cd+ef/ghijkl==", "quo\"te\\back", "a"];
        for (text, clean) in [
            ("bad key ab/cd+ef/ghijkl==!", "bad key ***!"),
            (r#"{"key":"ab\/cd+ef\/ghijkl==","n":1.10}"#, r#"{"key":"***","n":1.10}"#),
            (r#"{"key":"\u0061b\u002fcd+ef/ghijkl==","n":12345678901234567890123}"#, r#"{"key":"***","n":12345678901234567890123}"#),
            (r#"["x\n quo\"te\\back y"]"#, r#"["x\n *** y"]"#),
            (r#"not json: ab\/cd+ef\/ghijkl== {"#, "not json: *** {"),
            (r#"{"a":"b\\"}"#, r#"{"a":"b\\"}"#),
        ] {
            assert_eq!(masked(text, secrets), clean);
        }
    }

    #[test]
    fn a_secret_that_comes_in_pieces_is_masked() {
        let masker = Masker::of(&["sk-secret-1", "aabaac", "short"].map(|secret| Secret(secret.into())));
        for (text, clean) in [
            ("the key is sk-secret-1, truly", "the key is ***, truly"),
            ("sk-secret-sk-secret-1 aabaabaac short é", "sk-secret-*** aab*** short é"),
            ("ends in sk-secre", "ends in sk-secre"),
        ] {
            for size in 1..8 {
                let (mut held, mut told) = (String::new(), String::new());
                for piece in text.chars().collect::<Vec<_>>().chunks(size) {
                    held.extend(piece);
                    told.push_str(&masker.settled(&mut held));
                    assert!(held.len() < 11, "no more is held back than a secret may begin with");
                }
                assert_eq!(told + &held, clean, "{size}");
            }
        }
        let mut value = serde_json::json!({"a": ["x sk-secret-1"], "b": 1});
        masker.value(&mut value);
        assert_eq!(value, serde_json::json!({"a": ["x ***"], "b": 1}));
    }

    #[test]
    fn of_two_secrets_the_longer_one_goes_first() {
        assert_eq!(masked("token-1-long token-1", ["token-1", "token-1-long"]), "*** ***");
    }
}
