//! Owns the names of a class: the class itself, its namespace, the path of its file.

use super::WriteError;
use crate::codegen::{ClassKind, Target};
use crate::model::ids::is_slug;

/// The names of one class.
pub(super) struct Names {
    /// Without a namespace.
    pub(super) class: String,
    /// As the language writes it; empty where it has none.
    pub(super) namespace: String,
    /// The parts of the namespace.
    pub(super) parts: Vec<String>,
    /// Below the export path.
    pub(super) path: String,
    /// The contract as this file has to name it.
    pub(super) collides: bool,
}

impl Names {
    /// The names that a slug gives.
    pub(super) fn of(target: Target, kind: ClassKind, slug: &str, namespace: &str) -> Result<Self, WriteError> {
        if !is_slug(slug) {
            return Err(WriteError::NoName);
        }
        let class = format!("{}{}", camel(slug), kind.suffix());
        let parts = namespace_of(target, kind, namespace)?;
        let file = if in_snake_case(target) { format!("{}_{}", snake(slug), kind.name()) } else { class.clone() };
        let path = format!("{}/{file}.{}", folder(target, kind), target.extension());
        Ok(Self { namespace: parts.join(target.separator()), parts, path, collides: class == kind.contract(), class })
    }
}

/// `lead-triage` as `LeadTriage`.
fn camel(slug: &str) -> String {
    let words = slug.split('-').filter(|word| !word.is_empty());
    let joined: String = words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect();
    if joined.starts_with(|first: char| first.is_ascii_digit()) { format!("N{joined}") } else { joined }
}

/// `lead-triage` as `lead_triage`; modules begin with a letter, as classes do.
fn snake(slug: &str) -> String {
    let joined = slug.replace('-', "_");
    if joined.starts_with(|first: char| first.is_ascii_digit()) { format!("n{joined}") } else { joined }
}

const fn in_snake_case(target: Target) -> bool {
    match target {
        Target::Python | Target::Ruby | Target::Rust => true,
        Target::Php | Target::TypeScript | Target::Kotlin | Target::Swift => false,
    }
}

/// The folder of a kind of classes: `Workflows` or `workflows`.
fn folder(target: Target, kind: ClassKind) -> String {
    let many = format!("{}s", kind.suffix());
    match target {
        Target::Php | Target::Swift => many,
        Target::Python | Target::TypeScript | Target::Kotlin | Target::Ruby | Target::Rust => many.to_ascii_lowercase(),
    }
}

/// The parts of the namespace of a kind of classes.
fn namespace_of(target: Target, kind: ClassKind, namespace: &str) -> Result<Vec<String>, WriteError> {
    let refuse = || WriteError::Namespace { language: target.name(), namespace: namespace.to_owned() };
    let last = format!("{}s", kind.suffix());
    let given = namespace.split(['\\', '.', ':', '/']).filter(|part| !part.is_empty());
    let parts: Vec<String> = given.map(str::to_owned).chain([last]).collect();
    if !parts.iter().all(|part| is_word(part)) {
        return Err(refuse());
    }
    match target {
        Target::TypeScript | Target::Swift | Target::Rust => Ok(Vec::new()),
        Target::Php if parts[0].eq_ignore_ascii_case("namespace") => Err(refuse()),
        Target::Php => Ok(parts),
        Target::Python | Target::Kotlin => Ok(parts.iter().map(|part| part.to_ascii_lowercase()).collect()),
        Target::Ruby => {
            let parts: Vec<String> = parts.iter().map(|part| part[..1].to_ascii_uppercase() + &part[1..]).collect();
            let constant = |part: &String| part.starts_with(|first: char| first.is_ascii_uppercase()) && part != "BEGIN" && part != "END";
            if parts.iter().all(constant) { Ok(parts) } else { Err(refuse()) }
        }
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
