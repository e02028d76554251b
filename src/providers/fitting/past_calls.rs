//! Owns earlier calls and results in words, for models without tools: many providers refuse a conversation with calls in it there.

use std::fmt::Write as _;

use crate::model::chat::{Message, Role};

/// Puts the calls of a conversation and their results into words. The results of one turn are one message.
pub(super) fn tell(messages: &mut Vec<Message>) {
    if messages.iter().all(|message| message.tool_calls.is_empty() && message.role != Role::Tool) {
        return;
    }
    let mut told: Vec<Message> = Vec::with_capacity(messages.len());
    let mut after_result = false;
    for message in messages.drain(..) {
        let is_result = message.role == Role::Tool;
        let message = if is_result { result(message) } else { asked(message) };
        match told.last_mut().filter(|_| after_result && message.role == Role::User) {
            Some(last) => join(last, message),
            None => told.push(message),
        }
        after_result = is_result;
    }
    *messages = told;
}

/// What the provider wrote itself holds the calls and is left out. Its thoughts go with it: providers want them back only beside a call.
fn asked(mut message: Message) -> Message {
    for call in std::mem::take(&mut message.tool_calls) {
        let between = if message.content.is_empty() { "" } else { "\n" };
        let _ = write!(message.content, "{between}[called {} with {}]", call.name, call.arguments);
        message.blocks = None;
    }
    message
}

fn result(message: Message) -> Message {
    let (name, kind) = (message.name.as_deref().unwrap_or("a tool"), if message.is_error { "error" } else { "result" });
    let content = format!("[{kind} of {name}]\n{}", message.content);
    Message { attachments: message.attachments, ..Message::text(Role::User, content) }
}

fn join(last: &mut Message, more: Message) {
    last.content.push_str("\n\n");
    last.content.push_str(&more.content);
    last.attachments.extend(more.attachments);
}
