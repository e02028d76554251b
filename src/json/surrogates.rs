//! Owns unpaired surrogates: a JSON escape such as `\ud83d` is a character only in a pair, and some providers and hosts split a pair
//! between two pieces of text.

use std::borrow::Cow;

/// What stands for half a character whose other half never comes.
const UNKNOWN: &str = "\\ufffd";

/// The first half of a character, at the end of a piece of text, until the piece with the second one comes.
#[derive(Debug, Default)]
pub(crate) struct PendingSurrogate(Option<u16>);

/// An escape in a JSON text.
enum Escape {
    First(u16),
    Second(u16),
    /// Another one, of so many bytes.
    Other(usize),
}

impl PendingSurrogate {
    /// A JSON text without halves of characters; none when it has none.
    pub(crate) fn mend(&mut self, json: &str) -> Option<String> {
        let (mut out, mut rest, mut mended) = (String::with_capacity(json.len()), json, false);
        while let Some(at) = rest.find('\\') {
            let (before, here) = rest.split_at(at);
            out.push_str(before);
            let (written, length) = match escape(here) {
                Escape::Other(length) => (Cow::Borrowed(&here[..length]), length),
                Escape::First(first) => match here.get(6..).map(escape) {
                    Some(Escape::Second(_)) => (Cow::Borrowed(&here[..12]), 12),
                    Some(Escape::First(_) | Escape::Other(_)) | None => (self.first(first, &here[6..]).into(), 6),
                },
                Escape::Second(second) => (self.second(second, &out), 6),
            };
            mended |= written != here[..length];
            out.push_str(&written);
            rest = &here[length..];
        }
        out.push_str(rest);
        mended.then_some(out)
    }

    /// The second half may come at the beginning of the next piece.
    fn first(&mut self, first: u16, after: &str) -> &'static str {
        if !after.starts_with('"') {
            return UNKNOWN;
        }
        self.0 = Some(first);
        ""
    }

    fn second(&mut self, second: u16, before: &str) -> Cow<'static, str> {
        match self.0.take_if(|_| before.ends_with('"')) {
            Some(first) => format!("\\u{first:04x}\\u{second:04x}").into(),
            None => UNKNOWN.into(),
        }
    }
}

/// The escape that a text begins with.
fn escape(text: &str) -> Escape {
    let length = text.chars().take(2).map(char::len_utf8).sum();
    let code = text.strip_prefix("\\u").and_then(|rest| rest.get(..4)).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    match code {
        Some(code @ 0xd800..=0xdbff) => Escape::First(code),
        Some(code @ 0xdc00..=0xdfff) => Escape::Second(code),
        Some(_) | None => Escape::Other(length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_characters_are_put_together_or_replaced() {
        for (pieces, wanted) in [
            (vec![r#"{"t":"a\ud83d"}"#, r#"{"t":"\ude00b"}"#], vec![Some(r#"{"t":"a"}"#), Some(r#"{"t":"\ud83d\ude00b"}"#)]),
            (vec![r#"{"t":"\ud83d\ude00 \\ud83d \n"}"#], vec![None]),
            (vec![r#"{"t":"\ud83d x \ude00"}"#], vec![Some(r#"{"t":"\ufffd x \ufffd"}"#)]),
            (vec![r#"{"t":"\ud83d\ud83d\ude00"}"#], vec![Some(r#"{"t":"\ufffd\ud83d\ude00"}"#)]),
            (vec![r#"{"t":"\ud8"#, "\\", r"\é"], vec![None, None, None]),
        ] {
            let mut surrogate = PendingSurrogate::default();
            let mended: Vec<_> = pieces.iter().map(|piece| surrogate.mend(piece)).collect();
            assert_eq!(mended.iter().map(Option::as_deref).collect::<Vec<_>>(), wanted, "{pieces:?}");
        }
    }
}
