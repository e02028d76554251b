//! Owns one event for translators: its name, its number, its data without internal keys.

use serde_json::{Map, Value};

use crate::model::telling::{Frame, LOST_TOKENS};

#[derive(Clone, Debug, Default)]
pub(super) struct PublishedEvent {
    pub(super) event: &'static str,
    /// Its number in the run.
    pub(super) number: u64,
    data: Map<String, Value>,
    /// The result of a search.
    pub(super) sources: Vec<Value>,
}

impl PublishedEvent {
    pub(super) fn of(frame: &Frame) -> Self {
        let mut text = Vec::new();
        frame.write_data(&mut text);
        let data = serde_json::from_slice(&text).unwrap_or_default();
        let sources = frame.sources().and_then(Value::as_array).cloned().unwrap_or_default();
        Self { event: frame.event(), number: frame.number(), data, sources }
    }

    #[cfg(test)]
    pub(super) fn made(event: &'static str, number: u64, data: Value) -> Self {
        let Value::Object(data) = data else { panic!("an object") };
        Self { event, number, data, sources: Vec::new() }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.data.get(key)
    }

    /// A member, or null.
    pub(super) fn value(&self, key: &str) -> Value {
        self.data.get(key).cloned().unwrap_or_default()
    }

    /// A text, or nothing.
    pub(super) fn text(&self, key: &str) -> &str {
        self.data.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The run's reply, unless it is the block that was shown last: it is then sent as one more.
    pub(super) fn reply_unlike(&self, shown: &str) -> Option<&str> {
        Some(self.text("reply")).filter(|reply| !reply.is_empty() && *reply != shown)
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        self.data.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// An object; empty where there is none.
    pub(super) fn object(&self, key: &str) -> Map<String, Value> {
        self.data.get(key).and_then(Value::as_object).cloned().unwrap_or_default()
    }

    pub(super) fn list(&self, key: &str) -> &[Value] {
        self.data.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(super) const fn data(&self) -> &Map<String, Value> {
        &self.data
    }

    /// The text of a token that is shown to the user; agents' chats have no others.
    pub(super) fn shown_text(&self) -> Option<&str> {
        let shown = self.data.get("publish_reply").is_none_or(|flag| flag == &Value::Bool(true));
        Some(self.text("delta")).filter(|text| shown && !text.is_empty())
    }

    /// It is text of a model that was asked again after its process died: it follows `last` only behind the numbers that were lost. Agents' chats
    /// have no other event that says so. A reader may have read text that was never stored, with up to half of these numbers.
    pub(super) fn begins_again(&self, last: u64) -> bool {
        matches!(self.event, "token" | "reasoning") && self.number > last.saturating_add(LOST_TOKENS / 2)
    }

    /// It is of a node that asks a model.
    pub(super) fn of_model(&self) -> bool {
        matches!(self.text("node_type"), "agent" | "llm")
    }

    /// It happened inside a branch.
    pub(super) fn in_branch(&self) -> bool {
        self.data.contains_key("branch_id")
    }
}

/// A value as the text that models are given: strings as they are, other values as compact JSON.
pub(super) fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned)
}
