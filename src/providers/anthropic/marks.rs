//! Owns the cache marks of a request: after the tools, after the system prompt, after the last two messages.

use serde_json::{Map, Value, json};

use crate::model::agent::CacheTtl;
use crate::providers::reply::text;

/// Messages whose ends are marked: the next request finds the mark of this one, and this one that of the one before.
const MESSAGES: usize = 2;

/// The mark of what is kept so long.
pub(in crate::providers) fn mark(ttl: CacheTtl) -> Value {
    match ttl {
        CacheTtl::Minutes => json!({"type": "ephemeral"}),
        CacheTtl::Hour => json!({"type": "ephemeral", "ttl": "1h"}),
    }
}

/// Marks a body; at most four times, which is all that the interface takes.
pub(super) fn add(body: &mut Map<String, Value>, ttl: CacheTtl) {
    let mark = mark(ttl);
    if let Some(tool) = body.get_mut("tools").and_then(Value::as_array_mut).and_then(|tools| tools.last_mut()) {
        set(tool, &mark);
    }
    if let Some(system) = body.get_mut("system").filter(|system| system.is_string()) {
        *system = json!([{"type": "text", "text": system.take(), "cache_control": mark}]);
    }
    let messages = body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
    for message in messages.rev().take(MESSAGES) {
        let blocks = message.get_mut("content").and_then(Value::as_array_mut);
        // What the model thought takes no mark.
        if let Some(block) = blocks.and_then(|blocks| blocks.iter_mut().rev().find(|block| !is_thought(block))) {
            set(block, &mark);
        }
    }
}

fn is_thought(block: &Value) -> bool {
    matches!(text(block, "type"), "thinking" | "redacted_thinking")
}

pub(in crate::providers) fn set(block: &mut Value, mark: &Value) {
    if let Some(members) = block.as_object_mut() {
        members.insert("cache_control".into(), mark.clone());
    }
}
