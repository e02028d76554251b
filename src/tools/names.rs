//! Owns the names of MCP tools for models: accepted by providers, at most 64 characters, unique.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

/// Longer names are refused by providers.
const LONGEST: usize = 64;
/// The suffix that distinguishes changed names.
const MARK: usize = 6;

/// A name that every provider accepts; the same for the same name. A changed name ends with a mark of what it was.
pub fn accepted(name: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    if begins && name.len() <= LONGEST && name.chars().all(fits) {
        return name.to_owned();
    }
    let first = if begins { "" } else { "_" };
    let letters = name.chars().map(|letter| if fits(letter) { letter } else { '_' });
    let kept: String = first.chars().chain(letters).take(LONGEST - MARK - 1).collect();
    format!("{kept}_{}", mark(name))
}

/// Names that more than one tool has: those of servers get their server's slug before them, by [`of_server`].
pub fn several<'a>(names: impl Iterator<Item = &'a str>) -> HashSet<String> {
    let mut seen = HashSet::new();
    names.filter(|name| !seen.insert(*name)).map(str::to_owned).collect()
}

/// The name of a server's tool where another tool has its name too.
pub fn of_server(server: &str, name: &str) -> String {
    accepted(&format!("{server}__{name}"))
}

fn mark(name: &str) -> String {
    let hash = Sha256::digest(name.as_bytes());
    hash.iter().take(MARK / 2).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_acceptable_and_stay_told_apart() {
        for fine in ["read_file", "get-sum", "_x", &"a".repeat(64)] {
            assert_eq!(accepted(fine), fine);
        }
        for odd in ["files.read", "files/read", "1st", "-x", "naïve", "", &"a".repeat(65), &"é".repeat(90), "a b"] {
            let name = accepted(odd);
            assert!(accepted(&name) == name && name.len() <= LONGEST, "{odd}: {name}");
        }
        assert_eq!(accepted("files.read"), accepted("files.read"));
        assert_ne!(accepted("files.read"), accepted("files/read"));
        assert_ne!(accepted(&"a".repeat(65)), accepted(&"a".repeat(66)));
    }
}
