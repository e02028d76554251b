//! Owns the classes of Rust: types with an `impl` of a contract.

use std::collections::HashMap;

use serde_json::Value;

use super::super::{ClassKind, ReadError};
use super::class::{Class, MOST_NAMESPACE};
use super::forms;
use super::method::{self, METHOD};
use super::token::Tokens;

/// All types of the file and of its modules.
pub(super) fn classes(tokens: &Tokens<'_>) -> Vec<Class> {
    let mut found = Found { tokens, classes: Vec::new(), places: HashMap::new(), modules: Vec::new() };
    let mut at = 0;
    while at < tokens.end() {
        while found.modules.pop_if(|(end, _)| *end <= at).is_some() {}
        at = found.item(at);
    }
    found.classes
}

struct Found<'t, 's> {
    tokens: &'t Tokens<'s>,
    classes: Vec<Class>,
    /// The classes by their full names.
    places: HashMap<String, usize>,
    /// The modules that are open: where each ends, and its path.
    modules: Vec<(usize, String)>,
}

impl Found<'_, '_> {
    /// Looks at the item at a place; the place behind it.
    fn item(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        match tokens.name(at) {
            "mod" if tokens.sign(at + 2) == "{" => {
                let name = tokens.name(at + 1);
                let path = self.modules.last().map_or_else(|| name.to_owned(), |(_, outer)| format!("{outer}::{name}"));
                if path.len() > MOST_NAMESPACE {
                    return tokens.after(at + 2);
                }
                self.modules.push((tokens.partner(at + 2).unwrap_or(at + 2), path));
                at + 3
            }
            "struct" | "enum" | "union" if !tokens.name(at + 1).is_empty() => {
                self.class(tokens.name(at + 1), at + 1);
                at + 2
            }
            "impl" if !is_type(tokens, at) => self.implementation(at),
            _ => tokens.after(at),
        }
    }

    /// The class of a name, made when it was not seen.
    fn class(&mut self, name: &str, at: usize) -> &mut Class {
        let namespace = self.modules.last().map(|(_, path)| path.clone()).unwrap_or_default();
        let place = *self.places.entry(format!("{namespace}::{name}")).or_insert(self.classes.len());
        if place == self.classes.len() {
            let (kinds, methods, name) = (Vec::new(), Vec::new(), name.to_owned());
            self.classes.push(Class { name, namespace, at, kinds, is_abstract: false, body: at..at, methods });
        }
        &mut self.classes[place]
    }

    /// An `impl`: the contract before `for`, the type behind it.
    fn implementation(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        let (mut next, mut last, mut contract) = (forms::after_types(tokens, at + 1), at, None);
        while next < tokens.end() && !matches!(tokens.sign(next), "{" | ";") && tokens.name(next) != "where" {
            if tokens.name(next) == "for" {
                contract = Some(last);
            } else if !tokens.name(next).is_empty() {
                last = next;
            }
            next = if tokens.sign(next) == "<" { forms::after_types(tokens, next).max(next + 1) } else { tokens.after(next) };
        }
        // What ends without a block is no `impl`; the file is read on behind what was looked at.
        let open = tokens.find(next, tokens.end(), |at| matches!(tokens.sign(at), "{" | ";" | "}")).unwrap_or_else(|| tokens.end());
        let Some(close) = tokens.partner(open).filter(|close| *close > open) else { return open + 1 };
        let kind = contract.and_then(|contract| ClassKind::of_contract(tokens.name(contract)));
        if let Some(kind) = kind.filter(|_| !tokens.name(last).is_empty()) {
            let class = self.class(tokens.name(last), last);
            class.kinds.push(kind);
            class.body = open + 1..close;
        }
        close + 1
    }
}

/// Does `impl` stand for a type here, and begins no block?
fn is_type(tokens: &Tokens<'_>, at: usize) -> bool {
    at > 0 && matches!(tokens.sign(at - 1), "->" | "=" | ":" | "&" | "+" | "<" | "," | "(")
}

/// What `definition` of a type returns.
pub(super) fn definition(tokens: &Tokens<'_>, class: &Class) -> Result<Value, ReadError> {
    let (mut found, mut at) = (Vec::new(), class.body.start);
    while at < class.body.end {
        if tokens.name(at) == METHOD && at > 0 && tokens.name(at - 1) == "fn" {
            found.push(at);
        }
        at = tokens.after(at);
    }
    let place = method::only(tokens, class.at, &found)?;
    let next = method::after_arguments(tokens, place)?;
    let open = tokens.find(next, class.body.end, |at| matches!(tokens.sign(at), "{" | ";"));
    match open.filter(|open| tokens.sign(*open) == "{") {
        Some(open) if tokens.name(place.saturating_sub(2)) != "async" => method::returned(tokens, open, true),
        Some(_) => Err(method::not_static(tokens, place, "is no plain method")),
        None => Err(method::not_static(tokens, place, "has no body")),
    }
}
