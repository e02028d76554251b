//! Owns the syntax of maps, lists and constants in each language.

use serde_json::Value;

use super::super::Target;
use super::token::Tokens;

/// What a bracket holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Map,
    List,
    /// The first entry decides whether it is a map or a list.
    Either,
    /// One literal.
    Group,
}

/// What stands between a key and its value.
pub(super) fn is_pair(tokens: &Tokens<'_>, at: usize) -> bool {
    match tokens.target {
        Target::Php | Target::Ruby => tokens.sign(at) == "=>",
        Target::Python | Target::TypeScript | Target::Swift | Target::Rust => tokens.sign(at) == ":",
        Target::Kotlin => tokens.name(at) == "to",
    }
}

/// True, false and null.
pub(super) fn constant(tokens: &Tokens<'_>, at: usize) -> Option<Value> {
    let (yes, no, null) = match tokens.target {
        Target::Python => ("True", "False", "None"),
        Target::Swift | Target::Ruby => ("true", "false", "nil"),
        Target::Php | Target::TypeScript | Target::Kotlin | Target::Rust => ("true", "false", "null"),
    };
    let words = [(yes, Value::Bool(true)), (no, Value::Bool(false)), (null, Value::Null)];
    words.into_iter().find(|(word, _)| tokens.keyword(at, word)).map(|(_, value)| value)
}

/// The map, list or group that begins at a place, and where its bracket opens. Maps and lists of Rust stand in `json!` only.
pub(super) fn opening(tokens: &Tokens<'_>, at: usize, in_macro: bool) -> Option<(Shape, usize)> {
    let sign = tokens.sign(at);
    if sign == "(" {
        return Some(php_object(tokens, at).map_or((Shape::Group, at), |open| (Shape::Map, open)));
    }
    match (tokens.target, sign) {
        (Target::Php | Target::Swift, "[") => Some((Shape::Either, at)),
        (Target::Python | Target::TypeScript | Target::Ruby, "[") => Some((Shape::List, at)),
        (Target::Python | Target::TypeScript | Target::Ruby, "{") => Some((Shape::Map, at)),
        (Target::Rust, "[") if in_macro => Some((Shape::List, at)),
        (Target::Rust, "{") if in_macro => Some((Shape::Map, at)),
        (Target::Php, _) => (tokens.keyword(at, "array") && tokens.sign(at + 1) == "(").then_some((Shape::Either, at + 1)),
        (Target::Kotlin, _) => kotlin(tokens, at),
        (Target::Rust, _) => json_macro(tokens, at),
        (Target::Python | Target::TypeScript | Target::Swift | Target::Ruby, _) => None,
    }
}

/// `(object) [ … ]` of PHP: a map, even when it is empty.
fn php_object(tokens: &Tokens<'_>, at: usize) -> Option<usize> {
    let cast = tokens.target == Target::Php && tokens.keyword(at + 1, "object") && tokens.sign(at + 2) == ")";
    let open = at + 3 + usize::from(tokens.keyword(at + 3, "array"));
    (cast && tokens.sign(open) == if open == at + 3 { "[" } else { "(" }).then_some(open)
}

/// The functions of Kotlin that make maps and lists, with or without types.
fn kotlin(tokens: &Tokens<'_>, at: usize) -> Option<(Shape, usize)> {
    let shape = match tokens.name(at) {
        "mapOf" | "emptyMap" => Shape::Map,
        "listOf" | "emptyList" => Shape::List,
        _ => return None,
    };
    let open = after_types(tokens, at + 1);
    let fits = tokens.sign(open) == "(" && (tokens.name(at).ends_with("Of") || tokens.sign(open + 1) == ")");
    fits.then_some((shape, open))
}

/// Words of types in angle brackets; more are not looked at, so that a file of nothing but `<` takes no longer than others.
const MOST_TYPE_WORDS: usize = 256;

/// The place behind the types in angle brackets, if there are some.
pub(super) fn after_types(tokens: &Tokens<'_>, at: usize) -> usize {
    let (mut next, mut depth) = (at, 0_usize);
    for _ in 0..MOST_TYPE_WORDS {
        match tokens.sign(next) {
            "<" => depth += 1,
            ">" if depth > 0 => depth -= 1,
            _ if depth == 0 => return next,
            _ => {}
        }
        next = tokens.after(next);
        if depth == 0 {
            return next;
        }
    }
    at
}

/// `json!` or `serde_json::json!`.
fn json_macro(tokens: &Tokens<'_>, at: usize) -> Option<(Shape, usize)> {
    let path = tokens.name(at) == "serde_json" && tokens.sign(at + 1) == "::";
    let name = if path { at + 2 } else { at };
    let called = tokens.name(name) == "json" && tokens.sign(name + 1) == "!" && tokens.partner(name + 2).is_some();
    called.then_some((Shape::Group, name + 2))
}

/// The place behind what only speaks of types: `as const` of TypeScript, `as` with a type of Swift.
pub(super) fn after_casts(tokens: &Tokens<'_>, at: usize) -> usize {
    let mut next = at;
    while tokens.name(next) == "as" {
        let after = match tokens.target {
            Target::TypeScript if tokens.name(next + 1) == "const" => next + 2,
            Target::Swift => after_swift_type(tokens, next + 1),
            Target::Php | Target::Python | Target::TypeScript | Target::Kotlin | Target::Ruby | Target::Rust => next,
        };
        if after == next {
            return next;
        }
        next = after;
    }
    next
}

/// A name or a type in brackets, and whether it may be `nil`. What is no type leaves the place before `as`.
fn after_swift_type(tokens: &Tokens<'_>, at: usize) -> usize {
    let typed = !tokens.any_name(at).is_empty() || tokens.sign(at) == "[";
    if !typed {
        return at - 1;
    }
    let mut next = tokens.after(at);
    while matches!(tokens.sign(next), "?" | "??") {
        next += 1;
    }
    next
}
