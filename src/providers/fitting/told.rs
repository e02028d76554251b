//! Owns calls and results as text, for models without tools: a conversation with calls in it is refused there.

use crate::model::chat::{Message, Role};

/// Puts the calls of a conversation and their results into words. The results of one turn are one message.
pub(super) fn calls(messages: &mut Vec<Message>) {
    if messages.iter().all(|message| message.tool_calls.is_empty() && message.role != Role::Tool) {
        return;
    }
    let mut told: Vec<Message> = Vec::with_capacity(messages.len());
    let mut after_result = false;
    for mut message in messages.drain(..) {
        let is_result = message.role == Role::Tool;
        if is_result {
            message = result(message);
        } else if !message.tool_calls.is_empty() {
            message = asked(message);
        }
        match told.last_mut().filter(|_| after_result && message.role == Role::User) {
            Some(last) => join(last, message),
            None => told.push(message),
        }
        after_result = is_result;
    }
    *messages = told;
}

fn asked(mut message: Message) -> Message {
    for call in std::mem::take(&mut message.tool_calls) {
        let blank = if message.content.is_empty() { "" } else { "\n" };
        message.content.push_str(&format!("{blank}[calls {} with {}]", call.name, call.arguments));
    }
    // What the provider wrote itself has the calls, too.
    Message { blocks: None, ..message }
}

fn result(message: Message) -> Message {
    let (name, error) = (message.name.as_deref().unwrap_or("a tool"), if message.is_error { ", an error" } else { "" });
    let content = format!("[result of {name}{error}]\n{}", message.content);
    Message { attachments: message.attachments, ..Message::text(Role::User, content) }
}

fn join(last: &mut Message, more: Message) {
    last.content.push_str("\n\n");
    last.content.push_str(&more.content);
    last.attachments.extend(more.attachments);
}
