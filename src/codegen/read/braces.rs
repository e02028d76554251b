//! Owns the classes of PHP, TypeScript, Kotlin and Swift: their heads, and the position of `definition`.

use serde_json::Value;

use super::super::{ClassKind, ReadError, Target};
use super::class::{Class, MOST_NAMESPACE};
use super::literal;
use super::method::{self, METHOD};
use super::token::Tokens;

/// Words before a class or a method.
const MODIFIERS: [&str; 29] = [
    "abstract",
    "actual",
    "async",
    "class",
    "data",
    "declare",
    "default",
    "expect",
    "export",
    "external",
    "fileprivate",
    "final",
    "infix",
    "inline",
    "inner",
    "internal",
    "open",
    "operator",
    "override",
    "private",
    "protected",
    "public",
    "readonly",
    "sealed",
    "static",
    "suspend",
    "tailrec",
    "unowned",
    "value",
];

/// The words before a place, on the lines of one declaration.
fn modifiers<'s>(tokens: &Tokens<'s>, at: usize) -> Vec<&'s str> {
    let mut found = Vec::new();
    let mut before = at;
    while before > 0 && MODIFIERS.iter().any(|word| tokens.keyword(before - 1, word)) && found.len() < MODIFIERS.len() {
        before -= 1;
        found.push(tokens.name(before));
    }
    found
}

fn has(tokens: &Tokens<'_>, words: &[&str], wanted: &str) -> bool {
    words.iter().any(|word| if tokens.target == Target::Php { word.eq_ignore_ascii_case(wanted) } else { *word == wanted })
}

/// A namespace in braces that is open.
struct Scope {
    end: usize,
    before: String,
}

/// All classes that stand in the file itself or in namespaces.
pub(super) fn classes(tokens: &Tokens<'_>) -> Vec<Class> {
    let (mut found, mut namespace, mut scopes) = (Vec::new(), String::new(), Vec::<Scope>::new());
    let mut at = 0;
    while at < tokens.end() {
        if let Some(scope) = scopes.pop_if(|scope| scope.end <= at) {
            namespace = scope.before;
            continue;
        }
        if let Some((name, open)) = begins_namespace(tokens, at) {
            let before = namespace.clone();
            match tokens.partner(open) {
                Some(end) if before.len() + name.len() < MOST_NAMESPACE => {
                    namespace = if tokens.target == Target::Php || before.is_empty() { name } else { format!("{before}.{name}") };
                    scopes.push(Scope { end, before });
                    at = open + 1;
                }
                Some(end) => at = end + 1,
                None => {
                    namespace = name;
                    at = open + 1;
                }
            }
        } else if let Some(class) = class(tokens, at, &namespace) {
            at = class.body.end.max(at + 1);
            found.push(class);
        } else {
            at = tokens.after(at);
        }
    }
    found
}

/// The name of the namespace that begins at a place, and where its words begin.
fn begins_namespace(tokens: &Tokens<'_>, at: usize) -> Option<(String, usize)> {
    let begins = match tokens.target {
        Target::Php => tokens.keyword(at, "namespace"),
        Target::Kotlin => tokens.name(at) == "package" && tokens.newline(at),
        Target::TypeScript => matches!(tokens.name(at), "namespace" | "module"),
        Target::Swift | Target::Python | Target::Ruby | Target::Rust => false,
    };
    if !begins {
        return None;
    }
    let (mut name, mut next) = (String::new(), at + 1);
    while !tokens.any_name(next).is_empty() && (next == at + 1 || tokens.sign(next - 1) == ".") {
        if name.len() > MOST_NAMESPACE {
            return None;
        }
        name.push_str(tokens.any_name(next));
        let more = tokens.sign(next + 1) == "." && !tokens.any_name(next + 2).is_empty();
        if more {
            name.push('.');
        }
        next += if more { 2 } else { 1 };
    }
    if name.len() > MOST_NAMESPACE {
        return None;
    }
    match (tokens.target, tokens.sign(next)) {
        (Target::Php, ";" | "{") | (Target::TypeScript, "{") => Some((name, next)),
        (Target::Kotlin, _) if !name.is_empty() => Some((name, next - 1)),
        (Target::Php | Target::TypeScript | Target::Kotlin | Target::Swift | Target::Python | Target::Ruby | Target::Rust, _) => None,
    }
}

/// The class that a keyword at a place begins.
fn class(tokens: &Tokens<'_>, at: usize, namespace: &str) -> Option<Class> {
    let keyword = match tokens.target {
        Target::Swift => matches!(tokens.name(at), "class" | "struct" | "enum" | "actor"),
        Target::Php | Target::TypeScript | Target::Kotlin => tokens.keyword(at, "class"),
        Target::Python | Target::Ruby | Target::Rust => false,
    };
    let name = tokens.any_name(at + 1);
    let before = at.checked_sub(1).map_or("", |before| tokens.word(before));
    let other = matches!(before, "::" | "->" | "?->" | "." | "?." | "import") || tokens.keyword(at.wrapping_sub(1), "new");
    if !keyword || name.is_empty() || other || matches!(tokens.name(at + 1), "extends" | "implements") {
        return None;
    }
    let words = modifiers(tokens, at);
    let is_abstract = has(tokens, &words, "abstract") || has(tokens, &words, "sealed");
    let (kinds, open) = head(tokens, at + 2);
    let body = match tokens.partner(open).filter(|_| tokens.sign(open) == "{") {
        Some(close) => open + 1..close,
        None => open..open,
    };
    Some(Class { name: name.to_owned(), namespace: namespace.to_owned(), at: at + 1, kinds, is_abstract, body, methods: Vec::new() })
}

/// The contracts that the head of a class declares, and where its body opens or the head ends.
fn head(tokens: &Tokens<'_>, at: usize) -> (Vec<ClassKind>, usize) {
    let (mut kinds, mut listed, mut ended, mut angles, mut next) = (Vec::new(), false, false, 0_usize, at);
    while next < tokens.end() {
        match tokens.sign(next) {
            "<" => angles += 1,
            ">" => angles = angles.saturating_sub(1),
            "{" if angles == 0 => break,
            ";" | "}" => break,
            ":" if angles == 0 => listed |= matches!(tokens.target, Target::Kotlin | Target::Swift),
            "," if angles == 0 && tokens.target == Target::Kotlin => listed = true,
            _ if angles > 0 => {}
            _ if tokens.target == Target::Kotlin && next > at && ends_head(tokens, next) => break,
            _ if ended => {}
            _ if tokens.keyword(next, "implements") => listed = true,
            _ if tokens.name(next) == "by" => listed = false,
            _ if tokens.name(next) == "where" => ended = true,
            _ => {
                let last = tokens.sign(next + 1) != ".";
                let kind = ClassKind::of_contract(tokens.any_name(next)).filter(|kind| listed && last && !kinds.contains(kind));
                kinds.extend(kind);
            }
        }
        next = tokens.after(next);
    }
    (kinds, next)
}

/// A class of Kotlin without a body ends with its line.
fn ends_head(tokens: &Tokens<'_>, at: usize) -> bool {
    let goes_on = matches!(tokens.sign(at - 1), "," | ":" | ".") || matches!(tokens.sign(at), "," | ":" | "." | "(");
    tokens.newline(at) && !goes_on && !matches!(tokens.name(at), "where" | "by" | "constructor")
}

/// What `definition` of a class returns.
pub(super) fn definition(tokens: &Tokens<'_>, class: &Class) -> Result<Value, ReadError> {
    let (place, is_static) = match tokens.target {
        Target::Kotlin => kotlin_method(tokens, class)?,
        Target::Php | Target::TypeScript | Target::Swift | Target::Python | Target::Ruby | Target::Rust => {
            let place = method::only(tokens, class.at, &methods(tokens, class.body.start, class.body.end))?;
            let keyword = if tokens.target == Target::TypeScript { place } else { place - 1 - usize::from(tokens.sign(place - 1) == "&") };
            let words = modifiers(tokens, keyword);
            let is_static = has(tokens, &words, "static") || (tokens.target == Target::Swift && has(tokens, &words, "class"));
            (place, is_static && !has(tokens, &words, "abstract") && !has(tokens, &words, "async"))
        }
    };
    if !is_static {
        return Err(method::not_static(tokens, place, "is no static method"));
    }
    let next = method::after_arguments(tokens, place)?;
    let open = body(tokens, next, class.body.end);
    match tokens.sign(open) {
        "{" => method::returned(tokens, open, tokens.target == Target::Swift),
        "=" => expression(tokens, open, class.body.end),
        _ => Err(method::not_static(tokens, place, "has no body")),
    }
}

/// The places of the method's name among the members between two places.
fn methods(tokens: &Tokens<'_>, start: usize, end: usize) -> Vec<usize> {
    let (mut found, mut at) = (Vec::new(), start);
    while at < end {
        if tokens.any_name(at) == METHOD && at > 0 && is_method(tokens, at, start) {
            found.push(at);
        }
        at = tokens.after(at);
    }
    found
}

fn is_method(tokens: &Tokens<'_>, at: usize, start: usize) -> bool {
    match tokens.target {
        Target::Php => tokens.keyword(at - 1, "function") || (tokens.sign(at - 1) == "&" && tokens.keyword(at - 2, "function")),
        Target::Kotlin => tokens.name(at - 1) == "fun",
        Target::Swift => tokens.name(at - 1) == "func",
        Target::TypeScript => {
            let first = at - modifiers(tokens, at).len();
            let begins = first <= start || tokens.newline(first) || matches!(tokens.sign(first - 1), ";" | "}");
            begins && matches!(tokens.sign(at + 1), "(" | "<" | "=" | ":" | "?" | "!" | ";")
        }
        Target::Python | Target::Ruby | Target::Rust => false,
    }
}

/// The method in the companion object; one in the class itself is not static.
fn kotlin_method(tokens: &Tokens<'_>, class: &Class) -> Result<(usize, bool), ReadError> {
    let end = class.body.end;
    let companion = tokens.find(class.body.start, end, |at| tokens.name(at) == "companion" && tokens.name(at + 1) == "object");
    let open = companion.and_then(|at| tokens.find(at, end, |at| tokens.sign(at) == "{"));
    let inner = open.and_then(|open| tokens.partner(open).map(|close| methods(tokens, open + 1, close))).unwrap_or_default();
    if inner.is_empty()
        && let Some(own) = methods(tokens, class.body.start, end).first()
    {
        return Ok((*own, false));
    }
    method::only(tokens, class.at, &inner).map(|place| (place, true))
}

/// Where the body of a method opens, behind its type.
fn body(tokens: &Tokens<'_>, at: usize, end: usize) -> usize {
    let (mut next, mut angles) = (at, 0_usize);
    while next < end {
        match tokens.sign(next) {
            "<" => angles += 1,
            ">" => angles = angles.saturating_sub(1),
            // An object type of TypeScript stands where a type is expected.
            "{" if tokens.target == Target::TypeScript && matches!(tokens.sign(next - 1), ":" | "|" | "&" | "=>") => {}
            "{" | "=" | ";" if angles == 0 => return next,
            _ => {}
        }
        next = tokens.after(next);
    }
    end
}

/// The map that a method of Kotlin is equal to.
fn expression(tokens: &Tokens<'_>, equals: usize, end: usize) -> Result<Value, ReadError> {
    let (members, next) = method::map(tokens, equals + 1)?;
    let closes = matches!(tokens.sign(next), ";" | "}");
    let another = tokens.newline(next) && (!tokens.any_name(next).is_empty() || tokens.sign(next) == "@") && tokens.name(next) != "as";
    if next <= end && (closes || another) { Ok(Value::Object(members)) } else { Err(literal::unexpected(tokens, next)) }
}
