//! Owns the classes of a file, and the choice of the requested one.

use std::ops::Range;

use super::super::{ClassKind, ReadError, Reason, Target};
use super::token::Tokens;
use super::{braces, python, ruby, rust};

/// Bytes of a namespace; classes in longer ones are not looked for.
pub(super) const MOST_NAMESPACE: usize = 255;

/// A class of a file.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub(super) name: String,
    /// As the language writes it; empty where there is none.
    pub(super) namespace: String,
    /// Where its name stands.
    pub(super) at: usize,
    /// The contracts that it declares.
    pub(super) kinds: Vec<ClassKind>,
    pub(super) is_abstract: bool,
    /// The words between its braces, or in its block.
    pub(super) body: Range<usize>,
    /// Where `definition` stands, for languages that find it on the way.
    pub(super) methods: Vec<usize>,
}

impl Class {
    pub(super) fn full(&self, target: Target) -> String {
        if self.namespace.is_empty() { self.name.clone() } else { [&self.namespace, target.separator(), &self.name].concat() }
    }

    /// Is it called so? A namespace may be left out; where the file says none, any is right.
    fn is_called(&self, target: Target, wanted: &str) -> bool {
        let last = wanted.rsplit(target.separator()).next().unwrap_or(wanted);
        self.name == wanted || (self.name == last && (self.namespace.is_empty() || self.full(target) == wanted))
    }
}

/// All classes of a file that are no parts of others.
pub(super) fn all(tokens: &Tokens<'_>) -> Vec<Class> {
    match tokens.target {
        Target::Php | Target::TypeScript | Target::Kotlin | Target::Swift => braces::classes(tokens),
        Target::Python => python::classes(tokens),
        Target::Ruby => ruby::classes(tokens),
        Target::Rust => rust::classes(tokens),
    }
}

/// Where the value of `definition` begins in a class, checked as far as the literal goes.
pub(super) fn definition(tokens: &Tokens<'_>, class: &Class) -> Result<serde_json::Value, ReadError> {
    match tokens.target {
        Target::Php | Target::TypeScript | Target::Kotlin | Target::Swift => braces::definition(tokens, class),
        Target::Python => python::definition(tokens, class),
        Target::Ruby => ruby::definition(tokens, class),
        Target::Rust => rust::definition(tokens, class),
    }
}

fn contracts() -> String {
    ClassKind::ALL.map(|kind| format!("`{}`", kind.contract())).join(", ")
}

/// The class of a name, or the only one with a contract.
pub(super) fn choose<'c>(tokens: &Tokens<'_>, classes: &'c [Class], wanted: Option<&str>) -> Result<(&'c Class, ClassKind), ReadError> {
    let class = match wanted {
        Some(wanted) => named(tokens, classes, wanted.trim_start_matches('\\'))?,
        None => only(tokens, classes)?,
    };
    if class.is_abstract {
        return Err(tokens.fault(class.at, Reason::ContractMissing, format!("the class `{}` is abstract", class.name)));
    }
    match class.kinds.as_slice() {
        [kind] => Ok((class, *kind)),
        [] => {
            let told = format!("the class `{}` does not declare a contract: one of {}", class.name, contracts());
            Err(tokens.fault(class.at, Reason::ContractMissing, told))
        }
        [..] => Err(tokens.fault(class.at, Reason::Ambiguous, format!("the class `{}` declares more than one contract", class.name))),
    }
}

fn named<'c>(tokens: &Tokens<'_>, classes: &'c [Class], wanted: &str) -> Result<&'c Class, ReadError> {
    let found: Vec<&Class> = classes.iter().filter(|class| class.is_called(tokens.target, wanted)).collect();
    let mut exact = found.iter().filter(|class| class.full(tokens.target) == wanted);
    match (found.as_slice(), exact.next(), exact.next()) {
        ([], ..) => Err(tokens.fault(0, Reason::ClassNotFound, format!("there is no class `{wanted}`"))),
        ([one], ..) | (_, Some(one), None) => Ok(one),
        ([_, second, ..], ..) => Err(tokens.fault(second.at, Reason::Ambiguous, format!("there is more than one class `{wanted}`"))),
    }
}

fn only<'c>(tokens: &Tokens<'_>, classes: &'c [Class]) -> Result<&'c Class, ReadError> {
    let mut fit = classes.iter().filter(|class| !class.is_abstract && !class.kinds.is_empty());
    match (fit.next(), fit.next()) {
        (Some(one), None) => Ok(one),
        (Some(one), Some(second)) => {
            let told = format!("`{}` and `{}` both declare a contract; name one of them", one.name, second.name);
            Err(tokens.fault(second.at, Reason::Ambiguous, told))
        }
        (None, _) => {
            let almost = classes.iter().find(|class| !class.kinds.is_empty()).or_else(|| classes.first());
            almost.ok_or_else(|| tokens.fault(0, Reason::ClassNotFound, "there is no class"))
        }
    }
}
