//! Owns the reply from an answer of Cohere, streamed or whole.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::FAMILY;
use crate::model::chat::Tokens;
use crate::providers::sources::Sources;
use crate::providers::reply::{self, Parts, at, count, text};
use crate::providers::wire::{Reading, malformed};
use crate::providers::{ChatReply, ChatRequest, Delta, Deltas, Finish, Named, ProviderFailure, refusal, thoughts};

/// A tool call while its pieces come.
#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

/// An answer as far as it came.
#[derive(Default)]
pub(super) struct Talk {
    text: String,
    /// What it thought, by the index of the content.
    thoughts: BTreeMap<u64, String>,
    plan: String,
    calls: BTreeMap<u64, Call>,
    finish: String,
    tokens: Option<Tokens>,
    named: Named,
    over: bool,
}

impl Reading for Talk {
    type Frame<'t> = Value;

    fn take(&mut self, frame: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        let index = frame.get("index").and_then(Value::as_u64).unwrap_or(0);
        let message = at(frame, &["delta", "message"]).unwrap_or(&Value::Null);
        match text(frame, "type") {
            "message-start" => self.named.take(frame.get("id"), None),
            "content-start" | "content-delta" => self.take_content(index, message.get("content").unwrap_or(&Value::Null), deltas),
            "tool-plan-delta" => self.take_plan(text(message, "tool_plan"), deltas),
            "tool-call-start" | "tool-call-delta" => self.take_call(index, message.get("tool_calls").unwrap_or(&Value::Null)),
            "message-end" => {
                self.take_end(frame.get("delta").unwrap_or(&Value::Null))?;
                self.over = true;
            }
            "error" => return Err(refusal::read_inside(frame.get("error").unwrap_or(frame))),
            _ => {}
        }
        Ok(())
    }

    fn take_whole(&mut self, body: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        let message = body.get("message").filter(|message| message.is_object()).ok_or_else(|| malformed("it holds no message"))?;
        self.named.take(body.get("id"), None);
        for (index, content) in (0..).zip(message.get("content").and_then(Value::as_array).into_iter().flatten()) {
            self.take_content(index, content, deltas);
        }
        self.take_plan(text(message, "tool_plan"), deltas);
        for (index, call) in (0..).zip(message.get("tool_calls").and_then(Value::as_array).into_iter().flatten()) {
            self.take_call(index, call);
        }
        self.take_end(body)
    }

    fn over(&self) -> bool {
        self.over
    }

    fn tokens(&self) -> Option<Tokens> {
        self.tokens
    }

    fn end(self, request: &ChatRequest) -> Result<ChatReply, ProviderFailure> {
        let finish = match self.finish.as_str() {
            "COMPLETE" | "STOP_SEQUENCE" | "" => Finish::Stop,
            "MAX_TOKENS" | "ERROR_LIMIT" => Finish::Length,
            "TOOL_CALL" => Finish::ToolCalls,
            "ERROR_TOXIC" => Finish::ContentFilter,
            "ERROR" | "TIMEOUT" => return Err(reply::broken_off()),
            _ => Finish::Other,
        };
        let thoughts = self.thoughts.values().chain(Some(&self.plan)).flat_map(|thought| thoughts::reasoning_parts(thought)).collect();
        let mut own = Map::new();
        if !self.thoughts.is_empty() {
            let thinking = self.thoughts.values().map(|thought| json!({"type": "thinking", "thinking": thought}));
            own.insert("thinking".into(), thinking.collect());
        }
        if !self.plan.is_empty() {
            own.insert("tool_plan".into(), self.plan.into());
        }
        let own = (!own.is_empty()).then_some(Value::Object(own));
        let calls = self.calls.into_values().map(|call| reply::tool_call(call.id, call.name, &call.arguments)).collect();
        Parts { text: self.text, calls, thoughts, sources: Sources::default(), files: Vec::new(), own, tokens: self.tokens, named: self.named, cost: None, finish, explanation: String::new() }.into_reply(FAMILY, request)
    }
}

impl Talk {
    fn take_content(&mut self, index: u64, content: &Value, deltas: Deltas<'_>) {
        let (said, thought) = (text(content, "text"), text(content, "thinking"));
        if !thought.is_empty() {
            self.thoughts.entry(index).or_default().push_str(thought);
            deltas(Delta::Reasoning(thought.to_owned()));
        }
        if !said.is_empty() {
            self.text.push_str(said);
            deltas(Delta::Text(said.to_owned()));
        }
    }

    fn take_plan(&mut self, piece: &str, deltas: Deltas<'_>) {
        if !piece.is_empty() {
            self.plan.push_str(piece);
            deltas(Delta::Reasoning(piece.to_owned()));
        }
    }

    fn take_call(&mut self, index: u64, piece: &Value) {
        let call = self.calls.entry(index).or_default();
        let function = piece.get("function").unwrap_or(&Value::Null);
        call.id.push_str(text(piece, "id"));
        call.name.push_str(text(function, "name"));
        call.arguments.push_str(text(function, "arguments"));
    }

    fn take_end(&mut self, end: &Value) -> Result<(), ProviderFailure> {
        text(end, "finish_reason").clone_into(&mut self.finish);
        self.tokens = end.get("usage").and_then(tokens).or(self.tokens);
        match end.get("error").filter(|error| !error.is_null()) {
            Some(error) => Err(refusal::read_inside(error)),
            None => Ok(()),
        }
    }
}

fn tokens(usage: &Value) -> Option<Tokens> {
    let of = |unit: &str| {
        let (prompt, completion) = (count(usage, &[unit, "input_tokens"]), count(usage, &[unit, "output_tokens"]));
        prompt.or(completion)?;
        Some((prompt.unwrap_or(0), completion.unwrap_or(0)))
    };
    let (prompt, completion) = of("tokens").or_else(|| of("billed_units"))?;
    let cached = count(usage, &["cached_tokens"]).unwrap_or(0).min(prompt);
    Some(Tokens { prompt, completion, cached, ..Tokens::default() })
}
