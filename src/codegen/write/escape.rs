//! Owns the escapes in strings of each language.

use std::fmt::Write as _;

/// May this character stand in source text as it is? Control characters, those that cannot be seen and those that turn the direction
/// of text may not: compilers refuse some of them, and no reader sees them.
pub(super) const fn is_plain(letter: char) -> bool {
    !matches!(letter,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
        | '\u{2060}'..='\u{206f}' | '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}'
        | '\u{e0000}'..='\u{10ffff}')
        && (letter as u32) & 0xfffe != 0xfffe
}

/// How a language writes characters that may not stand as they are.
#[derive(Clone, Copy)]
pub(super) enum Numbered {
    /// `\u{2028}`.
    Braces,
    /// `\u2028`, and `\U0010FFFF` beyond four digits.
    Long,
    /// `\u2028`, and two of them beyond four digits.
    Pairs,
}

/// A string in double quotes; `special` are characters of the language's own that follow a backslash.
pub(super) fn quoted(text: &str, special: &[char], numbered: Numbered) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' | '\\' => out.extend(['\\', letter]),
            _ if special.contains(&letter) => out.extend(['\\', letter]),
            _ if is_plain(letter) => out.push(letter),
            _ => number(&mut out, letter, numbered),
        }
    }
    out.push('"');
    out
}

fn number(out: &mut String, letter: char, numbered: Numbered) {
    let code = letter as u32;
    // Writing to a string does not fail.
    let _written = match numbered {
        Numbered::Braces => write!(out, "\\u{{{code:X}}}"),
        Numbered::Long if code > 0xffff => write!(out, "\\U{code:08X}"),
        Numbered::Long => write!(out, "\\u{code:04X}"),
        Numbered::Pairs => letter.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04X}")),
    };
}
