//! Owns what becomes of an answer while it comes, streamed or whole.

use serde_json::{Map, Value};

use super::FAMILY;
use super::answer::{self, Fragments};
use super::dialect::Dialect;
use super::own;
use crate::model::chat::Tokens;
use crate::providers::reply::{self, Parts};
use crate::providers::wire::{Reading, malformed};
use crate::providers::{ChatReply, ChatRequest, Delta, Deltas, ProviderFailure, refusal};

/// The choice that counts.
fn choice(frame: &Value) -> Option<&Value> {
    frame.get("choices")?.get(0)
}

/// Where the speakers tell their usage; one that tells it twice tells the same.
fn usages(frame: &Value) -> impl Iterator<Item = &Value> {
    [Some(frame), frame.get("x_groq"), choice(frame)].into_iter().flatten().filter_map(|place| place.get("usage"))
}

/// Where they tell an error within an answer.
fn errors(frame: &Value) -> impl Iterator<Item = &Value> {
    [Some(frame), frame.get("x_groq")].into_iter().flatten().filter_map(|place| place.get("error"))
}

/// An answer as far as it came.
pub(super) struct Speech<'a> {
    dialect: &'a Dialect,
    text: String,
    refusal: String,
    own: Map<String, Value>,
    calls: Fragments,
    finish: Option<String>,
    tokens: Option<Tokens>,
    spoke: bool,
    over: bool,
}

impl Reading for Speech<'_> {
    fn take(&mut self, frame: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        self.take_frame(frame)?;
        match choice(frame) {
            Some(choice) => self.take_choice(choice, choice.get("delta"), deltas),
            None => Ok(()),
        }
    }

    fn take_whole(&mut self, body: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        self.take_frame(body)?;
        let choice = choice(body).ok_or_else(|| malformed("it holds no choice"))?;
        let message = choice.get("message").filter(|message| message.is_object()).ok_or_else(|| malformed("it holds no message"))?;
        self.take_choice(choice, Some(message), deltas)
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
        if !self.spoke {
            return Err(malformed("it holds no choice"));
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
        Self { dialect, text, refusal, own, calls, finish: None, tokens: None, spoke: false, over: false }
    }

    /// What a frame holds beside its choice: an error, or the usage so far, of which the last report counts.
    fn take_frame(&mut self, frame: &Value) -> Result<(), ProviderFailure> {
        let usage = usages(frame).find_map(answer::tokens);
        self.tokens = usage.or(self.tokens);
        let error = errors(frame).find(|error| !error.is_null());
        match error.or_else(|| (answer::text(frame.get("object")) == "error").then_some(frame)) {
            Some(error) => Err(refusal::read_inside(error)),
            None => Ok(()),
        }
    }

    fn take_choice(&mut self, choice: &Value, message: Option<&Value>, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        self.spoke = true;
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(finish.to_owned());
        }
        let Some(message) = message else { return Ok(()) };
        let text = answer::content(message.get("content"));
        if !text.is_empty() {
            self.text.push_str(&text);
            deltas(Delta::Text(text));
        }
        let thought = answer::thought(message);
        if !thought.is_empty() {
            deltas(Delta::Reasoning(thought));
        }
        self.refusal.push_str(answer::text(message.get("refusal")));
        for echo in self.dialect.echo {
            own::keep(&mut self.own, *echo, message);
        }
        self.calls.take(message.get("tool_calls"))
    }
}
