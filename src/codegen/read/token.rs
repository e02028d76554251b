//! Owns the tokens of a source file: kinds, positions, matching brackets.

use super::super::{ReadError, Reason, Target};

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a keyword; in PHP with its namespace.
    Name,
    /// A name in backticks.
    Quoted,
    /// `$name` of PHP, `@name` and `$name` of Ruby.
    Variable,
    /// A number as it is written.
    Number,
    /// A string; its number in the table of strings.
    Text(u32),
    /// A bracket, an operator, a mark.
    Sign,
    /// Something that can stand for no literal: a regular expression, a command, a character.
    Other,
    /// The end of the file.
    End,
}

/// One word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: u32,
    pub(super) end: u32,
    /// A line ends between the word before and this one.
    pub(super) newline: bool,
}

/// How the inner text of a string is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escapes {
    /// There are none.
    None,
    /// Only the backslash and the quote.
    Quote(u8),
    /// Those of the language.
    All,
    /// Those of Swift, each with so many `#` after the backslash.
    Hashed(u8),
}

/// What is cut off the lines of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Margin {
    /// Nothing.
    None,
    /// What stands before its end mark; so many bytes.
    Closing(u32),
    /// The least that all its lines have.
    Least,
    /// What stands before the end mark of Swift, which is on a line of its own as the beginning is.
    Swift,
}

/// One string.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    /// Where its inner text begins and ends.
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) escapes: Escapes,
    pub(super) margin: Margin,
    /// A value is put into it.
    pub(super) interpolated: bool,
    /// Bytes, characters and the like: why it is no string.
    pub(super) refused: Option<&'static str>,
}

/// Position in a file, as tokens keep it; files are small.
pub(super) fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Number of no token.
const NONE: u32 = u32::MAX;

/// All words of a file.
#[derive(Debug)]
pub(super) struct Tokens<'s> {
    pub(super) target: Target,
    pub(super) source: &'s str,
    list: Vec<Token>,
    texts: Vec<Text>,
    /// For each bracket the one that it belongs to.
    partners: Vec<u32>,
    /// Where each line begins.
    lines: Vec<u32>,
}

impl<'s> Tokens<'s> {
    /// Puts the words of a file together; `list` ends with `End`.
    pub(super) fn new(target: Target, source: &'s str, list: Vec<Token>, texts: Vec<Text>) -> Result<Self, ReadError> {
        let lines = std::iter::once(0).chain(source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| place(at + 1)));
        let mut tokens = Self { target, source, list, texts, partners: Vec::new(), lines: lines.collect() };
        tokens.partners = tokens.pair()?;
        Ok(tokens)
    }

    /// Which brackets belong together.
    fn pair(&self) -> Result<Vec<u32>, ReadError> {
        let mut partners = vec![NONE; self.list.len()];
        let mut open: Vec<(usize, &str)> = Vec::new();
        for at in 0..self.list.len() {
            let closing = match self.sign(at) {
                "(" => ")",
                "[" | "#[" => "]",
                "{" => "}",
                sign @ (")" | "]" | "}") => {
                    let Some((opener, _)) = open.pop().filter(|(_, wanted)| *wanted == sign) else {
                        return Err(self.fault(at, Reason::Syntax, format!("`{sign}` closes nothing that is open")));
                    };
                    partners[opener] = place(at);
                    partners[at] = place(opener);
                    continue;
                }
                _ => continue,
            };
            open.push((at, closing));
        }
        match open.pop() {
            None => Ok(partners),
            Some((at, closing)) => Err(self.fault(at, Reason::Syntax, format!("`{}` is never closed by `{closing}`", self.word(at)))),
        }
    }

    /// The word at a place; the end of the file behind the last one.
    pub(super) fn token(&self, at: usize) -> Token {
        let end = Token { kind: Kind::End, start: place(self.source.len()), end: place(self.source.len()), newline: true };
        self.list.get(at).copied().unwrap_or(end)
    }

    pub(super) fn kind(&self, at: usize) -> Kind {
        self.token(at).kind
    }

    /// As it is written.
    pub(super) fn word(&self, at: usize) -> &'s str {
        let token = self.token(at);
        self.source.get(token.start as usize..token.end as usize).unwrap_or_default()
    }

    /// The sign at a place, empty where there is none.
    pub(super) fn sign(&self, at: usize) -> &'s str {
        if self.kind(at) == Kind::Sign { self.word(at) } else { "" }
    }

    /// The name or keyword at a place, empty where there is none.
    pub(super) fn name(&self, at: usize) -> &'s str {
        if self.kind(at) == Kind::Name { self.word(at) } else { "" }
    }

    /// The name at a place, in backticks or not, without them; empty where there is none.
    pub(super) fn any_name(&self, at: usize) -> &'s str {
        match self.kind(at) {
            Kind::Name => self.word(at),
            Kind::Quoted => self.word(at).trim_matches('`'),
            Kind::Variable | Kind::Number | Kind::Text(_) | Kind::Sign | Kind::Other | Kind::End => "",
        }
    }

    /// Is this keyword there? PHP ignores the case.
    pub(super) fn keyword(&self, at: usize, word: &str) -> bool {
        let name = self.name(at);
        if self.target == Target::Php { name.eq_ignore_ascii_case(word) } else { name == word }
    }

    pub(super) fn newline(&self, at: usize) -> bool {
        self.token(at).newline
    }

    /// The place of the end of the file.
    pub(super) fn end(&self) -> usize {
        self.list.len().saturating_sub(1)
    }

    pub(super) fn text(&self, number: u32) -> Option<Text> {
        self.texts.get(number as usize).copied()
    }

    /// The other one of two brackets.
    pub(super) fn partner(&self, at: usize) -> Option<usize> {
        self.partners.get(at).filter(|other| **other != NONE).map(|other| *other as usize)
    }

    /// The next place: behind the closing bracket when an opening one stands here.
    pub(super) fn after(&self, at: usize) -> usize {
        self.partner(at).filter(|other| *other > at).unwrap_or(at) + 1
    }

    /// The first place from `at` on, outside of inner brackets and before `end`, that fits.
    pub(super) fn find(&self, at: usize, end: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let mut next = at;
        while next < end {
            if fits(next) {
                return Some(next);
            }
            next = self.after(next);
        }
        None
    }

    /// The line of a position, from 1.
    pub(super) fn line_of(&self, position: u32) -> u32 {
        place(self.lines.partition_point(|start| *start <= position))
    }

    pub(super) fn line(&self, at: usize) -> u32 {
        self.line_of(self.token(at).start)
    }

    /// How far a word is from the beginning of its line; a tab goes on to the next multiple of eight.
    pub(super) fn column(&self, at: usize) -> usize {
        let token = self.token(at);
        let line = self.lines.get(self.line_of(token.start) as usize - 1).copied().unwrap_or_default();
        let before = self.source.get(line as usize..token.start as usize).unwrap_or_default();
        before.chars().fold(0, |column, letter| if letter == '\t' { (column / 8 + 1) * 8 } else { column + 1 })
    }

    pub(super) fn fault(&self, at: usize, reason: Reason, message: impl Into<String>) -> ReadError {
        ReadError { line: self.line(at), message: message.into(), reason }
    }

    /// A word as messages show it.
    pub(super) fn shown(&self, at: usize) -> String {
        if self.kind(at) == Kind::End {
            return "the end of the file".to_owned();
        }
        let word = self.word(at);
        let line = word.lines().next().unwrap_or_default();
        let short: String = line.chars().take(40).collect();
        if short.len() < word.len() { format!("`{short}…`") } else { format!("`{word}`") }
    }
}
