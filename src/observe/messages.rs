//! Owns messages in the form of the generative-AI conventions.

use serde_json::{Value, json};

use crate::model::chat::{Message, Role};

/// Instructions, what was sent besides, and the answer.
pub(super) struct Conversation {
    pub(super) instructions: Vec<Value>,
    pub(super) input: Vec<Value>,
    pub(super) output: Vec<Value>,
}

/// A conversation with a model; `finish` says why it ended.
pub(super) fn conversation(sent: &[Message], answer: Option<&Message>, finish: Option<&str>) -> Conversation {
    let instructions = sent.iter().filter(|message| message.role == Role::System).map(|message| text(&message.content)).collect();
    let input = sent.iter().filter(|message| message.role != Role::System).map(shown).collect();
    let output = answer.map(|answer| {
        let mut shown = shown(answer);
        shown["finish_reason"] = finish.map_or("stop", reason).into();
        shown
    });
    Conversation { instructions, input, output: output.into_iter().collect() }
}

/// Why a model ended, as the conventions say it.
pub(super) fn reason(finish: &str) -> &str {
    if finish == "tool_calls" { "tool_call" } else { finish }
}

fn text(content: &str) -> Value {
    json!({"type": "text", "content": content})
}

fn shown(message: &Message) -> Value {
    let (role, parts) = match message.role {
        Role::System => ("system", vec![text(&message.content)]),
        Role::User => ("user", spoken(message)),
        Role::Assistant => ("assistant", spoken(message)),
        Role::Tool => {
            let response = json!({"type": "tool_call_response", "id": message.tool_call_id, "response": message.content});
            ("tool", vec![response])
        }
    };
    json!({"role": role, "parts": parts})
}

fn spoken(message: &Message) -> Vec<Value> {
    let mut parts = Vec::new();
    if !message.content.is_empty() {
        parts.push(text(&message.content));
    }
    let files = message.attachments.iter().map(|file| {
        json!({"type": "file", "modality": file.kind, "mime_type": file.mime_type, "file_id": file.storage_key})
    });
    parts.extend(files);
    let calls = message.tool_calls.iter();
    parts.extend(calls.map(|call| json!({"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments})));
    parts
}
