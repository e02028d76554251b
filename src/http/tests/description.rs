//! The description of the API says what the table says, and its schemas fit the contract's examples.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::support::{ask, request, studio};
use crate::http::openapi;
use crate::http::table::TABLE;

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
        item.as_object().expect("an item").iter().filter(|(name, _)| *name != "parameters").map(|(_, operation)| operation)
    }).collect();
    let names: BTreeSet<&str> = operations.iter().filter_map(|operation| operation["operationId"].as_str()).collect();
    let routes: usize = TABLE.iter().map(|route| route.paths.len()).sum();
    assert_eq!((operations.len(), names.len()), (routes, routes));
    assert!(TABLE.iter().all(|route| !route.gives.is_empty()));
}

#[tokio::test]
async fn the_description_says_where_it_is_served() {
    let answer = ask(&studio(json!({})), request("GET", "/studio/api/openapi.json", "")).await;
    assert_eq!(answer.json()["servers"], json!([{"url": "/studio"}]));
    assert_eq!(answer.json()["openapi"], "3.1.0");
}

/// A schema with everything that it refers to.
fn schema(name: &str) -> jsonschema::Validator {
    let document = json!({"$ref": format!("#/components/schemas/{name}"), "components": {"schemas": openapi::schemas()}});
    jsonschema::validator_for(&document).expect("a schema")
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
    for (name, example) in [("ThreadSummary", thread), ("Message", message), ("Tool", tool), ("Step", step)] {
        let schema = schema(name);
        let wrong: Vec<String> = schema.iter_errors(&example).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
        assert!(!schema.is_valid(&json!({"id": 7})), "{name} accepts anything");
    }
}
