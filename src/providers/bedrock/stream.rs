//! Owns the reply from an answer of Converse, streamed or whole.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::blocks::{Blocks, thought};
use super::{ANSWER, FAMILY};
use crate::model::chat::{Tokens, ToolCall};
use crate::model::parts::Part;
use crate::providers::own::{Pieces, Sort};
use crate::providers::reply::{self, Parts, count, text};
use crate::providers::wire::{Reading, malformed};
use crate::providers::{ChatReply, ChatRequest, Delta, Deltas, Finish, Named, ProviderFailure, refusal};

/// The model that a prompt router chose; other answers name none.
const ROUTED: &str = "/trace/promptRouter/invokedModelId";

/// An answer as far as it came.
#[derive(Default)]
pub(super) struct ConverseState {
    slots: BTreeMap<u64, Slot>,
    /// The answer is given by a call of the tool that stands for it.
    called: bool,
    stop: String,
    usage: Option<Value>,
    named: Named,
    over: bool,
}

/// A block while its pieces come.
#[derive(Default)]
struct Slot {
    said: Option<String>,
    thought: Option<String>,
    signature: String,
    redacted: String,
    tool: Option<(String, String)>,
    input: String,
    /// A block of another kind, as it came.
    other: Option<Value>,
}

impl ConverseState {
    /// Nothing came yet.
    pub(super) fn new(request: &ChatRequest, id: Option<&str>) -> Self {
        // A tool of that name that is the user's own is called like any other.
        let own = request.tools.iter().any(|tool| tool.name == ANSWER);
        let named = Named { id: id.map(str::to_owned), model: None };
        Self { called: request.schema.is_some() && !own, named, ..Self::default() }
    }
}

impl Reading for ConverseState {
    type Frame<'t> = Value;

    fn take(&mut self, frame: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        let Some((name, told)) = frame.as_object().and_then(|members| members.iter().next()) else { return Ok(()) };
        match name.as_str() {
            "error" => return Err(refusal::read_inside(told)),
            "contentBlockStart" => self.begin(told),
            "contentBlockDelta" => self.add(told, deltas)?,
            "messageStop" => text(told, "stopReason").clone_into(&mut self.stop),
            "metadata" => {
                self.usage = told.get("usage").cloned().or(self.usage.take());
                self.named.take(None, told.pointer(ROUTED));
                self.over = !self.stop.is_empty();
            }
            _ => {}
        }
        Ok(())
    }

    fn take_whole(&mut self, body: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        self.usage = body.get("usage").cloned();
        self.named.take(None, body.pointer(ROUTED));
        text(body, "stopReason").clone_into(&mut self.stop);
        let content = body.pointer("/output/message/content").and_then(Value::as_array).ok_or_else(|| malformed("it holds no content"))?;
        for (index, block) in (0..).zip(content) {
            self.slots.insert(index, self.whole(block, deltas));
        }
        Ok(())
    }

    fn over(&self) -> bool {
        self.over
    }

    fn may_end(&self) -> bool {
        !self.stop.is_empty()
    }

    /// Cache reads and writes are not part of what the interface calls input.
    fn tokens(&self) -> Option<Tokens> {
        let usage = self.usage.as_ref()?;
        let figure = |key: &str| count(usage, &[key]);
        let (input, output) = (figure("inputTokens"), figure("outputTokens"));
        input.or(output)?;
        let cached = figure("cacheReadInputTokens").unwrap_or(0);
        let cache_write = figure("cacheWriteInputTokens").unwrap_or(0);
        let details = usage.get("cacheDetails").and_then(Value::as_array).into_iter().flatten();
        let hour: u64 = details.take(8).filter(|detail| text(detail, "ttl") == "1h").filter_map(|detail| count(detail, &["inputTokens"])).sum();
        let prompt = input.unwrap_or(0) + cached + cache_write;
        let completion = output.unwrap_or(0);
        Some(Tokens { prompt, completion, cached, cache_write, cache_write_1h: hour.min(cache_write), reasoning: 0 })
    }

    fn end(self, request: &ChatRequest) -> Result<ChatReply, ProviderFailure> {
        let tokens = self.tokens();
        let finish = match self.stop.as_str() {
            "end_turn" | "stop_sequence" | "" => Finish::Stop,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "tool_use" => Finish::ToolCalls,
            "guardrail_intervened" | "content_filtered" => Finish::ContentFilter,
            "malformed_model_output" | "malformed_tool_use" => {
                return Err(malformed(&format!("the model spoilt it ({})", self.stop)));
            }
            _ => Finish::Other,
        };
        let (called, named) = (self.called, self.named);
        let cut = matches!(finish, Finish::Length | Finish::ContentFilter);
        let last = self.slots.len().saturating_sub(1);
        // A thought that was cut has no signature, and is refused when it comes back.
        let unsigned = |slot: &Slot| slot.thought.is_some() && slot.signature.is_empty();
        let kept = self.slots.into_values().enumerate().filter(|(at, slot)| !(cut && *at == last && unsigned(slot)));
        let (mut blocks, mut calls) = (Vec::new(), Vec::new());
        for (_, slot) in kept {
            let (block, call) = slot.finish(called);
            blocks.extend(block);
            calls.extend(call);
        }
        let says = blocks.iter().any(|block| block.get("text").is_some());
        let finish = if finish == Finish::ToolCalls && calls.is_empty() && says { Finish::Stop } else { finish };
        let said = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
        let thoughts = blocks.iter().filter_map(thought).map(Part::reasoning).collect();
        let special = blocks.iter().any(|block| matches!(Blocks::sort(block), Sort::Own));
        let own = special.then_some(Value::Array(blocks));
        Parts { text: said, calls, thoughts, own, tokens, named, finish, ..Parts::default() }.into_reply(FAMILY, request)
    }
}

impl ConverseState {
    fn begin(&mut self, told: &Value) {
        let slot = self.slot(told);
        if let Some(tool) = told.pointer("/start/toolUse") {
            slot.tool = Some((text(tool, "toolUseId").to_owned(), text(tool, "name").to_owned()));
        }
    }

    fn slot(&mut self, told: &Value) -> &mut Slot {
        let index = told.get("contentBlockIndex").and_then(Value::as_u64);
        let last = self.slots.last_key_value().map_or(0, |(last, _)| *last);
        self.slots.entry(index.unwrap_or(last)).or_default()
    }

    fn add(&mut self, told: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        let called = self.called;
        let slot = self.slot(told);
        let Some(delta) = told.get("delta") else { return Ok(()) };
        if let Some(piece) = delta.get("text").and_then(Value::as_str) {
            slot.said.get_or_insert_default().push_str(piece);
            say(piece, deltas);
        } else if let Some(tool) = delta.get("toolUse") {
            let Some((_, name)) = &slot.tool else { return Err(malformed("a piece belongs to no call")) };
            slot.input.push_str(text(tool, "input"));
            if called && name == ANSWER {
                say(text(tool, "input"), deltas);
            }
        } else if let Some(reasoning) = delta.get("reasoningContent") {
            slot.think(reasoning, deltas);
        }
        Ok(())
    }

    fn whole(&self, block: &Value, deltas: Deltas<'_>) -> Slot {
        let mut slot = Slot::default();
        if let Some(told) = block.get("text").and_then(Value::as_str) {
            slot.said = Some(told.to_owned());
            say(told, deltas);
        } else if let Some(tool) = block.get("toolUse") {
            slot.tool = Some((text(tool, "toolUseId").to_owned(), text(tool, "name").to_owned()));
            slot.input = tool.get("input").map(Value::to_string).unwrap_or_default();
            if self.called && text(tool, "name") == ANSWER {
                say(&slot.input, deltas);
            }
        } else if let Some(reasoning) = block.get("reasoningContent") {
            slot.think(reasoning.get("reasoningText").unwrap_or(reasoning), deltas);
        } else {
            slot.other = Some(block.clone());
        }
        slot
    }
}

fn say(piece: &str, deltas: Deltas<'_>) {
    if !piece.is_empty() {
        deltas(Delta::Text(piece.to_owned()));
    }
}

impl Slot {
    fn think(&mut self, told: &Value, deltas: Deltas<'_>) {
        if let Some(piece) = told.get("text").and_then(Value::as_str) {
            self.thought.get_or_insert_default().push_str(piece);
            if !piece.is_empty() {
                deltas(Delta::Reasoning(piece.to_owned()));
            }
        }
        self.signature.push_str(text(told, "signature"));
        self.redacted.push_str(text(told, "redactedContent"));
    }

    /// The whole block, and the call when it is one. A call that gives the answer is its text.
    fn finish(self, called: bool) -> (Option<Value>, Option<ToolCall>) {
        if let Some((id, name)) = self.tool {
            if called && name == ANSWER {
                return (Some(Blocks::text(&self.input, None)), None);
            }
            let call = reply::tool_call(id, name, &self.input);
            return (Some(Blocks::call(&call, None)), Some(call));
        }
        if let Some(said) = self.said {
            return ((!said.is_empty()).then(|| Blocks::text(&said, None)), None);
        }
        let signed = Some(self.signature).filter(|signature| !signature.is_empty());
        if self.thought.is_some() || signed.is_some() {
            let mut told = Map::from_iter([("text".to_owned(), Value::from(self.thought.unwrap_or_default()))]);
            told.extend(signed.map(|signature| ("signature".to_owned(), signature.into())));
            return (Some(json!({"reasoningContent": {"reasoningText": told}})), None);
        }
        let redacted = (!self.redacted.is_empty()).then(|| json!({"reasoningContent": {"redactedContent": self.redacted}}));
        (redacted.or(self.other), None)
    }
}
