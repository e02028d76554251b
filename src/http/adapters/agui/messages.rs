//! Owns the messages of an AG-UI snapshot: those of a thread and of the active turn.

use serde_json::{Value, json};

use crate::http::adapters::event::as_text;

/// Messages of a thread, as [`crate::studio::Studio::chat_messages`] shows them with their calls.
pub(in crate::http::adapters) fn of_thread(shown: &[Value]) -> Vec<Value> {
    let mut messages = Vec::with_capacity(shown.len());
    for message in shown {
        let (id, content) = (as_text(&message["id"]), as_text(&message["content"]));
        let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        if !calls.is_empty() {
            let told: Vec<Value> = calls
                .iter()
                .map(|call| tool_call(&as_text(&call["call_id"]), &as_text(&call["name"]), &call["inputs"].to_string()))
                .collect();
            messages.push(json!({"id": format!("{id}-calls"), "role": "assistant", "toolCalls": told}));
            messages.extend(calls.iter().filter(|call| !call["result"].is_null()).enumerate().map(|(at, call)| {
                json!({"id": format!("{id}-result-{at}"), "role": "tool", "toolCallId": call["call_id"], "content": as_text(&call["result"])})
            }));
        }
        messages.push(json!({"id": id, "role": message["role"], "content": content}));
    }
    messages
}

fn tool_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// Adds what a client makes of events to its messages.
pub(super) fn add(messages: &mut Vec<Value>, events: &[Value]) {
    for event in events {
        let at = |messages: &[Value], id: &Value| messages.iter().rposition(|message| &message["id"] == id);
        match event["type"].as_str().unwrap_or_default() {
            "TEXT_MESSAGE_START" => messages.push(json!({"id": event["messageId"], "role": "assistant", "content": ""})),
            "REASONING_MESSAGE_START" => messages.push(json!({"id": event["messageId"], "role": "reasoning", "content": ""})),
            "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" => {
                if let Some(at) = at(messages, &event["messageId"]) {
                    let content = &mut messages[at]["content"];
                    if let Value::String(text) = content {
                        text.push_str(&as_text(&event["delta"]));
                    } else {
                        *content = event["delta"].clone();
                    }
                }
            }
            "TOOL_CALL_START" => {
                let owner = event.get("parentMessageId").unwrap_or(&event["toolCallId"]);
                let call = tool_call(&as_text(&event["toolCallId"]), &as_text(&event["toolCallName"]), "");
                match at(messages, owner) {
                    Some(at) => {
                        let calls = &mut messages[at]["toolCalls"];
                        if let Value::Array(calls) = calls {
                            calls.push(call);
                        } else {
                            *calls = json!([call]);
                        }
                    }
                    None => messages.push(json!({"id": owner, "role": "assistant", "toolCalls": [call]})),
                }
            }
            "TOOL_CALL_ARGS" => {
                let calls = messages.iter_mut().rev().filter_map(|message| message.get_mut("toolCalls")?.as_array_mut());
                if let Some(call) = calls.flat_map(|calls| calls.iter_mut().rev()).find(|call| call["id"] == event["toolCallId"]) {
                    call["function"]["arguments"] = event["delta"].clone();
                }
            }
            "TOOL_CALL_RESULT" => messages.push(json!({
                "id": event["messageId"], "role": "tool", "toolCallId": event["toolCallId"], "content": event["content"],
            })),
            _ => {}
        }
    }
}
