//! Owns the escapes in strings of each language.

use super::super::Target;

/// Resolves the escapes of a text. `hashes` stand after each backslash; `lines` says that the string has marks on lines of their own.
pub(super) fn unescape(target: Target, inner: &str, hashes: usize, lines: bool) -> Result<String, String> {
    if !inner.contains('\\') {
        return Ok(inner.to_owned());
    }
    let mut reading = Reading { target, inner, at: 0, lines, out: Vec::with_capacity(inner.len()), high: None };
    while let Some(found) = inner.get(reading.at..).and_then(|rest| rest.find('\\')) {
        if found > 0 {
            reading.alone()?;
        }
        let start = reading.at + found;
        reading.keep(start);
        let marked = inner.as_bytes().get(start + 1..start + 1 + hashes).is_some_and(|marks| marks.iter().all(|mark| *mark == b'#'));
        if marked {
            reading.at = start + 1 + hashes;
            reading.one()?;
        } else {
            reading.keep(start + 1);
        }
    }
    reading.keep(inner.len());
    reading.alone()?;
    String::from_utf8(reading.out).map_err(|_| "a string that is no UTF-8".to_owned())
}

struct Reading<'t> {
    target: Target,
    inner: &'t str,
    /// Up to here all is read.
    at: usize,
    lines: bool,
    out: Vec<u8>,
    /// The first half of a character of UTF-16.
    high: Option<u32>,
}

impl Reading<'_> {
    /// Takes over what stands before `to`.
    fn keep(&mut self, to: usize) {
        self.out.extend_from_slice(self.inner.as_bytes().get(self.at..to).unwrap_or_default());
        self.at = to;
    }

    fn rest(&self) -> &str {
        self.inner.get(self.at..).unwrap_or_default()
    }

    /// A half of a character must not stand alone.
    fn alone(&self) -> Result<(), String> {
        if self.high.is_some() { Err("half of a character (a lone surrogate)".to_owned()) } else { Ok(()) }
    }

    fn push(&mut self, code: u32) -> Result<(), String> {
        self.alone()?;
        let letter = char::from_u32(code).ok_or_else(|| format!("`{code:X}`, which is no character"))?;
        self.out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    /// One half or a whole character of UTF-16.
    fn push_half(&mut self, code: u32) -> Result<(), String> {
        match (self.high.take(), code) {
            (None, 0xD800..=0xDBFF) => self.high = Some(code),
            (Some(high), 0xDC00..=0xDFFF) => return self.push(0x1_0000 + ((high - 0xD800) << 10) + (code - 0xDC00)),
            (None, _) => return self.push(code),
            (Some(high), _) => {
                self.high = Some(high);
                return self.alone();
            }
        }
        Ok(())
    }

    /// Digits of a base, as many as there are up to `most`.
    fn digits(&mut self, base: u32, least: usize, most: usize) -> Result<u32, String> {
        let digits = self.rest().chars().take(most).take_while(|letter| letter.is_digit(base)).count();
        let value = self.rest().get(..digits).and_then(|digits| u32::from_str_radix(digits, base).ok());
        let value = value.filter(|_| digits >= least).ok_or_else(|| self.unknown())?;
        self.at += digits;
        Ok(value)
    }

    /// The digits between braces.
    fn braced(&mut self) -> Result<(), String> {
        self.at += 1;
        loop {
            let code = self.digits(16, 1, 8)?;
            self.push(code)?;
            let more = self.target == Target::Ruby && self.rest().starts_with([' ', '\t']);
            if more {
                self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
            }
            if self.rest().starts_with('}') {
                self.at += 1;
                return Ok(());
            }
            if !more {
                return Err(self.unknown());
            }
        }
    }

    fn unknown(&self) -> String {
        let shown: String = self.rest().chars().take(1).collect();
        format!("an escape at `{}` that {} does not have", shown.escape_debug(), self.target.name())
    }

    /// What stands after a backslash.
    fn one(&mut self) -> Result<(), String> {
        let Some(letter) = self.rest().chars().next() else {
            // The last character of a heredoc of PHP, whose end mark is on the next line.
            if self.target == Target::Php {
                self.alone()?;
                self.out.push(b'\\');
                return Ok(());
            }
            return Err(self.unknown());
        };
        if let Some(byte) = plain(self.target, letter, self.lines) {
            self.alone()?;
            self.out.push(byte);
            self.at += 1;
            return Ok(());
        }
        if letter == 'u' {
            return self.unicode();
        }
        self.alone()?;
        match (self.target, letter) {
            (Target::Php | Target::Python | Target::Ruby, '0'..='7') => {
                let code = self.digits(8, 1, 3)?;
                self.code(code)
            }
            (Target::Swift | Target::Rust, '0') => {
                self.at += 1;
                self.push(0)
            }
            (Target::TypeScript, '0') if !self.rest().chars().nth(1).is_some_and(|next| next.is_ascii_digit()) => {
                self.at += 1;
                self.push(0)
            }
            (Target::Php | Target::Python | Target::TypeScript | Target::Ruby | Target::Rust, 'x') => self.hexadecimal(),
            (Target::Python, 'U') => {
                self.at += 1;
                let code = self.digits(16, 8, 8)?;
                self.push(code)
            }
            (Target::Python | Target::TypeScript | Target::Ruby, '\n') => {
                self.at += 1;
                Ok(())
            }
            (Target::TypeScript, '\u{2028}' | '\u{2029}') => {
                self.at += letter.len_utf8();
                Ok(())
            }
            (Target::Rust, '\n') => {
                self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
                Ok(())
            }
            (Target::Swift, ' ' | '\t' | '\n') if self.lines => self.joined(),
            _ => self.other(letter),
        }
    }

    /// A backslash at the end of a line of Swift joins it to the next.
    fn joined(&mut self) -> Result<(), String> {
        let bare = self.rest().trim_start_matches([' ', '\t']);
        if !bare.starts_with('\n') {
            return Err(self.unknown());
        }
        self.at += self.rest().len() - bare.len() + 1;
        Ok(())
    }

    /// A character by its number; a byte in PHP and Ruby.
    fn code(&mut self, code: u32) -> Result<(), String> {
        match self.target {
            Target::Php | Target::Ruby => {
                self.out.push((code & 0xFF) as u8);
                Ok(())
            }
            Target::Python | Target::TypeScript | Target::Kotlin | Target::Swift | Target::Rust => self.push(code),
        }
    }

    fn hexadecimal(&mut self) -> Result<(), String> {
        let loose = matches!(self.target, Target::Php | Target::Ruby);
        if self.target == Target::Php && !self.rest().chars().nth(1).is_some_and(|next| next.is_ascii_hexdigit()) {
            return self.other('x');
        }
        self.at += 1;
        let code = self.digits(16, if loose { 1 } else { 2 }, 2)?;
        if self.target == Target::Rust && code > 0x7F {
            return Err(self.unknown());
        }
        self.code(code)
    }

    fn unicode(&mut self) -> Result<(), String> {
        let braced = self.rest().get(1..).is_some_and(|rest| rest.starts_with('{'));
        let (four, braces) = match self.target {
            Target::Php if !braced => return self.other('u'),
            Target::Php | Target::Swift | Target::Rust => (false, true),
            Target::TypeScript | Target::Ruby => (true, true),
            Target::Python | Target::Kotlin => (true, false),
        };
        self.at += 1;
        if braced && braces {
            return self.braced();
        }
        if !four {
            return Err(self.unknown());
        }
        let code = self.digits(16, 4, 4)?;
        match self.target {
            Target::TypeScript | Target::Kotlin => self.push_half(code),
            Target::Php | Target::Python | Target::Swift | Target::Ruby | Target::Rust => self.push(code),
        }
    }

    /// A backslash before a letter that has no meaning.
    fn other(&mut self, letter: char) -> Result<(), String> {
        match self.target {
            Target::Php | Target::Python if letter != 'N' || self.target == Target::Php => self.out.push(b'\\'),
            Target::TypeScript if !letter.is_ascii_digit() => {}
            Target::Ruby if !matches!(letter, 'c' | 'C' | 'M') => {}
            Target::Php | Target::Python | Target::TypeScript | Target::Kotlin | Target::Swift | Target::Ruby | Target::Rust => {
                return Err(self.unknown());
            }
        }
        self.at += letter.len_utf8();
        self.out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }
}

/// The letters that stand for one character.
fn plain(target: Target, letter: char, lines: bool) -> Option<u8> {
    let known = match target {
        Target::Php if lines => "ntrvef\\$",
        Target::Php => "ntrvef\\$\"",
        Target::Python => "ntrvfab\\'\"",
        Target::TypeScript => "ntrvfb\\'\"`",
        Target::Kotlin => "ntrb\\'\"$",
        Target::Swift | Target::Rust => "ntr\\'\"",
        Target::Ruby => "ntrvefabs\\'\"",
    };
    known.contains(letter).then_some(match letter {
        'n' => b'\n',
        't' => b'\t',
        'r' => b'\r',
        'v' => 0x0B,
        'e' => 0x1B,
        'f' => 0x0C,
        'a' => 0x07,
        'b' => 0x08,
        's' => b' ',
        '$' => b'$',
        '`' => b'`',
        '\'' => b'\'',
        '"' => b'"',
        _ => b'\\',
    })
}
