//! Owns the body of a request for content.

use serde_json::{Map, Value, json};

use super::{FAMILY, model, parts, unsigned};
use crate::model::agent::ToolChoice;
use crate::model::registry::{Facts, Structured};
use crate::providers::files::{self, Takes};
use crate::providers::{ChatRequest, instruct, schema_subset};

/// Files of results follow them.
const TAKES: Takes = Takes { results: false, answers: Some(FAMILY) };

/// The supported keywords of a schema; the others are checked in the answer.
const KEYWORDS: [&str; 21] = [
    "$id",
    "$defs",
    "$ref",
    "$anchor",
    "type",
    "format",
    "title",
    "description",
    "enum",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "oneOf",
    "properties",
    "additionalProperties",
    "required",
    "propertyOrdering",
];

/// Asks for tools of the provider beside functions: <https://ai.google.dev/gemini-api/docs/tool-combination>.
const BESIDE: &str = "includeServerSideToolInvocations";

/// Takes away how tools of the provider are asked for beside functions, which Vertex AI does not know.
pub(super) fn without_invocations(body: &mut Value) {
    let Some(body) = body.as_object_mut() else { return };
    if let Some(contents) = body.get_mut("contents").and_then(Value::as_array_mut) {
        drop_invocations(contents);
    }
    if let Some(config) = body.get_mut("toolConfig").and_then(Value::as_object_mut) {
        config.shift_remove(BESIDE);
        if config.is_empty() {
            body.shift_remove("toolConfig");
        }
    }
}

/// Tools of the provider are asked for beside functions.
fn is_beside(request: &ChatRequest) -> bool {
    !request.tools.is_empty() && !request.native_tools.is_empty()
}

/// Takes away what the provider's own tools were asked and answered: it is known only where they stand beside functions.
fn drop_invocations(contents: &mut Vec<Value>) {
    contents.retain_mut(|content| {
        let Some(parts) = content.get_mut("parts").and_then(Value::as_array_mut) else { return true };
        let before = parts.len();
        parts.retain(|part| part.get("toolCall").is_none() && part.get("toolResponse").is_none());
        before == 0 || !parts.is_empty()
    });
}

pub(in crate::providers) fn body(request: &ChatRequest) -> Value {
    let mut body = Map::new();
    let has_tools = !request.tools.is_empty() || !request.native_tools.is_empty();
    let facts = request.facts(FAMILY);
    let native = facts.structured() == Structured::Schema && (!has_tools || facts.structured_with_tools.unwrap_or(true));
    let told = request.schema.as_ref().filter(|_| !native);
    let instructions = instruct::instructions(&request.messages, told);
    if !instructions.is_empty() {
        body.insert("systemInstruction".into(), json!({"parts": [{"text": instructions}]}));
    }
    let mut contents = parts::contents(&files::carried(&request.messages, TAKES), &request.media);
    unsigned::mark(&mut contents, &facts);
    if !is_beside(request) {
        drop_invocations(&mut contents);
    }
    body.insert("contents".into(), contents.into());
    add_tools(&mut body, request);
    let config = config(request, &facts, native);
    if !config.is_empty() {
        body.insert("generationConfig".into(), config.into());
    }
    Value::Object(body)
}

fn native_name(kind: &str) -> &str {
    match kind {
        "web_search" => "googleSearch",
        "code_interpreter" => "codeExecution",
        other => other,
    }
}

fn add_tools(body: &mut Map<String, Value>, request: &ChatRequest) {
    let functions = request
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.input_schema}));
    let functions: Vec<Value> = functions.collect();
    let declared = (!functions.is_empty()).then(|| json!({ "functionDeclarations": functions }));
    let native = request.native_tools.iter().map(|tool| json!({ native_name(&tool.kind): tool.config }));
    let tools: Vec<Value> = declared.into_iter().chain(native).collect();
    if tools.is_empty() {
        return;
    }
    body.insert("tools".into(), tools.into());
    // Beside tools of its own, the model decides by itself where nothing is said: `AUTO` is refused there.
    let both = is_beside(request);
    let choice = request.tool_choice.as_ref().filter(|_| !request.tools.is_empty());
    let choice = choice.filter(|choice| !both || **choice != ToolChoice::Auto);
    let mut config = Map::new();
    config.extend(choice.map(|choice| ("functionCallingConfig".to_owned(), choice_of(choice))));
    config.extend(both.then(|| (BESIDE.to_owned(), true.into())));
    if !config.is_empty() {
        body.insert("toolConfig".into(), config.into());
    }
}

/// Whether and which tools are called.
fn choice_of(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!({"mode": "AUTO"}),
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Tool(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
    }
}

fn config(request: &ChatRequest, facts: &Facts, native: bool) -> Map<String, Value> {
    let parameters = &request.parameters;
    let effort = parameters.reasoning_effort.as_deref();
    let schema = request.schema.as_ref().filter(|_| native);
    let settings = [
        ("temperature", parameters.temperature.map(Value::from)),
        ("topP", parameters.top_p.map(Value::from)),
        ("maxOutputTokens", parameters.max_tokens.map(Value::from)),
        ("stopSequences", parameters.stop.clone().map(Value::from)),
        ("thinkingConfig", model::thinking_config(facts, effort, parameters.shows_reasoning())),
        ("responseMimeType", schema.map(|_| "application/json".into())),
        ("responseJsonSchema", schema.map(|schema| schema_subset::only(schema, &KEYWORDS))),
    ];
    settings.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}
