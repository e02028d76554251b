//! Owns the search for the value of a named key in a text: `"key": "value"`, `Key: value`, `key=value`, also in cut text.

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
            && let After::Value { start, end, quoted, .. } = value_after(text, at + name.len())
        {
            return Some((start, end, quoted));
        }
        at += 1;
    }
    None
}

/// Where a named key begins whose value may go on behind the end of the text; the end of the text when there is none.
pub(super) fn unfinished(text: &str, names: &[String]) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let begins = at == 0 || !is_word(bytes[at - 1]);
        if begins && names.iter().any(|name| bytes.len() - at < name.len() && is_same(&bytes[at..], &name.as_bytes()[..bytes.len() - at])) {
            return at;
        }
        let name = begins.then(|| names.iter().find(|name| is_at(bytes, at, name))).flatten();
        match name.map(|name| value_after(text, at + name.len())) {
            Some(After::Cut | After::Value { closed: false, .. }) => return at,
            Some(After::Value { end, closed: true, .. }) => at = end.max(at + 1),
            Some(After::Nothing) | None => at += 1,
        }
    }
    text.len()
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || byte >= 0x80
}

/// Whether a name is written here, as a whole word.
fn is_at(bytes: &[u8], at: usize, name: &str) -> bool {
    let Some(here) = bytes.get(at..at + name.len()) else { return false };
    is_same(here, name.as_bytes()) && bytes.get(at + name.len()).is_none_or(|next| !is_word(*next))
}

fn is_same(here: &[u8], name: &[u8]) -> bool {
    let same = |(here, name): (&u8, &u8)| here.to_ascii_lowercase() == *name || (*here == b'-' && *name == b'_');
    here.iter().zip(name).all(same)
}

/// What stands behind the name of a key.
enum After {
    /// No value.
    Nothing,
    /// The text ends before a value begins.
    Cut,
    /// A value; it is closed when text that follows cannot make it longer.
    Value { start: usize, end: usize, quoted: bool, closed: bool },
}

fn value_after(text: &str, at: usize) -> After {
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
    match bytes.get(at) {
        None => return After::Cut,
        Some(b':' | b'=') => at = blank(at + 1),
        Some(_) => return After::Nothing,
    }
    let value = |start: usize, end: Option<usize>, quoted| After::Value { start, end: end.unwrap_or(text.len()), quoted, closed: end.is_some() };
    match &bytes[at..] {
        [] => After::Cut,
        [b'\\', b'"', ..] => value(at + 2, text[at + 2..].find("\\\"").map(|length| at + 2 + length), true),
        [quote @ (b'"' | b'\''), ..] => value(at + 1, closing(bytes, at + 1, *quote), true),
        [b'{' | b'[', ..] => value(at, balanced(bytes, at), false),
        [_, ..] => value(at, Some(word(text, at)).filter(|end| *end < text.len()), false),
    }
}

/// Where a quoted text ends; none when it was cut.
fn closing(bytes: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at < bytes.len()).then_some(at)
}

/// Where an object or a list ends; none when it was cut.
fn balanced(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = closing(bytes, at + 1, b'"')?,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return Some(at + 1),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    None
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
