//! Owns the cache marks of a request to OpenRouter: on the last tool and in parts of messages, where each host of a model takes them.
//! <https://openrouter.ai/docs/features/prompt-caching>

use serde_json::{Map, Value, json};

use crate::model::agent::CacheTtl;
use crate::providers::anthropic::marks;
use crate::providers::reply::text;

/// Turns whose ends are marked: all results of a model's calls are one turn.
const TURNS: usize = 2;

/// Marks a body; at most four times, which is all that the models take. A text is a part also where it has no mark, so that a message is
/// the same in the next request but for its mark.
pub(super) fn add(body: &mut Map<String, Value>, ttl: CacheTtl) {
    let mark = marks::mark(ttl);
    let tools = body.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten();
    if let Some(tool) = tools.rev().find(|tool| text(tool, "type") == "function") {
        marks::set(tool, &mark);
    }
    let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) else { return };
    messages.iter_mut().for_each(in_parts);
    let (mut turn, mut is_marked, mut left, mut instructed) = ("", false, TURNS, false);
    for message in messages.iter_mut().rev() {
        let by = match text(message, "role") {
            "system" | "developer" => "system",
            "assistant" => "assistant",
            _ => "user",
        };
        if by == "system" {
            instructed = instructed || set_last(message, &mark);
            continue;
        }
        if by != turn {
            (turn, is_marked) = (by, false);
        }
        if left > 0 && !is_marked && set_last(message, &mark) {
            is_marked = true;
            left -= 1;
        }
    }
}

fn in_parts(message: &mut Value) {
    if let Some(content) = message.get_mut("content").filter(|content| content.as_str().is_some_and(|text| !text.trim().is_empty())) {
        *content = json!([{"type": "text", "text": content.take()}]);
    }
}

/// Marks the last text of a message; false where it has none, such as one of calls alone.
fn set_last(message: &mut Value, mark: &Value) -> bool {
    let parts = message.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
    let last = parts.rev().find(|part| text(part, "type") == "text" && !text(part, "text").trim().is_empty());
    last.map(|part| marks::set(part, mark)).is_some()
}
