//! Owns masking: values of configured keys, everywhere in what is stored, sent or logged for a run.

mod events;
mod scan;

use std::sync::Arc;

use serde_json::{Map, Value};

use super::chat::{Message, ToolCall};
use super::event::Change;

/// What stands for a value that was masked.
pub const MASK: &str = "[redacted]";
/// Shorter values are masked under their keys only: looking for them elsewhere would garble every text.
const SHORTEST: usize = 6;
/// Values that are looked for in one run; further ones are masked under their keys only.
const MOST: usize = 1024;

/// The names of keys whose values are masked. Case, `-` and `_` make no difference.
#[derive(Clone, Debug)]
pub struct Redaction {
    names: Vec<String>,
}

impl Redaction {
    /// Of these names; none when there are none.
    #[must_use]
    pub fn new(names: &[String]) -> Option<Arc<Self>> {
        let mut names: Vec<String> = names.iter().map(|name| plain(name.trim())).filter(|name| !name.is_empty()).collect();
        names.sort();
        names.dedup();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        (!names.is_empty()).then(|| Arc::new(Self { names }))
    }

    /// Whether the value of a key is masked.
    pub fn names(&self, key: &str) -> bool {
        let key = plain(key);
        self.names.contains(&key)
    }
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

/// What is masked in one run: values under named keys, and the same values in any text.
#[derive(Clone, Debug)]
pub struct Masks {
    names: Arc<Redaction>,
    /// Values that were seen under named keys, the longest first.
    known: Vec<Arc<str>>,
}

impl Masks {
    /// Masks that know no value yet.
    #[must_use]
    pub const fn new(names: Arc<Redaction>) -> Self {
        Self { names, known: Vec::new() }
    }

    /// Whether the value of a key is masked.
    pub fn names(&self, key: &str) -> bool {
        self.names.names(key)
    }

    /// Remembers a value that was under a named key.
    pub fn learn(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.learn_text(text),
            Value::Number(number) => self.learn_text(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Object(fields) => fields.values().for_each(|value| self.learn(value)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn learn_text(&mut self, text: &str) {
        let text = text.trim();
        let known = || self.known.iter().any(|known| &**known == text);
        if text.len() < SHORTEST || text.contains(MASK) || self.known.len() >= MOST || known() {
            return;
        }
        let at = self.known.partition_point(|known| known.len() >= text.len());
        self.known.insert(at, text.into());
    }

    /// Masks what is under named keys, and known values anywhere.
    pub fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => self.fields(fields),
            Value::Number(number) if self.known.iter().any(|known| **known == number.to_string()) => *value = MASK.into(),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The same for the fields of an object.
    pub fn fields(&mut self, fields: &mut Map<String, Value>) {
        for (name, value) in fields {
            if self.names(name) {
                self.learn(value);
                hide(value);
            } else {
                self.value(value);
            }
        }
    }

    /// The same for what a step wrote.
    pub fn change(&mut self, change: &mut Change) {
        for (name, value) in change {
            let mut masked = (**value).clone();
            if self.names(name) {
                self.learn(&masked);
                hide(&mut masked);
            } else {
                self.value(&mut masked);
            }
            if masked != **value {
                *value = Arc::new(masked);
            }
        }
    }

    /// Masks known values in a text, and what follows a named key in it as in JSON, in headers or in forms.
    pub fn text(&mut self, text: &mut String) {
        for (found, quoted) in scan::masked(text, &self.names.names) {
            // A word after a key in plain language may be any word.
            if quoted || found.len() >= 2 * SHORTEST {
                self.learn_text(&found);
            }
        }
        for known in &self.known {
            if text.contains(&**known) {
                *text = text.replace(&**known, MASK);
            }
            if !text.contains('\\') {
                continue;
            }
            let escaped = serde_json::to_string(&**known).unwrap_or_default();
            let escaped = escaped.get(1..escaped.len().saturating_sub(1)).unwrap_or_default();
            if !escaped.is_empty() && escaped != &**known && text.contains(escaped) {
                *text = text.replace(escaped, MASK);
            }
        }
    }

    /// A message of a conversation.
    pub fn message(&mut self, message: &mut Message) {
        message.tool_calls.iter_mut().for_each(|call| self.call(call));
        self.text(&mut message.content);
        message.parts.iter_mut().for_each(|part| part.each_text(|text| self.text(text)));
        message.attachments.iter_mut().filter_map(|file| file.name.as_mut()).for_each(|name| self.text(name));
        message.blocks.take_if(|blocks| blocks.spoilt_by(|value| self.value(value)));
    }

    /// A call that a model asks for.
    pub fn call(&mut self, call: &mut ToolCall) {
        self.value(&mut call.arguments);
        if let Some(why) = &mut call.invalid {
            self.text(why);
        }
    }

    /// Takes what can be sent, masked, from a text that comes in pieces. What stays may be the beginning of a known value, or a
    /// named key whose value may go on.
    pub fn settled(&mut self, held: &mut String) -> String {
        let open = held.split_off(scan::unfinished(held, &self.names.names));
        let mut told = std::mem::take(held);
        self.text(&mut told);
        *held = told.split_off(self.begun(&told)) + &open;
        told
    }

    /// Where a known value may have begun.
    fn begun(&self, text: &str) -> usize {
        let begins = |at: usize| self.known.iter().any(|known| known.len() > text.len() - at && known.starts_with(&text[at..]));
        let longest = self.known.first().map_or(0, |known| known.len());
        let from = text.len().saturating_sub(longest);
        text.char_indices().map(|(at, _)| at).filter(|at| *at >= from).find(|at| begins(*at)).unwrap_or(text.len())
    }
}

/// Nothing is hidden where there is nothing.
fn hide(value: &mut Value) {
    let empty = value.is_null() || value.as_str().is_some_and(str::is_empty);
    if !empty {
        *value = MASK.into();
    }
}

/// Whether a value has something that was masked.
pub fn is_masked(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(MASK),
        Value::Array(items) => items.iter().any(is_masked),
        Value::Object(fields) => fields.values().any(is_masked),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests;
