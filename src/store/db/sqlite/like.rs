//! Owns `LIKE` on an SQLite file: a substring search that ignores case, also outside ASCII.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};

/// Puts ours in the place of SQLite's, for one connection.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function(c"like", 3, flags, |context: &Context<'_>| {
        let text = |at| context.get_raw(at).as_str_or_null().ok().flatten();
        let (Some(pattern), Some(text)) = (text(0), text(1)) else { return Ok(None) };
        Ok(Some(holds(text, &wanted(pattern))))
    })
}

/// The text of a pattern `%text%`.
fn wanted(pattern: &str) -> String {
    let inside = pattern.strip_prefix('%').unwrap_or(pattern);
    let inside = inside.strip_suffix('%').unwrap_or(inside);
    let mut letters = inside.chars();
    let mut plain = String::with_capacity(inside.len());
    while let Some(letter) = letters.next() {
        plain.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    folded(&plain)
}

fn holds(text: &str, wanted: &str) -> bool {
    if text.is_ascii() && wanted.is_ascii() {
        let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
        return wanted.is_empty() || text.windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted));
    }
    folded(text).contains(wanted)
}

/// Small letters; a sigma is one wherever it stands.
fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|letter| if letter == 'ς' { 'σ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_any_language_are_found_in_any_case() {
        let both = "Übersetzer Поддержка";
        for (text, part) in [(both, "ÜBERS"), (both, "поддержка"), ("ΟΔΟΣ", "οδος"), ("Plain", "LAI"), ("300 \u{212a}", "300 K"), ("x", "")] {
            assert!(holds(text, &wanted(&format!("%{}%", part.to_lowercase()))), "{text} {part}");
        }
        assert!(holds("a 100% sure_thing\\", &wanted("%100\\% sure\\_thing\\\\%")));
        assert!(!holds("a 1000 sure", &wanted("%100\\%%")) && !holds("Übersetzer", &wanted("%ubersetzer%")));
    }
}
