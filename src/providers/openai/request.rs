//! Owns the body of a chat completion request.

use serde_json::{Map, Value, json};

use super::FAMILY;
use super::dialect::{Dialect, Structure};
use super::{marks, own};
use crate::model::agent::{Parameters, ToolChoice};
use crate::model::chat::{Message, Role, ToolCall};
use crate::providers::files::{self, File, Kind, Takes};
use crate::model::registry::{Facts, Medium};
use crate::providers::reply::object;
use crate::providers::{ChatRequest, NativeTool, ToolOffer, instruct, strict};

pub(in crate::providers) fn body(request: &ChatRequest, dialect: &Dialect) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), dialect.name(&request.model).into());
    let format = format(request, dialect);
    let told = format.as_ref().filter(|(_, structure)| *structure != Structure::Schema);
    let carried = files::carried(&request.messages, Takes::default());
    let messages = told.map(|(schema, _)| instruct::with_schema(&carried, schema));
    let messages = messages.as_deref().unwrap_or(&carried);
    body.insert("messages".into(), messages.iter().map(|one| message(one, request, dialect)).collect());
    add_tools(&mut body, request, &FORMS);
    add_parameters(&mut body, &request.parameters, dialect);
    if dialect.kind == "openrouter" && request.facts(&dialect.kind).makes(Medium::Image) {
        body.insert("modalities".into(), json!(["image", "text"]));
    }
    if let Some((schema, structure)) = format {
        add_format(&mut body, schema, structure, dialect);
    }
    body.extend(request.cache_key.clone().map(|key| ("prompt_cache_key".to_owned(), key.into())));
    if streams(request, dialect) {
        body.insert("stream".into(), true.into());
        if dialect.asks_usage {
            body.insert("stream_options".into(), json!({"include_usage": true}));
        }
    }
    if let Some(ttl) = request.cache.filter(|_| dialect.kind == "openrouter") {
        marks::add(&mut body, ttl);
    }
    Value::Object(body)
}

/// The answer comes as a stream.
pub(super) fn streams(request: &ChatRequest, dialect: &Dialect) -> bool {
    let formed = || format(request, dialect).is_some_and(|(_, structure)| structure != Structure::Words);
    request.stream && !(dialect.whole_structures && formed())
}

/// The schema of the answer, and how the answer gets this form. Only an object has a native one.
fn format<'a>(request: &'a ChatRequest, dialect: &Dialect) -> Option<(&'a Value, Structure)> {
    let schema = request.schema.as_ref()?;
    let tools = !request.tools.is_empty() || !request.native_tools.is_empty();
    let structure = match (dialect.structure(&request.facts(&dialect.kind), tools), schema.get("type")) {
        (Structure::Schema, Some(kind)) if kind == "object" => Structure::Schema,
        (Structure::Schema | Structure::AnyJson, kind) if kind.is_none_or(|kind| kind == "object") => Structure::AnyJson,
        (Structure::Schema | Structure::AnyJson | Structure::Words, _) => Structure::Words,
    };
    Some((schema, structure))
}

fn add_format(body: &mut Map<String, Value>, schema: &Value, structure: Structure, dialect: &Dialect) {
    let format = match structure {
        Structure::Schema => {
            let (schema, strict) = strictly(schema, dialect.strict);
            json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": strict}})
        }
        Structure::AnyJson => json!({"type": "json_object"}),
        Structure::Words => return,
    };
    body.insert("response_format".into(), format);
}

/// The schema as it is sent, and whether the provider is to keep to it token by token.
pub(in crate::providers) fn strictly(schema: &Value, strict: bool) -> (Value, bool) {
    match strict::rewritten(schema, &strict::OPENAI).filter(|_| strict) {
        Some(schema) => (schema, true),
        None => (schema.clone(), false),
    }
}

/// The forms of one API: a function, a tool of the provider, the choice of one function.
pub(in crate::providers) struct Forms {
    pub(in crate::providers) function: fn(&ToolOffer) -> Value,
    pub(in crate::providers) native: fn(&NativeTool) -> Value,
    pub(in crate::providers) named: fn(&str) -> Value,
}

const FORMS: Forms = Forms {
    function: |tool| {
        json!({"type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}})
    },
    native: |tool| Value::Object(tool.typed(&tool.kind)),
    named: |name| json!({"type": "function", "function": {"name": name}}),
};

/// Adds the tools, and whether and which are called.
pub(in crate::providers) fn add_tools(body: &mut Map<String, Value>, request: &ChatRequest, forms: &Forms) {
    let functions = request.tools.iter().map(forms.function);
    let tools: Vec<Value> = functions.chain(request.native_tools.iter().map(forms.native)).collect();
    if tools.is_empty() {
        return;
    }
    body.insert("tools".into(), tools.into());
    let choice = request.tool_choice.as_ref().map(|choice| match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Tool(name) => (forms.named)(name),
    });
    body.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
    if let Some(parallel) = request.parallel_tool_calls {
        body.insert("parallel_tool_calls".into(), parallel.into());
    }
}

fn add_parameters(body: &mut Map<String, Value>, parameters: &Parameters, dialect: &Dialect) {
    let settings = [
        ("temperature", parameters.temperature.map(Value::from)),
        ("top_p", parameters.top_p.map(Value::from)),
        (&*dialect.max_tokens, parameters.max_tokens.map(Value::from)),
        ("reasoning_effort", parameters.reasoning_effort.clone().map(Value::from)),
        ("stop", parameters.stop.clone().map(Value::from)),
    ];
    for (key, value) in settings {
        if let Some(value) = value {
            body.insert(key.into(), value);
        }
    }
}

fn message(message: &Message, request: &ChatRequest, dialect: &Dialect) -> Value {
    match message.role {
        Role::System => json!({"role": dialect.system_role, "content": message.content}),
        Role::User => json!({"role": "user", "content": files::content(message, &request.media, text_part, part)}),
        Role::Assistant => assistant(message, dialect, dialect.echoes_tags(&request.model)),
        Role::Tool => {
            let called = dialect.id(message.tool_call_id.as_deref().unwrap_or_default());
            json!({"role": "tool", "tool_call_id": called, "content": message.content})
        }
    }
}

/// A message of the model; `tags`: a thought that came between tags goes back so.
fn assistant(message: &Message, dialect: &Dialect, tags: bool) -> Value {
    let mut told = Map::new();
    told.insert("role".into(), "assistant".into());
    let only_calls = message.content.is_empty() && !message.tool_calls.is_empty();
    told.insert("content".into(), if only_calls { Value::Null } else { message.content.as_str().into() });
    if !message.tool_calls.is_empty() {
        told.insert("tool_calls".into(), message.tool_calls.iter().map(|one| call(one, &dialect.id(&one.id))).collect());
    }
    if let Some(own) = message.blocks.as_ref().filter(|own| own.family == FAMILY) {
        own::put_back(&mut told, &dialect.echo, &own.value);
        if tags {
            own::put_tag_back(&mut told, &own.value);
        }
    }
    Value::Object(told)
}

/// A call as it was asked for, under an id.
pub(in crate::providers) fn call(call: &ToolCall, id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": call.name, "arguments": object(call).to_string()}})
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The answer came with a thought that goes back with it.
pub(in crate::providers) fn begins_with_thought(message: &Message) -> bool {
    let own = message.blocks.as_ref().filter(|own| own.family == FAMILY);
    own.and_then(|own| own.value.get("reasoning_details")?.as_array()).is_some_and(|details| !details.is_empty())
}

/// It takes the bytes of such a file, or its text.
pub(in crate::providers) fn carries(_: &Facts, kind: Kind, mime: &str) -> bool {
    match kind {
        Kind::Image | Kind::Pdf | Kind::Text => true,
        Kind::Audio => matches!(mime, "audio/wav" | "audio/mpeg"),
        Kind::Video | Kind::Other => false,
    }
}

fn part(file: File<'_>) -> Value {
    match (file.kind(), file.mime()) {
        (Kind::Image, _) => json!({"type": "image_url", "image_url": {"url": file.data_url()}}),
        (Kind::Audio, "audio/wav") => json!({"type": "input_audio", "input_audio": {"data": file.base64(), "format": "wav"}}),
        (Kind::Audio, "audio/mpeg") => json!({"type": "input_audio", "input_audio": {"data": file.base64(), "format": "mp3"}}),
        (Kind::Pdf, _) => json!({"type": "file", "file": {"filename": file.name(), "file_data": file.data_url()}}),
        (Kind::Audio | Kind::Video | Kind::Text | Kind::Other, _) => text_part(&file.to_text()),
    }
}
