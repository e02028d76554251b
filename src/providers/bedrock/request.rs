//! Owns the body of a request to converse: <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html>.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::blocks::{self, Taken};
use super::{ANSWER, KIND};
use crate::model::agent::{CacheTtl, ToolChoice};
use crate::model::chat::Message;
use crate::model::registry::{Facts, Reasoning, Structured};
use crate::providers::anthropic::request::{Limits, limits};
use crate::providers::files::{self, Takes};
use crate::providers::{ChatRequest, instruct, strict, thoughts};

/// Messages whose ends are marked, as for Anthropic's own interface.
const MARKED: usize = 2;

/// How an answer is given its form.
#[derive(Clone, Debug, PartialEq)]
enum Form {
    /// It has none.
    Free,
    /// By this schema, token by token.
    Bound(Value),
    /// By a tool that the model calls with the answer.
    Called,
    /// In words.
    Instructed,
}

/// The models of Anthropic, which have settings of their own. The name of an inference profile does not show the maker.
pub(in crate::providers) fn is_claude(model: &str, facts: &Facts) -> bool {
    model.contains("claude") || (!model.contains("nova") && matches!(facts.reasoning, Some(Reasoning::Budget | Reasoning::Adaptive | Reasoning::Always)))
}

pub(in crate::providers) fn body(request: &ChatRequest) -> Value {
    let facts = request.facts(KIND);
    let claude = is_claude(&request.model, &facts);
    let limits = claude.then(|| limits(request, &facts, thoughts::may_go_on(&request.messages, begins_with_thought)));
    let thinks = limits.as_ref().is_some_and(|limits| limits.thinks() || facts.reasoning == Some(Reasoning::Always));
    let form = form(request, &facts, thinks);
    let mut body = Map::new();
    let told = request.schema.as_ref().filter(|_| form == Form::Instructed);
    let system = instruct::instructions(&request.messages, told);
    if !system.is_empty() {
        body.insert("system".into(), json!([{ "text": system }]));
    }
    let taken = Taken { facts: &facts, status: claude || request.model.contains("nova") };
    body.insert("messages".into(), blocks::turns(&files::carried(&request.messages, Takes::default()), &request.media, taken).into());
    let config = inference(request, limits.as_ref(), thinks);
    if !config.is_empty() {
        body.insert("inferenceConfig".into(), config.into());
    }
    let more = further(request, limits);
    if !more.is_empty() {
        body.insert("additionalModelRequestFields".into(), more.into());
    }
    add_tools(&mut body, request, &facts, &form);
    if let Form::Bound(schema) = form {
        let structure = json!({"jsonSchema": {"name": "answer", "schema": schema.to_string()}});
        body.insert("outputConfig".into(), json!({"textFormat": {"type": "json_schema", "structure": structure}}));
    }
    if let Some(ttl) = request.cache {
        mark(&mut body, ttl, claude);
    }
    Value::Object(body)
}

fn form(request: &ChatRequest, facts: &Facts, thinks: bool) -> Form {
    let Some(schema) = &request.schema else { return Form::Free };
    let bound = (facts.structured() == Structured::Schema).then(|| strict::rewritten(schema, &strict::ANTHROPIC)).flatten();
    // A model that thinks cannot be forced to call a tool, and the input of a tool is always an object.
    let named = request.tools.iter().any(|tool| tool.name == ANSWER);
    let calls = !thinks && !named && facts.tools != Some(false) && facts.tool_choice != Some(false) && request.tool_choice != Some(ToolChoice::None);
    match bound {
        Some(schema) => Form::Bound(schema),
        None if calls && schema["type"] == "object" => Form::Called,
        None => Form::Instructed,
    }
}

fn inference(request: &ChatRequest, limits: Option<&Limits>, thinks: bool) -> Map<String, Value> {
    let parameters = &request.parameters;
    let max_tokens = limits.map(|limits| limits.max_tokens).or(parameters.max_tokens);
    // Newer models of Anthropic refuse both together.
    let top_p = parameters.top_p.filter(|_| limits.is_none() || parameters.temperature.is_none());
    let settings = [
        ("maxTokens", max_tokens.map(Value::from)),
        ("temperature", parameters.temperature.filter(|_| !thinks).map(Value::from)),
        ("topP", top_p.filter(|_| !thinks).map(Value::from)),
        ("stopSequences", parameters.stop.clone().map(Value::from)),
    ];
    settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// What the interface hands on to the model as it is: how much it thinks.
fn further(request: &ChatRequest, limits: Option<Limits>) -> Map<String, Value> {
    let mut more = Map::new();
    if let Some(Limits { thinking, effort, .. }) = limits {
        more.extend(thinking.map(|thinking| ("thinking".to_owned(), thinking)));
        more.extend(effort.map(|effort| ("output_config".to_owned(), json!({ "effort": effort }))));
        return more;
    }
    let Some(effort) = request.parameters.reasoning_effort.as_deref() else { return more };
    if request.model.contains("nova") {
        let config = if effort == "none" { json!({"type": "disabled"}) } else { json!({"type": "enabled", "maxReasoningEffort": effort}) };
        more.insert("reasoningConfig".into(), config);
    } else if effort != "none" {
        more.insert("reasoning_effort".into(), effort.into());
    }
    more
}

/// The answer begins with a thought of this family.
pub(in crate::providers) fn begins_with_thought(message: &Message) -> bool {
    let own = message.blocks.as_ref().filter(|own| own.family == super::FAMILY).and_then(|own| own.value.as_array());
    own.and_then(|blocks| blocks.first()).is_some_and(|first| first.get("reasoningContent").is_some())
}

fn add_tools(body: &mut Map<String, Value>, request: &ChatRequest, facts: &Facts, form: &Form) {
    if facts.tools == Some(false) {
        return;
    }
    let tool = |name: &str, description: &str, schema: &Value| {
        // A description of no letters is refused.
        let description = if description.trim().is_empty() { name } else { description };
        json!({"toolSpec": {"name": name, "description": description, "inputSchema": {"json": schema}}})
    };
    let mut tools: Vec<Value> = request.tools.iter().map(|offer| tool(&offer.name, &offer.description, &offer.input_schema)).collect();
    let offered = !tools.is_empty();
    if !offered {
        // A conversation that holds calls is refused without its tools, also when none is on offer any more.
        let calls = request.messages.iter().flat_map(|message| &message.tool_calls);
        let names: BTreeSet<&str> = calls.map(|call| call.name.as_str()).collect();
        tools.extend(names.into_iter().map(|name| tool(name, "This tool is not available any more.", &json!({"type": "object"}))));
    }
    if let (Form::Called, Some(schema)) = (form, &request.schema) {
        tools.push(tool(ANSWER, "Gives the answer. Call it once, when the answer is known.", schema));
    }
    if tools.is_empty() {
        return;
    }
    let mut config = Map::from_iter([("tools".to_owned(), tools.into())]);
    config.extend(choice(request, form, offered).map(|choice| ("toolChoice".to_owned(), choice)));
    body.insert("toolConfig".into(), config.into());
}

/// Whether and which tools are called: that of the answer, or one of several of which it is one.
fn choice(request: &ChatRequest, form: &Form, offered: bool) -> Option<Value> {
    match (&request.tool_choice, form) {
        (Some(ToolChoice::Tool(name)), _) => Some(json!({"tool": {"name": name}})),
        (_, Form::Called) if !offered => Some(json!({"tool": {"name": ANSWER}})),
        (_, Form::Called) | (Some(ToolChoice::Required), _) => Some(json!({"any": {}})),
        (Some(ToolChoice::Auto), _) => Some(json!({"auto": {}})),
        (Some(ToolChoice::None) | None, _) => None,
    }
}

/// Marks the end of what is to be kept. Models other than Anthropic's keep no tools.
fn mark(body: &mut Map<String, Value>, ttl: CacheTtl, tools: bool) {
    let mark = match ttl {
        CacheTtl::Minutes => json!({"cachePoint": {"type": "default"}}),
        CacheTtl::Hour => json!({"cachePoint": {"type": "default", "ttl": "1h"}}),
    };
    let offered = body.get_mut("toolConfig").and_then(|config| config.get_mut("tools")).and_then(Value::as_array_mut);
    if let Some(offered) = offered.filter(|_| tools) {
        offered.push(mark.clone());
    }
    if let Some(system) = body.get_mut("system").and_then(Value::as_array_mut) {
        system.push(mark.clone());
    }
    let messages = body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
    for content in messages.rev().take(MARKED).filter_map(|message| message.get_mut("content")?.as_array_mut()) {
        content.push(mark.clone());
    }
}
