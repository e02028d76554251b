//! Owns JSON in node fields that is filled from the state: templates in strings, and `$path` for whole values.

use serde_json::{Map, Value};

use super::event::{Fault, FaultCode};
use super::path::Path;
use super::state::{self, State};
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
    ///
    /// # Errors
    /// `state_too_large` when it would be larger than a state may be: a graph may name a large value any number of times.
    pub fn resolve(&self, state: &State, system: &System, limit_kb: u64) -> Result<Map<String, Value>, Fault> {
        let mut left = usize::try_from(limit_kb.saturating_mul(1024)).unwrap_or(usize::MAX);
        self.fill(state, system, &mut left).ok_or_else(|| {
            let text = format!("what the node takes out of the state is larger than {limit_kb} KB (`limits.state_kb`); it was not run");
            Fault::new(FaultCode::StateTooLarge, text)
        })
    }

    /// None when more than `left` bytes would be taken out of the state.
    fn fill(&self, state: &State, system: &System, left: &mut usize) -> Option<Map<String, Value>> {
        self.0.iter().map(|(name, argument)| Some((name.clone(), argument.fill(state, system, left)?))).collect()
    }

    /// The templates in it, with the dotted path of each.
    pub fn templates(&self) -> Vec<(String, &Template)> {
        let mut found = Vec::new();
        for (name, argument) in &self.0 {
            argument.templates(name, &mut found);
        }
        found
    }

    /// The state paths that it reads.
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

    fn fill(&self, state: &State, system: &System, left: &mut usize) -> Option<Value> {
        Some(match self {
            Self::Literal(value) => value.clone(),
            Self::Text(template) => {
                let text = template.render(state, system);
                *left = left.checked_sub(text.len())?;
                Value::String(text)
            }
            Self::Path(path) => match state.lookup(path) {
                None => Value::Null,
                Some(value) => {
                    *left = left.checked_sub(state::measure(value).0)?;
                    value.clone()
                }
            },
            Self::List(items) => Value::Array(items.iter().map(|item| item.fill(state, system, left)).collect::<Option<_>>()?),
            Self::Object(fields) => Value::Object(fields.fill(state, system, left)?),
        })
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
            Value::Object(arguments.resolve(&state, &system(), 1).unwrap()),
            json!({"a": 3, "b": "$n {{n}}", "c": "n=3", "d": [{"e": [1]}], "f": 5, "g": "$5", "h": null})
        );
        let paths: Vec<_> = arguments.paths().iter().map(|path| path.source().to_owned()).collect();
        assert_eq!(paths, ["n", "n", "o.k", "gone"]);
        let filter = Arguments::with_templates(fields.as_object().unwrap());
        assert_eq!(filter.resolve(&state, &system(), 1).unwrap()["a"], json!("$n"));
    }

    #[test]
    fn a_large_value_is_not_taken_any_number_of_times() {
        let state = State::from_json(json!({"a": "x".repeat(1 << 20)}).as_object().cloned().unwrap());
        for fields in [json!({"p": vec!["$a"; 200_000]}), json!({"p": vec!["{{a}}"; 200_000]}), json!({"p": {"q": vec!["$a"; 5]}})] {
            let arguments = Arguments::with_references(fields.as_object().unwrap());
            assert_eq!(arguments.resolve(&state, &system(), 4096).unwrap_err().code, FaultCode::StateTooLarge);
        }
        let three = Arguments::with_references(json!({"p": ["$a", "{{a}}", "$a"]}).as_object().unwrap());
        assert!(three.resolve(&state, &system(), 4096).is_ok());
    }
}
