//! Owns the check that a definition contains only names of secrets: `secret:NAME`.

/// Words in the name of a header or field whose value is a secret.
const NAMES: [&str; 10] =
    ["authorization", "api-key", "apikey", "api_key", "token", "secret", "password", "credential", "cookie", "private"];

/// How well-known keys and tokens begin, in lower case.
const BEGINNINGS: [&str; 14] = [
    "bearer ",
    "basic ",
    "sk-",
    "pk-",
    "sk_",
    "rk_",
    "ghp_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "akia",
    "aiza",
    "-----begin",
];

/// Does a text name a secret: `secret:NAME`?
pub fn is_reference(text: &str) -> bool {
    text.strip_prefix("secret:").is_some_and(|name| {
        name.len() <= 64
            && name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    })
}

/// Does the value of a named header look like a secret that is written out?
pub fn looks_written_out(name: &str, value: &str) -> bool {
    if value.trim().is_empty() || is_reference(value) {
        return false;
    }
    let (name, value) = (name.to_ascii_lowercase(), value.trim().to_ascii_lowercase());
    value.starts_with("secret:")
        || NAMES.iter().any(|word| name.contains(word))
        || BEGINNINGS.iter().any(|start| value.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_secrets_are_references() {
        for (text, is) in [
            ("secret:SHOP_TOKEN", true),
            ("secret:S", true),
            ("secret:", false),
            ("secret:shop", false),
            ("secret:1A", false),
            ("SHOP", false),
        ] {
            assert_eq!(is_reference(text), is, "{text}");
        }
        assert!(!is_reference(&format!("secret:{}", "A".repeat(65))));
    }

    #[test]
    fn secrets_are_known_by_their_header_or_their_look() {
        for (name, value, is) in [
            ("Authorization", "abc", true),
            ("Accept", "application/json", false),
            ("X-Custom", "Bearer abc", true),
            ("X-Custom", "sk-abc", true),
            ("X-API-Key", "secret:KEY", false),
            ("X-API-Key", "", false),
        ] {
            assert_eq!(looks_written_out(name, value), is, "{name}: {value}");
        }
    }
}
