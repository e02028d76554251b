//! Owns the check that told events are as `docs/openapi.json` describes them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| wfstudio::http::description()["components"]["schemas"].take());

static SCHEMAS: LazyLock<BTreeMap<String, jsonschema::Validator>> = LazyLock::new(|| {
    let named = ["WorkflowEvents", "ChatEvents"].into_iter().flat_map(|kind| events(kind).values());
    named.map(|event| (target(event).to_owned(), jsonschema::validator_for(&json!({"$ref": event["$ref"], "components": {"schemas": *DESCRIPTION}})).expect("a schema"))).collect()
});

fn events(kind: &str) -> &'static serde_json::Map<String, Value> {
    DESCRIPTION[kind]["properties"].as_object().expect("events by name")
}

fn target(reference: &Value) -> &str {
    reference["$ref"].as_str().and_then(|target| target.rsplit('/').next()).expect("a reference")
}

/// Fails where an event lacks what is described, or tells what is not.
pub fn check(event: &str, data: &[u8]) {
    let data: Value = serde_json::from_slice(data).expect("JSON");
    let of_workflow = ["step_id", "workflow_id"].iter().any(|name| data.get(name).is_some());
    let chat = events("ChatEvents").get(event).filter(|_| !of_workflow);
    let name = target(chat.or_else(|| events("WorkflowEvents").get(event)).unwrap_or_else(|| panic!("{event} is not described")));
    let wrong: Vec<_> = SCHEMAS[name].iter_errors(&data).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{event} is not as {name} says: {wrong:?} in {data}");
    let known = DESCRIPTION[name]["properties"].as_object().expect("properties");
    let unknown: Vec<_> = data.as_object().expect("an object").keys().filter(|key| !known.contains_key(*key)).collect();
    assert!(unknown.is_empty(), "{name} lacks {unknown:?} of {data}");
}
