//! Owns the reply from an answer of Ollama, streamed or whole.

use serde_json::{Value, json};

use super::FAMILY;
use crate::model::chat::{Tokens, ToolCall};
use crate::providers::sources::Sources;
use crate::providers::reply::{self, Parts, count, text};
use crate::providers::wire::{Reading, malformed};
use crate::providers::{ChatReply, ChatRequest, Delta, Deltas, Finish, Named, ProviderFailure, refusal, thoughts};

/// An answer as far as it came.
#[derive(Default)]
pub(super) struct Talk {
    text: String,
    thinking: String,
    calls: Vec<ToolCall>,
    reason: String,
    tokens: Option<Tokens>,
    named: Named,
    over: bool,
}

impl Reading for Talk {
    type Frame<'t> = Value;

    fn take(&mut self, frame: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        if let Some(error) = frame.get("error").filter(|error| !error.is_null()) {
            return Err(refusal::read_inside(error));
        }
        self.named.take(None, frame.get("model"));
        if let Some(message) = frame.get("message") {
            self.take_message(message, deltas);
        }
        if frame.get("done") == Some(&Value::Bool(true)) {
            text(frame, "done_reason").clone_into(&mut self.reason);
            self.tokens = tokens(frame).or(self.tokens);
            self.over = true;
        }
        Ok(())
    }

    fn take_whole(&mut self, body: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        self.take(body, deltas)?;
        match (body.get("message"), self.over) {
            (None, _) => Err(malformed("it holds no message")),
            (Some(_), false) => Err(malformed("it is not done")),
            (Some(_), true) => Ok(()),
        }
    }

    fn over(&self) -> bool {
        self.over
    }

    fn tokens(&self) -> Option<Tokens> {
        self.tokens
    }

    fn end(self, request: &ChatRequest) -> Result<ChatReply, ProviderFailure> {
        let thoughts = thoughts::reasoning_parts(&self.thinking);
        let own = (!self.thinking.is_empty()).then(|| json!({"thinking": self.thinking}));
        let finish = match self.reason.as_str() {
            "stop" | "" => Finish::Stop,
            "length" => Finish::Length,
            _ => Finish::Other,
        };
        let parts = Parts { text: self.text, calls: self.calls, thoughts, sources: Sources::default(), files: Vec::new(), own, tokens: self.tokens, named: self.named, cost: None, finish, explanation: String::new() };
        parts.into_reply(FAMILY, request)
    }
}

impl Talk {
    fn take_message(&mut self, message: &Value, deltas: Deltas<'_>) {
        let (said, thought) = (text(message, "content"), text(message, "thinking"));
        if !thought.is_empty() {
            self.thinking.push_str(thought);
            deltas(Delta::Reasoning(thought.to_owned()));
        }
        if !said.is_empty() {
            self.text.push_str(said);
            deltas(Delta::Text(said.to_owned()));
        }
        let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        self.calls.extend(calls.map(|call| {
            let function = call.get("function").unwrap_or(&Value::Null);
            reply::tool_call_of(text(call, "id"), text(function, "name"), function.get("arguments"))
        }));
    }
}

/// A count that is absent is 0: a prompt that was read before is not counted again.
fn tokens(frame: &Value) -> Option<Tokens> {
    let (prompt, completion) = (count(frame, &["prompt_eval_count"]), count(frame, &["eval_count"]));
    prompt.or(completion)?;
    Some(Tokens { prompt: prompt.unwrap_or(0), completion: completion.unwrap_or(0), ..Tokens::default() })
}
