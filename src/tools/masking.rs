//! Owns taking secrets out of what tools answer: as they are, and in the forms in which JSON writes them.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// Shorter secrets are not looked for: masking them would only garble the text.
const SHORTEST: usize = 4;
/// What stands in a secret's place.
const MASK: &str = "***";

/// A text without these secrets. In JSON every string is looked at as it reads, however it is escaped; numbers and the rest stay as written.
pub(super) fn masked<'a>(text: &str, secrets: impl IntoIterator<Item = &'a str>) -> String {
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
    fn of_two_secrets_the_longer_one_goes_first() {
        assert_eq!(masked("token-long token", ["token", "token-long"]), "*** ***");
    }
}
