//! Owns the lexer of expressions: names, numbers, strings and operators.

/// One word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'s> {
    Name(&'s str),
    Text(String),
    Int(i128),
    Float(f64),
    Sign(&'static str),
    End,
}

/// Longer signs before those that they begin with.
const SIGNS: [&str; 25] = [
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", ".", ",", ":", "~", "|", "=", ">", "<", "(", ")", "[", "]", "{", "}",
];

/// All words of a text, with `End` behind them.
pub(super) fn tokens(source: &str) -> Result<Vec<Token<'_>>, String> {
    let mut lexer = Lexer { source, at: 0 };
    let mut found = Vec::new();
    loop {
        let token = lexer.next(found.last() == Some(&Token::Sign(".")))?;
        let ended = token == Token::End;
        found.push(token);
        if ended {
            return Ok(found);
        }
    }
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn take(&mut self, bytes: usize) -> &'s str {
        let taken = &self.rest()[..bytes];
        self.at += bytes;
        taken
    }

    fn next(&mut self, after_dot: bool) -> Result<Token<'s>, String> {
        self.at += self.rest().len() - self.rest().trim_ascii_start().len();
        let rest = self.rest();
        let Some(first) = rest.bytes().next() else { return Ok(Token::End) };
        match first {
            b'"' | b'\'' => self.text(first),
            b'0'..=b'9' => self.number(after_dot),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
                Ok(Token::Name(self.take(length)))
            }
            _ => {
                let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
                let sign = sign.ok_or_else(|| format!("unexpected character `{}`", rest.chars().next().unwrap_or_default()))?;
                self.take(sign.len());
                Ok(Token::Sign(sign))
            }
        }
    }

    fn text(&mut self, quote: u8) -> Result<Token<'s>, String> {
        let mut escaped = false;
        let end = self.rest().bytes().skip(1).position(|byte| {
            let ends = byte == quote && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        });
        let end = end.ok_or("unexpected end of string")?;
        let inner = &self.take(end + 2)[1..=end];
        if inner.contains('\\') { unescaped(inner).map(Token::Text) } else { Ok(Token::Text(inner.to_owned())) }
    }

    fn number(&mut self, after_dot: bool) -> Result<Token<'s>, String> {
        let bytes = self.rest().as_bytes();
        let radix = match bytes.get(..2) {
            Some(b"0b" | b"0B") => 2,
            Some(b"0o" | b"0O") => 8,
            Some(b"0x" | b"0X") => 16,
            Some(_) | None => 10,
        };
        if radix != 10 {
            self.take(2);
            let digits = self.digits(|byte| byte.is_ascii_hexdigit());
            return whole(digits, radix);
        }
        let start = self.at;
        let integer = self.digits(|byte| byte.is_ascii_digit());
        if after_dot {
            return whole(integer, 10);
        }
        let mut float = self.fraction();
        float |= self.exponent();
        if !float {
            return whole(integer, 10);
        }
        let text = self.source[start..self.at].replace('_', "");
        text.parse().map(Token::Float).map_err(|_| format!("`{text}` is no number"))
    }

    fn digits(&mut self, is_digit: impl Fn(u8) -> bool) -> &'s str {
        let length = self.rest().bytes().take_while(|byte| is_digit(*byte) || *byte == b'_').count();
        self.take(length)
    }

    /// `.5`, or a dot alone behind digits.
    fn fraction(&mut self) -> bool {
        let rest = self.rest().as_bytes();
        let named = rest.get(1).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        let is_one = rest.first() == Some(&b'.') && !named;
        if is_one {
            self.take(1);
            self.digits(|byte| byte.is_ascii_digit());
        }
        is_one
    }

    fn exponent(&mut self) -> bool {
        let rest = self.rest().as_bytes();
        let signed = usize::from(matches!(rest.get(1), Some(b'+' | b'-')));
        let is_one = matches!(rest.first(), Some(b'e' | b'E')) && rest.get(1 + signed).is_some_and(u8::is_ascii_digit);
        if is_one {
            self.take(1 + signed);
            self.digits(|byte| byte.is_ascii_digit());
        }
        is_one
    }
}

fn whole<'s>(digits: &str, radix: u32) -> Result<Token<'s>, String> {
    if digits.ends_with('_') {
        return Err("'_' may not occur at end of number".to_owned());
    }
    i128::from_str_radix(&digits.replace('_', ""), radix).map(Token::Int).map_err(|_| "invalid integer (too large)".to_owned())
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some(same @ ('"' | '\\' | '/' | '\'')) => out.push(same),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => out.push(letter_of(&mut letters)?),
            Some(_) | None => return Err("bad string escape".to_owned()),
        }
    }
    Ok(out)
}

/// The letter of `\u` and four digits, or of two such that belong together.
fn letter_of(letters: &mut std::str::Chars<'_>) -> Result<char, String> {
    let bad = || "bad string escape".to_owned();
    let code = |letters: &mut std::str::Chars<'_>| {
        let digits = letters.as_str().get(..4).ok_or_else(bad)?;
        *letters = letters.as_str()[4..].chars();
        u16::from_str_radix(digits, 16).map_err(|_| bad())
    };
    let first = code(letters)?;
    let mut units = vec![first];
    if (0xd800..0xdc00).contains(&first) {
        *letters = letters.as_str().strip_prefix("\\u").ok_or_else(bad)?.chars();
        units.push(code(letters)?);
    }
    char::decode_utf16(units).next().and_then(Result::ok).ok_or_else(bad)
}
