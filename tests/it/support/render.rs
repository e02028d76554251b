//! Owns how told events look in tests: one line each, ids named by what they are, figures in short.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// One frame as it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFrame {
    pub id: String,
    pub event: &'static str,
    pub data: String,
}

impl EventFrame {
    pub fn number(&self) -> u64 {
        self.id.trim_start_matches('L').parse().expect("a number")
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).expect("JSON")
    }
}

/// Names of ids, by order of appearance: `s1` is the first step.
#[derive(Default)]
pub struct Names {
    known: BTreeMap<String, String>,
    counts: BTreeMap<char, u32>,
}

const USAGE: [&str; 9] = [
    "prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens", "estimated_cost",
    "currency", "unpriced",
];

impl Names {
    /// The frames as text; every frame must be of that run.
    pub fn lines(&mut self, run: &str, frames: &[EventFrame]) -> String {
        let mut out = String::new();
        for frame in frames {
            let Value::Object(mut fields) = frame.json() else { panic!("data is an object") };
            match fields.shift_remove("trace_id") {
                Some(id) => assert_eq!(id, run, "{frame:?}"),
                // Events of a chat that happen within a turn are told short.
                None => assert!(["reasoning", "token", "source", "tool_call", "tool_result"].contains(&frame.event) && !fields.contains_key("node_id"), "{frame:?}"),
            }
            if fields.get("branch_path").and_then(Value::as_array).is_some_and(|path| path.len() == 1 && path[0] == fields["branch_id"]) {
                fields.shift_remove("branch_path");
            }
            let fields = self.object(fields);
            let text: Vec<String> = fields.iter().map(|(key, value)| format!("{key}={value}")).collect();
            let _ = writeln!(out, "{} {} {}", frame.id, frame.event, text.join(" "));
        }
        out
    }

    /// The id that a name stands for.
    pub fn id(&self, name: &str) -> String {
        let found = self.known.iter().find(|(_, known)| *known == name);
        found.unwrap_or_else(|| panic!("nothing is named {name}")).0.clone()
    }

    /// Any value with ids named and times left out.
    pub fn value(&mut self, key: &str, value: Value) -> Value {
        match value {
            Value::String(text) if uuid::Uuid::try_parse(&text).is_ok() => Value::String(self.name(key, text)),
            Value::String(text) if text.len() == 29 && text.ends_with("+00:00") => Value::String("time".into()),
            Value::String(text) if text.starts_with("1:") && text.matches(':').count() == 3 => Value::String("opaque".into()),
            Value::String(text) if key == "call_id" || key == "parent_call_id" => Value::String(self.call(text)),
            Value::Number(_) if key == "duration_ms" || key.ends_with("ing_ms") => Value::String("ms".into()),
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.value(key, item)).collect()),
            Value::Object(fields) => Value::Object(self.object(fields)),
            other => other,
        }
    }

    fn object(&mut self, mut fields: Map<String, Value>) -> Map<String, Value> {
        // Most answers are whole: only another end is worth a word.
        if fields.get("finish").is_some_and(|finish| finish == "stop") {
            fields.shift_remove("finish");
        }
        let place = fields.keys().position(|key| key == USAGE[0]);
        let usage = place.map(|_| usage(&mut fields));
        let mut shown: Map<String, Value> = fields.into_iter().map(|(key, value)| { let value = self.value(&key, value); (key, value) }).collect();
        if let Some(usage) = usage {
            shown.insert("usage".into(), usage.into());
        }
        shown
    }

    /// Ids of tool calls that the engine made up are named, too.
    fn call(&mut self, text: String) -> String {
        let made_up = text.strip_prefix("call_").is_some_and(|rest| {
            rest.len() >= 24 && rest.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-' || byte == b'_')
        });
        if made_up { self.name("call_id", text) } else { text }
    }

    fn name(&mut self, key: &str, id: String) -> String {
        let kind = match key {
            "step_id" => 's',
            "pause_id" => 'p',
            "thread_id" => 't',
            "workflow_id" | "entity_id" => 'w',
            "message_id" => 'm',
            "agent_id" => 'a',
            "call_id" | "parent_call_id" => 'c',
            "child_run_id" => 'r',
            "span_id" => 'x',
            _ => 'i',
        };
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let name = format!("{kind}{count}");
        self.known.insert(id, name.clone());
        name
    }
}

/// The nine usage fields in short; all must be there.
fn usage(fields: &mut Map<String, Value>) -> String {
    let mut take = |key: &str| fields.shift_remove(key).unwrap_or_else(|| panic!("`{key}` is missing"));
    let values: Vec<Value> = USAGE.iter().map(|key| take(key)).collect();
    assert_eq!(values[2].as_u64(), Some(values[0].as_u64().unwrap() + values[1].as_u64().unwrap()));
    assert_eq!(values[7], "USD");
    let mut text = format!("{}+{}", values[0], values[1]);
    for (name, value) in ["cached", "written", "reasoning"].iter().zip(&values[3..6]) {
        if *value != 0 {
            let _ = write!(text, " {name} {value}");
        }
    }
    if values[6] != "0.000000" {
        let _ = write!(text, " ${}", values[6].as_str().unwrap_or_default());
    }
    if values[8] == true {
        text.push_str(" unpriced");
    }
    text
}
