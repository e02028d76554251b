//! Owns the reply from a message, streamed or whole.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{FAMILY, PAUSES};
use super::blocks::Blocks;
use crate::model::chat::{Tokens, ToolCall};
use crate::model::event::Warning;
use crate::model::usage::Picos;
use crate::providers::own::{Pieces, Sort};
use crate::providers::sources::Sources;
use crate::providers::reply::{self, Parts, count, text};
use crate::providers::wire::{Reading, malformed};
use crate::providers::{ChatReply, ChatRequest, Delta, Deltas, Finish, Named, ProviderFailure, refusal, thoughts};

/// The provider wants to be asked to go on.
const PAUSE: &str = "pause_turn";

/// A block while its pieces come.
#[derive(Default)]
struct Slot {
    block: Map<String, Value>,
    /// The input of a call, which comes as text.
    input: String,
}

/// A message as far as it came.
#[derive(Default)]
pub(super) struct MessageState {
    /// The blocks before the last pause.
    before: Vec<Value>,
    /// Those since, by their index.
    slots: BTreeMap<u64, Slot>,
    stop: String,
    explanation: String,
    /// What was taken before the last pause.
    spent: Tokens,
    usage: Map<String, Value>,
    named: Named,
    over: bool,
}

impl Reading for MessageState {
    type Frame<'t> = Value;

    fn take(&mut self, frame: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        match text(frame, "type") {
            "message_start" => {
                self.named.take(frame.pointer("/message/id"), frame.pointer("/message/model"));
                self.take_usage(frame.pointer("/message/usage"));
            }
            "content_block_start" => {
                let index = frame.get("index").and_then(Value::as_u64).unwrap_or_else(|| self.next());
                self.begin(index, frame.get("content_block"), deltas);
            }
            "content_block_delta" => self.add(frame, deltas)?,
            "message_delta" => {
                self.take_usage(frame.get("usage"));
                self.take_stop(frame.get("delta").unwrap_or(&Value::Null));
            }
            "message_stop" => self.over = true,
            "error" => return Err(refusal::read_inside(frame.get("error").unwrap_or(frame))),
            _ => {}
        }
        Ok(())
    }

    fn take_whole(&mut self, body: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        if text(body, "type") == "error" {
            return Err(refusal::read_inside(body.get("error").unwrap_or(body)));
        }
        self.named.take(body.get("id"), body.get("model"));
        self.take_usage(body.get("usage"));
        let content = body.get("content").and_then(Value::as_array).ok_or_else(|| malformed("it holds no content"))?;
        for block in content {
            self.begin(self.next(), Some(block), deltas);
        }
        self.take_stop(body);
        Ok(())
    }

    fn over(&self) -> bool {
        self.over
    }

    fn may_end(&self) -> bool {
        self.over || !self.stop.is_empty()
    }

    /// Cache reads and writes are not part of what the provider calls input.
    fn tokens(&self) -> Option<Tokens> {
        let figure = |key: &str| self.usage.get(key).and_then(|told| count(told, &[]));
        let part = |key: &str, part: &str| self.usage.get(key).and_then(|told| count(told, &[part]));
        let paused = (self.spent != Tokens::default()).then_some(self.spent);
        let (input, output) = (figure("input_tokens"), figure("output_tokens"));
        if input.or(output).is_none() {
            return paused;
        }
        let cached = figure("cache_read_input_tokens").unwrap_or(0);
        let life = |life: &str| part("cache_creation", life).unwrap_or(0);
        let hour = life("ephemeral_1h_input_tokens");
        let cache_write = figure("cache_creation_input_tokens").unwrap_or_else(|| life("ephemeral_5m_input_tokens") + hour);
        let completion = output.unwrap_or(0);
        let reasoning = part("output_tokens_details", "thinking_tokens").unwrap_or(0).min(completion);
        let prompt = input.unwrap_or(0) + cached + cache_write;
        Some(sum(self.spent, Tokens { prompt, completion, cached, cache_write, cache_write_1h: hour.min(cache_write), reasoning }))
    }

    /// Other servers of this interface tell it. Of an answer with pauses they tell that of the last part alone.
    fn cost(&self) -> Option<Picos> {
        let paused = !self.before.is_empty() || self.spent != Tokens::default();
        self.usage.get("cost").filter(|_| !paused).and_then(reply::dollars)
    }

    fn end(self, request: &ChatRequest) -> Result<ChatReply, ProviderFailure> {
        let (tokens, cost) = (self.tokens(), self.cost());
        let last_prompt = tokens.map(|tokens| tokens.prompt - self.spent.prompt).filter(|last| self.spent.prompt > 0 && *last > 0);
        let finish = match self.stop.as_str() {
            "end_turn" | "stop_sequence" | "" => Finish::Stop,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "tool_use" => Finish::ToolCalls,
            "refusal" => Finish::ContentFilter,
            _ => Finish::Other,
        };
        let paused = self.stop == PAUSE;
        let since = self.slots.into_values().map(Slot::finish);
        let whole = self.before.into_iter().map(|block| (block, None)).chain(since);
        let (mut blocks, calls): (Vec<Value>, Vec<Option<ToolCall>>) = whole.filter(|(block, _)| !is_blank(block)).unzip();
        let calls = calls.into_iter().flatten().collect();
        let text = blocks.iter().filter(|block| text(block, "type") == "text").map(|block| reply::text(block, "text")).collect();
        let special = blocks.iter().any(|block| matches!(Blocks::sort(block), Sort::Own) || block.get("citations").is_some());
        let (thoughts, sources) = (thoughts::of_blocks(&blocks), Sources::of_blocks(&blocks));
        // A thought that was cut has no signature, and is refused when it comes back.
        let cut = |block: &&Value| reply::text(block, "type") == "thinking" && reply::text(block, "signature").is_empty();
        if matches!(finish, Finish::Length | Finish::ContentFilter) && blocks.last().filter(cut).is_some() {
            blocks.pop();
        }
        let own = special.then_some(Value::Array(blocks));
        let mut reply = Parts { text, calls, thoughts, sources, files: Vec::new(), own, tokens, named: self.named, cost, finish, explanation: self.explanation }.into_reply(FAMILY, request)?;
        if paused {
            let text = format!("the provider paused its answer more than {PAUSES} times; the answer is not complete");
            reply.warnings.push(Warning::new("answer_cut", text));
        }
        reply.last_prompt = last_prompt;
        Ok(reply)
    }
}

impl MessageState {
    /// What was said so far, when the provider paused and wants to be asked to go on.
    pub(super) fn pause(&mut self) -> Option<Vec<Value>> {
        if self.stop != PAUSE {
            return None;
        }
        self.spent = self.tokens().unwrap_or_default();
        self.usage.clear();
        self.stop.clear();
        self.over = false;
        let since = std::mem::take(&mut self.slots).into_values().map(|slot| slot.finish().0);
        self.before.extend(since.filter(|block| !is_blank(block)));
        Some(self.before.clone())
    }

    /// Reports are cumulative; of each figure the last counts.
    fn take_usage(&mut self, usage: Option<&Value>) {
        let figures = usage.and_then(Value::as_object).into_iter().flatten().filter(|(_, figure)| !figure.is_null());
        self.usage.extend(figures.map(|(key, figure)| (key.clone(), figure.clone())));
    }

    fn take_stop(&mut self, told: &Value) {
        if let Some(reason) = told.get("stop_reason").and_then(Value::as_str) {
            reason.clone_into(&mut self.stop);
        }
        if let Some(details) = told.get("stop_details") {
            text(details, "explanation").clone_into(&mut self.explanation);
        }
    }

    fn begin(&mut self, index: u64, block: Option<&Value>, deltas: Deltas<'_>) {
        let block = block.and_then(Value::as_object).cloned().unwrap_or_default();
        let member = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        match member("type") {
            "text" if !member("text").is_empty() => deltas(Delta::Text(member("text").to_owned())),
            "thinking" if !member("thinking").is_empty() => deltas(Delta::Reasoning(member("thinking").to_owned())),
            _ => {}
        }
        self.slots.insert(index, Slot { block, input: String::new() });
    }

    fn next(&self) -> u64 {
        self.slots.last_key_value().map_or(0, |(last, _)| last.saturating_add(1))
    }

    fn add(&mut self, frame: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        let index = frame.get("index").and_then(Value::as_u64).or_else(|| self.slots.last_key_value().map(|(last, _)| *last));
        let slot = index.and_then(|index| self.slots.get_mut(&index)).ok_or_else(|| malformed("a piece belongs to no block"))?;
        let Some(delta) = frame.get("delta") else { return Ok(()) };
        match text(delta, "type") {
            "text_delta" => {
                slot.append("text", text(delta, "text"));
                deltas(Delta::Text(text(delta, "text").to_owned()));
            }
            "thinking_delta" => {
                slot.append("thinking", text(delta, "thinking"));
                deltas(Delta::Reasoning(text(delta, "thinking").to_owned()));
            }
            "signature_delta" => {
                slot.block.insert("signature".into(), text(delta, "signature").into());
            }
            "input_json_delta" => slot.input.push_str(text(delta, "partial_json")),
            "citations_delta" => slot.cite(delta.get("citation")),
            _ => {}
        }
        Ok(())
    }
}

impl Slot {
    fn append(&mut self, key: &str, piece: &str) {
        match self.block.get_mut(key) {
            Some(Value::String(text)) => text.push_str(piece),
            Some(_) | None => {
                self.block.insert(key.into(), piece.into());
            }
        }
    }

    fn cite(&mut self, citation: Option<&Value>) {
        let cited = self.block.entry("citations").or_insert(Value::Null);
        if !cited.is_array() {
            *cited = Value::Array(Vec::new());
        }
        if let (Some(citations), Some(citation)) = (cited.as_array_mut(), citation) {
            citations.push(citation.clone());
        }
    }

    /// The whole block, and its call. The model receives an error for an unreadable input, which is not sent back to the provider.
    fn finish(mut self) -> (Value, Option<ToolCall>) {
        if self.block.get("type").is_some_and(|kind| kind == "text") && self.block.get("citations").is_some_and(Value::is_null) {
            self.block.remove("citations");
        }
        if !self.block.contains_key("input") && self.input.is_empty() {
            return (Value::Object(self.block), None);
        }
        let input = if self.input.is_empty() { self.block.get("input").cloned() } else { Some(Value::String(self.input)) };
        let mut block = Value::Object(self.block);
        let call = reply::tool_call_of(text(&block, "id"), text(&block, "name"), input.as_ref());
        if let Some(block) = block.as_object_mut() {
            block.insert("input".into(), reply::object(&call));
        }
        let called = text(&block, "type") == "tool_use";
        (block, called.then_some(call))
    }
}

/// An empty text, which the provider sends but does not take back.
fn is_blank(block: &Value) -> bool {
    text(block, "type") == "text" && text(block, "text").is_empty()
}

const fn sum(one: Tokens, other: Tokens) -> Tokens {
    Tokens {
        prompt: one.prompt + other.prompt,
        completion: one.completion + other.completion,
        cached: one.cached + other.cached,
        cache_write: one.cache_write + other.cache_write,
        cache_write_1h: one.cache_write_1h + other.cache_write_1h,
        reasoning: one.reasoning + other.reasoning,
    }
}
