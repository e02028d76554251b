//! Owns what `GET /api/settings` answers: the flags, and each key with its value and its source.

use serde_json::{Value, json};

use super::keys::{KEYS, Key, Shown};
use super::{Config, Source};
use crate::model::address::without_credentials;

impl Config {
    /// What `GET /api/settings` answers; never a secret.
    pub fn settings_json(&self) -> Value {
        let shown = |(key, (path, value, source)): (&Key, &(&str, Value, Source))| {
            json!({"key": path, "value": shown_value(key.shown, value), "source": source.as_str(), "gates": key.gates})
        };
        let keys: Vec<Value> = KEYS.iter().zip(self.origin.iter()).map(shown).collect();
        json!({"flags": self.flags(), "keys": keys})
    }
}

fn shown_value(shown: Shown, value: &Value) -> Value {
    match (shown, value) {
        (Shown::Whole, Value::String(text)) => without_credentials(text).into(),
        (Shown::Whole, value) => value.clone(),
        (Shown::IsSet, Value::Null) => Value::Null,
        (Shown::IsSet, _) => json!("(set)"),
        (Shown::Names, Value::Object(fields)) => fields.keys().cloned().collect::<Vec<_>>().into(),
        (Shown::Names, _) => Value::Null,
    }
}
