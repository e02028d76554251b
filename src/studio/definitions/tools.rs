//! Owns the fields of a stored tool: webhook, builder function or knowledge search.

use serde_json::{Map, Value, json};

use crate::error::{Error, Kind};
use crate::studio::definitions::fields::Fields;
use crate::studio::definitions::secrets;
use crate::tools::{builder, webhook};

pub(in crate::studio) const KINDS: [&str; 3] = ["webhook", "builder", "rag"];
/// Methods of a webhook.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// Bytes of a builder function.
const CODE: usize = 256 * 1024;

/// Reads the writable fields of a tool, in the order in which they are shown. Its kind never changes once it has one.
pub(in crate::studio) fn read(fields: &mut Fields<'_>, kind: Option<&str>) -> Map<String, Value> {
    let kind = read_kind(fields, kind);
    let mut body = Map::new();
    body.insert("description".into(), fields.text("description", 10_000).unwrap_or_default().into());
    body.insert("kind".into(), kind.into());
    body.insert("input_schema".into(), read_input_schema(fields, kind));
    body.insert("config".into(), fields.nested("config", |config| read_config(config, kind)));
    body.insert("require_approval".into(), fields.flag("require_approval", false).into());
    body.insert("idempotent".into(), fields.flag("idempotent", false).into());
    body.insert("timeout_ms".into(), fields.integer("timeout_ms", 1..=3_600_000).into());
    body.insert("tags".into(), fields.texts("tags").into());
    body.insert("metadata".into(), fields.object("metadata").into());
    body
}

/// May models be shown this name?
pub(in crate::studio) fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// Making or changing a builder tool is refused where the flag is off.
pub(in crate::studio) fn builder_gate(allowed: bool, kind: Option<&str>) -> Result<(), Error> {
    if allowed || kind != Some("builder") {
        return Ok(());
    }
    let text = "builder tools cannot be made or changed here; set `allow_builder_tools` to allow it";
    Err(Error::new(Kind::FlagDisabled, text).with("flag", "allow_builder_tools"))
}

fn read_kind(fields: &mut Fields<'_>, fixed: Option<&str>) -> &'static str {
    let given = fields.choice("kind", &KINDS);
    let fixed = fixed.and_then(|fixed| KINDS.into_iter().find(|kind| *kind == fixed));
    match (given, fixed) {
        (Some(given), Some(fixed)) if given != fixed => {
            fields.wrong("kind", &format!("cannot be changed; it is {fixed}"));
            fixed
        }
        (_, Some(fixed)) => fixed,
        (Some(given), None) => given,
        (None, None) => {
            if fields.value("kind").is_none() {
                fields.wrong("kind", "is required");
            }
            ""
        }
    }
}

fn read_input_schema(fields: &mut Fields<'_>, kind: &str) -> Value {
    let Some(schema) = fields.schema("input_schema") else {
        return match kind {
            "rag" => json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}),
            _ => json!({"type": "object", "properties": {}}),
        };
    };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        fields.wrong("input_schema", "must have the type object");
    }
    schema.clone()
}

fn read_config(fields: &mut Fields<'_>, kind: &str) -> Value {
    match kind {
        "webhook" => {
            let method = fields.choice("method", &METHODS).unwrap_or("GET");
            let url = fields.required("url", 4096).unwrap_or_default();
            check_url(fields, "url", url);
            json!({"method": method, "url": url, "headers": read_headers(fields)})
        }
        "builder" => json!({"code": read_code(fields)}),
        "rag" => json!({
            "knowledge_base_id": fields.required("knowledge_base_id", 80).unwrap_or_default(),
            "top_k": fields.integer("top_k", 1..=100), "threshold": fields.number("threshold", 0.0..=1.0),
            "filter": fields.filter("filter"),
        }),
        _ => json!({}),
    }
}

fn read_headers(fields: &mut Fields<'_>) -> Map<String, Value> {
    let headers = secrets::read_headers(fields, "headers");
    for (name, value) in &headers {
        if let Some(problem) = value.as_str().and_then(|value| webhook::header_problem(name, value)) {
            fields.wrong(&format!("headers.{name}"), problem);
        }
    }
    headers
}

/// Code that parses; it is not run.
fn read_code<'a>(fields: &mut Fields<'a>) -> &'a str {
    let code = fields.required("code", CODE).unwrap_or_default();
    if let Some(problem) = builder::code_problem(code).filter(|_| !code.is_empty()) {
        fields.wrong("code", &format!("does not parse: {problem}"));
    }
    code
}

/// An address that can be called and holds no credentials.
pub(in crate::studio) fn check_url(fields: &mut Fields<'_>, key: &str, text: &str) {
    if let Some(problem) = webhook::url_problem(text).filter(|_| !text.is_empty()) {
        fields.wrong(key, problem);
    }
}
