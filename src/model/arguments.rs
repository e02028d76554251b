//! Owns JSON in node fields that is filled from the state: templates in its texts, and `$path` for whole values.

use serde_json::{Map, Value};

use super::path::Path;
use super::state::State;
use super::template_text::{System, Template};

/// A compiled JSON object.
#[derive(Clone, Debug, Default)]
pub struct Arguments(Vec<(String, Argument)>);

#[derive(Clone, Debug)]
enum Argument {
    Literal(Value),
    Text(Template),
    Path(Path),
    List(Vec<Self>),
    Object(Arguments),
}

impl Arguments {
    /// Texts are templates; `$path` is the value there with its type; `$$…` is `$…`.
    #[must_use]
    pub fn with_references(fields: &Map<String, Value>) -> Self {
        Self::compile(fields, true)
    }

    /// Texts are templates.
    #[must_use]
    pub fn with_templates(fields: &Map<String, Value>) -> Self {
        Self::compile(fields, false)
    }

    fn compile(fields: &Map<String, Value>, references: bool) -> Self {
        Self(fields.iter().map(|(name, value)| (name.clone(), Argument::compile(value, references))).collect())
    }

    /// The object for this state; a path that leads nowhere gives null.
    #[must_use]
    pub fn resolve(&self, state: &State, system: &System) -> Map<String, Value> {
        self.0.iter().map(|(name, argument)| (name.clone(), argument.resolve(state, system))).collect()
    }

    /// Has no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The templates in it, with the dotted path of each.
    #[must_use]
    pub fn templates(&self) -> Vec<(String, &Template)> {
        let mut found = Vec::new();
        for (name, argument) in &self.0 {
            argument.templates(name, &mut found);
        }
        found
    }

    /// The state paths that it reads.
    #[must_use]
    pub fn paths(&self) -> Vec<&Path> {
        let mut found = Vec::new();
        for (_, argument) in &self.0 {
            argument.paths(&mut found);
        }
        found
    }
}

impl Argument {
    fn compile(value: &Value, references: bool) -> Self {
        match value {
            Value::String(text) => Self::of_text(text, references),
            Value::Array(items) => Self::List(items.iter().map(|item| Self::compile(item, references)).collect()),
            Value::Object(fields) => Self::Object(Arguments::compile(fields, references)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Literal(value.clone()),
        }
    }

    fn of_text(text: &str, references: bool) -> Self {
        if references && let Some(after) = text.strip_prefix('$') {
            if after.starts_with('$') {
                return Self::Literal(Value::String(after.to_owned()));
            }
            if let Some(path) = Path::parse(after) {
                return Self::Path(path);
            }
        }
        Self::Text(Template::parse(text))
    }

    fn resolve(&self, state: &State, system: &System) -> Value {
        match self {
            Self::Literal(value) => value.clone(),
            Self::Text(template) => Value::String(template.render(state, system)),
            Self::Path(path) => state.lookup(path).cloned().unwrap_or(Value::Null),
            Self::List(items) => Value::Array(items.iter().map(|item| item.resolve(state, system)).collect()),
            Self::Object(fields) => Value::Object(fields.resolve(state, system)),
        }
    }

    fn templates<'a>(&'a self, at: &str, found: &mut Vec<(String, &'a Template)>) {
        match self {
            Self::Literal(_) | Self::Path(_) => {}
            Self::Text(template) => found.push((at.to_owned(), template)),
            Self::List(items) => items.iter().enumerate().for_each(|(n, item)| item.templates(&format!("{at}.{n}"), found)),
            Self::Object(fields) => fields.0.iter().for_each(|(name, item)| item.templates(&format!("{at}.{name}"), found)),
        }
    }

    fn paths<'a>(&'a self, found: &mut Vec<&'a Path>) {
        match self {
            Self::Literal(_) => {}
            Self::Text(template) => found.extend(template.paths()),
            Self::Path(path) => found.push(path),
            Self::List(items) => items.iter().for_each(|item| item.paths(found)),
            Self::Object(fields) => fields.0.iter().for_each(|(_, item)| item.paths(found)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::sketch::system;

    #[test]
    fn texts_are_filled_and_references_keep_their_type() {
        let fields = json!({"a": "$n", "b": "$$n {{n}}", "c": "n={{n}}", "d": [{"e": "$o.k"}], "f": 5, "g": "$5", "h": "$gone"});
        let state = State::from_json(json!({"n": 3, "o": {"k": [1]}}).as_object().cloned().unwrap());
        let arguments = Arguments::with_references(fields.as_object().unwrap());
        assert_eq!(
            Value::Object(arguments.resolve(&state, &system())),
            json!({"a": 3, "b": "$n {{n}}", "c": "n=3", "d": [{"e": [1]}], "f": 5, "g": "$5", "h": null})
        );
        let paths: Vec<_> = arguments.paths().iter().map(|path| path.source().to_owned()).collect();
        assert_eq!(paths, ["n", "n", "o.k", "gone"]);
        let filter = Arguments::with_templates(fields.as_object().unwrap());
        assert_eq!(filter.resolve(&state, &system())["a"], json!("$n"));
    }
}
