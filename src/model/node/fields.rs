//! Owns reading typed values out of a node's data; what has a wrong type reads as absent.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::super::arguments::Arguments;
use super::super::state::is_internal;
use super::super::template_text::Template;

/// A node's data.
#[derive(Clone, Copy)]
pub(super) struct Fields<'d>(pub(super) &'d Map<String, Value>);

impl<'d> Fields<'d> {
    /// A value that is there and not null.
    pub(super) fn value(self, name: &str) -> Option<&'d Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// Text that is not blank.
    pub(super) fn filled(self, name: &str) -> Option<String> {
        let text = self.value(name)?.as_str()?;
        (!text.trim().is_empty()).then(|| text.to_owned())
    }

    pub(super) fn template(self, name: &str) -> Template {
        self.value(name).and_then(Value::as_str).map(Template::parse).unwrap_or_default()
    }

    /// The output key, else its default.
    pub(super) fn key(self, default: &str) -> Arc<str> {
        self.value("output_key").and_then(Value::as_str).filter(|key| is_output_key(key)).unwrap_or(default).into()
    }

    pub(super) fn files_key(self) -> Option<Arc<str>> {
        self.value("files_key").and_then(Value::as_str).filter(|key| is_output_key(key)).map(Arc::from)
    }

    pub(super) fn maybe_flag(self, name: &str) -> Option<bool> {
        self.value(name)?.as_bool()
    }

    pub(super) fn flag(self, name: &str, default: bool) -> bool {
        self.maybe_flag(name).unwrap_or(default)
    }

    pub(super) fn count(self, name: &str) -> Option<u64> {
        self.value(name)?.as_u64()
    }

    pub(super) fn small(self, name: &str) -> Option<u32> {
        u32::try_from(self.count(name)?).ok()
    }

    /// A whole number of any size: below zero is 0, too large is the largest.
    pub(super) fn bound(self, name: &str) -> Option<u32> {
        let value = self.value(name)?;
        let whole = value.as_i64().map(|whole| whole.max(0).unsigned_abs()).or_else(|| value.as_u64())?;
        Some(u32::try_from(whole).unwrap_or(u32::MAX))
    }

    pub(super) fn fraction(self, name: &str) -> Option<f64> {
        self.value(name)?.as_f64()
    }

    pub(super) fn is(self, name: &str, word: &str) -> bool {
        self.value(name).and_then(Value::as_str) == Some(word)
    }

    pub(super) fn object(self, name: &str) -> Option<&'d Map<String, Value>> {
        self.value(name)?.as_object()
    }

    pub(super) fn references(self, name: &str) -> Arguments {
        self.object(name).map(Arguments::with_references).unwrap_or_default()
    }

    /// Any type that knows how it is read; nulls count as absent.
    pub(super) fn typed<T: DeserializeOwned + Default>(self, name: &str) -> T {
        self.value(name).map(without_nulls).and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
    }
}

/// Is a text a key that a node may write to?
pub(in super::super) fn is_output_key(key: &str) -> bool {
    let mut bytes = key.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    first && key.len() <= 128 && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') && !is_internal(key)
}

/// The value without members that are null.
pub(in super::super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
