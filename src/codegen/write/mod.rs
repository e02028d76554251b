//! Owns writing a definition as a class of a language: its names, the order of its keys, the file around it.

mod escape;
mod kotlin;
mod literal;
mod names;
mod php;
mod python;
mod ruby;
mod rust;
mod skeleton;
mod swift;
#[cfg(test)]
mod tests;
mod typescript;

use serde_json::{Map, Value};

use super::{ClassKind, SourceFile, Target};
use literal::Syntax;
use names::Names;
pub use skeleton::skeleton;

/// Objects and arrays inside each other, at most.
pub const DEPTH: usize = 96;

/// Why a definition cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The definition has no slug that gives a class name.
    #[error("the definition has no `slug` of lower-case words and digits joined by single hyphens")]
    NoName,
    /// The namespace is none of the language.
    #[error("`export_namespace` gives no namespace in {language}: `{namespace}`")]
    Namespace {
        /// The language.
        language: &'static str,
        /// As it is configured.
        namespace: String,
    },
    /// It is nested too deeply.
    #[error("the definition has more than {DEPTH} objects and arrays inside each other")]
    TooDeep,
    /// A number that the language has no literal for.
    #[error("{language} has no literal for the number {number}")]
    Number {
        /// The language.
        language: &'static str,
        /// The number.
        number: String,
    },
}

/// What a file is made of.
struct Parts<'a> {
    names: &'a Names,
    kind: ClassKind,
    /// What the header says.
    header: String,
    definition: &'a Value,
}

/// The file of a definition; a pure function of what it is given.
///
/// # Errors
/// The definition has no slug, is nested too deeply or has a number that the language cannot write; the namespace is none.
pub fn write(target: Target, kind: ClassKind, definition: &Value, namespace: &str) -> Result<SourceFile, WriteError> {
    let slug = definition.get("slug").and_then(Value::as_str).unwrap_or_default();
    let names = Names::of(target, kind, slug, namespace)?;
    if !fits(definition, DEPTH) {
        return Err(WriteError::TooDeep);
    }
    let syntax = syntax(target);
    if let Some(number) = syntax.unwritable(definition) {
        return Err(WriteError::Number { language: target.name(), number });
    }
    let definition = ordered(kind, definition);
    let header = format!("Workflow Studio: {} {slug}. An export writes this file anew.", kind.name());
    let parts = Parts { names: &names, kind, header, definition: &definition };
    let text = match target {
        Target::Php => php::file(&parts),
        Target::Python => python::file(&parts),
        Target::TypeScript => typescript::file(&parts),
        Target::Kotlin => kotlin::file(&parts),
        Target::Swift => swift::file(&parts),
        Target::Ruby => ruby::file(&parts),
        Target::Rust => rust::file(&parts),
    };
    Ok(SourceFile { path: names.path, namespace: names.namespace, class: names.class, text })
}

const fn syntax(target: Target) -> &'static Syntax {
    match target {
        Target::Php => &php::SYNTAX,
        Target::Python => &python::SYNTAX,
        Target::TypeScript => &typescript::SYNTAX,
        Target::Kotlin => &kotlin::SYNTAX,
        Target::Swift => &swift::SYNTAX,
        Target::Ruby => &ruby::SYNTAX,
        Target::Rust => &rust::SYNTAX,
    }
}

/// The keys of a class's definition, in their order.
pub(super) const fn keys(kind: ClassKind) -> &'static [&'static str] {
    match kind {
        ClassKind::Workflow => &["slug", "name", "description", "graph", "state_schema", "tags", "metadata", "agents"],
        ClassKind::Agent => &[
            "slug", "name", "description", "provider", "model", "credential", "instructions", "tools", "require_tool_approval",
            "tool_max_runs", "parallel_tool_calls", "on_length", "on_tool_limit", "stream_approval",
            "parameters", "fallbacks", "output_schema", "schema", "memory_config", "tags", "metadata",
        ],
        ClassKind::Tool => &[
            "slug", "name", "description", "kind", "input_schema", "config", "require_approval", "idempotent", "timeout_ms", "tags",
            "metadata",
        ],
    }
}

/// The dotted paths of the keys that no definition of this kind has, those of the agents that a workflow brings along included.
pub fn unknown(kind: ClassKind, definition: &Map<String, Value>) -> Vec<String> {
    let mut found: Vec<String> = definition.keys().filter(|key| !keys(kind).contains(&key.as_str())).cloned().collect();
    let agents = definition.get("agents").filter(|_| kind == ClassKind::Workflow).and_then(Value::as_object);
    for (slug, agent) in agents.into_iter().flatten().filter_map(|(slug, agent)| Some((slug, agent.as_object()?))) {
        found.extend(unknown(ClassKind::Agent, agent).into_iter().map(|key| format!("agents.{slug}.{key}")));
    }
    found
}

/// A definition with its keys in the order of its kind; those that are null are left out, others stay at the end.
pub fn ordered(kind: ClassKind, definition: &Value) -> Value {
    let Some(given) = definition.as_object() else { return definition.clone() };
    let mut out = Map::with_capacity(given.len());
    let known = keys(kind).iter().filter_map(|key| given.get_key_value(*key));
    let others = given.iter().filter(|(key, _)| !keys(kind).contains(&key.as_str()));
    out.extend(known.chain(others).filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.clone(), value.clone())));
    if kind == ClassKind::Workflow && let Some(Value::Object(agents)) = out.get_mut("agents") {
        agents.values_mut().for_each(|agent| *agent = ordered(ClassKind::Agent, agent));
    }
    Value::Object(out)
}

/// Are at most so many objects and arrays inside each other?
fn fits(value: &Value, deep: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(items) => deep > 0 && items.iter().all(|item| fits(item, deep - 1)),
        Value::Object(members) => deep > 0 && members.values().all(|member| fits(member, deep - 1)),
    }
}
