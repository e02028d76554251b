//! Owns the classes of Python: their bases, and the position of `definition`.

use serde_json::Value;

use super::super::{ClassKind, ReadError};
use super::class::Class;
use super::literal;
use super::method::{self, METHOD};
use super::token::{Kind, Tokens};

/// Does a line of its own begin here? Places in brackets are not asked.
fn begins_line(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.newline(at)
}

/// Where the block ends whose head is at a column: at the first line that is not further in.
fn end_of_block(tokens: &Tokens<'_>, at: usize, column: usize) -> usize {
    let end = tokens.find(at, tokens.end(), |at| begins_line(tokens, at) && tokens.column(at) <= column);
    end.unwrap_or_else(|| tokens.end())
}

/// All classes at the beginning of lines.
pub(super) fn classes(tokens: &Tokens<'_>) -> Vec<Class> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.end() {
        let class = (tokens.name(at) == "class" && begins_line(tokens, at) && tokens.column(at) == 0).then(|| class(tokens, at)).flatten();
        at = class.as_ref().map_or_else(|| tokens.after(at), |class| class.body.end.max(at + 1));
        found.extend(class);
    }
    found
}

fn class(tokens: &Tokens<'_>, at: usize) -> Option<Class> {
    let name = tokens.name(at + 1);
    let bases = if tokens.sign(at + 2) == "[" { tokens.after(at + 2) } else { at + 2 };
    let colon = if tokens.sign(bases) == "(" { tokens.after(bases) } else { bases };
    if name.is_empty() || tokens.sign(colon) != ":" {
        return None;
    }
    let (kinds, is_abstract) = if colon > bases { declared(tokens, bases + 1, colon - 1) } else { (Vec::new(), false) };
    let body = colon + 1..end_of_block(tokens, colon + 1, 0);
    Some(Class { name: name.to_owned(), namespace: String::new(), at: at + 1, kinds, is_abstract, body, methods: Vec::new() })
}

/// The contracts among the bases of a class, and whether one of them makes it abstract.
fn declared(tokens: &Tokens<'_>, start: usize, end: usize) -> (Vec<ClassKind>, bool) {
    let (mut kinds, mut is_abstract, mut at) = (Vec::new(), false, start);
    let mut keyword = false;
    while at < end {
        let name = tokens.name(at);
        let last = matches!(tokens.sign(at + 1), "," | ")" | "[");
        match name {
            "" if tokens.sign(at) == "," => keyword = false,
            "" if tokens.sign(at) == "=" => keyword = true,
            "ABC" | "Protocol" if last && !keyword => is_abstract = true,
            "ABCMeta" if last && keyword => is_abstract = true,
            _ => {
                let kind = ClassKind::of_contract(name).filter(|kind| last && !keyword && !kinds.contains(kind));
                kinds.extend(kind);
            }
        }
        at = tokens.after(at);
    }
    (kinds, is_abstract)
}

/// A method that was found with the names of its decorators.
struct Method<'s> {
    at: usize,
    decorators: Vec<&'s str>,
    is_async: bool,
}

/// The methods of a class that have the name.
fn methods<'s>(tokens: &Tokens<'s>, class: &Class) -> Vec<Method<'s>> {
    let (mut found, mut decorators) = (Vec::new(), Vec::new());
    let first = class.body.start;
    if first >= class.body.end || !begins_line(tokens, first) {
        return found;
    }
    let (column, mut at) = (tokens.column(first), first);
    while at < class.body.end {
        if begins_line(tokens, at) && tokens.column(at) == column {
            let is_async = tokens.name(at) == "async";
            let def = at + usize::from(is_async);
            if tokens.sign(at) == "@" {
                decorators.push(if matches!(tokens.sign(at + 2), "." | "(") { "" } else { tokens.name(at + 1) });
            } else {
                let taken = std::mem::take(&mut decorators);
                if tokens.name(def) == "def" && tokens.name(def + 1) == METHOD {
                    found.push(Method { at: def + 1, decorators: taken, is_async });
                }
            }
        }
        at = tokens.after(at);
    }
    found
}

/// What `definition` of a class returns.
pub(super) fn definition(tokens: &Tokens<'_>, class: &Class) -> Result<Value, ReadError> {
    let found = methods(tokens, class);
    let places: Vec<usize> = found.iter().map(|method| method.at).collect();
    let place = method::only(tokens, class.at, &places)?;
    let is_static = found.iter().all(|method| method.decorators == ["staticmethod"] && !method.is_async);
    if !is_static {
        return Err(method::not_static(tokens, place, "is no static method: `@staticmethod` alone stands before it"));
    }
    let next = method::after_arguments(tokens, place)?;
    let colon = tokens.find(next, class.body.end, |at| tokens.sign(at) == ":");
    let Some(colon) = colon else { return Err(method::not_static(tokens, place, "has no body")) };
    let end = end_of_block(tokens, colon + 1, tokens.column(place - 1)).min(class.body.end);
    let mut at = colon + 1;
    // What documents the method is no statement.
    let documented = matches!(tokens.kind(at), Kind::Text(_)) && at + 1 < end && begins_line(tokens, at + 1);
    at += usize::from(documented);
    if tokens.name(at) != "return" || at >= end {
        return Err(method::not_one(tokens, at));
    }
    if begins_line(tokens, at + 1) {
        return Err(method::not_static(tokens, at, "returns nothing: the line ends behind `return`"));
    }
    let (members, next) = method::map(tokens, at + 1)?;
    let next = next + usize::from(tokens.sign(next) == ";");
    match next {
        _ if next == end => Ok(Value::Object(members)),
        _ if begins_line(tokens, next) || tokens.sign(next - 1) == ";" => Err(method::not_one(tokens, next)),
        _ => Err(literal::unexpected(tokens, next)),
    }
}
