//! Owns the ends of string literals in each language, with interpolations skipped.

use super::super::{ReadError, Target};
use super::lexer::{Lexer, begins_name};
use super::token::{Escapes, Kind, Margin, Text, place};

/// How values are put into a string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inset {
    None,
    /// `$name`, `{$…}` and `${…}` of PHP.
    Php,
    /// `${…}` of TypeScript.
    Template,
    /// `$name` and `${…}` of Kotlin.
    Kotlin,
    /// `#{…}`, `#@name` and `#$name` of Ruby.
    Ruby,
    /// `\(…)` of Swift, with so many `#` after the backslash.
    Swift(u8),
    /// `{…}` of Python.
    Python,
}

/// A string that begins.
#[derive(Clone, Copy)]
struct Opening<'s> {
    /// Where its inner text begins.
    body: usize,
    close: &'s str,
    /// Behind `close`.
    hashes: u8,
    /// What opens another level of `close`.
    nest: Option<u8>,
    /// A backslash takes what follows out of the count.
    backslash: bool,
    lines: bool,
    inset: Inset,
    escapes: Escapes,
    margin: Margin,
    refused: Option<&'static str>,
    /// It can be no string at all, such as a regular expression.
    other: bool,
}

impl<'s> Opening<'s> {
    const fn new(body: usize, close: &'s str) -> Self {
        let (escapes, margin, inset) = (Escapes::All, Margin::None, Inset::None);
        Self { body, close, hashes: 0, nest: None, backslash: true, lines: false, inset, escapes, margin, refused: None, other: false }
    }

    const fn lines(self) -> Self {
        Self { lines: true, ..self }
    }

    const fn inset(self, inset: Inset) -> Self {
        Self { inset, ..self }
    }

    const fn escapes(self, escapes: Escapes) -> Self {
        Self { escapes, ..self }
    }

    const fn raw(self) -> Self {
        Self { backslash: false, escapes: Escapes::None, ..self }
    }

    const fn other(self) -> Self {
        Self { other: true, ..self }
    }
}

/// What is open while the end of a string is looked for.
enum Level<'s> {
    Text(Opening<'s>, usize),
    /// Code in a string: its brackets and how many are open.
    Code(u8, u8, usize),
}

impl<'s> Lexer<'s> {
    /// Takes the string that begins here, if one does.
    pub(super) fn string(&mut self) -> Result<bool, ReadError> {
        if self.heredoc()? || self.regular_expression()? || self.percent_string()? {
            return Ok(true);
        }
        let start = self.at;
        let Some(opening) = self.opening(start) else { return Ok(false) };
        self.take(start, opening)
    }

    fn take(&mut self, start: usize, opening: Opening<'s>) -> Result<bool, ReadError> {
        let (end, interpolated) = self.closing(start, opening)?;
        self.at = end + opening.close.len() + opening.hashes as usize;
        if opening.other {
            self.push(Kind::Other, start);
            return Ok(true);
        }
        let interpolated = interpolated || opening.inset == Inset::Python;
        let (escapes, margin, refused) = (opening.escapes, opening.margin, opening.refused);
        self.push_text(Text { start: place(opening.body), end: place(end), escapes, margin, interpolated, refused }, start);
        Ok(true)
    }

    /// The string that begins at a place.
    fn opening(&self, at: usize) -> Option<Opening<'s>> {
        let (first, rest) = (self.byte(at), self.source.get(at..)?);
        match self.target {
            Target::Php => match first {
                b'\'' => Some(Opening::new(at + 1, "'").lines().escapes(Escapes::Quote(b'\''))),
                b'"' => Some(Opening::new(at + 1, "\"").lines().inset(Inset::Php)),
                b'`' => Some(Opening::new(at + 1, "`").lines().inset(Inset::Php).other()),
                _ => None,
            },
            Target::Python => python(at, rest),
            Target::TypeScript => match first {
                b'\'' => Some(Opening::new(at + 1, "'")),
                b'"' => Some(Opening::new(at + 1, "\"")),
                b'`' => Some(Opening::new(at + 1, "`").lines().inset(Inset::Template)),
                _ => None,
            },
            Target::Kotlin => match first {
                b'"' if rest.starts_with("\"\"\"") => Some(Opening::new(at + 3, "\"\"\"").lines().inset(Inset::Kotlin).raw()),
                b'"' => Some(Opening::new(at + 1, "\"").inset(Inset::Kotlin)),
                b'\'' => Some(Opening::new(at + 1, "'").other()),
                _ => None,
            },
            Target::Swift => swift(at, rest),
            Target::Ruby => match first {
                b'\'' => Some(Opening::new(at + 1, "'").lines().escapes(Escapes::Quote(b'\''))),
                b'"' => Some(Opening::new(at + 1, "\"").lines().inset(Inset::Ruby)),
                b'`' => Some(Opening::new(at + 1, "`").lines().inset(Inset::Ruby).other()),
                _ => None,
            },
            Target::Rust => rust(at, rest),
        }
    }

    /// Where a string ends, and whether a value is put into it.
    fn closing(&self, start: usize, opening: Opening<'s>) -> Result<(usize, bool), ReadError> {
        let mut levels = vec![Level::Text(opening, 1)];
        let (mut at, mut interpolated) = (opening.body, false);
        while at < self.source.len() {
            match levels.last_mut() {
                None => break,
                Some(Level::Code(open, close, depth)) => {
                    let byte = self.byte(at);
                    *depth += usize::from(byte == *open);
                    *depth -= usize::from(byte == *close);
                    if *depth == 0 {
                        levels.pop();
                    } else if let Some(inner) = self.opening(at) {
                        at = inner.body;
                        levels.push(Level::Text(inner, 1));
                        continue;
                    }
                    at += 1;
                }
                Some(Level::Text(text, depth)) => {
                    let text = *text;
                    if let Some((next, brackets)) = self.inset(at, text.inset) {
                        interpolated = true;
                        at = next;
                        levels.extend(brackets.map(|(open, close)| Level::Code(open, close, 1)));
                    } else if text.backslash && self.byte(at) == b'\\' && self.escapes(at, text.escapes) {
                        at += 2 + if let Escapes::Hashed(hashes) = text.escapes { hashes as usize } else { 0 };
                        // A line that goes on, in a file with line ends of two bytes.
                        let joins = matches!(self.target, Target::Python | Target::TypeScript) && self.byte(at - 1) == b'\r' && self.byte(at) == b'\n';
                        at += usize::from(joins);
                    } else if self.closes(at, text) {
                        *depth -= 1;
                        if *depth == 0 {
                            if levels.len() == 1 {
                                return Ok((at, interpolated));
                            }
                            levels.pop();
                        }
                        at += text.close.len() + text.hashes as usize;
                    } else if self.byte(at) == b'\n' && !text.lines {
                        break;
                    } else {
                        *depth += usize::from(text.nest == Some(self.byte(at)));
                        at += 1;
                    }
                }
            }
        }
        Err(self.fault(start, "the string is never closed"))
    }

    /// Does the backslash here take what follows out of the count?
    fn escapes(&self, at: usize, escapes: Escapes) -> bool {
        let Escapes::Hashed(hashes) = escapes else { return true };
        (1..=hashes as usize).all(|place| self.byte(at + place) == b'#')
    }

    fn closes(&self, at: usize, text: Opening<'_>) -> bool {
        let bytes = self.source.as_bytes();
        let after = at + text.close.len();
        bytes.get(at..).is_some_and(|rest| rest.starts_with(text.close.as_bytes()))
            && (0..text.hashes as usize).all(|place| self.byte(after + place) == b'#')
            // Of more than three quotes the last three close a raw string of Kotlin.
            && !(self.target == Target::Kotlin && text.close.len() == 3 && self.byte(after) == b'"')
    }

    /// The value that is put in here: where it begins, and the brackets around it.
    fn inset(&self, at: usize, inset: Inset) -> Option<(usize, Option<(u8, u8)>)> {
        let (first, second) = (self.byte(at), self.byte(at + 1));
        let braces = Some((b'{', b'}'));
        let named = || second.is_ascii_alphabetic() || second == b'_' || begins_name(self.letter(at + 1), self.target);
        match inset {
            Inset::None => None,
            Inset::Php if first == b'{' && second == b'$' => Some((at + 1, braces)),
            Inset::Php | Inset::Template | Inset::Kotlin if first == b'$' && second == b'{' => Some((at + 2, braces)),
            Inset::Php if first == b'$' && named() => Some((at + 1, None)),
            Inset::Kotlin if first == b'$' && (named() || second == b'`') => Some((at + 1, None)),
            Inset::Ruby if first == b'#' && second == b'{' => Some((at + 2, braces)),
            Inset::Ruby if first == b'#' && matches!(second, b'@' | b'$') => Some((at + 2, None)),
            Inset::Swift(hashes) => {
                let open = at + 1 + hashes as usize;
                let found = first == b'\\' && self.escapes(at, Escapes::Hashed(hashes)) && self.byte(open) == b'(';
                found.then_some((open + 1, Some((b'(', b')'))))
            }
            Inset::Python if first == b'{' && second == b'{' => Some((at + 2, None)),
            Inset::Python if first == b'{' => Some((at + 1, braces)),
            Inset::Php | Inset::Template | Inset::Kotlin | Inset::Ruby | Inset::Python => None,
        }
    }

    /// A value is put into this piece of text, as a heredoc is read.
    pub(super) fn has_inset(&self, start: usize, end: usize) -> bool {
        let inset = if self.target == Target::Php { Inset::Php } else { Inset::Ruby };
        let mut at = start;
        while at < end {
            if self.inset(at, inset).is_some() {
                return true;
            }
            at += if self.byte(at) == b'\\' { 2 } else { 1 };
        }
        false
    }

    /// A regular expression of TypeScript or Ruby.
    fn regular_expression(&mut self) -> Result<bool, ReadError> {
        let begins = match self.target {
            Target::TypeScript => !self.after_value(),
            Target::Ruby => !self.after_value() || self.after_method(self.at + 1),
            Target::Php | Target::Python | Target::Kotlin | Target::Swift | Target::Rust => false,
        };
        if !begins || self.byte(self.at) != b'/' {
            return Ok(false);
        }
        let start = self.at;
        if self.target == Target::Ruby {
            return self.take(start, Opening::new(start + 1, "/").lines().inset(Inset::Ruby).other());
        }
        let mut class = false;
        loop {
            self.at += 1;
            match self.byte(self.at) {
                b'\\' => self.at += 1,
                b'[' => class = true,
                b']' => class = false,
                b'/' if !class => break,
                b'\n' | 0 => return Err(self.fault(start, "the regular expression is never closed")),
                _ => {}
            }
        }
        self.at += 1;
        self.push(Kind::Other, start);
        Ok(true)
    }

    /// The strings of Ruby that begin with `%`, and its characters, which begin with `?`.
    fn percent_string(&mut self) -> Result<bool, ReadError> {
        let start = self.at;
        let sign = self.byte(start);
        if self.target != Target::Ruby
            || !matches!(sign, b'%' | b'?')
            || (self.after_value() && !(sign == b'%' && self.after_method(start + 1)))
        {
            return Ok(false);
        }
        if sign == b'?' {
            let (letter, length) = (self.letter(start + 1), self.letter(start + 1).len_utf8());
            let is_one = !letter.is_whitespace() && !self.letter(start + 1 + length).is_alphanumeric();
            if is_one {
                self.at += 1 + length;
                self.push(Kind::Other, start);
            }
            return Ok(is_one);
        }
        let word = self.byte(start + 1);
        let open = start + if word.is_ascii_alphabetic() { 2 } else { 1 };
        let (nest, close) = match self.byte(open) {
            b'(' => (Some(b'('), ")"),
            b'[' => (Some(b'['), "]"),
            b'{' => (Some(b'{'), "}"),
            b'<' => (Some(b'<'), ">"),
            byte if byte.is_ascii_punctuation() && word.is_ascii_alphabetic() => (None, self.source.get(open..=open).unwrap_or_default()),
            _ => return Ok(false),
        };
        let opening = Opening { nest, ..Opening::new(open + 1, close).lines() };
        let quote = close.bytes().next().unwrap_or_default();
        self.take(
            start,
            match word {
                b'q' => opening.escapes(Escapes::Quote(quote)),
                b'Q' | b'(' | b'[' | b'{' | b'<' => opening.inset(Inset::Ruby),
                _ => opening.inset(Inset::Ruby).other(),
            },
        )
    }
}

fn python(at: usize, rest: &str) -> Option<Opening<'static>> {
    let length = rest.bytes().take(3).take_while(u8::is_ascii_alphabetic).count();
    let (prefix, quoted) = rest.split_at_checked(length)?;
    let prefix = prefix.to_ascii_lowercase();
    if !["", "r", "u", "b", "f", "t", "br", "rb", "fr", "rf", "tr", "rt"].contains(&prefix.as_str()) {
        return None;
    }
    let triple = quoted.starts_with("\"\"\"") || quoted.starts_with("'''");
    let close = match (quoted.bytes().next()?, triple) {
        (b'"', true) => "\"\"\"",
        (b'"', false) => "\"",
        (b'\'', true) => "'''",
        (b'\'', false) => "'",
        _ => return None,
    };
    let mut opening = Opening::new(at + length + close.len(), close);
    opening.lines = triple;
    if prefix.contains('r') {
        opening.escapes = Escapes::None;
    }
    if prefix.contains(['f', 't']) {
        opening.inset = Inset::Python;
    }
    opening.refused = prefix.contains('b').then_some("bytes");
    Some(opening)
}

/// How many `#` stand at the beginning, at most 255.
fn hashes(text: &str) -> Option<u8> {
    u8::try_from(text.bytes().take(256).take_while(|byte| *byte == b'#').count()).ok()
}

fn swift(at: usize, rest: &str) -> Option<Opening<'static>> {
    let hashes = hashes(rest)?;
    let quoted = rest.get(hashes as usize..)?;
    let close = if quoted.starts_with("\"\"\"") { "\"\"\"" } else { "\"" };
    if !quoted.starts_with('"') {
        return None;
    }
    let mut opening = Opening::new(at + hashes as usize + close.len(), close).inset(Inset::Swift(hashes)).escapes(Escapes::Hashed(hashes));
    opening.hashes = hashes;
    if close.len() == 3 {
        opening.lines = true;
        opening.margin = Margin::Swift;
    }
    Some(opening)
}

fn rust(at: usize, rest: &str) -> Option<Opening<'static>> {
    let length = rest.bytes().take(2).take_while(|byte| matches!(byte, b'r' | b'b' | b'c')).count();
    let (prefix, quoted) = rest.split_at_checked(length)?;
    let refused = (!matches!(prefix, "" | "r")).then_some("bytes");
    if quoted.starts_with('\'') && matches!(prefix, "" | "b") {
        return character(quoted).then(|| Opening::new(at + length + 1, "'").other());
    }
    if !matches!(prefix, "" | "r" | "b" | "c" | "br" | "cr") {
        return None;
    }
    let hashes = if prefix.ends_with('r') { hashes(quoted)? } else { 0 };
    if !quoted.get(hashes as usize..)?.starts_with('"') {
        return None;
    }
    let opening = Opening { hashes, refused, ..Opening::new(at + length + hashes as usize + 1, "\"").lines() };
    Some(if prefix.ends_with('r') { opening.raw() } else { opening })
}

/// Is this a character, and no lifetime?
fn character(quoted: &str) -> bool {
    let mut letters = quoted.chars().skip(1);
    match letters.next() {
        Some('\\') => true,
        Some(_) => letters.next() == Some('\''),
        None => false,
    }
}
