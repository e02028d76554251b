//! Owns the lexer of source files: whitespace, comments, names, numbers and signs of each language.

use super::super::{ReadError, Reason, Target};
use super::token::{Kind, Text, Token, Tokens, place};

/// Longer signs before those that they begin with. `>>` and `>=` stay apart, because `>` closes what `<` opened in types.
const SIGNS: [&str; 17] = ["...", "?->", "<=>", "=>", "->", "::", "**", "..", "?.", "?:", "??", "&.", "==", "!=", "&&", "||", "<="];
/// Words behind which no value has ended yet, so that a `/` begins a regular expression.
const BEFORE_VALUES: [&str; 26] = [
    "return",
    "typeof",
    "case",
    "in",
    "of",
    "delete",
    "void",
    "throw",
    "new",
    "do",
    "else",
    "instanceof",
    "yield",
    "await",
    "and",
    "or",
    "not",
    "if",
    "unless",
    "while",
    "until",
    "when",
    "then",
    "elsif",
    "begin",
    "puts",
];

/// All words of a text.
pub(super) fn tokens(target: Target, source: &str) -> Result<Tokens<'_>, ReadError> {
    let lexer = Lexer { target, source, at: 0, newline: true, list: Vec::new(), texts: Vec::new(), waiting: Vec::new() };
    lexer.run()
}

/// A heredoc of Ruby whose text begins on the next line.
pub(super) struct Waiting<'s> {
    pub(super) text: usize,
    pub(super) mark: &'s str,
    /// Its end mark may be indented.
    pub(super) indented: bool,
}

pub(super) struct Lexer<'s> {
    pub(super) target: Target,
    pub(super) source: &'s str,
    pub(super) at: usize,
    /// A line ended since the last word.
    newline: bool,
    list: Vec<Token>,
    pub(super) texts: Vec<Text>,
    pub(super) waiting: Vec<Waiting<'s>>,
}

/// May a name begin with it?
pub(super) fn begins_name(letter: char, target: Target) -> bool {
    letter == '_' || letter.is_alphabetic() || (letter == '$' && target == Target::TypeScript)
}

fn continues_name(letter: char, target: Target) -> bool {
    begins_name(letter, target) || letter.is_numeric()
}

impl<'s> Lexer<'s> {
    fn run(mut self) -> Result<Tokens<'s>, ReadError> {
        match self.target {
            Target::Php => self.skip_html(),
            Target::Rust if self.source.starts_with("#![") => {}
            Target::Rust | Target::TypeScript | Target::Kotlin | Target::Swift => {
                if self.source.starts_with("#!") {
                    self.skip_line();
                }
            }
            Target::Python | Target::Ruby => {}
        }
        loop {
            self.blanks()?;
            if self.at >= self.source.len() || self.ends_here() {
                break;
            }
            self.take_word()?;
        }
        if let Some(waiting) = self.waiting.first() {
            let tag = self.texts.get(waiting.text).map_or(0, |text| text.start);
            return Err(self.fault(tag as usize, format!("the heredoc `{}` is never closed", waiting.mark)));
        }
        self.newline = true;
        self.at = self.source.len();
        self.push(Kind::End, self.source.len());
        Tokens::new(self.target, self.source, self.list, self.texts)
    }

    pub(super) fn rest(&self) -> &'s str {
        self.source.get(self.at..).unwrap_or_default()
    }

    pub(super) fn byte(&self, at: usize) -> u8 {
        self.source.as_bytes().get(at).copied().unwrap_or_default()
    }

    pub(super) fn letter(&self, at: usize) -> char {
        self.source.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default()
    }

    pub(super) fn fault(&self, at: usize, message: impl Into<String>) -> ReadError {
        let before = self.source.as_bytes().get(..at).unwrap_or_default();
        let line = place(before.iter().filter(|byte| **byte == b'\n').count() + 1);
        ReadError { line, message: message.into(), reason: Reason::Syntax }
    }

    /// Ends a word that begins at `start`.
    pub(super) fn push(&mut self, kind: Kind, start: usize) {
        self.list.push(Token { kind, start: place(start), end: place(self.at), newline: self.newline });
        self.newline = false;
    }

    pub(super) fn push_text(&mut self, text: Text, start: usize) {
        let number = place(self.texts.len());
        self.texts.push(text);
        self.push(Kind::Text(number), start);
    }

    fn last(&self) -> Option<(Kind, &'s str)> {
        let token = self.list.last()?;
        Some((token.kind, self.source.get(token.start as usize..token.end as usize).unwrap_or_default()))
    }

    /// Has a value just ended, so that an operator follows?
    pub(super) fn after_value(&self) -> bool {
        match self.last() {
            None | Some((Kind::End, _)) => false,
            Some((Kind::Name, word)) => !BEFORE_VALUES.contains(&word),
            Some((Kind::Sign, sign)) => matches!(sign, ")" | "]" | "}"),
            Some((Kind::Quoted | Kind::Variable | Kind::Number | Kind::Text(_) | Kind::Other, _)) => true,
        }
    }

    /// Could the word before be a method whose argument begins here? `puts /x/` of Ruby.
    pub(super) fn after_method(&self, next: usize) -> bool {
        let blank = |byte: u8| byte == b' ' || byte == b'\t';
        let named = self.last().is_some_and(|(kind, word)| kind == Kind::Name && word != "class");
        named && self.at > 0 && blank(self.byte(self.at - 1)) && !blank(self.byte(next))
    }

    fn skip_line(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    /// Goes on to the next piece of PHP.
    fn skip_html(&mut self) {
        while let Some(found) = self.rest().find("<?") {
            self.at += found + 2;
            let tag = self.rest().get(..3).is_some_and(|tag| tag.eq_ignore_ascii_case("php"))
                && !continues_name(self.letter(self.at + 3), Target::Php);
            if tag || self.rest().starts_with('=') {
                self.at += if tag { 3 } else { 1 };
                return;
            }
        }
        self.at = self.source.len();
    }

    /// The part of the file that is data.
    fn ends_here(&self) -> bool {
        match self.target {
            Target::Ruby => {
                let alone = self.at == 0 || self.byte(self.at - 1) == b'\n';
                alone && self.rest().strip_prefix("__END__").is_some_and(|rest| rest.is_empty() || rest.starts_with(['\n', '\r']))
            }
            Target::Php => self.rest().get(..15).is_some_and(|word| word.eq_ignore_ascii_case("__halt_compiler")),
            Target::Python | Target::TypeScript | Target::Kotlin | Target::Swift | Target::Rust => false,
        }
    }

    /// Skips blanks and comments.
    fn blanks(&mut self) -> Result<(), ReadError> {
        loop {
            let (first, second) = (self.byte(self.at), self.byte(self.at + 1));
            match first {
                _ if self.at >= self.source.len() => return Ok(()),
                b'\n' => {
                    self.newline = true;
                    self.at += 1;
                    self.heredoc_bodies()?;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'\\' if self.continues_line() => self.at += if second == b'\r' { 3 } else { 2 },
                _ if first >= 0x80 && self.letter(self.at).is_whitespace() => self.at += self.letter(self.at).len_utf8(),
                _ if self.comment()? => {}
                _ => return Ok(()),
            }
        }
    }

    /// A backslash at the end of a line joins it to the next one in Python and Ruby.
    fn continues_line(&self) -> bool {
        let ends = self.rest().get(1..).is_some_and(|rest| rest.starts_with('\n') || rest.starts_with("\r\n"));
        ends && matches!(self.target, Target::Python | Target::Ruby)
    }

    /// Skips a comment, if one begins here.
    fn comment(&mut self) -> Result<bool, ReadError> {
        let rest = self.rest();
        let hash = rest.starts_with('#');
        let (line, block, nested) = match self.target {
            Target::Php => (rest.starts_with("//") || (hash && !rest.starts_with("#[")), rest.starts_with("/*"), false),
            Target::Python => (hash, false, false),
            Target::Ruby => (hash, false, false),
            Target::TypeScript => (rest.starts_with("//"), rest.starts_with("/*"), false),
            Target::Kotlin | Target::Swift | Target::Rust => (rest.starts_with("//"), rest.starts_with("/*"), true),
        };
        if line {
            self.line_comment();
        } else if block {
            self.block_comment(nested)?;
        } else {
            return self.ruby_comment();
        }
        Ok(true)
    }

    fn line_comment(&mut self) {
        let line = self.rest().split('\n').next().unwrap_or_default();
        let end = if self.target == Target::Php { line.find("?>") } else { None };
        self.at += end.unwrap_or(line.len());
    }

    fn block_comment(&mut self, nested: bool) -> Result<(), ReadError> {
        let (start, bytes) = (self.at, self.source.as_bytes());
        let mut depth = 0_usize;
        while let Some(pair) = bytes.get(self.at..self.at + 2) {
            match pair {
                b"/*" if depth == 0 || nested => depth += 1,
                b"*/" => depth -= 1,
                _ => {
                    self.newline |= pair.first() == Some(&b'\n');
                    self.at += 1;
                    continue;
                }
            }
            self.at += 2;
            if depth == 0 {
                return Ok(());
            }
        }
        Err(self.fault(start, "the comment is never closed"))
    }

    /// Skips what stands between `=begin` and `=end`.
    fn ruby_comment(&mut self) -> Result<bool, ReadError> {
        let alone = self.at == 0 || self.byte(self.at - 1) == b'\n';
        if self.target != Target::Ruby || !alone || !self.rest().starts_with("=begin") {
            return Ok(false);
        }
        let end = self.rest().find("\n=end").ok_or_else(|| self.fault(self.at, "the comment is never closed"))?;
        self.at += end + 1;
        self.skip_line();
        Ok(true)
    }

    fn take_word(&mut self) -> Result<(), ReadError> {
        // Strings of Python and Rust may begin with letters.
        let plain = self.byte(self.at).is_ascii_alphabetic() && !matches!(self.target, Target::Python | Target::Rust);
        if !plain && self.string()? {
            return Ok(());
        }
        let (start, first) = (self.at, self.letter(self.at));
        let second = self.letter(start + first.len_utf8());
        if first.is_ascii_digit() || (first == '.' && second.is_ascii_digit() && !self.after_value()) {
            self.number();
            self.push(Kind::Number, start);
        } else if self.marks_variable(first, second) {
            self.at += first.len_utf8();
            while matches!(self.byte(self.at), b'@' | b'$') {
                self.at += 1;
            }
            self.name();
            self.push(Kind::Variable, start);
        } else if begins_name(first, self.target) || (first == '\\' && self.target == Target::Php && begins_name(second, self.target)) {
            self.name();
            self.push(Kind::Name, start);
        } else if !self.quoted_name() {
            self.sign(first);
        }
        Ok(())
    }

    fn marks_variable(&self, first: char, second: char) -> bool {
        match self.target {
            Target::Php => first == '$' && (begins_name(second, self.target) || second == '$'),
            Target::Ruby => matches!(first, '$' | '@') && (begins_name(second, self.target) || second == '@'),
            Target::Python | Target::TypeScript | Target::Kotlin | Target::Swift | Target::Rust => false,
        }
    }

    /// Goes to the end of a name, in PHP of one with its namespace, in Ruby of one with the mark of a method.
    fn name(&mut self) {
        loop {
            let rest = self.source.as_bytes().get(self.at..).unwrap_or_default();
            self.at += rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            while self.at < self.source.len() && continues_name(self.letter(self.at), self.target) {
                self.at += self.letter(self.at).len_utf8();
            }
            if self.target == Target::Php && self.byte(self.at) == b'\\' && begins_name(self.letter(self.at + 1), self.target) {
                self.at += 1;
                continue;
            }
            if self.target == Target::Ruby && matches!(self.byte(self.at), b'?' | b'!') && self.byte(self.at + 1) != b'=' {
                self.at += 1;
            }
            return;
        }
    }

    /// A name in backticks.
    fn quoted_name(&mut self) -> bool {
        let (start, ticked) = (self.at, matches!(self.target, Target::Kotlin | Target::Swift) && self.byte(self.at) == b'`');
        if !ticked {
            return false;
        }
        let line = self.rest().get(1..).unwrap_or_default();
        let Some(length) = line.find(['`', '\n']).filter(|length| line.as_bytes().get(*length) == Some(&b'`')) else { return false };
        self.at += length + 2;
        self.push(Kind::Quoted, start);
        true
    }

    fn number(&mut self) {
        let hex = self.byte(self.at) == b'0' && matches!(self.byte(self.at + 1), b'x' | b'X');
        let trailing = matches!(self.target, Target::Php | Target::Python | Target::TypeScript | Target::Rust);
        let mut dot = false;
        loop {
            let (byte, next) = (self.byte(self.at), self.byte(self.at + 1));
            let exponent = !hex && self.at > 0 && matches!(self.byte(self.at - 1), b'e' | b'E');
            match byte {
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => {}
                b'.' if !hex
                    && !dot
                    && (next.is_ascii_digit() || (trailing && next != b'.' && !begins_name(self.letter(self.at + 1), self.target))) =>
                {
                    dot = true;
                }
                b'+' | b'-' if exponent && next.is_ascii_digit() => {}
                _ => return,
            }
            self.at += 1;
        }
    }

    fn sign(&mut self, first: char) {
        let (start, rest) = (self.at, self.rest());
        if self.target == Target::Php && rest.starts_with("?>") {
            self.at += 2;
            self.push(Kind::Sign, start);
            self.skip_html();
            return;
        }
        if self.target == Target::Swift && first == '#' {
            self.at += rest.bytes().take_while(|byte| *byte == b'#').count();
            return self.push(Kind::Sign, start);
        }
        let attribute = (self.target == Target::Php && rest.starts_with("#[")).then_some("#[");
        let found = attribute.or_else(|| SIGNS.into_iter().find(|sign| rest.starts_with(sign)));
        self.at += found.map_or(first.len_utf8(), str::len);
        self.push(Kind::Sign, start);
    }
}
