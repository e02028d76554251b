//! Owns the parser of one literal: maps, lists, strings, numbers and constants, without recursion.

use serde_json::{Map, Value};

use super::super::{ReadError, Reason, Target};
use super::forms::{self, Shape};
use super::token::{Kind, Tokens};
use super::{number, text};

/// Maps, lists and parentheses inside each other.
const DEPTH: usize = 100;

/// A map, a list or a group that is open.
struct Frame {
    shape: Shape,
    /// Where its bracket closes.
    close: usize,
    items: Vec<Value>,
    members: Map<String, Value>,
    /// The key whose value is read.
    key: Option<String>,
    /// It may end: nothing is read yet, or a value, or a comma.
    complete: bool,
}

impl Frame {
    fn finish(self) -> Value {
        match self.shape {
            Shape::Map => Value::Object(self.members),
            Shape::List | Shape::Either | Shape::Group => Value::Array(self.items),
        }
    }
}

struct Reader<'t, 's> {
    tokens: &'t Tokens<'s>,
    at: usize,
    frames: Vec<Frame>,
    /// Inside of `json!`.
    in_macro: bool,
}

/// The literal at a place, and the place behind it.
pub(super) fn read(tokens: &Tokens<'_>, at: usize) -> Result<(Value, usize), ReadError> {
    let in_macro = tokens.target != Target::Rust;
    let mut reader = Reader { tokens, at, frames: Vec::new(), in_macro };
    let value = reader.read()?;
    Ok((value, reader.at))
}

/// Does a call, a macro or a member follow a name?
fn calls(tokens: &Tokens<'_>, at: usize) -> bool {
    matches!(tokens.sign(at), "(" | "::" | "." | "?.") || (tokens.target == Target::Rust && tokens.sign(at) == "!")
}

/// What stands where a literal belongs, or behind one.
pub(super) fn unexpected(tokens: &Tokens<'_>, at: usize) -> ReadError {
    let shown = tokens.shown(at);
    let what = match tokens.kind(at) {
        Kind::Name | Kind::Quoted if calls(tokens, at + 1) => format!("a call or a member of {shown}"),
        Kind::Name | Kind::Quoted => format!("the name {shown}, a variable, constant or keyword"),
        Kind::Variable => format!("the variable {shown}"),
        Kind::Text(_) => format!("the string {shown}, a concatenation"),
        Kind::Sign => match tokens.word(at) {
            "..." | "**" | "*" | ".." => format!("{shown}, a spread"),
            "+" | "~" => format!("{shown}, a concatenation or calculation"),
            "." if tokens.target == Target::Php => format!("{shown}, a concatenation"),
            "." | "?." | "->" | "::" | "(" | "&." => format!("{shown}, a call or a member"),
            _ => shown,
        },
        Kind::Number | Kind::Other | Kind::End => shown,
    };
    tokens.fault(at, Reason::NotALiteral, format!("a plain literal is expected, found {what}"))
}

impl Reader<'_, '_> {
    fn read(&mut self) -> Result<Value, ReadError> {
        loop {
            let Some(value) = self.step()? else { continue };
            if let Some(whole) = self.attach(value)? {
                return Ok(whole);
            }
        }
    }

    /// Puts a value where it belongs; the value itself when nothing is open any more.
    fn attach(&mut self, value: Value) -> Result<Option<Value>, ReadError> {
        loop {
            self.at = forms::after_casts(self.tokens, self.at);
            match self.frames.last() {
                None => return Ok(Some(value)),
                Some(frame) if frame.shape != Shape::Group => return self.keep(value).map(|()| None),
                Some(frame) if frame.close != self.at => return Err(unexpected(self.tokens, self.at)),
                Some(_) => {
                    self.frames.pop();
                    self.at += 1;
                }
            }
        }
    }

    /// Goes one step on; a value when one is complete.
    fn step(&mut self) -> Result<Option<Value>, ReadError> {
        if let Some(frame) = self.frames.last() {
            if self.at == frame.close && frame.complete {
                self.at += 1;
                return Ok(self.frames.pop().map(Frame::finish));
            }
            if frame.shape == Shape::Map && frame.key.is_none() {
                self.key()?;
                return Ok(None);
            }
        }
        let Some((shape, open)) = forms::opening(self.tokens, self.at, self.in_macro) else { return self.scalar().map(Some) };
        let Some(close) = self.tokens.partner(open) else { return Err(unexpected(self.tokens, open)) };
        if self.frames.len() >= DEPTH {
            return Err(self.tokens.fault(open, Reason::TooDeep, format!("more than {DEPTH} maps and lists inside each other")));
        }
        self.in_macro |= open > self.at;
        self.at = open + 1;
        if self.tokens.target == Target::Swift && self.tokens.sign(self.at) == ":" && self.at + 1 == close {
            self.at = close + 1;
            return Ok(Some(Value::Object(Map::new())));
        }
        self.frames.push(Frame { shape, close, items: Vec::new(), members: Map::new(), key: None, complete: shape != Shape::Group });
        Ok(None)
    }

    /// Puts a value into the map or list that is open.
    fn keep(&mut self, value: Value) -> Result<(), ReadError> {
        let (tokens, at) = (self.tokens, self.at);
        let pair = forms::is_pair(tokens, at);
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        match (frame.shape, value) {
            (Shape::Either, Value::String(key)) if pair => {
                frame.shape = Shape::Map;
                frame.key = Some(key);
                frame.complete = false;
                self.at += 1;
                return Ok(());
            }
            (Shape::Either | Shape::List, _) if pair => {
                return Err(tokens.fault(
                    at - 1,
                    Reason::BadKey,
                    format!("a key is no string, or stands in a list: {}", tokens.shown(at - 1)),
                ));
            }
            (Shape::Map, value) => {
                frame.members.extend(frame.key.take().map(|key| (key, value)));
            }
            (Shape::Either | Shape::List | Shape::Group, value) => {
                frame.shape = Shape::List;
                frame.items.push(value);
            }
        }
        frame.complete = true;
        if tokens.sign(at) == "," {
            self.at += 1;
        } else if at != frame.close {
            return Err(unexpected(tokens, at));
        }
        Ok(())
    }

    /// The key of a map, and what stands behind it.
    fn key(&mut self) -> Result<(), ReadError> {
        let (tokens, at) = (self.tokens, self.at);
        let bracketed = tokens.target == Target::TypeScript && tokens.sign(at) == "[" && tokens.sign(at + 2) == "]";
        let place = if bracketed { at + 1 } else { at };
        let key = match tokens.kind(place) {
            Kind::Text(number) => self.string(place, number)?,
            Kind::Name if tokens.target == Target::TypeScript && !bracketed && tokens.sign(at + 1) == ":" => tokens.word(at).to_owned(),
            Kind::Name | Kind::Quoted | Kind::Variable | Kind::Number | Kind::Sign | Kind::Other | Kind::End => return Err(self.no_key(at)),
        };
        let next = place + if bracketed { 2 } else { 1 };
        if !forms::is_pair(tokens, next) {
            return Err(self.no_pair(at, next));
        }
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        if frame.members.contains_key(&key) {
            return Err(tokens.fault(place, Reason::BadKey, format!("the key {} stands twice", tokens.shown(place))));
        }
        frame.key = Some(key);
        frame.complete = false;
        self.at = next + 1;
        Ok(())
    }

    /// What stands where a key belongs is none.
    fn no_key(&self, at: usize) -> ReadError {
        let tokens = self.tokens;
        let spread = matches!(tokens.sign(at), "..." | "**" | "*" | ".." | ",");
        let pair = forms::is_pair(tokens, tokens.after(at)) || matches!(tokens.sign(at + 1), ":" | "=>");
        let key = pair || tokens.kind(at) == Kind::Number || tokens.sign(at) == ":" || tokens.sign(at) == "[";
        if spread || !key {
            return unexpected(tokens, at);
        }
        tokens.fault(at, Reason::BadKey, format!("the key {} is no string", tokens.shown(at)))
    }

    /// A string is not followed by what makes it a key.
    fn no_pair(&self, at: usize, next: usize) -> ReadError {
        let tokens = self.tokens;
        match tokens.sign(next) {
            ":" => tokens.fault(at, Reason::BadKey, format!("the key {} is a symbol and no string", tokens.shown(at))),
            "," | ")" | "]" | "}" => tokens.fault(at, Reason::BadKey, format!("{} stands in a map without a key", tokens.shown(at))),
            _ => unexpected(tokens, next),
        }
    }

    fn string(&self, at: usize, number: u32) -> Result<String, ReadError> {
        let Some(found) = self.tokens.text(number) else { return Err(unexpected(self.tokens, at)) };
        let told = text::decode(self.tokens.target, self.tokens.source, found);
        told.map_err(|what| self.tokens.fault(at, Reason::NotALiteral, format!("a plain literal is expected, found {what}")))
    }

    /// A string, a number or a constant.
    fn scalar(&mut self) -> Result<Value, ReadError> {
        let (tokens, at) = (self.tokens, self.at);
        let signed = matches!(tokens.sign(at), "-" | "+") && tokens.kind(at + 1) == Kind::Number;
        let place = at + usize::from(signed);
        let value = match tokens.kind(place) {
            Kind::Text(number) => Value::String(self.string(place, number)?),
            Kind::Number => {
                let decoded = number::decode(tokens.target, tokens.word(place), tokens.sign(at) == "-");
                decoded.map_err(|what| tokens.fault(place, Reason::NotALiteral, format!("a plain literal is expected, found {what}")))?
            }
            Kind::Name => forms::constant(tokens, at).ok_or_else(|| unexpected(tokens, at))?,
            Kind::Quoted | Kind::Variable | Kind::Sign | Kind::Other | Kind::End => return Err(unexpected(tokens, at)),
        };
        if !self.in_macro {
            return Err(tokens.fault(at, Reason::NotALiteral, "a literal of Rust stands in `json!`"));
        }
        self.at = place + 1;
        Ok(value)
    }
}
