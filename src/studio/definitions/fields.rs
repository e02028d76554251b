//! Owns the parsing of body fields: types, ranges, defaults, and problems by dotted path.

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::model::filter::Filter;
use crate::model::node::rerank::Rerank;

/// What is wrong with a body, by dotted path, in the order in which it was found.
#[derive(Debug, Default)]
pub(in crate::studio) struct Problems(Vec<(String, String)>);

impl Problems {
    pub(in crate::studio) fn add(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.0.push((path.into(), text.into()));
    }

    /// Refuses the request when something is wrong with it.
    pub(in crate::studio) fn into_result(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::fields(self.0)) }
    }
}

/// Makes what [`object_of`] answers now rather than with the first body.
pub(in crate::studio) fn prepare() {
    drop(object_of(&Value::Null));
}

/// The body as an object; a field error at its root when it is none.
pub(in crate::studio) fn object_of(body: &Value) -> Result<&Map<String, Value>> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    match body {
        Value::Null => Ok(&EMPTY),
        Value::Object(map) => Ok(map),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Error::field("body", "the body must be a JSON object"))
        }
    }
}

/// One object of a body. `null` and absent mean the same; unknown keys are ignored.
pub(in crate::studio) struct Fields<'a> {
    given: &'a Map<String, Value>,
    path: String,
    problems: &'a mut Problems,
}

impl<'a> Fields<'a> {
    /// The whole body.
    pub(in crate::studio) const fn new(given: &'a Map<String, Value>, problems: &'a mut Problems) -> Self {
        Self { given, path: String::new(), problems }
    }

    /// An object further down.
    pub(in crate::studio) const fn below(given: &'a Map<String, Value>, path: String, problems: &'a mut Problems) -> Self {
        Self { given, path, problems }
    }

    /// The dotted path of a key.
    pub(in crate::studio) fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Notes a problem; the text goes on after the path.
    pub(in crate::studio) fn wrong(&mut self, key: &str, text: &str) {
        let path = self.path(key);
        let told = format!("{path} {text}");
        self.problems.add(path, told);
    }

    /// The value of a key that is there and not null.
    pub(in crate::studio) fn value(&self, key: &str) -> Option<&'a Value> {
        self.given.get(key).filter(|value| !value.is_null())
    }

    /// A text of at most so many characters.
    pub(in crate::studio) fn text(&mut self, key: &str, most: usize) -> Option<&'a str> {
        match self.value(key)? {
            Value::String(text) if text.chars().count() <= most => Some(text),
            Value::String(_) => {
                self.wrong(key, &format!("must have at most {most} characters"));
                None
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.wrong(key, "must be a string");
                None
            }
        }
    }

    /// A text that must be there and say something.
    pub(in crate::studio) fn required(&mut self, key: &str, most: usize) -> Option<&'a str> {
        if self.value(key).is_none() {
            self.wrong(key, "is required");
            return None;
        }
        let text = self.text(key, most)?;
        if text.trim().is_empty() {
            self.wrong(key, "is required");
            return None;
        }
        Some(text)
    }

    /// One of some words.
    pub(in crate::studio) fn choice(&mut self, key: &str, words: &[&'static str]) -> Option<&'static str> {
        let given = self.value(key)?;
        let found = given.as_str().and_then(|text| words.iter().find(|word| **word == text));
        if found.is_none() {
            self.wrong(key, &format!("must be one of {}", words.join(", ")));
        }
        found.copied()
    }

    /// A boolean, or its default.
    pub(in crate::studio) fn flag(&mut self, key: &str, default: bool) -> bool {
        self.maybe_flag(key).unwrap_or(default)
    }

    /// A boolean that may be absent.
    pub(in crate::studio) fn maybe_flag(&mut self, key: &str) -> Option<bool> {
        let given = self.value(key)?;
        if !given.is_boolean() {
            self.wrong(key, "must be true or false");
        }
        given.as_bool()
    }

    pub(in crate::studio) fn integer(&mut self, key: &str, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let given = self.value(key)?;
        let whole = given.as_i64().or_else(|| whole_float(given));
        let found = whole.filter(|number| range.contains(number));
        if found.is_none() {
            self.wrong(key, &match *range.end() {
                i64::MAX => format!("must be an integer of at least {}", range.start()),
                most => format!("must be an integer from {} to {most}", range.start()),
            });
        }
        found
    }

    /// A number in a range, kept as it was written.
    pub(in crate::studio) fn number(&mut self, key: &str, range: std::ops::RangeInclusive<f64>) -> Option<&'a Value> {
        let given = self.value(key)?;
        if given.as_f64().is_some_and(|number| range.contains(&number)) {
            return Some(given);
        }
        self.wrong(key, &format!("must be a number from {} to {}", range.start(), range.end()));
        None
    }

    /// An object, empty when absent.
    pub(in crate::studio) fn object(&mut self, key: &str) -> Map<String, Value> {
        self.maybe_object(key).cloned().unwrap_or_default()
    }

    /// An object that may be absent.
    pub(in crate::studio) fn maybe_object(&mut self, key: &str) -> Option<&'a Map<String, Value>> {
        let given = self.value(key)?;
        if !given.is_object() {
            self.wrong(key, "must be an object");
        }
        given.as_object()
    }

    /// A filter on the metadata of documents, empty when absent.
    pub(in crate::studio) fn filter(&mut self, key: &str) -> Map<String, Value> {
        let given = self.object(key);
        if let Err((name, told)) = Filter::parse(&given) {
            self.wrong(&format!("{key}.{name}"), &format!("is no filter: {told}"));
        }
        given
    }

    /// A provider and its model; both absent are the configured defaults.
    pub(in crate::studio) fn model(&mut self, [provider, model]: [&str; 2], (usual, usual_model): (String, String)) -> (String, String) {
        let given = self.text(provider, 255).filter(|text| !text.is_empty());
        let wanted = self.text(model, 255).filter(|text| !text.is_empty());
        if wanted.is_none() && given.is_some_and(|given| given != usual) {
            self.wrong(model, &format!("is required when {provider} is given"));
        }
        (given.unwrap_or(&usual).to_owned(), wanted.unwrap_or(&usual_model).to_owned())
    }

    /// The reranker; null for none.
    pub(in crate::studio) fn rerank(&mut self, key: &str) -> Value {
        match Rerank::parse(&self.object(key)) {
            Ok(Some(Rerank { provider, model, candidates })) => json!({"provider": provider, "model": model, "candidates": candidates}),
            Ok(None) => Value::Null,
            Err((name, told)) => {
                self.wrong(&format!("{key}.{name}"), &told);
                Value::Null
            }
        }
    }

    /// An object of strings.
    pub(in crate::studio) fn text_map(&mut self, key: &str) -> Map<String, Value> {
        let map = self.object(key);
        for (name, value) in &map {
            if !value.is_string() {
                self.wrong(&format!("{key}.{name}"), "must be a string");
            }
        }
        map
    }

    /// A list, if there is one.
    pub(in crate::studio) fn list(&mut self, key: &str) -> Option<&'a [Value]> {
        let given = self.value(key)?;
        if !given.is_array() {
            self.wrong(key, "must be an array");
        }
        given.as_array().map(Vec::as_slice)
    }

    /// A list of strings, if there is one.
    pub(in crate::studio) fn maybe_texts(&mut self, key: &str) -> Option<Vec<String>> {
        let items = self.list(key)?;
        let mut texts = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            match item.as_str() {
                Some(text) => texts.push(text.to_owned()),
                None => self.wrong(&format!("{key}.{at}"), "must be a string"),
            }
        }
        Some(texts)
    }

    /// A list of strings, empty when absent.
    pub(in crate::studio) fn texts(&mut self, key: &str) -> Vec<String> {
        self.maybe_texts(key).unwrap_or_default()
    }

    /// A JSON Schema that compiles, if there is one.
    pub(in crate::studio) fn schema(&mut self, key: &str) -> Option<&'a Value> {
        let given = self.value(key)?;
        let told = if given.is_object() { schema_fault(given) } else { Some("must be an object".to_owned()) };
        if let Some(text) = told {
            self.wrong(key, &text);
            return None;
        }
        Some(given)
    }

    /// Reads the objects of a list; items that are no objects are problems.
    pub(in crate::studio) fn each<T>(&mut self, key: &str, mut read: impl FnMut(&mut Fields<'_>) -> T) -> Vec<T> {
        let items = self.list(key).unwrap_or_default();
        let mut out = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            match item.as_object() {
                Some(map) => {
                    let path = self.path(&format!("{key}.{at}"));
                    out.push(read(&mut Fields::below(map, path, self.problems)));
                }
                None => self.wrong(&format!("{key}.{at}"), "must be an object"),
            }
        }
        out
    }

    /// Reads an object further down; an absent one reads as empty.
    pub(in crate::studio) fn nested<T>(&mut self, key: &str, read: impl FnOnce(&mut Fields<'_>) -> T) -> T {
        let empty = Map::new();
        let map = self.maybe_object(key);
        let path = self.path(key);
        read(&mut Fields::below(map.unwrap_or(&empty), path, self.problems))
    }
}

/// `3.0` is an integer to people who write JSON with a language that has no other numbers.
fn whole_float(value: &Value) -> Option<i64> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0)?;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small, as was checked")]
    Some(number as i64)
}

/// Why a JSON Schema does not compile.
pub(in crate::studio) fn schema_fault(schema: &Value) -> Option<String> {
    let told = crate::model::schema::fault(schema)?;
    Some(format!("is no valid JSON Schema: {told}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check(body: &Value, read: impl FnOnce(&mut Fields<'_>), want: &Expect) {
        let mut problems = Problems::default();
        let map = object_of(body).expect("an object");
        read(&mut Fields::new(map, &mut problems));
        let told: Vec<String> = problems.0.iter().map(|(path, text)| format!("{path}: {text}")).collect();
        want.assert_eq(&told.join("\n"));
    }

    #[test]
    fn every_problem_is_told_under_its_path() {
        let body = json!({"name": 3, "count": 2.5, "share": 3, "tags": ["a", 1], "deep": {"kind": "x"}, "schema": {"type": 7}});
        check(
            &body,
            |fields| {
                fields.required("name", 5);
                fields.required("slug", 5);
                fields.integer("count", 1..=9);
                fields.number("share", 0.0..=2.0);
                fields.texts("tags");
                fields.nested("deep", |deep| deep.choice("kind", &["a", "b"]));
                fields.schema("schema");
            },
            &expect![[r#"
                name: name must be a string
                slug: slug is required
                count: count must be an integer from 1 to 9
                share: share must be a number from 0 to 2
                tags.1: tags.1 must be a string
                deep.kind: deep.kind must be one of a, b
                schema: schema is no valid JSON Schema: 7 is not valid under any of the schemas listed in the 'anyOf' keyword"#]],
        );
    }

    #[test]
    fn null_reads_as_absent() {
        check(
            &json!({"name": null, "flag": null}),
            |fields| {
                assert!(fields.flag("flag", true));
                assert_eq!(fields.text("name", 1), None);
            },
            &expect![""],
        );
    }
}
