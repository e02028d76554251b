//! Owns what becomes of an answer while it comes, streamed or whole.

use serde_json::{Map, Value};

use super::FAMILY;
use super::answer::{self, Fragments};
use super::dialect::Dialect;
use crate::model::chat::{Message, ProviderBlocks, Role, Tokens};
use crate::model::event::FaultCode;
use crate::providers::sse::ServerEvent;
use crate::providers::{ChatReply, ChatRequest, Delta, Deltas, Finish, ProviderFailure, refusal};

/// An answer as far as it came.
pub(super) struct Reading<'a> {
    dialect: &'a Dialect,
    text: String,
    refusal: String,
    own: Map<String, Value>,
    calls: Fragments,
    finish: Option<String>,
    tokens: Option<Tokens>,
    over: bool,
}

impl<'a> Reading<'a> {
    pub(super) fn new(dialect: &'a Dialect) -> Self {
        let (text, refusal, own, calls) = (String::new(), String::new(), Map::new(), Fragments::default());
        Self { dialect, text, refusal, own, calls, finish: None, tokens: None, over: false }
    }

    /// The end marker was seen.
    pub(super) const fn over(&self) -> bool {
        self.over
    }

    /// A failure with the tokens that were reported before.
    pub(super) fn failed(&self, failure: ProviderFailure) -> ProviderFailure {
        ProviderFailure { tokens: failure.tokens.or(self.tokens), ..failure }
    }

    pub(super) fn protocol(&self, text: &str) -> ProviderFailure {
        self.failed(ProviderFailure::new(FaultCode::ProviderProtocol, format!("the provider's answer is malformed: {text}")))
    }

    pub(super) fn cut_off(&self) -> ProviderFailure {
        self.failed(ProviderFailure::new(FaultCode::ProviderProtocol, "the provider's answer ended before its end marker"))
    }

    /// Takes an answer that came whole.
    pub(super) fn take_whole(&mut self, body: &[u8]) -> Result<(), ProviderFailure> {
        let body: Value = serde_json::from_slice(body).map_err(|problem| self.protocol(&problem.to_string()))?;
        self.take_frame(&body)?;
        let choice = body.pointer("/choices/0").ok_or_else(|| self.protocol("it holds no choice"))?;
        self.take_choice(choice, choice.get("message"), &|_| {});
        Ok(())
    }

    /// Takes one event of a stream.
    pub(super) fn take_event(&mut self, event: &ServerEvent, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        if self.over {
            return Ok(());
        }
        if event.data.trim() == "[DONE]" {
            self.over = true;
            return Ok(());
        }
        let frame: Value = serde_json::from_str(&event.data).map_err(|problem| self.protocol(&problem.to_string()))?;
        self.take_frame(&frame)?;
        if let Some(choice) = frame.pointer("/choices/0") {
            self.take_choice(choice, choice.get("delta"), deltas);
        }
        Ok(())
    }

    /// What a frame holds beside its choice: an error, or the usage so far, of which the last report counts.
    fn take_frame(&mut self, frame: &Value) -> Result<(), ProviderFailure> {
        if !frame.is_object() {
            return Err(self.protocol("it is no JSON object"));
        }
        let usage = frame.get("usage").or_else(|| frame.pointer("/x_groq/usage"));
        self.tokens = usage.and_then(answer::tokens).or(self.tokens);
        match frame.get("error").filter(|error| !error.is_null()) {
            Some(error) => Err(self.failed(refusal::read_inside(error))),
            None => Ok(()),
        }
    }

    fn take_choice(&mut self, choice: &Value, message: Option<&Value>, deltas: Deltas<'_>) {
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(finish.to_owned());
        }
        let Some(message) = message else { return };
        let text = answer::content(message.get("content"));
        if !text.is_empty() {
            self.text.push_str(&text);
            deltas(Delta::Text(text));
        }
        let thought = [message.get("reasoning_content"), message.get("reasoning")];
        if let Some(thought) = thought.into_iter().flatten().filter_map(Value::as_str).find(|text| !text.is_empty()) {
            deltas(Delta::Reasoning(thought.to_owned()));
        }
        self.refusal.push_str(answer::text(message.get("refusal")));
        self.calls.take(message.get("tool_calls"));
        self.keep_own(message);
    }

    fn keep_own(&mut self, message: &Value) {
        for key in self.dialect.echo {
            match (self.own.get_mut(*key), message.get(*key)) {
                (_, None | Some(Value::Null)) => {}
                (Some(Value::String(kept)), Some(Value::String(more))) => kept.push_str(more),
                (Some(Value::Array(kept)), Some(Value::Array(more))) => kept.extend(more.iter().cloned()),
                (Some(_) | None, Some(value)) => {
                    self.own.insert((*key).to_owned(), value.clone());
                }
            }
        }
    }

    /// The whole answer.
    pub(super) fn end(self, request: &ChatRequest) -> Result<ChatReply, ProviderFailure> {
        if self.finish.as_deref() == Some("content_filter") || (self.text.is_empty() && !self.refusal.is_empty()) {
            let text = if self.refusal.is_empty() { "the provider's filter stopped the answer" } else { &self.refusal };
            return Err(self.failed(ProviderFailure::new(FaultCode::ProviderContentFiltered, text)));
        }
        if self.finish.as_deref() == Some("error") {
            return Err(self.failed(ProviderFailure::new(FaultCode::ProviderUnavailable, "the provider broke off its answer")));
        }
        let finish = match self.finish.as_deref() {
            _ if !self.calls.is_empty() => Finish::ToolCalls,
            Some("length" | "model_length") => Finish::Length,
            _ => Finish::Stop,
        };
        let blocks = (!self.own.is_empty()).then(|| ProviderBlocks { family: FAMILY.into(), value: Value::Object(self.own) });
        let structured = request.schema.as_ref().and_then(|_| serde_json::from_str(&self.text).ok());
        let message = Message { tool_calls: self.calls.calls(), blocks, ..Message::text(Role::Assistant, self.text) };
        Ok(ChatReply { message, structured, tokens: self.tokens, finish, reply_index: None })
    }
}
