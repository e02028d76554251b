//! Owns the heredocs of PHP and Ruby: their marks and ends.

use super::super::{ReadError, Target};
use super::lexer::{Lexer, Waiting};
use super::token::{Escapes, Margin, Text, place};

fn continues_mark(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

/// The mark at the beginning of a text, the length of what it is written as, and its quote.
fn mark(text: &str) -> Option<(&str, usize, Option<char>)> {
    let quote = text.chars().next().filter(|letter| matches!(letter, '"' | '\'' | '`'));
    let bare = text.get(usize::from(quote.is_some())..)?;
    let length = match quote {
        Some(quote) => bare.find([quote, '\n']).filter(|length| bare.get(*length..).is_some_and(|rest| rest.starts_with(quote)))?,
        None => bare.find(|letter| !continues_mark(letter)).unwrap_or(bare.len()),
    };
    let name = bare.get(..length).filter(|name| !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit()))?;
    Some((name, length + if quote.is_some() { 2 } else { 0 }, quote))
}

impl<'s> Lexer<'s> {
    /// Takes the heredoc that begins here, if one does.
    pub(super) fn heredoc(&mut self) -> Result<bool, ReadError> {
        match self.target {
            Target::Php if self.rest().starts_with("<<<") => self.php_heredoc(),
            Target::Ruby if self.rest().starts_with("<<") => Ok(self.ruby_heredoc()),
            Target::Php | Target::Python | Target::TypeScript | Target::Kotlin | Target::Swift | Target::Ruby | Target::Rust => Ok(false),
        }
    }

    fn php_heredoc(&mut self) -> Result<bool, ReadError> {
        let start = self.at;
        let tag = self.rest().get(3..).unwrap_or_default();
        let blanks = tag.len() - tag.trim_start_matches([' ', '\t']).len();
        let Some((name, length, quote)) = mark(tag.get(blanks..).unwrap_or_default()).filter(|(.., quote)| *quote != Some('`')) else {
            return Ok(false);
        };
        let after = start + 3 + blanks + length;
        let Some(line) = self
            .source
            .get(after..)
            .and_then(|rest| rest.find('\n').filter(|end| rest.get(..*end).is_some_and(|rest| rest.trim().is_empty())))
        else {
            return Err(self.fault(start, format!("the heredoc `{name}` does not begin on a line of its own")));
        };
        let body = after + line + 1;
        let (end, indent) = self.php_end(body, name).ok_or_else(|| self.fault(start, format!("the heredoc `{name}` is never closed")))?;
        self.at = end + indent + name.len();
        let raw = quote == Some('\'');
        let escapes = if raw { Escapes::None } else { Escapes::All };
        // The line feed before the end mark belongs to the mark.
        let inner = if end > body { end - 1 } else { body };
        let inner = if inner > body && self.byte(inner - 1) == b'\r' { inner - 1 } else { inner };
        let interpolated = !raw && self.has_inset(body, inner);
        let margin = Margin::Closing(place(indent));
        self.push_text(Text { start: place(body), end: place(inner), escapes, margin, interpolated, refused: None }, start);
        Ok(true)
    }

    /// The line of the end mark, and how far it is indented.
    fn php_end(&self, body: usize, name: &str) -> Option<(usize, usize)> {
        let mut at = body;
        for line in self.source.get(body..)?.split_inclusive('\n') {
            let bare = line.trim_start_matches([' ', '\t']);
            let closes = bare.strip_prefix(name).is_some_and(|rest| !rest.starts_with(continues_mark));
            if closes {
                return Some((at, line.len() - bare.len()));
            }
            at += line.len();
        }
        None
    }

    fn ruby_heredoc(&mut self) -> bool {
        let start = self.at;
        let rest = self.rest().get(2..).unwrap_or_default();
        let sign = rest.chars().next().filter(|sign| matches!(sign, '~' | '-'));
        let tag = rest.get(usize::from(sign.is_some())..).unwrap_or_default();
        if self.after_value() && !self.after_method(start + 2) {
            return false;
        }
        let Some((name, length, quote)) = mark(tag) else { return false };
        self.at = start + 2 + usize::from(sign.is_some()) + length;
        let escapes = if quote == Some('\'') { Escapes::None } else { Escapes::All };
        let margin = if sign == Some('~') { Margin::Least } else { Margin::None };
        let refused = (quote == Some('`')).then_some("a command");
        self.waiting.push(Waiting { text: self.texts.len(), mark: name, indented: sign.is_some() });
        self.push_text(Text { start: place(start), end: place(start), escapes, margin, interpolated: false, refused }, start);
        true
    }

    /// Reads the texts of the heredocs of the line that just ended.
    pub(super) fn heredoc_bodies(&mut self) -> Result<(), ReadError> {
        for waiting in std::mem::take(&mut self.waiting) {
            let (body, text) = (self.at, self.texts.get(waiting.text).copied());
            let Some((end, next)) = self.ruby_end(&waiting) else {
                let tag = text.map_or(body, |text| text.start as usize);
                return Err(self.fault(tag, format!("the heredoc `{}` is never closed", waiting.mark)));
            };
            self.at = next;
            let Some(text) = text else { continue };
            let interpolated = text.escapes == Escapes::All && self.has_inset(body, end);
            if let Some(slot) = self.texts.get_mut(waiting.text) {
                *slot = Text { start: place(body), end: place(end), interpolated, ..text };
            }
        }
        Ok(())
    }

    /// Where the text ends, and where the line after its end mark begins.
    fn ruby_end(&self, waiting: &Waiting<'_>) -> Option<(usize, usize)> {
        let mut at = self.at;
        for line in self.rest().split_inclusive('\n') {
            let bare = line.trim_end_matches(['\n', '\r']);
            let bare = if waiting.indented { bare.trim_start_matches([' ', '\t']) } else { bare };
            if bare == waiting.mark {
                return Some((at, at + line.len()));
            }
            at += line.len();
        }
        None
    }
}
