//! Owns the instructions to models: system messages, and the schema for models without a structured mode.

use serde_json::Value;

use crate::model::chat::{Message, Role};

/// The sentence that asks for JSON of a schema.
pub fn schema_instruction(schema: &Value) -> String {
    format!("Answer with one JSON value that fits this JSON Schema, and with nothing else:\n{schema}")
}

/// The messages with the schema added to the system prompt.
pub fn with_schema(messages: &[Message], schema: &Value) -> Vec<Message> {
    let mut messages = messages.to_vec();
    let instruction = schema_instruction(schema);
    match messages.first_mut().filter(|first| first.role == Role::System) {
        Some(system) => system.content = format!("{}\n\n{instruction}", system.content),
        None => messages.insert(0, Message::text(Role::System, instruction)),
    }
    messages
}

/// All system messages in one text, for families that send them separately; with the schema if it is part of the instructions.
pub fn instructions(messages: &[Message], schema: Option<&Value>) -> String {
    let system = messages.iter().filter(|message| message.role == Role::System && !message.content.trim().is_empty());
    let texts = system.map(|message| message.content.clone()).chain(schema.map(schema_instruction));
    texts.collect::<Vec<_>>().join("\n\n")
}
