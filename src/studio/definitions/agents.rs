//! Owns the fields of an agent: allowed values, defaults, references to tools.

use serde_json::{Map, Value, json};

use crate::model::agent::{CacheTtl, InsideTurn, OWN_MEMBERS, OnToolLimit, ShowReasoning, ToolChoice, refused_option};
use crate::model::fallback;
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::fields::Fields;
use crate::studio::definitions::secrets;

/// Tool types that providers run themselves are named freely: letters, digits, `_`, `-`, `.`.
const PROVIDER_TYPE: usize = 64;

/// References to tools; each is looked up when the agent is checked and when a run begins.
const MOST_TOOLS: usize = 256;

/// Reads the writable fields of an agent, in the order in which they are shown.
pub(in crate::studio) fn read(fields: &mut Fields<'_>, catalog: &Catalog) -> Map<String, Value> {
    let (provider, model) = fields.model(["provider", "model"], catalog.default_model());
    let mut body = Map::new();
    body.insert("description".into(), fields.text("description", 10_000).unwrap_or_default().into());
    body.insert("provider".into(), provider.into());
    body.insert("model".into(), model.into());
    body.insert("credential".into(), secrets::read_name(fields, "credential"));
    body.insert("instructions".into(), fields.text("instructions", 100_000).unwrap_or_default().into());
    body.insert("tools".into(), read_tools(fields).into());
    body.insert("require_tool_approval".into(), fields.flag("require_tool_approval", false).into());
    body.insert("tool_max_runs".into(), fields.integer("tool_max_runs", 1..=100).unwrap_or(10).into());
    body.insert("parallel_tool_calls".into(), fields.maybe_flag("parallel_tool_calls").into());
    body.insert("on_length".into(), fields.choice("on_length", &["keep", "fail"]).unwrap_or("keep").into());
    if let Some(limit) = fields.choice("on_tool_limit", &OnToolLimit::NAMES).filter(|limit| *limit != "answer") {
        body.insert("on_tool_limit".into(), limit.into());
    }
    if fields.flag("stream_approval", false) {
        body.insert("stream_approval".into(), true.into());
    }
    body.insert("parameters".into(), fields.nested("parameters", read_parameters));
    body.extend(read_fallbacks(fields));
    body.insert("output_schema".into(), read_schema_name(fields, catalog));
    body.insert("schema".into(), fields.schema("schema").cloned().into());
    body.insert("memory_config".into(), fields.nested("memory_config", read_memory));
    body.insert("tags".into(), fields.texts("tags").into());
    body.insert("metadata".into(), fields.object("metadata").into());
    body
}

/// The models that are asked when the agent's own does not answer; nothing when there are none.
fn read_fallbacks(fields: &mut Fields<'_>) -> Option<(String, Value)> {
    let read = |fields: &mut Fields<'_>| {
        let mut fallback = Map::new();
        for name in ["provider", "model"] {
            fallback.insert(name.into(), fields.required(name, 255).unwrap_or_default().into());
        }
        let credential = secrets::read_name(fields, "credential");
        if !credential.is_null() {
            fallback.insert("credential".into(), credential);
        }
        if fields.value("parameters").is_some() {
            fallback.insert("parameters".into(), fields.nested("parameters", read_parameters));
        }
        Value::Object(fallback)
    };
    let fallbacks = fields.each("fallbacks", read);
    if fallbacks.len() > fallback::MOST {
        fields.wrong("fallbacks", &format!("must have at most {} items", fallback::MOST));
    }
    (!fallbacks.is_empty()).then(|| ("fallbacks".to_owned(), fallbacks.into()))
}

fn read_tools(fields: &mut Fields<'_>) -> Vec<Value> {
    let given = fields.value("tools").and_then(Value::as_array);
    if given.is_some_and(|tools| tools.len() > MOST_TOOLS) {
        fields.wrong("tools", &format!("must have at most {MOST_TOOLS} items"));
        return Vec::new();
    }
    fields.each("tools", read_tool_ref)
}

/// A tool reference with all its keys.
pub(in crate::studio) fn read_tool_ref(fields: &mut Fields<'_>) -> Value {
    let reference = fields.required("ref", 255).unwrap_or_default();
    if !reference.is_empty() && !is_tool_ref(reference) {
        fields.wrong("ref", "must be host:<name>, tool:<id or slug>, toolkit:<key>, mcp:<slug> or provider:<type>");
    }
    let config = fields.object("config");
    for (name, value) in &config {
        if value.as_str().is_some_and(|text| secrets::looks_secret(name, text)) {
            fields.wrong(&format!("config.{name}"), "looks like a secret; name it instead, as in `secret:NAME`");
        }
    }
    let mut tool = json!({
        "ref": reference, "config": config, "only": fields.maybe_texts("only"), "exclude": fields.texts("exclude"),
        "require_approval": fields.maybe_flag("require_approval"), "idempotent": fields.maybe_flag("idempotent"),
    });
    if let (true, Some(members)) = (fields.flag("always", false), tool.as_object_mut()) {
        members.insert("always".into(), true.into());
    }
    tool
}

fn is_tool_ref(reference: &str) -> bool {
    let Some((scheme, name)) = reference.split_once(':') else { return false };
    let word = |text: &str, most: usize| {
        (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    };
    match scheme {
        "host" | "tool" | "mcp" => word(name, 128),
        "provider" => word(name, PROVIDER_TYPE),
        "toolkit" => name.split_once('/').map_or_else(|| word(name, 64), |(kit, tool)| word(kit, 64) && word(tool, 64)),
        _ => false,
    }
}

fn read_parameters(fields: &mut Fields<'_>) -> Value {
    let chosen = [("cache_ttl", fields.choice("cache_ttl", &CacheTtl::NAMES)), ("show_reasoning", fields.choice("show_reasoning", &ShowReasoning::NAMES))];
    let mut parameters = json!({
        "temperature": fields.number("temperature", 0.0..=2.0), "top_p": fields.number("top_p", 0.0..=1.0),
        "max_tokens": fields.integer("max_tokens", 1..=i64::MAX), "reasoning_effort": fields.text("reasoning_effort", 64),
        "stop": fields.maybe_texts("stop"),
    });
    if let Some(members) = parameters.as_object_mut() {
        members.extend(chosen.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into()))));
    }
    let further = [("tool_choice", read_tool_choice(fields)), ("provider_options", read_provider_options(fields))];
    if let Some(members) = parameters.as_object_mut() {
        members.extend(further.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    parameters
}

fn read_tool_choice(fields: &mut Fields<'_>) -> Option<Value> {
    let value = fields.value("tool_choice")?;
    let word = value.as_str().is_some_and(|word| ToolChoice::WORDS.contains(&word));
    let names = value.as_object().is_some_and(|members| members.len() == 1 && members.get("tool").is_some_and(Value::is_string));
    if !word && !names {
        fields.wrong("tool_choice", "must be auto, none, required or an object with the member tool, the name of a tool");
    }
    Some(value.clone())
}

fn read_provider_options(fields: &mut Fields<'_>) -> Option<Value> {
    let options = fields.maybe_object("provider_options")?;
    if let Some(at) = refused_option(options) {
        let own = OWN_MEMBERS.join(", ");
        fields.wrong(&format!("provider_options.{at}"), &format!("must be an object by kind or id of a provider, without the members that the studio sets ({own})"));
    }
    (!options.is_empty()).then(|| options.clone().into())
}

fn read_memory(fields: &mut Fields<'_>) -> Value {
    let threshold = fields.number("summarization_threshold", 0.0..=1.0).cloned();
    if threshold.as_ref().and_then(Value::as_f64) == Some(0.0) {
        fields.wrong("summarization_threshold", "must be above 0");
    }
    let mut memory = json!({
        "context_window": fields.integer("context_window", 256..=i64::MAX),
        "driver": fields.choice("driver", &["database", "in_memory"]).unwrap_or("database"),
        "summarization_enabled": fields.flag("summarization_enabled", false),
        "summarization_threshold": threshold.unwrap_or_else(|| json!(0.85)),
        "budget_rag": fields.integer("budget_rag", 1..=i64::MAX),
        "budget_tool_results": fields.integer("budget_tool_results", 1..=i64::MAX),
        "budget_state": fields.integer("budget_state", 1..=i64::MAX),
    });
    let off = fields.choice("inside_turn", &InsideTurn::NAMES).filter(|choice| *choice != "auto");
    if let (Some(off), Some(members)) = (off, memory.as_object_mut()) {
        members.insert("inside_turn".into(), off.into());
    }
    memory
}

fn read_schema_name(fields: &mut Fields<'_>, catalog: &Catalog) -> Value {
    let Some(name) = fields.text("output_schema", 255) else { return Value::Null };
    if catalog.schema(name).is_none() {
        fields.wrong("output_schema", &format!("names no registered schema: `{name}`"));
    }
    Value::from(name)
}
