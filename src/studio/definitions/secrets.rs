//! Owns the check of secrets in definitions: only `secret:NAME` is stored, never a value.

use serde_json::{Map, Value};

use crate::model::secret;
use crate::studio::definitions::fields::Fields;

/// Does a value look like a secret itself, by the name that it has or by how it is written?
pub(in crate::studio) fn looks_secret(name: &str, value: &str) -> bool {
    let text = value.trim();
    let is_plain = text.parse::<f64>().is_ok() || matches!(text, "true" | "false");
    !is_plain && (secret::looks_written_out(name, value) || text.starts_with("eyJ") || looks_random(text))
}

/// A long word of mixed letters and digits that no person wrote.
fn looks_random(text: &str) -> bool {
    let long = text.len() >= 32 && !secret::is_reference(text) && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-'));
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    long && digits >= 4 && digits < text.len() && text.parse::<crate::model::Id>().is_err()
}

/// A field that holds the name of a secret, or nothing.
pub(in crate::studio) fn read_name(fields: &mut Fields<'_>, key: &str) -> Value {
    let Some(text) = fields.text(key, 80) else { return Value::Null };
    if !secret::is_reference(text) {
        fields.wrong(key, "must name a secret, as in `secret:NAME`");
    }
    Value::from(text)
}

/// Headers or variables: texts, none of which is a secret itself.
pub(in crate::studio) fn read_map(fields: &mut Fields<'_>, key: &str) -> Map<String, Value> {
    let map = fields.text_map(key);
    for (name, value) in &map {
        if value.as_str().is_some_and(|text| looks_secret(name, text)) {
            fields.wrong(&format!("{key}.{name}"), "looks like a secret; name it instead, as in `secret:NAME`");
        }
    }
    map
}

/// HTTP headers: a map that also can be sent.
pub(in crate::studio) fn read_headers(fields: &mut Fields<'_>, key: &str) -> Map<String, Value> {
    let map = read_map(fields, key);
    for (name, value) in &map {
        if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
            fields.wrong(&format!("{key}.{name}"), "is no header name");
        } else if value.as_str().is_some_and(|text| text.chars().any(char::is_control)) {
            fields.wrong(&format!("{key}.{name}"), "must not have control characters");
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_seen_by_name_and_by_form() {
        for (name, value) in [
            ("Authorization", "Bearer secret:X"),
            ("X-Api-Key", "abc"),
            ("X-Trace", "sk-abcdef"),
            ("NOTE", "eyJhbGciOiJIUzI1NiJ9.e30.x"),
            ("X-Id", "A9f8K2l1Q7z6X5c4V3b2N1m0A9f8K2l1"),
            ("X-Id", "secret:lower"),
        ] {
            assert!(looks_secret(name, value), "{name}: {value}");
        }
        for (name, value) in [
            ("Authorization", "secret:SHOP_TOKEN"),
            ("Accept", "application/json"),
            ("X-Shop", "0190a000-0000-7000-8000-000000000001"),
            ("PATH", "/usr/local/bin:/usr/bin"),
            ("X-Empty-Token", ""),
            ("MAX_TOKENS", "4096"),
            ("SEND_COOKIES", "false"),
        ] {
            assert!(!looks_secret(name, value), "{name}: {value}");
        }
    }
}
