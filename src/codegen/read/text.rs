//! Owns the value of a string literal: indentation removed and escapes resolved as in its language.

use std::borrow::Cow;

use super::super::Target;
use super::escape::unescape;
use super::token::{Escapes, Margin, Text};

/// What a string says.
pub(super) fn decode(target: Target, source: &str, text: Text) -> Result<String, String> {
    if let Some(refused) = text.refused {
        return Err(format!("{refused} instead of a string"));
    }
    if text.interpolated {
        return Err("an interpolation: a value is put into the string".to_owned());
    }
    let inner = source.get(text.start as usize..text.end as usize).unwrap_or_default();
    let inner = plain_lines(target, inner);
    let inner = match text.margin {
        Margin::None => inner,
        Margin::Closing(indent) => Cow::Owned(without_indent(&inner, indent as usize)?),
        Margin::Least => Cow::Owned(without_least(&inner)),
        Margin::Swift => Cow::Owned(swift_lines(&inner)?),
    };
    match text.escapes {
        Escapes::None => Ok(inner.into_owned()),
        Escapes::Quote(quote) => Ok(unquote(&inner, quote)),
        Escapes::All => unescape(target, &inner, 0, text.margin != Margin::None),
        Escapes::Hashed(hashes) => unescape(target, &inner, hashes as usize, text.margin != Margin::None),
    }
}

/// The line ends of a file do not matter to the languages, except to PHP.
fn plain_lines(target: Target, inner: &str) -> Cow<'_, str> {
    let single = match target {
        Target::Php => return Cow::Borrowed(inner),
        Target::Python | Target::TypeScript => true,
        Target::Kotlin | Target::Swift | Target::Ruby | Target::Rust => false,
    };
    if !inner.contains('\r') {
        return Cow::Borrowed(inner);
    }
    let lines = inner.replace("\r\n", "\n");
    Cow::Owned(if single { lines.replace('\r', "\n") } else { lines })
}

/// Only the quote and the backslash can be escaped; any other backslash is one.
fn unquote(inner: &str, quote: u8) -> String {
    let opening = match quote {
        b')' => '(',
        b']' => '[',
        b'}' => '{',
        b'>' => '<',
        _ => quote as char,
    };
    let mut out = String::with_capacity(inner.len());
    let mut letters = inner.chars().peekable();
    while let Some(letter) = letters.next() {
        let escaped =
            letters.peek().copied().filter(|next| letter == '\\' && (*next == '\\' || *next == quote as char || *next == opening));
        out.push(escaped.unwrap_or(letter));
        if escaped.is_some() {
            letters.next();
        }
    }
    out
}

const BLANKS: [char; 2] = [' ', '\t'];

fn without_indent(inner: &str, indent: usize) -> Result<String, String> {
    let mut out = String::with_capacity(inner.len());
    for line in inner.split_inclusive('\n') {
        let bare = line.trim_start_matches(BLANKS);
        let blanks = line.len() - bare.len();
        let empty = bare.trim_end_matches(['\r', '\n']).is_empty();
        if blanks < indent && !empty {
            return Err("a heredoc with a line that is indented less than its end mark".to_owned());
        }
        out.push_str(line.get(indent.min(blanks)..).unwrap_or_default());
    }
    Ok(out)
}

/// How wide a line of a heredoc is after one more blank: a tab goes on to the next multiple of eight.
const fn wider(width: usize, blank: char) -> usize {
    if blank == '\t' { (width / 8 + 1) * 8 } else { width + 1 }
}

/// The line without so much of its margin.
fn without_margin(line: &str, margin: usize) -> &str {
    let mut width = 0;
    let cut = line.chars().take_while(|letter| {
        width = wider(width, *letter);
        BLANKS.contains(letter) && width <= margin
    });
    let cut = cut.count();
    line.get(cut..).unwrap_or_default()
}

/// Lines of blanks alone do not count for the least margin; where there are no others, all blanks are margin.
fn without_least(inner: &str) -> String {
    let margin = |line: &str| line.chars().take_while(|letter| BLANKS.contains(letter)).fold(0, wider);
    let counted = inner.split_inclusive('\n').filter(|line| !line.trim_matches(BLANKS).trim_end_matches('\n').is_empty());
    let least = counted.map(margin).min().unwrap_or(usize::MAX);
    inner.split_inclusive('\n').map(|line| without_margin(line, least)).collect()
}

/// The lines between those of the marks, each without the indentation of the end mark.
fn swift_lines(inner: &str) -> Result<String, String> {
    let wrong = "a string of several lines whose text is on the line of a mark";
    let (first, lines) = inner.split_once('\n').ok_or(wrong)?;
    let (lines, indent) = lines.rsplit_once('\n').map_or((None, lines), |(lines, indent)| (Some(lines), indent));
    if !first.trim_matches(BLANKS).is_empty() || !indent.trim_matches(BLANKS).is_empty() {
        return Err(wrong.to_owned());
    }
    let Some(lines) = lines else { return Ok(String::new()) };
    let mut out = String::with_capacity(lines.len());
    for (number, line) in lines.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        match line.strip_prefix(indent) {
            Some(bare) => out.push_str(bare),
            None if line.trim_matches(BLANKS).is_empty() => {}
            None => return Err("a string of several lines with one that is indented less than its end mark".to_owned()),
        }
    }
    Ok(out)
}
