//! Owns the return value of `definition`: one map literal and nothing else.

use serde_json::{Map, Value};

use super::super::{ReadError, Reason, Target};
use super::literal;
use super::token::Tokens;

/// The name of the method.
pub(super) const METHOD: &str = "definition";

/// The one fault of a class whose method is missing or is no static one.
pub(super) fn not_static(tokens: &Tokens<'_>, at: usize, why: &str) -> ReadError {
    tokens.fault(at, Reason::NotALiteral, format!("`{METHOD}` {why}"))
}

/// There is one method only; the places are those of its name.
pub(super) fn only(tokens: &Tokens<'_>, class: usize, found: &[usize]) -> Result<usize, ReadError> {
    match found {
        [] => Err(not_static(tokens, class, "is missing: a static method without arguments that returns one literal")),
        [one] => Ok(*one),
        [_, second, ..] => Err(not_static(tokens, *second, "stands twice in the class")),
    }
}

/// The place behind the empty parentheses that follow a name.
pub(super) fn after_arguments(tokens: &Tokens<'_>, name: usize) -> Result<usize, ReadError> {
    match (tokens.sign(name + 1), tokens.sign(name + 2)) {
        ("(", ")") => Ok(name + 3),
        ("(", _) => Err(not_static(tokens, name, "takes arguments, or is not static")),
        _ => Err(not_static(tokens, name, "is no method without arguments")),
    }
}

/// The map at a place, and the place behind it.
pub(super) fn map(tokens: &Tokens<'_>, at: usize) -> Result<(Map<String, Value>, usize), ReadError> {
    let (value, next) = literal::read(tokens, at)?;
    match value {
        Value::Object(members) => Ok((members, next)),
        // An array of PHP without entries is both.
        Value::Array(items) if items.is_empty() && tokens.target == Target::Php => Ok((Map::new(), next)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(not_static(tokens, at, "does not return a map"))
        }
    }
}

/// The map that a block in braces returns.
pub(super) fn returned(tokens: &Tokens<'_>, open: usize, bare: bool) -> Result<Value, ReadError> {
    let close = tokens.partner(open).ok_or_else(|| literal::unexpected(tokens, open))?;
    let returns = tokens.keyword(open + 1, "return");
    if !returns && !bare {
        return Err(not_one(tokens, open + 1));
    }
    let at = open + 1 + usize::from(returns);
    let ends = matches!(tokens.target, Target::TypeScript | Target::Kotlin);
    if returns && ends && tokens.newline(at) {
        return Err(not_static(tokens, at, "returns nothing: the line ends behind `return`"));
    }
    let (members, next) = map(tokens, at)?;
    let next = next + usize::from(tokens.sign(next) == ";" && (returns || tokens.target != Target::Rust));
    if next != close {
        return Err(if tokens.sign(next - 1) == ";" || tokens.newline(next) {
            not_one(tokens, next)
        } else {
            literal::unexpected(tokens, next)
        });
    }
    Ok(Value::Object(members))
}

/// Something else stands in the body.
pub(super) fn not_one(tokens: &Tokens<'_>, at: usize) -> ReadError {
    not_static(tokens, at, &format!("has more than one returned literal: found {}", tokens.shown(at)))
}
