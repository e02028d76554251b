//! Owns the reply from a response, streamed or whole.

use serde_json::{Value, json};

use super::FAMILY;
use super::items;
use crate::model::chat::{Tokens, ToolCall};
use crate::model::event::FaultCode;
use crate::model::usage::Picos;
use crate::providers::sources::Sources;
use crate::providers::reply::{self, Parts, count, text};
use crate::providers::wire::{Reading, malformed};
use crate::providers::{ChatReply, ChatRequest, Delta, Deltas, Finish, Named, ProviderFailure, refusal, thoughts};

/// No response holds more items; a provider that begins more is not listened to.
const MOST_ITEMS: usize = 1024;

/// A response as far as it came.
#[derive(Default)]
pub(super) struct Response {
    streamed: String,
    thought: String,
    items: Vec<Value>,
    status: String,
    incomplete: String,
    tokens: Option<Tokens>,
    cost: Option<Picos>,
    named: Named,
    over: bool,
}

impl Reading for Response {
    type Frame<'t> = Value;

    fn take(&mut self, frame: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        match text(frame, "type") {
            "response.output_text.delta" => self.tell(text(frame, "delta"), deltas),
            "response.reasoning_summary_part.added" if !self.thought.is_empty() => self.think(thoughts::BETWEEN, deltas),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => self.think(text(frame, "delta"), deltas),
            "response.output_item.added" => return self.add_item(frame.get("item")),
            "response.function_call_arguments.delta" => self.add_arguments(frame),
            "response.output_item.done" => return self.replace(frame),
            "response.completed" | "response.incomplete" | "response.failed" => {
                let response = frame.get("response").ok_or_else(|| malformed("the last event holds no response"))?;
                self.take_response(response, deltas)?;
                self.over = true;
            }
            "error" => return Err(refusal::read_inside(frame.get("error").unwrap_or(frame))),
            _ => {}
        }
        Ok(())
    }

    fn take_whole(&mut self, body: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        if !body.get("output").is_some_and(Value::is_array) && body.get("error").is_none_or(Value::is_null) {
            return Err(malformed("it holds no output"));
        }
        self.take_response(body, deltas)
    }

    fn over(&self) -> bool {
        self.over
    }

    fn tokens(&self) -> Option<Tokens> {
        self.tokens
    }

    fn cost(&self) -> Option<Picos> {
        self.cost
    }

    fn end(mut self, request: &ChatRequest) -> Result<ChatReply, ProviderFailure> {
        let refused: String = self.items.iter().map(items::refused).collect();
        let text = self.streamed;
        if text.is_empty() && !refused.is_empty() {
            return Err(reply::filtered(&refused));
        }
        let calls = self.items.iter().filter_map(call).collect();
        let finish = match self.incomplete.as_str() {
            "" if self.status != "incomplete" => Finish::Stop,
            "content_filter" => Finish::ContentFilter,
            _ => Finish::Length,
        };
        let files = items::take_files(&mut self.items);
        let (thoughts, sources) = (thoughts::of_items(&self.items), Sources::of_items(&self.items));
        Parts { text, calls, thoughts, sources, files, own: own(self.items), tokens: self.tokens, named: self.named, cost: self.cost, finish, explanation: refused }.into_reply(FAMILY, request)
    }
}

impl Response {
    fn tell(&mut self, piece: &str, deltas: Deltas<'_>) {
        if !piece.is_empty() {
            self.streamed.push_str(piece);
            deltas(Delta::Text(piece.to_owned()));
        }
    }

    fn think(&mut self, piece: &str, deltas: Deltas<'_>) {
        if !piece.is_empty() {
            self.thought.push_str(piece);
            deltas(Delta::Reasoning(piece.to_owned()));
        }
    }

    /// The item that an event belongs to; some servers leave its id or its index out.
    fn place(&self, frame: &Value, id: &str) -> Option<usize> {
        let by_id = || self.items.iter().position(|item| !id.is_empty() && text(item, "id") == id);
        let by_index = || usize::try_from(frame.get("output_index")?.as_u64()?).ok().filter(|at| *at < self.items.len());
        by_id().or_else(by_index)
    }

    fn add_item(&mut self, item: Option<&Value>) -> Result<(), ProviderFailure> {
        self.items.extend(item.cloned());
        if self.items.len() > MOST_ITEMS { Err(malformed("it holds too many items")) } else { Ok(()) }
    }

    fn add_arguments(&mut self, frame: &Value) {
        let at = self.place(frame, text(frame, "item_id")).or_else(|| self.items.len().checked_sub(1));
        let Some(item) = at.and_then(|at| self.items.get_mut(at)).and_then(Value::as_object_mut) else { return };
        match item.get_mut("arguments") {
            Some(Value::String(arguments)) => arguments.push_str(text(frame, "delta")),
            Some(_) | None => {
                item.insert("arguments".into(), text(frame, "delta").into());
            }
        }
    }

    fn replace(&mut self, frame: &Value) -> Result<(), ProviderFailure> {
        let Some(item) = frame.get("item") else { return Ok(()) };
        let unfinished =
            || self.items.iter().rposition(|one| text(one, "type") == text(item, "type") && text(one, "status") != "completed");
        match self.place(frame, text(item, "id")).or_else(unfinished).and_then(|at| self.items.get_mut(at)) {
            Some(place) => *place = item.clone(),
            None => return self.add_item(Some(item)),
        }
        Ok(())
    }

    /// Takes the response as it is at its end, whose output counts more than what came in events.
    fn take_response(&mut self, response: &Value, deltas: Deltas<'_>) -> Result<(), ProviderFailure> {
        self.named.take(response.get("id"), response.get("model"));
        self.tokens = response.get("usage").and_then(tokens).or(self.tokens);
        self.cost = response.pointer("/usage/cost").and_then(reply::dollars).or(self.cost);
        if let Some(output) = response.get("output").and_then(Value::as_array).filter(|output| !output.is_empty()) {
            self.items.clone_from(output);
        }
        if self.thought.is_empty() {
            let thoughts: Vec<String> = self.items.iter().map(thoughts::of_item).filter(|thought| !thought.is_empty()).collect();
            self.think(&thoughts.join(thoughts::BETWEEN), deltas);
        }
        if self.streamed.is_empty() {
            let spoken: String = self.items.iter().filter(|item| text(item, "type") == "message").map(items::spoken).collect();
            self.tell(&spoken, deltas);
        }
        text(response, "status").clone_into(&mut self.status);
        if let Some(details) = response.get("incomplete_details") {
            text(details, "reason").clone_into(&mut self.incomplete);
        }
        match response.get("error").filter(|error| !error.is_null()) {
            Some(error) => Err(refusal::read_inside(error)),
            None if matches!(self.status.as_str(), "failed" | "cancelled") => Err(reply::broken_off()),
            None if matches!(self.status.as_str(), "queued" | "in_progress") => {
                Err(ProviderFailure::new(FaultCode::ProviderProtocol, "the provider ended its answer while it was still at work"))
            }
            None => Ok(()),
        }
    }
}

fn call(item: &Value) -> Option<ToolCall> {
    let is_call = text(item, "type") == "function_call";
    is_call.then(|| reply::tool_call_of(text(item, "call_id"), text(item, "name"), item.get("arguments")))
}

/// Under its id an item is refused without the reasoning that it came with.
pub(in crate::providers) fn forget_ids(items: &mut [Value]) {
    let named = items.iter_mut().filter(|item| text(item, "type") != items::IMAGE);
    named.filter_map(Value::as_object_mut).for_each(|item| drop(item.remove("id")));
}

/// The items to send back. A reasoning item without its content is known to the provider alone, which keeps nothing.
fn own(items: Vec<Value>) -> Option<Value> {
    let lasts = |item: &Value| text(item, "type") != "reasoning" || item.get("encrypted_content").is_some_and(Value::is_string);
    let all = items.iter().all(lasts);
    let mut items: Vec<Value> = items.into_iter().filter(lasts).collect();
    if !all {
        forget_ids(&mut items);
    }
    let special = |item: &Value| !matches!(text(item, "type"), "message" | "function_call") || item.get("phase").is_some();
    items.iter().any(special).then(|| json!(items))
}

fn tokens(usage: &Value) -> Option<Tokens> {
    let (prompt, completion) = (count(usage, &["input_tokens"]), count(usage, &["output_tokens"]));
    prompt.or(completion)?;
    let (prompt, completion) = (prompt.unwrap_or(0), completion.unwrap_or(0));
    let cached = count(usage, &["input_tokens_details", "cached_tokens"]).unwrap_or(0).min(prompt);
    let cache_write = count(usage, &["input_tokens_details", "cache_write_tokens"]).unwrap_or(0).min(prompt - cached);
    let reasoning = count(usage, &["output_tokens_details", "reasoning_tokens"]).unwrap_or(0).min(completion);
    Some(Tokens { prompt, completion, cached, cache_write, reasoning, ..Tokens::default() })
}
