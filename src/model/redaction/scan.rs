//! Owns finding what follows a named key in a text: `"key": "value"`, `Key: value`, `key=value`, also where the text was cut.

use super::MASK;

/// Words before the secret part of a header.
const SCHEMES: [&str; 4] = ["bearer", "basic", "token", "apikey"];

/// Masks the values in the text; each with whether it was in quotes.
pub(super) fn masked(text: &mut String, names: &[String]) -> Vec<(String, bool)> {
    let (mut found, mut new) = (Vec::new(), String::new());
    let (mut at, mut copied) = (0, 0);
    while let Some((from, to, quoted)) = next(text, at, names) {
        at = to;
        let value = &text[from..to];
        if value.is_empty() || value == MASK {
            continue;
        }
        new.push_str(&text[copied..from]);
        new.push_str(MASK);
        copied = to;
        let plain = serde_json::from_str::<String>(&format!("\"{value}\"")).unwrap_or_else(|_| value.to_owned());
        found.push((plain, quoted));
    }
    if copied > 0 {
        new.push_str(&text[copied..]);
        *text = new;
    }
    found
}

/// The next value of a named key from a place on: its beginning, its end, whether it is quoted.
fn next(text: &str, from: usize, names: &[String]) -> Option<(usize, usize, bool)> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        let begins = at == 0 || !is_word(bytes[at - 1]);
        let name = begins.then(|| names.iter().find(|name| is_at(bytes, at, name))).flatten();
        if let Some(name) = name
            && let Some((start, end, quoted)) = value_after(text, at + name.len())
        {
            return Some((start, end, quoted));
        }
        at += 1;
    }
    None
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || byte >= 0x80
}

/// Whether a name is written here, as a whole word.
fn is_at(bytes: &[u8], at: usize, name: &str) -> bool {
    let Some(here) = bytes.get(at..at + name.len()) else { return false };
    let same = |(here, name): (&u8, &u8)| here.to_ascii_lowercase() == *name || (*here == b'-' && *name == b'_');
    here.iter().zip(name.as_bytes()).all(same) && bytes.get(at + name.len()).is_none_or(|next| !is_word(*next))
}

fn value_after(text: &str, at: usize) -> Option<(usize, usize, bool)> {
    let bytes = text.as_bytes();
    let blank = |mut at: usize| {
        while bytes.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
            at += 1;
        }
        at
    };
    // `"key"` may be inside a text that is JSON itself: `\"key\"`.
    let mut at = at;
    while bytes.get(at).is_some_and(|byte| matches!(byte, b'\\' | b'"' | b'\'')) {
        at += 1;
    }
    at = blank(at);
    if !bytes.get(at).is_some_and(|byte| matches!(byte, b':' | b'=')) {
        return None;
    }
    at = blank(at + 1);
    let escaped = bytes.get(at) == Some(&b'\\') && bytes.get(at + 1) == Some(&b'"');
    if escaped {
        let start = at + 2;
        let end = text[start..].find("\\\"").map_or(text.len(), |length| start + length);
        return Some((start, end, true));
    }
    match bytes.get(at)? {
        quote @ (b'"' | b'\'') => Some((at + 1, closing(bytes, at + 1, *quote), true)),
        b'{' | b'[' => Some((at, balanced(bytes, at), false)),
        _ => Some((at, word(text, at), false)),
    }
}

/// Where a quoted text ends; the end of all when it was cut.
fn closing(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// Where an object or a list ends; the end of all when it was cut.
fn balanced(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = closing(bytes, at + 1, b'"'),
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return at + 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Where a plain value ends; schemes of a header's value are no value.
fn word(text: &str, mut at: usize) -> usize {
    let ends = |letter: char| letter.is_whitespace() || matches!(letter, ',' | ';' | '&' | '"' | '\'' | '}' | ']' | ')' | '<');
    loop {
        let end = text[at..].find(ends).map_or(text.len(), |length| at + length);
        let scheme = SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(&text[at..end]));
        if !scheme || text.as_bytes().get(end) != Some(&b' ') {
            return end;
        }
        at = end + 1;
    }
}
