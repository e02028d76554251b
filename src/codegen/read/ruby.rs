//! Owns the classes of Ruby: blocks up to `end`, included modules, and the position of `definition`.

use serde_json::Value;

use super::super::{ClassKind, ReadError};
use super::class::{Class, MOST_NAMESPACE};
use super::literal;
use super::method::{self, METHOD};
use super::token::{Kind, Tokens};

/// A block that an `end` closes.
enum Block {
    /// A module, with the length of the path before it.
    Module(usize),
    /// A class, by its number, with the length of the path before it.
    Class(usize, usize),
    /// `class << self` in a class.
    Singleton(usize),
    Other,
}

/// All classes of the file and of its modules.
pub(super) fn classes(tokens: &Tokens<'_>) -> Vec<Class> {
    let mut found = Found { tokens, classes: Vec::new(), blocks: Vec::new(), path: String::new(), loops: false };
    let mut at = 0;
    while at < tokens.end() {
        if tokens.newline(at) {
            found.loops = false;
        }
        at = found.word(at);
    }
    for block in std::mem::take(&mut found.blocks) {
        found.close(&block, tokens.end());
    }
    found.classes
}

struct Found<'t, 's> {
    tokens: &'t Tokens<'s>,
    classes: Vec<Class>,
    blocks: Vec<Block>,
    /// The modules and classes that are open, joined.
    path: String,
    /// `while`, `until` or `for` began on this line: its `do` opens nothing more.
    loops: bool,
}

/// Does a statement begin here?
fn begins(tokens: &Tokens<'_>, at: usize) -> bool {
    at == 0
        || tokens.newline(at)
        || tokens.sign(at - 1) == ";"
        || matches!(tokens.name(at - 1), "then" | "do" | "else" | "begin" | "ensure")
}

/// Could a value begin here, so that `if` opens a block and belongs to nothing before it?
fn begins_value(tokens: &Tokens<'_>, at: usize) -> bool {
    let before = at.wrapping_sub(1);
    let operator = !matches!(tokens.sign(before), "" | ")" | "]" | "}");
    begins(tokens, at) || operator || matches!(tokens.name(before), "return" | "and" | "or" | "not" | "when" | "in" | "if" | "unless")
}

impl Found<'_, '_> {
    /// Looks at the word at a place; the next place.
    fn word(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        let member = at > 0 && matches!(tokens.sign(at - 1), "." | "&." | "::");
        let label = tokens.sign(at + 1) == ":" && tokens.token(at + 1).start == tokens.token(at).end;
        let symbol = at > 0 && tokens.sign(at - 1) == ":" && tokens.token(at - 1).end == tokens.token(at).start;
        if member || label || symbol {
            return tokens.after(at);
        }
        match tokens.name(at) {
            "module" if begins(tokens, at) => self.module(at),
            "class" if begins_value(tokens, at) => self.class(at),
            "def" => self.method(at),
            "include" if begins(tokens, at) => self.include(at),
            "begin" | "case" => self.open(at),
            "if" | "unless" if begins_value(tokens, at) => self.open(at),
            "while" | "until" | "for" if begins_value(tokens, at) => {
                self.loops = true;
                self.open(at)
            }
            "do" if !std::mem::take(&mut self.loops) => self.open(at),
            "end" => {
                if let Some(block) = self.blocks.pop() {
                    self.close(&block, at);
                }
                at + 1
            }
            _ => tokens.after(at),
        }
    }

    fn open(&mut self, at: usize) -> usize {
        self.blocks.push(Block::Other);
        at + 1
    }

    fn close(&mut self, block: &Block, at: usize) {
        match block {
            Block::Module(path) => self.path.truncate(*path),
            Block::Class(number, path) => {
                self.path.truncate(*path);
                if let Some(class) = self.classes.get_mut(*number) {
                    class.body.end = at;
                }
            }
            Block::Singleton(_) | Block::Other => {}
        }
    }

    /// The name at a place with what is before `::`, and the place behind it.
    fn name(&self, at: usize) -> (String, usize) {
        let tokens = self.tokens;
        let (mut name, mut next) = (tokens.name(at).to_owned(), at + 1);
        while tokens.sign(next) == "::" && !tokens.name(next + 1).is_empty() {
            name.push_str("::");
            name.push_str(tokens.name(next + 1));
            next += 2;
        }
        (name, next)
    }

    /// Makes a path longer; the length that it had.
    fn enter(&mut self, name: &str) -> usize {
        let before = self.path.len();
        if before > 0 {
            self.path.push_str("::");
        }
        self.path.push_str(name);
        before
    }

    /// Is everything that is open a module or a class?
    fn in_names(&self) -> bool {
        matches!(self.blocks.last(), None | Some(Block::Module(_) | Block::Class(..)))
    }

    fn module(&mut self, at: usize) -> usize {
        let (name, next) = self.name(at + 1);
        if !self.in_names() || self.path.len() + name.len() > MOST_NAMESPACE {
            return self.open(at);
        }
        let before = self.enter(&name);
        self.blocks.push(Block::Module(before));
        next
    }

    fn class(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        if tokens.sign(at + 1) == "<" {
            let own = tokens.name(at + 3) == "self";
            self.blocks.push(match self.blocks.last() {
                Some(Block::Class(number, _)) if own => Block::Singleton(*number),
                None | Some(Block::Module(_) | Block::Class(..) | Block::Singleton(_) | Block::Other) => Block::Other,
            });
            return at + 4;
        }
        let (name, next) = self.name(at + 1);
        if name.is_empty() || !self.in_names() || self.path.len() + name.len() > MOST_NAMESPACE {
            return self.open(at);
        }
        let before = self.enter(&name);
        let full = &self.path;
        let (namespace, short) = full.rsplit_once("::").unwrap_or(("", full));
        let (name, namespace) = (short.to_owned(), namespace.to_owned());
        self.blocks.push(Block::Class(self.classes.len(), before));
        let (kinds, methods) = (Vec::new(), Vec::new());
        self.classes.push(Class { name, namespace, at: at + 1, kinds, is_abstract: false, body: next..next, methods });
        next
    }

    /// A method; one without an `end` is equal to a value.
    fn method(&mut self, at: usize) -> usize {
        let tokens = self.tokens;
        let own = tokens.name(at + 1) == "self" && tokens.sign(at + 2) == ".";
        let name = if own { at + 3 } else { at + 1 };
        let class = match self.blocks.last() {
            Some(Block::Class(number, _)) if own => Some(*number),
            Some(Block::Singleton(number)) if !own => Some(*number),
            None | Some(Block::Module(_) | Block::Class(..) | Block::Singleton(_) | Block::Other) => None,
        };
        if let Some(class) = class.and_then(|number| self.classes.get_mut(number)).filter(|_| tokens.name(name) == METHOD) {
            class.methods.push(name);
        }
        let after = if tokens.sign(name + 1) == "(" { tokens.after(name + 1) } else { name + 1 };
        let endless =
            tokens.sign(after) == "=" && !tokens.newline(after) && (after > name + 1 || tokens.token(name).end < tokens.token(after).start);
        if !endless {
            self.blocks.push(Block::Other);
        }
        after
    }

    /// The modules that a class includes.
    fn include(&mut self, at: usize) -> usize {
        let Some(Block::Class(number, _)) = self.blocks.last() else { return at + 1 };
        let Some(class) = self.classes.get_mut(*number) else { return at + 1 };
        let tokens = self.tokens;
        let listed = |at: usize| !tokens.name(at).is_empty() || matches!(tokens.sign(at), "," | "::");
        let mut next = at + 1;
        if tokens.sign(next) == "(" {
            next += 1;
        }
        while listed(next) && (!tokens.newline(next) || tokens.sign(next - 1) == ",") {
            let last = tokens.sign(next + 1) != "::";
            let kind = ClassKind::of_contract(tokens.name(next)).filter(|kind| last && !class.kinds.contains(kind));
            class.kinds.extend(kind);
            next += 1;
        }
        next
    }
}

/// What `definition` of a class returns.
pub(super) fn definition(tokens: &Tokens<'_>, class: &Class) -> Result<Value, ReadError> {
    if class.methods.is_empty()
        && let Some(own) =
            tokens.find(class.body.start, class.body.end, |at| tokens.name(at) == METHOD && tokens.name(at.wrapping_sub(1)) == "def")
    {
        return Err(method::not_static(tokens, own, "is no static method: `def self.definition`"));
    }
    let place = method::only(tokens, class.at, &class.methods)?;
    let next = match tokens.sign(place + 1) {
        "(" => method::after_arguments(tokens, place)?,
        _ => place + 1,
    };
    if tokens.sign(next) == "=" && !tokens.newline(next) {
        let (members, after) = method::map(tokens, next + 1)?;
        let ends = (tokens.newline(after) || tokens.sign(after) == ";") && !matches!(tokens.sign(after), "." | "&.");
        return if ends { Ok(Value::Object(members)) } else { Err(literal::unexpected(tokens, after)) };
    }
    if !tokens.newline(next) && tokens.sign(next) != ";" {
        return Err(method::not_static(tokens, place, "takes arguments"));
    }
    let at = next + usize::from(tokens.sign(next) == ";");
    let returns = tokens.name(at) == "return";
    if returns && tokens.newline(at + 1) {
        return Err(method::not_static(tokens, at, "returns nothing: the line ends behind `return`"));
    }
    let at = at + usize::from(returns);
    if !returns && tokens.kind(at) == Kind::Name {
        return Err(method::not_one(tokens, at));
    }
    let (members, after) = method::map(tokens, at)?;
    let after = after + usize::from(tokens.sign(after) == ";");
    if tokens.name(after) == "end" && (tokens.newline(after) || tokens.sign(after - 1) == ";" || tokens.sign(after - 1) == "}") {
        return Ok(Value::Object(members));
    }
    Err(if tokens.newline(after) && !matches!(tokens.sign(after), "." | "&.") {
        method::not_one(tokens, after)
    } else {
        literal::unexpected(tokens, after)
    })
}
