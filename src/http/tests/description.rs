//! The description of the API says what the table says, and its schemas fit the contract's examples.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use http::Method;

use super::facade::{BODY, STREAM, asking, run_of};
use super::support::{ask, request, studio};
use crate::http::openapi;
use crate::http::table::{EXPORT, Gives, TABLE};

fn references(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(target) if name == "$ref" => {
                        into.insert(target.clone());
                    }
                    other => references(other, into),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_used() {
    let document = openapi::document();
    let mut named = BTreeSet::new();
    references(&document, &mut named);
    for target in &named {
        assert!(document.pointer(&target[1..]).is_some_and(Value::is_object), "{target}");
    }
    for name in openapi::schemas().keys() {
        assert!(named.contains(&format!("#/components/schemas/{name}")), "{name} is not used");
    }
}

#[test]
fn every_route_is_described_once() {
    let document = openapi::document();
    let operations: Vec<&Value> = document["paths"].as_object().expect("paths").values().flat_map(|item| {
        item.as_object().expect("an item").iter().filter(|(name, _)| *name != "parameters" && *name != "servers").map(|(_, operation)| operation)
    }).collect();
    let names: BTreeSet<&str> = operations.iter().filter_map(|operation| operation["operationId"].as_str()).collect();
    let routes: usize = TABLE.iter().chain(EXPORT.iter()).map(|route| route.paths.len()).sum();
    assert_eq!((operations.len(), names.len()), (routes, routes));
    assert!(TABLE.iter().all(|route| !route.gives.is_empty()));
}

#[test]
fn headers_are_described_where_they_are_heeded_and_given() {
    let document = openapi::document();
    let heeds = |method: &str, path: &str| -> Vec<&str> {
        let parameters = document["paths"][path][method]["parameters"].as_array().expect("parameters").iter();
        let named = parameters.filter_map(|parameter| document.pointer(&parameter["$ref"].as_str()?[1..]));
        named.filter(|parameter| parameter["in"] == "header").filter_map(|parameter| parameter["name"].as_str()).collect()
    };
    assert_eq!(heeds("post", "/workflows/{id}/run"), ["Idempotency-Key", "traceparent", "tracestate", "X-Studio-Locale"]);
    assert_eq!(heeds("post", "/workflows/{id}/run/stream"), ["Idempotency-Key", "traceparent", "tracestate", "Last-Event-ID", "X-Studio-Locale"]);
    assert_eq!(heeds("post", "/agents/{id}/chat/stream"), ["Idempotency-Key", "traceparent", "tracestate", "Last-Event-ID", "X-Studio-Locale"]);
    assert_eq!(heeds("get", "/api/runs/{run}/events/stream"), ["Last-Event-ID", "X-Studio-Locale"]);
    assert_eq!(heeds("delete", "/api/workflows/{id}/draft"), ["If-Match", "X-Studio-Locale"]);
    assert_eq!(heeds("get", "/api/settings"), ["X-Studio-Locale"]);
    assert_eq!(heeds("post", "/api/agents"), ["Idempotency-Key", "X-Studio-Locale"]);
    assert_eq!(heeds("post", "/api/threads/{thread}/branch"), ["Idempotency-Key", "X-Studio-Locale"]);
    let gives = |method: &str, path: &str, status: &str| -> Vec<String> {
        let headers = &document["paths"][path][method]["responses"][status]["headers"];
        headers.as_object().into_iter().flat_map(|headers| headers.keys().cloned()).collect()
    };
    assert_eq!(gives("post", "/api/agents", "201"), ["Idempotency-Replayed", "ETag", "Location"]);
    assert_eq!(gives("patch", "/api/tools/{id}", "200"), ["ETag"]);
    assert_eq!(gives("post", "/api/runs/{run}/retry", "202"), ["Idempotency-Replayed"]);
    assert_eq!(gives("get", "/api/runs/{run}", "200"), Vec::<String>::new());
}

#[tokio::test]
async fn the_description_says_where_it_is_served() {
    let answer = ask(&studio(json!({})), request("GET", "/studio/api/openapi.json", "")).await;
    assert_eq!(answer.json()["servers"], json!([{"url": "/studio"}]));
    assert_eq!(answer.json()["paths"]["/api/studio/usage"]["servers"], json!([{"url": "/"}]));
    let moved = studio(json!({"usage": {"export": {"route_prefix": "billing"}}, "base_url": "https://shop.example/ai"}));
    let answer = ask(&moved, request("GET", "/studio/api/openapi.json", "")).await;
    assert_eq!(answer.json()["paths"]["/billing/usage"]["servers"], json!([{"url": "https://shop.example/ai"}]));
    assert_eq!(answer.json()["paths"]["/api/studio/usage"], Value::Null);
    assert_eq!(answer.json()["openapi"], "3.1.0");
}

/// A schema with everything that it refers to.
fn schema(name: &str) -> jsonschema::Validator {
    let document = json!({"$ref": format!("#/components/schemas/{name}"), "components": {"schemas": openapi::schemas()}});
    jsonschema::validator_for(&document).expect("a schema")
}

/// What does not fit, by where it is.
fn misfits(name: &str, value: &Value) -> Vec<String> {
    schema(name).iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn every_schema_is_one() {
    for name in openapi::schemas().keys() {
        schema(name);
    }
}

#[tokio::test]
async fn what_is_answered_fits_its_schema() {
    let studio = asking(json!({})).await;
    let coded = json!({"name": "Coded", "instructions": "Hi", "provider": "script", "model": "echo"});
    studio.register_class("Coded", coded).expect("registered");
    let posts = [
        ("agents", json!({"name": "Helper", "slug": "known"})),
        ("tools", json!({"name": "known", "kind": "webhook", "config": {"method": "GET", "url": "https://shop.example/"}})),
        ("mcp-servers", json!({"name": "Known", "transport": "http", "url": "https://mcp.example/mcp"})),
        ("knowledge-bases", json!({"name": "Known"})),
    ];
    for (path, body) in posts {
        let made = ask(&studio, request("POST", &format!("/studio/api/{path}"), &body.to_string())).await;
        assert_eq!(made.status.as_u16(), 201, "{path}: {}", made.text());
    }
    let run = run_of(&ask(&studio, request("POST", STREAM, BODY)).await);
    let trace = ask(&studio, request("GET", &format!("/studio/api/runs/{run}?include=graph,children,messages"), "")).await.json();
    let draft = json!({"graph": trace["trace"]["graph"]}).to_string();
    ask(&studio, request("PUT", "/studio/api/workflows/known/draft", &draft)).await;
    let document = json!({"name": "faq.md", "text": "Refunds take thirty days."}).to_string();
    let document = ask(&studio, request("POST", "/studio/api/knowledge-bases/known/documents", &document)).await.json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let document = text(&document["id"]);
    let thread = text(&trace["trace"]["thread_id"]);
    let step = text(&trace["steps"][0]["id"]);
    let mut seen = 0;
    for route in TABLE.iter().filter(|route| route.method == Method::GET) {
        let Some((200, gives)) = route.gives.first() else { continue };
        let path = route.paths[0].replace("{run}", &run).replace("{thread}", &thread).replace("{step}", &step);
        let path = path.replace("{document}", &document).replace("{revision}", "1").replace("{id}", "known");
        let path = path.replace("{type}/{tid}", "workflow/basic-agent-chat");
        let query = match (route.query.contains(&"trace_id"), route.query.contains(&"group_by")) {
            (true, _) => format!("?trace_id={run}"),
            (_, true) => "?from=2026-11-20&to=2027-11-20&group_by=entity".to_owned(),
            (false, false) if route.query.contains(&"include") => "?include=graph,messages,tools,parts".to_owned(),
            (false, false) => String::new(),
        };
        let query = if path == "/api/registry/class" { "?class=Coded".to_owned() } else { query };
        let items = match gives {
            Gives::Json(_) | Gives::List(_) | Gives::Table(_) => ask(&studio, request("GET", &format!("/studio{path}{query}"), "")).await,
            Gives::Nothing | Gives::Events | Gives::Bytes | Gives::Page => continue,
        };
        assert_eq!(items.status.as_u16(), 200, "{path}: {}", items.text());
        let (name, values) = match gives {
            Gives::List(name) => (*name, items.json()["data"].as_array().cloned().expect("a list")),
            Gives::Json(name) | Gives::Table(name) => (*name, vec![items.json()]),
            Gives::Nothing | Gives::Events | Gives::Bytes | Gives::Page => continue,
        };
        for value in values {
            assert_eq!(misfits(name, &value), Vec::<String>::new(), "{name} at {path}: {value}");
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
}

/// The properties of a schema whose texts have no form of their own.
fn plain_texts(name: &str) -> Vec<(String, Option<u64>)> {
    let schemas = openapi::schemas();
    let properties = schemas[name]["properties"].as_object().expect("properties").iter();
    let is_text = |property: &Value| property["type"] == "string" || property["type"].as_array().is_some_and(|types| types.contains(&json!("string")));
    let plain = properties.filter(|(_, property)| is_text(property) && ["enum", "pattern", "format"].iter().all(|form| property.get(*form).is_none()));
    plain.map(|(name, property)| (name.clone(), property["maxLength"].as_u64())).collect()
}

#[tokio::test]
async fn the_longest_texts_are_those_that_the_description_names() {
    let studio = asking(json!({})).await;
    ask(&studio, request("POST", "/studio/api/knowledge-bases", r#"{"name":"Known"}"#)).await;
    let webhook = json!({"name": "known", "kind": "webhook", "config": {"url": "https://shop.example/"}});
    let mut seen = 0;
    for (schema, path, least) in [
        ("AgentBody", "/api/agents", json!({"name": "Known"})),
        ("WorkflowBody", "/api/workflows", json!({"name": "Known"})),
        ("ToolBody", "/api/tools", webhook),
        ("McpServerBody", "/api/mcp-servers", json!({"name": "Known", "transport": "http", "url": "https://mcp.example/"})),
        ("KnowledgeBaseBody", "/api/knowledge-bases", json!({"name": "Known"})),
        ("SearchBody", "/api/knowledge-bases/known/search", json!({"query": "Known"})),
        ("RunBody", "/workflows/known/run/stream", json!({})),
    ] {
        for (name, most) in plain_texts(schema) {
            let most = usize::try_from(most.unwrap_or_else(|| panic!("{schema}.{name} has no longest text"))).expect("a size");
            for (length, fits) in [(most, true), (most + 1, false)] {
                let mut body = least.clone();
                body[&name] = "x".repeat(length).into();
                let answer = ask(&studio, request("POST", &format!("/studio{path}"), &body.to_string())).await;
                let told = answer.json()["errors"][&name][0].as_str().unwrap_or_default().to_owned();
                assert_eq!(!told.contains("at most"), fits, "{schema}.{name} of {length}: {}", answer.text());
            }
            seen += 1;
        }
    }
    assert!(seen > 12, "{seen}");
}

const ID: &str = "0199a000-0000-7000-8000-000000000000";
const TIME: &str = "2026-11-20T20:39:54.123+00:00";

#[test]
fn schemas_fit_the_examples_of_the_contract() {
    let thread = json!({"id":ID,"entity_type":"agent","entity_id":ID,"label":"How do I","preview":null,"message_count":4,"run_count":2,
        "open_pause":null,"created_at":TIME,"updated_at":TIME});
    let message = json!({"id":ID,"role":"assistant","content":"Hello","attachments":[],"trace_id":ID,"meta":{},"created_at":TIME});
    let tool = json!({"id":ID,"slug":"lookup-order","name":"lookup_order","description":"Finds an order","kind":"webhook",
        "input_schema":{"type":"object"},"config":{"method":"GET","url":"https://shop.example/orders/{order_id}"},
        "require_approval":false,"idempotent":false,"timeout_ms":null,"tags":[],"metadata":{},"source":"studio","locked":false,
        "class_path":null,"revision":1,"created_at":TIME,"updated_at":TIME});
    let step = json!({"id":ID,"seq":4,"node_id":"agent_1","node_type":"agent","node_title":"Answer","status":"completed","handle":"default",
        "iteration":null,"iteration_path":"","branch_id":null,"branch_path":[],"attempt":1,"checkpoint_hit":false,"superseded":false,
        "started_at":TIME,"finished_at":TIME,"duration_ms":812,"state_snapshot":{"input":"hi"},"state_omitted":false,
        "output":{"agent_response":"Hello"},"error":null,"prompt_tokens":20,"completion_tokens":5,"total_tokens":25,"cached_tokens":0,
        "cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000006","currency":"USD","unpriced":false,
        "provider":"openai","model":"gpt-4o-mini","thread_id":ID,"attachment_count":0,"child_run_id":ID});
    let mut used = json!({"id":ID,"thread_id":ID,"parent_run_id":null,"is_child":false,"entity":{"type":"workflow","id":ID,"name":"Triage"},
        "status":"completed","prompt_tokens":0,"completion_tokens":0,"total_tokens":0,"cached_tokens":0,"cache_write_tokens":0,
        "reasoning_tokens":0,"estimated_cost":"0.000000","currency":"USD","unpriced":false,"started_at":TIME,"finished_at":TIME,"spans":[]});
    used["spans"] = json!([{"id":ID,"provider":"openai","model":"gpt-4o","prompt_tokens":0,"completion_tokens":0,"total_tokens":0,
        "cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000000","unpriced":false,"started_at":TIME}]);
    for (name, example) in [("RunUsage", used), ("ThreadSummary", thread), ("Message", message), ("Tool", tool), ("Step", step)] {
        assert_eq!(misfits(name, &example), Vec::<String>::new(), "{name}");
        assert!(!schema(name).is_valid(&json!({"id": 7})), "{name} accepts anything");
    }
}
