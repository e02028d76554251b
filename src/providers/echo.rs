//! Owns the model `echo`, which repeats the last message.

use crate::model::chat::{Message, Role};

/// The answer of model `echo`.
pub fn answer(messages: &[Message]) -> String {
    format!("You said: {}", last_user(messages))
}

/// The text of the last user message.
pub fn last_user(messages: &[Message]) -> &str {
    messages.iter().rev().find(|message| message.role == Role::User).map_or("", |message| &message.content)
}
