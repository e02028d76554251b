//! Owns the body of a chat request.

use serde_json::{Map, Value, json};

use super::FAMILY;
use crate::model::chat::{Message, Role, ToolCall};
use crate::model::registry::{Facts, Reasoning};
use crate::providers::files::{self, Kind, Takes};
use crate::providers::reply::object;
use crate::providers::{ChatRequest, Media, instruct};

pub(in crate::providers) fn body(request: &ChatRequest, window: Option<u64>) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    // A format binds every token, so that a model could call no tool.
    let native = request.schema.as_ref().filter(|_| request.tools.is_empty());
    let carried = files::carried(&request.messages, Takes::default());
    let told = request.schema.as_ref().filter(|_| native.is_none()).map(|schema| instruct::with_schema(&carried, schema));
    let messages = told.as_deref().unwrap_or(&carried);
    body.insert("messages".into(), messages.iter().map(|one| message(one, &request.media)).collect());
    let tools: Vec<Value> = request.tools.iter().map(|tool| {
        json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}})
    }).collect();
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
    }
    if let Some(schema) = native {
        body.insert("format".into(), schema.clone());
    }
    if let Some(effort) = request.parameters.reasoning_effort.as_deref() {
        body.insert("think".into(), think(&request.facts(FAMILY), effort));
    }
    let options = options(request, window);
    if !options.is_empty() {
        body.insert("options".into(), options.into());
    }
    body.insert("stream".into(), request.stream.into());
    Value::Object(body)
}

/// Most models only know whether to think, not how much.
fn think(facts: &Facts, effort: &str) -> Value {
    match effort {
        "none" => false.into(),
        _ if facts.reasoning != Some(Reasoning::Effort) => true.into(),
        "minimal" => "low".into(),
        "xhigh" | "max" => "high".into(),
        level => level.into(),
    }
}

fn options(request: &ChatRequest, window: Option<u64>) -> Map<String, Value> {
    let parameters = &request.parameters;
    let settings = [
        ("num_ctx", window.map(Value::from)),
        ("num_predict", parameters.max_tokens.map(Value::from)),
        ("temperature", parameters.temperature.map(Value::from)),
        ("top_p", parameters.top_p.map(Value::from)),
        ("stop", parameters.stop.clone().map(Value::from)),
    ];
    settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

fn message(message: &Message, media: &[Media]) -> Value {
    match message.role {
        Role::System => json!({"role": "system", "content": message.content}),
        Role::User => user(message, media),
        Role::Assistant => assistant(message),
        Role::Tool => {
            json!({"role": "tool", "content": message.content, "tool_name": message.name, "tool_call_id": message.tool_call_id})
        }
    }
}

/// It takes the bytes of such a file, or its text.
pub(in crate::providers) const fn carries(_: &Facts, kind: Kind, _: &str) -> bool {
    matches!(kind, Kind::Image | Kind::Text)
}

fn user(message: &Message, media: &[Media]) -> Value {
    let (images, others): (Vec<_>, Vec<_>) = files::of(message, media).partition(|file| file.kind() == Kind::Image);
    let told = others.into_iter().map(|file| format!("\n\n{}", file.to_text()));
    let content: String = std::iter::once(message.content.clone()).chain(told).collect();
    let mut told = json!({"role": "user", "content": content});
    if let (false, Some(told)) = (images.is_empty(), told.as_object_mut()) {
        told.insert("images".into(), images.into_iter().map(|file| file.base64()).collect());
    }
    told
}

fn assistant(message: &Message) -> Value {
    let mut told = Map::new();
    told.insert("role".into(), "assistant".into());
    told.insert("content".into(), message.content.as_str().into());
    if let Some(Value::Object(own)) = message.blocks.as_ref().filter(|own| own.family == FAMILY).map(|own| &own.value) {
        told.extend(own.clone());
    }
    if !message.tool_calls.is_empty() {
        told.insert("tool_calls".into(), message.tool_calls.iter().map(call).collect());
    }
    Value::Object(told)
}

fn call(call: &ToolCall) -> Value {
    json!({"id": call.id, "function": {"name": call.name, "arguments": object(call)}})
}
