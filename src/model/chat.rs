//! Owns a conversation as models receive it: messages, tool calls, attachments, token counts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parts::Part;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions.
    System,
    /// The person, or what stands for one.
    User,
    /// The model.
    Assistant,
    /// The answer of a tool.
    Tool,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The text; of a tool message its result.
    #[serde(default)]
    pub content: String,
    /// Files: that a person sent, that the model made, that came with a tool's result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Calls that an assistant message asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Of a tool message: the call that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Of a tool message: the tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Of a tool message: the result is an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// What an assistant message holds beside its text and calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The provider's own blocks of an assistant message (reasoning, signatures), sent back to it unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<ProviderBlocks>,
}

/// What a provider wants back unchanged with its assistant message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProviderBlocks {
    /// The wire family that made them; another family never sees them.
    pub family: String,
    /// The provider and the model that made them, which alone read what they signed or encrypted. Not known of older messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The blocks as they came.
    pub value: Value,
}

impl ProviderBlocks {
    /// Changes them; true when they are of no use any more, because they were signed as they were.
    pub fn spoilt_by(&mut self, change: impl FnOnce(&mut Value)) -> bool {
        let before = self.value.clone();
        change(&mut self.value);
        self.value != before && ["\"signature\":", "\"redacted_thinking\""].iter().any(|sign| before.to_string().contains(sign))
    }
}

impl Message {
    /// A message of text alone.
    pub fn text(role: Role, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            attachments: Vec::new(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
            is_error: false,
            parts: Vec::new(),
            blocks: None,
        }
    }
}

/// A tool call that a model asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call, unique in the run.
    pub id: String,
    /// The tool's name as offered.
    pub name: String,
    /// The arguments; the text itself when it was not a JSON object.
    pub arguments: Value,
    /// Why `arguments` cannot be used (not JSON, not an object), said to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
}

impl ToolCall {
    /// About the bytes of its arguments; cheap to say.
    pub fn arguments_weight(&self) -> u64 {
        super::event::weight_of(&self.arguments) as u64
    }
}

/// A file sent along with a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// `image`, `audio`, `video` or `document`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Such as `image/png`.
    pub mime_type: String,
    /// Where the bytes are kept.
    pub storage_key: String,
    /// The file's name, when known.
    #[serde(default)]
    pub name: Option<String>,
    /// Its bytes, of a file that a model or a tool made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Token counts as contract `usage` normalises them: the last three are parts of the first two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// All input tokens.
    pub prompt: u64,
    /// All output tokens.
    pub completion: u64,
    /// Read from a provider's cache; part of `prompt`.
    #[serde(default)]
    pub cached: u64,
    /// Written to one; part of `prompt`.
    #[serde(default)]
    pub cache_write: u64,
    /// Written to be kept for an hour, which costs more; part of `cache_write`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_1h: u64,
    /// Spent on reasoning; part of `completion`.
    #[serde(default)]
    pub reasoning: u64,
}
