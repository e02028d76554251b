//! Owns the answer of a scripted reply: text with filled placeholders, pieces, tool calls, usage.

use serde_json::Value;

use super::{CallConfig, Reply, UsageConfig};
use crate::model::chat::{Message, Role, Tokens, ToolCall};
use crate::model::event::FaultCode;
use crate::model::parts::Part;
use crate::providers::reply::MOST_TOKENS;
use crate::providers::{ChatReply, ChatRequest, Finish, Named, ProviderFailure, echo, thoughts};

/// One answer of a scripted model, ready to be sent.
#[derive(Debug)]
pub(super) struct Act {
    text: String,
    thought: String,
    chunks: Option<Vec<String>>,
    calls: Vec<ToolCall>,
    structured: Option<Value>,
    error: Option<FaultCode>,
    usage: Option<UsageConfig>,
    index: Option<u64>,
    finish: Finish,
    pub(super) delay_ms: u64,
}

/// What stands for the placeholders of a reply.
struct Words<'a> {
    last_user: &'a str,
    tool_result: &'a str,
    found: &'a str,
}

impl Act {
    pub(super) fn echo(request: &ChatRequest) -> Self {
        let text = echo::answer(&request.messages);
        Self { text, thought: String::new(), chunks: None, calls: Vec::new(), structured: None, error: None, usage: None, index: None, finish: Finish::Stop, delay_ms: 0 }
    }

    pub(super) fn play(reply: &Reply, index: u64, request: &ChatRequest) -> Self {
        let words = Words::of(reply, request);
        let told = &reply.config;
        let chunks: Option<Vec<_>> = told.chunks.as_ref().map(|all| all.iter().map(|one| words.fill(one)).collect());
        let structured = told.structured.clone();
        let text = match (&chunks, &told.text, &structured) {
            (Some(chunks), _, _) => chunks.concat(),
            (None, Some(text), _) => words.fill(text),
            (None, None, Some(value)) => value.to_string(),
            (None, None, None) => String::new(),
        };
        let calls = told.tool_calls.iter().enumerate().map(|(at, call)| words.call(call, at, request)).collect();
        let finish = told.finish.unwrap_or_default().into();
        let thought = told.reasoning.as_deref().map(|thought| words.fill(thought)).unwrap_or_default();
        Self { text, thought, chunks, calls, structured, error: told.error, usage: told.usage, index: Some(index), finish, delay_ms: told.delay_ms }
    }

    /// The streamed pieces; one piece without a reader.
    pub(super) fn pieces(&self, live: bool) -> Box<dyn Iterator<Item = &str> + Send + '_> {
        match &self.chunks {
            _ if self.error.is_some() => Box::new(std::iter::once("")),
            _ if !live => Box::new(std::iter::once(self.text.as_str())),
            Some(chunks) => Box::new(chunks.iter().map(String::as_str)),
            None => Box::new(split_after_blanks(&self.text)),
        }
    }

    /// What is streamed before the text, if there is a reader.
    pub(super) fn thought(&self, request: &ChatRequest) -> Option<&str> {
        let told = request.live && self.error.is_none() && !self.thought.is_empty() && request.parameters.shows_reasoning();
        told.then_some(self.thought.as_str())
    }

    pub(super) fn end(self, request: &ChatRequest) -> Result<ChatReply, ProviderFailure> {
        let given = self.usage.map(tokens);
        if let Some(code) = self.error {
            let told = if self.text.is_empty() { format!("the script says `{}`", code.as_str()) } else { self.text };
            return Err(ProviderFailure { tokens: given, reply_index: self.index, ..ProviderFailure::new(code, told) });
        }
        let finish = if self.calls.is_empty() || self.finish != Finish::Stop { self.finish } else { Finish::ToolCalls };
        let thoughts = thoughts::reasoning_parts(&self.thought).into_iter();
        let parts = if request.parameters.shows_reasoning() { thoughts.collect() } else { thoughts.map(Part::unseen).collect() };
        let message = Message { tool_calls: self.calls, parts, ..Message::text(Role::Assistant, self.text) };
        let tokens = Some(given.unwrap_or_else(|| estimate(request, &message)));
        Ok(ChatReply { message, files: Vec::new(), structured: self.structured, tokens, last_prompt: None, named: Named::default(), cost: None, finish, warnings: Vec::new(), reply_index: self.index })
    }
}

impl<'a> Words<'a> {
    fn of(reply: &Reply, request: &'a ChatRequest) -> Self {
        let messages = &request.messages;
        let last = messages.last().map_or("", |message| &message.content);
        let tool = messages.iter().rev().find(|message| message.role == Role::Tool);
        Self {
            last_user: echo::last_user(messages),
            tool_result: tool.map_or("", |message| &message.content),
            found: reply.found(last),
        }
    }

    /// One pass: what is put in is not looked at again.
    fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            filled.push_str(before);
            let named = after.split_once("}}").and_then(|(name, after)| Some((self.word(name.trim())?, after)));
            let (word, after) = named.unwrap_or(("{{", after));
            filled.push_str(word);
            rest = after;
        }
        filled + rest
    }

    fn word(&self, name: &str) -> Option<&'a str>
    where
        Self: 'a,
    {
        match name {
            "last_user" => Some(self.last_user),
            "tool_result" => Some(self.tool_result),
            "match" => Some(self.found),
            _ => None,
        }
    }

    fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(members) => {
                members.iter().map(|(name, member)| (name.clone(), self.fill_value(member))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn call(&self, call: &CallConfig, at: usize, request: &ChatRequest) -> ToolCall {
        let id = call.id.clone().unwrap_or_else(|| call_id(at, request));
        let (arguments, invalid) = match self.fill_value(&call.arguments) {
            Value::Null => (Value::Object(serde_json::Map::new()), None),
            Value::Object(members) => (Value::Object(members), None),
            other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => (other, Some("the arguments are not a JSON object".to_owned())),
        };
        ToolCall { id, name: call.name.clone(), arguments, invalid }
    }
}

/// The same in every run: node, number of its call, place in the turn.
fn call_id(at: usize, request: &ChatRequest) -> String {
    let node = request.asker.node_id.as_deref().unwrap_or("model");
    let node: String = node.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let call = request.asker.calls_before + 1;
    if at == 0 { format!("call_{node}_{call}") } else { format!("call_{node}_{call}_{}", at + 1) }
}

fn split_after_blanks(mut rest: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let blank = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let end = rest[blank..].find(|letter: char| !letter.is_whitespace()).map_or(rest.len(), |more| blank + more);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece).filter(|piece| !piece.is_empty())
    })
}

fn tokens(usage: UsageConfig) -> Tokens {
    let count = |told: u64| told.min(MOST_TOKENS);
    Tokens {
        prompt: count(usage.prompt_tokens),
        completion: count(usage.completion_tokens),
        cached: count(usage.cached_tokens),
        cache_write: count(usage.cache_write_tokens),
        reasoning: count(usage.reasoning_tokens),
        ..Tokens::default()
    }
}

fn estimate(request: &ChatRequest, answer: &Message) -> Tokens {
    let prompt = request.messages.iter().map(characters).sum::<usize>();
    let quarter = |characters: usize| characters.div_ceil(4) as u64;
    Tokens { prompt: quarter(prompt), completion: quarter(characters(answer)), ..Tokens::default() }
}

fn characters(message: &Message) -> usize {
    let calls = message.tool_calls.iter().map(|call| call.name.chars().count() + call.arguments.to_string().chars().count());
    message.content.chars().count() + calls.sum::<usize>()
}
