//! Owns the OpenAPI 3.1 description, from the table of routes and hand-written schemas.

use std::sync::LazyLock;

use axum::response::Response;
use serde_json::{Map, Value, json};

use super::call::Call;
use super::table::{EXPORT, Gives, Reads, Route, TABLE};
use super::{answer, settings};
use crate::error::Result;

/// Schemas, topic by topic; each file is an object of schemas by name.
const SCHEMAS: [&str; 11] = [
    include_str!("openapi/runs.json"),
    include_str!("openapi/threads.json"),
    include_str!("openapi/definitions.json"),
    include_str!("openapi/facts.json"),
    include_str!("openapi/knowledge.json"),
    include_str!("openapi/templates.json"),
    include_str!("openapi/codegen.json"),
    include_str!("openapi/usage.json"),
    include_str!("openapi/adapters.json"),
    include_str!("openapi/events.json"),
    include_str!("openapi/host.json"),
];
/// Parameters of queries, by name.
const PARAMETERS: &str = include_str!("openapi/parameters.json");

/// Headers that are heeded (`asked`) and that answers carry (`answered`), by name.
const HEADERS: &str = include_str!("openapi/headers.json");
/// Heeded by every route.
const LOCALE: &str = "X-Studio-Locale";

/// Where the export is unless the configuration says otherwise.
const EXPORT_PREFIX: &str = "/api/studio";

static DOCUMENT: LazyLock<Value> = LazyLock::new(document);

pub(super) fn routes() -> Vec<Route> {
    vec![Route::get("/api/openapi.json", "getOpenApi", describe).gives(200, Gives::Json("OpenApi"))]
}

async fn describe(call: Call) -> Result<Response> {
    // It is large, so it is made with the first request; a fork waits meanwhile.
    let making = crate::store::db::fork::enter();
    let mut document = DOCUMENT.clone();
    drop(making);
    let server = if call.base.is_empty() { "/" } else { call.base.as_str() };
    if let Value::Object(members) = &mut document {
        members.insert("servers".into(), json!([{ "url": server }]));
        if let Some(Value::Object(paths)) = members.get_mut("paths") {
            let origin = call.visit.base_url.as_deref().unwrap_or_default().trim_end_matches('/');
            let (usage, adapters) = (settings::usage_prefix(call.studio.config()), settings::adapters_prefix(call.studio.config()));
            export_paths([&usage, &adapters], if origin.is_empty() { "/" } else { origin }, paths);
        }
    }
    Ok(answer::ok(&document))
}

/// Routes below the export prefix are served beside the studio's: their paths are whole, and so is their server.
fn export_paths([usage, adapters]: [&str; 2], server: &str, paths: &mut Map<String, Value>) {
    for path in EXPORT.iter().flat_map(|route| &route.paths) {
        let prefix = if path.starts_with("/usage") { usage } else { adapters };
        let Some(mut item) = paths.shift_remove(&format!("{EXPORT_PREFIX}{path}")) else { continue };
        item["servers"] = json!([{ "url": server }]);
        paths.insert(format!("{prefix}{path}"), item);
    }
}

/// The whole description, without where it is served.
pub(super) fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Workflow Studio", "version": env!("CARGO_PKG_VERSION"),
            "description": "Agents and graph workflows: definitions, runs as server-sent events, traces, threads, attachments.",
        },
        "paths": paths(),
        // The calls between library and host: not part of HTTP, described here for generators of types.
        "x-host": {"calls": reference("HostCalls"), "marks": reference("HostMarks")},
        "components": {"schemas": schemas(), "parameters": parameters(), "headers": headers("answered"), "responses": {"Problem": {
            "description": "A problem document. `code` says what the problem is.",
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }}},
    })
}

fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

pub(super) fn schemas() -> Map<String, Value> {
    SCHEMAS.into_iter().flat_map(object).collect()
}

fn parameters() -> Map<String, Value> {
    let of_query = object(PARAMETERS).into_iter().map(|(name, schema)| {
        let described = json!({"name": name, "in": "query", "required": false, "schema": schema});
        (name, described)
    });
    let of_headers = headers("asked").into_iter().map(|(name, described)| {
        let told = json!({"name": name, "in": "header", "required": false, "description": described["description"], "schema": described["schema"]});
        (name, told)
    });
    of_query.chain(of_headers).collect()
}

fn headers(which: &str) -> Map<String, Value> {
    object(HEADERS).remove(which).and_then(|headers| headers.as_object().cloned()).unwrap_or_default()
}

fn paths() -> Map<String, Value> {
    let mut paths = Map::new();
    for route in TABLE.iter() {
        add_paths(&mut paths, route, "");
    }
    for route in EXPORT.iter() {
        add_paths(&mut paths, route, EXPORT_PREFIX);
    }
    export_paths([EXPORT_PREFIX, EXPORT_PREFIX], "/", &mut paths);
    paths
}

fn add_paths(paths: &mut Map<String, Value>, route: &Route, prefix: &str) {
    for (at, path) in route.paths.iter().enumerate() {
        let path = format!("{prefix}{}", path.replace("{*", "{"));
        let item = paths.entry(path.clone()).or_insert_with(|| path_item(&path));
        if let Value::Object(item) = item {
            item.insert(route.method.as_str().to_ascii_lowercase(), operation(route, at));
        }
    }
}

fn path_item(path: &str) -> Value {
    let parts = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameters: Vec<Value> =
        parts.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})).collect();
    if parameters.is_empty() { json!({}) } else { json!({ "parameters": parameters }) }
}

/// Operations have names of their own also where one route has several paths.
fn operation(route: &Route, at: usize) -> Value {
    let name = if at == 0 { route.name.clone() } else { format!("{}{}", route.name, at + 1) };
    let mut operation = json!({"operationId": name, "responses": responses(route)});
    let Value::Object(members) = &mut operation else { return operation };
    let names = route.query.iter().chain(&route.heeds).chain([&LOCALE]);
    let references = names.map(|name| json!({"$ref": format!("#/components/parameters/{name}")}));
    members.insert("parameters".into(), references.collect());
    let (json, form) = match route.reads {
        Reads::Nothing => return operation,
        Reads::Json(schema) | Reads::JsonWithFiles(schema) => (Some(schema), None),
        Reads::Upload(schema) => (None, Some(schema)),
        Reads::JsonOrUpload(json, form) => (Some(json), Some(form)),
    };
    let mut bodies = Map::new();
    for (mime, schema) in [("application/json", json), ("multipart/form-data", form)] {
        bodies.extend(schema.into_iter().map(|schema| (mime.to_owned(), json!({"schema": reference(schema)}))));
    }
    members.insert("requestBody".into(), json!({"content": bodies}));
    operation
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

fn content(mime: &str, schema: &Value) -> Value {
    let mut content = Map::new();
    content.insert(mime.to_owned(), json!({ "schema": schema }));
    Value::Object(content)
}

fn responses(route: &Route) -> Map<String, Value> {
    let told = route.gives.iter().map(|(status, gives)| {
        let mut told = response(*gives);
        if !route.answers.is_empty() {
            let headers = route.answers.iter().map(|name| ((*name).to_owned(), json!({"$ref": format!("#/components/headers/{name}")})));
            told["headers"] = Value::Object(headers.collect());
        }
        (status.to_string(), told)
    });
    let mut refused = json!({"$ref": "#/components/responses/Problem"});
    if route.gives.iter().any(|(_, gives)| matches!(gives, Gives::Page)) {
        // A browser receives a page with the error.
        refused = json!({"description": "A problem.", "content": {
            "application/problem+json": {"schema": reference("Problem")}, "text/html": {"schema": {"type": "string"}},
        }});
    }
    told.chain([("default".to_owned(), refused)]).collect()
}

fn response(gives: Gives) -> Value {
    let described = |text: &str, mime: &str, schema: &Value| json!({"description": text, "content": content(mime, schema)});
    match gives {
        Gives::Nothing => json!({"description": "No content."}),
        Gives::Json(schema) => described(schema, "application/json", &reference(schema)),
        Gives::Table(schema) => {
            let mut described = described(schema, "application/json", &reference(schema));
            described["content"]["text/csv"] = json!({"schema": {"type": "string"}});
            described
        }
        Gives::List(schema) => described(
            "A page.",
            "application/json",
            &json!({
                "type": "object", "required": ["data", "next_cursor"],
                "properties": {"data": {"type": "array", "items": reference(schema)}, "next_cursor": {"type": ["string", "null"]}},
            }),
        ),
        Gives::Events => {
            let text = json!({"type": "string"});
            // OpenAPI 3.1 has no word for the items of a stream: as its tools read it, this is one event.
            let event = json!({"type": "object", "required": ["data"], "properties": {"id": text, "event": text, "data": text, "retry": {"type": "integer"}}});
            let mut described = described("Server-sent events, each of this form.", "text/event-stream", &event);
            // The data of one event has a schema by the event's name.
            described["x-events"] = json!({"workflow": reference("WorkflowEvents"), "chat": reference("ChatEvents")});
            described
        }
        Gives::Bytes => described("A file.", "*/*", &json!({})),
        Gives::Page => described("A page.", "text/html", &json!({"type": "string"})),
    }
}
