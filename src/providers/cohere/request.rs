//! Owns the body of a chat request.

use serde_json::{Map, Value, json};

use super::FAMILY;
use crate::model::agent::ToolChoice;
use crate::model::chat::{Message, Role};
use crate::model::registry::Facts;
use crate::providers::files::{self, File, Kind, Takes};
use crate::providers::openai::request::call;
use crate::providers::{ChatRequest, Media, instruct, schema_subset};

/// The supported keywords of a schema; the others are checked in the answer.
const KEYWORDS: [&str; 14] = [
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "anyOf",
    "$ref",
    "$defs",
    "definitions",
    "format",
    "pattern",
    "title",
    "description",
];

pub(in crate::providers) fn body(request: &ChatRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    let native = request.schema.as_ref().filter(|schema| request.tools.is_empty() && is_takeable(schema));
    let carried = files::carried(&request.messages, Takes::default());
    let told = request.schema.as_ref().filter(|_| native.is_none()).map(|schema| instruct::with_schema(&carried, schema));
    let messages = told.as_deref().unwrap_or(&carried);
    body.insert("messages".into(), messages.iter().filter(|one| says(one)).map(|one| message(one, &request.media)).collect());
    let tools: Vec<Value> = request.tools.iter().map(|tool| {
        json!({"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}})
    }).collect();
    if !tools.is_empty() {
        body.insert("tools".into(), tools.into());
        let choice = match request.tool_choice {
            Some(ToolChoice::None) => Some("NONE"),
            Some(ToolChoice::Required) => Some("REQUIRED"),
            Some(ToolChoice::Auto | ToolChoice::Tool(_)) | None => None,
        };
        body.extend(choice.map(|choice| ("tool_choice".to_owned(), choice.into())));
    }
    if let Some(schema) = native {
        body.insert("response_format".into(), json!({"type": "json_object", "json_schema": schema_subset::only(schema, &KEYWORDS)}));
    }
    add_parameters(&mut body, request);
    // Without the key it does not stream.
    body.insert("stream".into(), request.stream.into());
    Value::Object(body)
}

/// An object with a member that must be there; a format goes with no tools.
fn is_takeable(schema: &Value) -> bool {
    let required = schema.get("required").and_then(Value::as_array).is_some_and(|required| !required.is_empty());
    required && schema.get("type").is_some_and(|kind| kind == "object")
}

fn add_parameters(body: &mut Map<String, Value>, request: &ChatRequest) {
    let parameters = &request.parameters;
    let thinking =
        parameters.reasoning_effort.as_deref().map(|effort| json!({"type": if effort == "none" { "disabled" } else { "enabled" }}));
    let settings = [
        ("temperature", parameters.temperature.map(Value::from)),
        ("p", parameters.top_p.map(Value::from)),
        ("max_tokens", parameters.max_tokens.map(Value::from)),
        ("stop_sequences", parameters.stop.clone().map(Value::from)),
        ("thinking", thinking),
    ];
    body.extend(settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
}

/// A message of the model that holds nothing is refused.
fn says(message: &Message) -> bool {
    message.role != Role::Assistant || !message.content.is_empty() || !message.tool_calls.is_empty()
}

fn message(message: &Message, media: &[Media]) -> Value {
    match message.role {
        Role::System => json!({"role": "system", "content": message.content}),
        Role::User => json!({"role": "user", "content": files::content(message, media, text_part, part)}),
        Role::Assistant => assistant(message),
        Role::Tool => json!({"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}),
    }
}

/// What it thought comes before what it said, its plan before its calls.
fn assistant(message: &Message) -> Value {
    let own = message.blocks.as_ref().filter(|own| own.family == FAMILY).map(|own| &own.value);
    let thoughts = own.and_then(|own| own.get("thinking")).and_then(Value::as_array).into_iter().flatten().cloned();
    let text = (!message.content.is_empty()).then(|| text_part(&message.content));
    let content: Vec<Value> = thoughts.chain(text).collect();
    let mut told = Map::new();
    told.insert("role".into(), "assistant".into());
    if !content.is_empty() {
        told.insert("content".into(), content.into());
    }
    if !message.tool_calls.is_empty() {
        told.extend(own.and_then(|own| own.get("tool_plan")).map(|plan| ("tool_plan".to_owned(), plan.clone())));
        told.insert("tool_calls".into(), message.tool_calls.iter().map(|one| call(one, &one.id)).collect());
    }
    Value::Object(told)
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// It takes the bytes of such a file, or its text.
pub(in crate::providers) const fn carries(_: &Facts, kind: Kind, _: &str) -> bool {
    matches!(kind, Kind::Image | Kind::Text)
}

fn part(file: File<'_>) -> Value {
    match file.kind() {
        Kind::Image => json!({"type": "image_url", "image_url": {"url": file.data_url()}}),
        Kind::Audio | Kind::Video | Kind::Pdf | Kind::Text | Kind::Other => text_part(&file.to_text()),
    }
}
