//! Owns the body of a request for a message.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::model::{self, Thinking};
use super::{KIND, blocks, marks};
use crate::model::agent::ToolChoice;
use crate::model::chat::Message;
use crate::model::registry::{Facts, Reasoning, Structured};
use crate::providers::files::{self, Takes};
use crate::providers::{ChatRequest, NativeTool, instruct, strict, thoughts};

/// Results may hold files; its models make none.
const TAKES: Takes = Takes { results: true, answers: None };

/// The last version that takes `temperature` and `top_p`.
pub(in crate::providers) const SAMPLING: &str = "2023-06-01";
/// The current version.
const CURRENT: &str = "2026-10-21";
/// The version of its web search that is meant where none is named.
const WEB_SEARCH: &str = "web_search_20250305";
/// The version that a request is made with: the configured one, else the latest that takes its settings.
pub(in crate::providers) fn version<'a>(configured: Option<&'a str>, request: &ChatRequest) -> &'a str {
    let sampled = request.parameters.temperature.is_some() || request.parameters.top_p.is_some();
    configured.unwrap_or(if sampled { SAMPLING } else { CURRENT })
}

pub(in crate::providers) fn body(request: &ChatRequest, version: &str) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    let facts = request.facts(KIND);
    let format = format(request, &facts);
    let told = request.schema.as_ref().filter(|_| format.is_none());
    let system = instruct::instructions(&request.messages, told);
    if !system.is_empty() {
        body.insert("system".into(), system.into());
    }
    body.insert("messages".into(), blocks::turns(&files::carried(&request.messages, TAKES), &request.media).into());
    add_tools(&mut body, request);
    let thinks = add_limits(&mut body, request, &facts, format);
    if !thinks && version <= SAMPLING {
        add_sampling(&mut body, request);
    }
    if let Some(stop) = &request.parameters.stop {
        body.insert("stop_sequences".into(), stop.clone().into());
    }
    if request.stream {
        body.insert("stream".into(), true.into());
    }
    if let Some(ttl) = request.cache {
        marks::add(&mut body, ttl);
    }
    Value::Object(body)
}

/// Continues a paused answer: the request contains the answer so far.
pub(super) fn go_on(body: &mut Value, so_far: &[Value]) {
    let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) else { return };
    if messages.last().is_some_and(|last| last["role"] == "assistant") {
        messages.pop();
    }
    messages.push(json!({"role": "assistant", "content": so_far}));
}

fn format(request: &ChatRequest, facts: &Facts) -> Option<Value> {
    let schema = request.schema.as_ref().filter(|_| facts.structured() == Structured::Schema)?;
    Some(json!({"type": "json_schema", "schema": strict::rewritten(schema, &strict::ANTHROPIC)?}))
}

/// One of both: the newer models refuse `temperature` together with `top_p`.
fn add_sampling(body: &mut Map<String, Value>, request: &ChatRequest) {
    match (request.parameters.temperature, request.parameters.top_p) {
        (Some(temperature), _) => body.insert("temperature".into(), temperature.into()),
        (None, Some(top_p)) => body.insert("top_p".into(), top_p.into()),
        (None, None) => None,
    };
}

/// How long an answer may be, and how much the model thinks before.
pub(in crate::providers) struct Limits {
    pub(in crate::providers) max_tokens: u64,
    pub(in crate::providers) thinking: Option<Value>,
    pub(in crate::providers) effort: Option<String>,
}

impl Limits {
    /// The model thinks.
    pub(in crate::providers) fn thinks(&self) -> bool {
        self.thinking.as_ref().is_some_and(|thinking| thinking["type"] != "disabled")
    }
}

/// The limits of a request; `may_think`: its last turn can be gone on with by thinking.
pub(in crate::providers) fn limits(request: &ChatRequest, facts: &Facts, may_think: bool) -> Limits {
    let wanted = request.parameters.max_tokens;
    let mut max_tokens = wanted.unwrap_or_else(|| model::max_tokens(facts));
    let mut told = None;
    let effort = request.parameters.reasoning_effort.as_deref();
    let thinking = effort.map_or_else(|| shown(request, facts), |effort| {
        let budget = model::budget(effort);
        match (model::thinking(facts), budget) {
            (Thinking::Never, _) => None,
            (_, None) => Some(json!({"type": "disabled"})),
            (Thinking::Effort, Some(_)) => {
                told = Some(if effort == "minimal" { "low" } else { effort }.to_owned());
                // Newer models do not show what they think unless they are asked to.
                let shown = request.parameters.shows_reasoning();
                Some(if shown { json!({"type": "adaptive", "display": "summarized"}) } else { json!({"type": "adaptive"}) })
            }
            (Thinking::Budget, Some(_)) if !may_think => None,
            (Thinking::Budget, Some(budget)) => {
                // The budget is part of the limit.
                let (limit, budget) = model::with_budget(facts, wanted, budget);
                max_tokens = limit;
                Some(json!({"type": "enabled", "budget_tokens": budget}))
            }
        }
    });
    Limits { max_tokens, thinking, effort: told }
}

/// Without an effort, a model that thinks all the same is asked to show what it thinks: the newer ones do not by themselves.
fn shown(request: &ChatRequest, facts: &Facts) -> Option<Value> {
    // If thinking is optional, it is not requested when the model must call a tool; some structured answers are such calls.
    let forced = request.tool_choice.as_ref().is_some_and(ToolChoice::is_for_the_first_call)
        || (request.schema.is_some() && facts.structured() != Structured::Schema);
    let thinks = facts.reasoning == Some(Reasoning::Always) || (facts.thinks == Some(true) && !forced);
    (thinks && request.parameters.shows_reasoning()).then(|| json!({"type": "adaptive", "display": "summarized"}))
}

/// Puts the limits into a body; whether the model thinks.
fn add_limits(body: &mut Map<String, Value>, request: &ChatRequest, facts: &Facts, format: Option<Value>) -> bool {
    let limits = limits(request, facts, thoughts::may_go_on(&request.messages, begins_with_thought));
    let thinks = limits.thinks();
    body.insert("max_tokens".into(), limits.max_tokens.into());
    let mut output = Map::new();
    output.extend(limits.effort.map(|effort| ("effort".to_owned(), effort.into())));
    output.extend(format.map(|format| ("format".to_owned(), format)));
    body.extend(limits.thinking.map(|thinking| ("thinking".to_owned(), thinking)));
    if !output.is_empty() {
        body.insert("output_config".into(), output.into());
    }
    thinks
}

/// The answer begins with a thought of this family.
pub(in crate::providers) fn begins_with_thought(message: &Message) -> bool {
    let own = message.blocks.as_ref().filter(|own| own.family == super::FAMILY).and_then(|own| own.value.as_array());
    own.and_then(|blocks| blocks.first()?["type"].as_str()).is_some_and(|kind| matches!(kind, "thinking" | "redacted_thinking"))
}

fn add_tools(body: &mut Map<String, Value>, request: &ChatRequest) {
    let functions =
        request.tools.iter().map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}));
    let native = request.native_tools.iter().map(native);
    let tools: Vec<Value> = functions.chain(native).collect();
    if tools.is_empty() {
        return add_past_tools(body, request);
    }
    body.insert("tools".into(), tools.into());
    if let Some(choice) = choice_of(request) {
        body.insert("tool_choice".into(), choice);
    }
}

/// Whether and which tools are called, and whether several at once.
fn choice_of(request: &ChatRequest) -> Option<Value> {
    let one = request.parallel_tool_calls == Some(false);
    let mut choice = match &request.tool_choice {
        None if !one => return None,
        None | Some(ToolChoice::Auto) => json!({"type": "auto"}),
        Some(ToolChoice::None) => return Some(json!({"type": "none"})),
        Some(ToolChoice::Required) => json!({"type": "any"}),
        Some(ToolChoice::Tool(name)) => json!({"type": "tool", "name": name}),
    };
    if let (true, Some(members)) = (one, choice.as_object_mut()) {
        members.insert("disable_parallel_tool_use".into(), true.into());
    }
    Some(choice)
}

/// A conversation that holds calls is refused without its tools, also when none is on offer any more.
fn add_past_tools(body: &mut Map<String, Value>, request: &ChatRequest) {
    let calls = request.messages.iter().flat_map(|message| &message.tool_calls);
    let names: BTreeSet<&str> = calls.map(|call| call.name.as_str()).collect();
    if !names.is_empty() {
        let tool = |name| json!({"name": name, "input_schema": {"type": "object"}});
        body.insert("tools".into(), names.into_iter().map(tool).collect());
        body.insert("tool_choice".into(), json!({"type": "none"}));
    }
}

fn native(tool: &NativeTool) -> Value {
    let kind = if tool.kind == "web_search" { WEB_SEARCH } else { tool.kind.as_str() };
    let mut told = tool.typed(kind);
    told.entry("name").or_insert_with(|| native_name(kind).into());
    Value::Object(told)
}

/// `web_search` of `web_search_20250305`.
fn native_name(kind: &str) -> &str {
    kind.rsplit_once('_').filter(|(_, date)| date.bytes().all(|byte| byte.is_ascii_digit())).map_or(kind, |(name, _)| name)
}
