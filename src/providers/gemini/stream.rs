//! Owns the reply from a candidate, streamed or whole.

use serde_json::Value;

use super::FAMILY;
use super::parts::{self, Parts};
use crate::model::chat::{Tokens, ToolCall};
use crate::model::event::FaultCode;
use crate::model::parts::Part;
use crate::providers::own::{Pieces, Sort};
use crate::providers::sources::Sources;
use crate::providers::reply::{self, at, count, text};
use crate::providers::wire::{Reading, malformed};
use crate::providers::{ChatReply, ChatRequest, Delta, Deltas, Finish, Named, ProviderFailure, refusal};

/// Reasons that stand for a filter.
const FILTERS: [&str; 9] = [
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
];
/// Reasons that stand for an answer that the model spoilt.
const SPOILT: [&str; 4] = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"];
/// Reasons that stand for an answer only when there is one.
const UNTOLD: [&str; 3] = ["OTHER", "IMAGE_OTHER", "NO_IMAGE"];

/// A candidate as far as it came.
#[derive(Default)]
pub(super) struct Candidate {
    parts: Vec<Value>,
    sources: Sources,
    finish: String,
    blocked: bool,
    explanation: String,
    tokens: Option<Tokens>,
    named: Named,
}

impl Reading for Candidate {
    type Frame<'t> = Value;

    fn take(&mut self, frame: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        self.named.take(frame.get("responseId"), frame.get("modelVersion"));
        self.tokens = frame.get("usageMetadata").and_then(tokens).or(self.tokens);
        if let Some(error) = frame.get("error").filter(|error| !error.is_null()) {
            return Err(refusal::read_inside(error));
        }
        if let Some(reason) = at(frame, &["promptFeedback", "blockReason"]).and_then(Value::as_str) {
            self.blocked = true;
            self.explanation = format!("the provider's filter refused the prompt: {reason}");
        }
        if let Some(candidate) = first(frame) {
            self.take_candidate(candidate, deltas);
        }
        Ok(())
    }

    fn take_whole(&mut self, body: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        self.take(body, deltas)?;
        if self.blocked || first(body).is_some() { Ok(()) } else { Err(malformed("it holds no candidate")) }
    }

    /// There is no end marker: the last frame that counts gives the reason, and a usage report may follow.
    fn over(&self) -> bool {
        false
    }

    fn may_end(&self) -> bool {
        self.blocked || !self.finish.is_empty()
    }

    fn tokens(&self) -> Option<Tokens> {
        self.tokens
    }

    fn end(mut self, request: &ChatRequest) -> Result<ChatReply, ProviderFailure> {
        if self.blocked {
            return Err(reply::filtered(&self.explanation));
        }
        let calls: Vec<ToolCall> = self.parts.iter().filter_map(|part| part.get("functionCall")).map(call).collect();
        let text: String =
            self.parts.iter().filter(|part| matches!(Parts::sort(part), Sort::Text(_))).map(|part| text(part, "text")).collect();
        let files = parts::take_files(&mut self.parts);
        let reason = self.finish.as_str();
        if calls.is_empty() && (SPOILT.contains(&reason) || (text.is_empty() && files.is_empty() && UNTOLD.contains(&reason))) {
            let told = if self.explanation.is_empty() { &self.finish } else { &self.explanation };
            return Err(ProviderFailure::new(FaultCode::ProviderProtocol, format!("the model's answer is unusable: {told}")));
        }
        let finish = match reason {
            "STOP" | "" => Finish::Stop,
            "MAX_TOKENS" => Finish::Length,
            filter if FILTERS.contains(&filter) => Finish::ContentFilter,
            _ => Finish::Other,
        };
        let special = |part: &Value| matches!(Parts::sort(part), Sort::Own | Sort::File) || part.get("thoughtSignature").is_some();
        let thoughts = self.parts.iter().filter(|part| parts::is_thought(part)).map(|part| Part::reasoning(reply::text(part, "text"))).collect();
        let own = self.parts.iter().any(special).then_some(Value::Array(self.parts));
        reply::Parts { text, calls, thoughts, sources: self.sources, files, own, tokens: self.tokens, named: self.named, cost: None, finish, explanation: self.explanation }.into_reply(FAMILY, request)
    }
}

/// The candidate that counts.
fn first(frame: &Value) -> Option<&Value> {
    frame.get("candidates")?.get(0).filter(|candidate| candidate.get("index").and_then(Value::as_u64).unwrap_or(0) == 0)
}

impl Candidate {
    fn take_candidate(&mut self, candidate: &Value, deltas: Deltas<'_>) {
        let more = at(candidate, &["content", "parts"]).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for part in more {
            match Parts::sort(part) {
                Sort::Text(said) if !said.is_empty() => deltas(Delta::Text(said.into_owned())),
                Sort::Own if parts::is_thought(part) => deltas(Delta::Reasoning(text(part, "text").to_owned())),
                Sort::Text(_) | Sort::Call | Sort::File | Sort::Own => {}
            }
        }
        self.sources.grounded(candidate);
        parts::join(&mut self.parts, more);
        if let Some(reason) = candidate.get("finishReason").and_then(Value::as_str) {
            reason.clone_into(&mut self.finish);
        }
        if let Some(message) = candidate.get("finishMessage").and_then(Value::as_str) {
            message.clone_into(&mut self.explanation);
        }
    }
}

fn call(call: &Value) -> ToolCall {
    reply::tool_call_of(text(call, "id"), text(call, "name"), call.get("args"))
}

/// Thoughts are not part of what the provider counts as candidates.
fn tokens(usage: &Value) -> Option<Tokens> {
    let figure = |key: &str| count(usage, &[key]);
    figure("promptTokenCount").or_else(|| figure("candidatesTokenCount"))?;
    let prompt = figure("promptTokenCount").unwrap_or(0) + figure("toolUsePromptTokenCount").unwrap_or(0);
    let reasoning = figure("thoughtsTokenCount").unwrap_or(0);
    let completion = figure("candidatesTokenCount").unwrap_or(0) + reasoning;
    let cached = figure("cachedContentTokenCount").unwrap_or(0).min(prompt);
    Some(Tokens { prompt, completion, cached, cache_write: 0, reasoning, ..Tokens::default() })
}
