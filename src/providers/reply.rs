//! Owns what a whole answer is made of, whichever family it came from.

use serde_json::{Map, Value};

use super::{ChatReply, ChatRequest, Finish, ProviderFailure};
use crate::model::chat::{Message, ProviderBlocks, Role, Tokens, ToolCall};
use crate::model::event::FaultCode;

/// The parts of an answer.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Its text.
    pub(super) text: String,
    /// The calls that it asks for.
    pub(super) calls: Vec<ToolCall>,
    /// What the family wants back unchanged.
    pub(super) own: Option<Value>,
    /// The last usage report.
    pub(super) tokens: Option<Tokens>,
    /// It ran into its token limit.
    pub(super) cut: bool,
}

impl Parts {
    /// The answer of a family.
    pub(super) fn into_reply(self, family: &str, request: &ChatRequest) -> ChatReply {
        let finish = match (self.calls.is_empty(), self.cut) {
            (false, _) => Finish::ToolCalls,
            (true, true) => Finish::Length,
            (true, false) => Finish::Stop,
        };
        let structured = request.schema.as_ref().and_then(|_| serde_json::from_str(&self.text).ok());
        let blocks = self.own.map(|value| ProviderBlocks { family: family.into(), value });
        let message = Message { tool_calls: self.calls, blocks, ..Message::text(Role::Assistant, self.text) };
        // Every call takes tokens: who reports none has not counted.
        let tokens = self.tokens.filter(|tokens| tokens.prompt + tokens.completion > 0);
        ChatReply { message, structured, tokens, finish, reply_index: None }
    }
}

/// The failure of an answer that a filter stopped, or that is a refusal.
pub(super) fn filtered(text: &str) -> ProviderFailure {
    let text = if text.is_empty() { "the provider's filter stopped the answer" } else { text };
    ProviderFailure::new(FaultCode::ProviderContentFiltered, text)
}

/// The failure of an answer that the provider gave up.
pub(super) fn broken_off() -> ProviderFailure {
    ProviderFailure::new(FaultCode::ProviderUnavailable, "the provider broke off its answer")
}

/// A tool call whose arguments came as text; nothing at all means none.
pub(super) fn tool_call(id: String, name: String, arguments: &str) -> ToolCall {
    let text = arguments.trim();
    let parsed = if text.is_empty() { Ok(Value::Object(Map::new())) } else { serde_json::from_str::<Value>(text) };
    let (arguments, invalid) = match parsed {
        Ok(object @ Value::Object(_)) => (object, None),
        Ok(_) => (Value::String(arguments.to_owned()), Some("the arguments are not a JSON object".to_owned())),
        Err(problem) => (Value::String(arguments.to_owned()), Some(format!("the arguments are not valid JSON: {problem}"))),
    };
    ToolCall { id, name, arguments, invalid }
}

/// A tool call whose arguments came as JSON, or as text that holds it.
pub(super) fn tool_call_of(id: &str, name: &str, arguments: Option<&Value>) -> ToolCall {
    let arguments = match arguments {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    tool_call(id.to_owned(), name.to_owned(), &arguments)
}

/// The arguments of a call as an object, which is all that wires take.
pub(super) fn object(call: &ToolCall) -> Value {
    if call.arguments.is_object() { call.arguments.clone() } else { Value::Object(Map::new()) }
}

/// A text member, or none of it.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// No report of tokens is larger: sums of such figures stay far below what a number can hold.
pub(super) const MOST_TOKENS: u64 = 1_000_000_000_000;

/// What is at a path of keys.
pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// A count of tokens at a path.
pub(super) fn count(value: &Value, path: &[&str]) -> Option<u64> {
    at(value, path)?.as_u64().map(|count| count.min(MOST_TOKENS))
}
