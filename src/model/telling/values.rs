//! Owns the parts of events that contain values (changes, tool inputs and results, usage); large values are only named.

use serde_json::Value;

use super::super::event::{CallFinished, CallOutcome, Change, EntityKind, Entry, Event};
use super::super::graph::NodeKind;
use super::super::state::is_internal;
use super::super::usage::Usage;
use super::frame::{Frame, StepFacts};
use super::json::Object;

impl Frame {
    pub(super) fn metered(&self, step: &StepFacts) -> bool {
        let kind = self.facts().plan.node(self.node).kind;
        matches!(kind, NodeKind::Agent | NodeKind::Llm | NodeKind::Rag) || step.usage.is_some_and(|usage| !usage.is_zero())
    }

    pub(super) fn usage(&self, object: &mut Object<'_>, usage: &Usage) {
        let tokens = &usage.tokens;
        object
            .number("prompt_tokens", tokens.prompt)
            .number("completion_tokens", tokens.completion)
            .number("total_tokens", tokens.prompt + tokens.completion)
            .number("cached_tokens", tokens.cached)
            .number("cache_write_tokens", tokens.cache_write)
            .number("reasoning_tokens", tokens.reasoning)
            .plain("estimated_cost", &usage.cost.shown())
            .put("currency", &*self.facts().wire.currency)
            .flag("unpriced", usage.unpriced);
        if tokens.cache_write_1h > 0 {
            object.number("cache_write_1h_tokens", tokens.cache_write_1h);
        }
    }

    /// Why the last answer ended, and its warnings. Each is left out if it says nothing special.
    pub(super) fn ending(&self, object: &mut Object<'_>, step: &StepFacts) {
        if let Some(finish) = &step.finish {
            object.put("finish", finish);
        }
        if !step.warnings.is_empty() {
            object.put("warnings", &step.warnings);
        }
    }

    /// The changed keys without internal ones.
    pub(super) fn changes(&self, object: &mut Object<'_>, change: &Change) {
        let told = change.iter().filter(|(key, _)| !is_internal(key)).map(|(key, value)| (&**key, &**value));
        let omitted = self.small(object, "changes", told);
        tell_omitted(object, &omitted);
    }

    /// An object without its large values; their keys.
    fn small<'v>(&self, object: &mut Object<'_>, name: &str, fields: impl Iterator<Item = (&'v str, &'v Value)>) -> Vec<&'v str> {
        let mut omitted = Vec::new();
        let mut buffer = Vec::new();
        let mut inner = Object::open(&mut buffer);
        for (key, value) in fields {
            if self.fits(value) {
                inner.field(key, value);
            } else {
                omitted.push(key);
            }
        }
        inner.close();
        object.raw(name, &buffer);
        omitted
    }

    fn fits(&self, value: &Value) -> bool {
        weigh(value, self.facts().wire.value_bytes) <= self.facts().wire.value_bytes
    }

    fn inputs<'v>(&self, object: &mut Object<'_>, inputs: &'v Value) -> Vec<&'v str> {
        let fields = inputs.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value));
        self.small(object, "inputs", fields)
    }

    pub(super) fn tool_call(&self, object: &mut Object<'_>, entry: &Entry, index: usize) {
        let Event::ToolsCalled { step, calls, parent_call_id, .. } = &entry.event else { return };
        let Some(call) = calls.get(index) else { return };
        let chat = self.facts().created.entity == EntityKind::Agent;
        if !chat {
            self.node_only(object, *step);
        }
        object.put("call_id", &call.id).put("name", &call.name);
        let omitted = self.inputs(object, &call.arguments);
        if !chat {
            object.put("result", &());
        }
        if let Some(parent) = parent_call_id {
            object.put("parent_call_id", parent);
        }
        tell_omitted(object, &omitted);
    }

    pub(super) fn tool_result(&self, object: &mut Object<'_>, entry: &Entry) {
        let Event::CallFinished(call) = &entry.event else { return };
        let CallFinished { step, outcome: CallOutcome::Tool(outcome), duration_ms, .. } = &**call else { return };
        if self.facts().created.entity != EntityKind::Agent {
            self.node_only(object, *step);
        }
        object.put("call_id", &outcome.call_id).put("name", &outcome.name);
        let mut omitted = self.inputs(object, &outcome.inputs);
        if outcome.result.len() > self.facts().wire.value_bytes {
            omitted.push("result");
        } else {
            object.put("result", &outcome.result);
        }
        object.flag("is_error", outcome.is_error).flag("skipped", outcome.skipped).number("duration_ms", *duration_ms);
        if !outcome.files.is_empty() {
            object.put("files", &outcome.files);
        }
        if let Some(parent) = &outcome.parent_call_id {
            object.put("parent_call_id", parent);
        }
        tell_omitted(object, &omitted);
    }
}

fn tell_omitted(object: &mut Object<'_>, keys: &[&str]) {
    if !keys.is_empty() {
        object.put("omitted_keys", keys);
    }
}

/// About the bytes of a value as JSON; stops counting past `enough`.
fn weigh(value: &Value, enough: usize) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 12,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => {
            let mut sum = 2;
            for item in items {
                sum += weigh(item, enough) + 1;
                if sum > enough {
                    break;
                }
            }
            sum
        }
        Value::Object(fields) => {
            let mut sum = 2;
            for (key, item) in fields {
                sum += key.len() + 4 + weigh(item, enough);
                if sum > enough {
                    break;
                }
            }
            sum
        }
    }
}
