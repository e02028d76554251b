//! Owns what becomes of an answer while it comes, streamed or whole.

use serde_json::{Map, Value};

use super::FAMILY;
use super::answer::{self, Fragments};
use super::dialect::Dialect;
use crate::model::chat::Tokens;
use crate::providers::reply::{self, Parts};
use crate::providers::wire::{Reading, malformed};
use crate::providers::{ChatReply, ChatRequest, Delta, Deltas, ProviderFailure, refusal};

/// An answer as far as it came.
pub(super) struct Speech<'a> {
    dialect: &'a Dialect,
    text: String,
    refusal: String,
    own: Map<String, Value>,
    calls: Fragments,
    finish: Option<String>,
    tokens: Option<Tokens>,
    over: bool,
}

impl Reading for Speech<'_> {
    fn take(&mut self, frame: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        self.take_frame(frame)?;
        if let Some(choice) = frame.pointer("/choices/0") {
            self.take_choice(choice, choice.get("delta"), deltas);
        }
        Ok(())
    }

    fn take_whole(&mut self, body: &Value) -> Result<(), ProviderFailure> {
        self.take_frame(body)?;
        let choice = body.pointer("/choices/0").ok_or_else(|| malformed("it holds no choice"))?;
        self.take_choice(choice, choice.get("message"), &|_| {});
        Ok(())
    }

    fn take_done(&mut self) {
        self.over = true;
    }

    fn over(&self) -> bool {
        self.over
    }

    fn tokens(&self) -> Option<Tokens> {
        self.tokens
    }

    fn end(self, request: &ChatRequest) -> Result<ChatReply, ProviderFailure> {
        if self.finish.as_deref() == Some("content_filter") || (self.text.is_empty() && !self.refusal.is_empty()) {
            return Err(reply::filtered(&self.refusal));
        }
        if self.finish.as_deref() == Some("error") {
            return Err(reply::broken_off());
        }
        let cut = matches!(self.finish.as_deref(), Some("length" | "model_length"));
        let own = (!self.own.is_empty()).then_some(Value::Object(self.own));
        let parts = Parts { text: self.text, calls: self.calls.calls(), own, tokens: self.tokens, cut };
        Ok(parts.into_reply(FAMILY, request))
    }
}

impl<'a> Speech<'a> {
    pub(super) fn new(dialect: &'a Dialect) -> Self {
        let (text, refusal, own, calls) = (String::new(), String::new(), Map::new(), Fragments::default());
        Self { dialect, text, refusal, own, calls, finish: None, tokens: None, over: false }
    }

    /// What a frame holds beside its choice: an error, or the usage so far, of which the last report counts.
    fn take_frame(&mut self, frame: &Value) -> Result<(), ProviderFailure> {
        let usage = frame.get("usage").or_else(|| frame.pointer("/x_groq/usage"));
        self.tokens = usage.and_then(answer::tokens).or(self.tokens);
        match frame.get("error").filter(|error| !error.is_null()) {
            Some(error) => Err(refusal::read_inside(error)),
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
}
