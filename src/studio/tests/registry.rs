//! Owns the tests of what can be picked: tools, schemas, providers, node types.

use std::sync::Arc;

use expect_test::expect;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::*;
use crate::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp};

/// A host that knows one secret.
struct Keeper;

impl Host for Keeper {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let known = call.payload["name"] == "OPENAI_API_KEY" && call.payload["tenant"] == "";
        Box::pin(async move { Ok(json!({"value": known.then_some("key")})) })
    }
}

fn declared() -> HostDeclaration {
    let tools = json!({"tools": [{"name": "lookup", "description": "Looks", "require_approval": true}], "schemas": {"host_schema": {"type": "object"}}});
    let declaration: HostDeclaration = serde_json::from_value(tools).expect("a declaration");
    HostDeclaration { ops: vec![HostOp::SecretGet], ..declaration }
}

#[tokio::test]
async fn tools_of_host_toolkits_and_providers_are_listed() {
    let studio = studio_with(&json!({"tools": {"toolkits": ["calendar"]}}));
    studio.set_host(Arc::new(Keeper), declared());
    let listed = studio.registry_tools(&scope()).await.expect("a list");
    let told = |tool: &Value| format!("{} {} {} {} {}", text(tool, "ref"), text(tool, "name"), text(tool, "kind"), tool["require_approval"], tool["idempotent"]);
    let told: Vec<String> = listed["data"].as_array().expect("data").iter().map(told).collect();
    expect![[r#"
        host:lookup lookup host true false
        toolkit:calendar/now now toolkit false true
        toolkit:calendar/add add toolkit false true
        toolkit:calendar/difference difference toolkit false true
        provider:web_search web_search provider false false
        provider:code_interpreter code_interpreter provider false false
        provider:file_search file_search provider false false"#]].assert_eq(&told.join("\n"));
    let made = make(&studio, Resource::Agent, json!({"name": "A", "tools": [{"ref": "host:lookup"}, {"ref": "toolkit:calendar/now"}], "output_schema": "host_schema"}));
    assert_eq!(made.await["output_schema"], "host_schema");
    let refused = studio.create(&scope(), Resource::Agent, &json!({"name": "A", "tools": [{"ref": "toolkit:calendar/then"}, {"ref": "toolkit:demo"}]})).await;
    assert_eq!(refusal(refused), "validation_failed tools.0.ref tools.1.ref");
}

#[tokio::test]
async fn schemas_of_host_and_configuration_are_listed_by_name() {
    let studio = studio();
    studio.set_host(Arc::new(Keeper), declared());
    expect![[r#"{"data":[{"name":"host_schema","schema":{"type":"object"}},{"name":"verdict","schema":{"type":"object"}}]}"#]]
        .assert_eq(&studio.registry_schemas().to_string());
}

#[tokio::test]
async fn providers_tell_their_models_prices_and_whether_they_are_ready() {
    let studio = studio_with(&json!({"providers": {"mine": {"kind": "openai-compatible", "label": "Mine", "base_url": "http://x", "models": [{"id": "m"}]}}}));
    let listed = studio.providers(&scope()).await.expect("a list");
    assert_eq!((&listed["default_provider"], &listed["default_model"]), (&json!("script"), &json!("demo")));
    let of = |listed: &Value, id: &str| listed["data"].as_array().expect("data").iter().find(|one| one["id"] == id).cloned().expect("listed");
    expect![[r#"{"id":"mine","label":"Mine","kind":"openai-compatible","configured":true,"models":[{"id":"m","label":"m","capabilities":[],"context_window":null,"price":null}],"embeddings":[]}"#]].assert_eq(&of(&listed, "mine").to_string());
    let openai = of(&listed, "openai");
    expect![[r#"{"id":"gpt-4o-mini","label":"GPT-4o mini","capabilities":["stream","tools","structured","vision"],"context_window":128000,"price":{"input":"0.15","output":"0.60","per_tokens":1000000}}"#]]
        .assert_eq(&openai["models"].as_array().expect("models").iter().find(|one| one["id"] == "gpt-4o-mini").expect("listed").to_string());
    expect![[r#"[{"id":"text-embedding-3-small","dimensions":1536},{"id":"text-embedding-3-large","dimensions":3072}]"#]].assert_eq(&openai["embeddings"].to_string());
    expect![[r#"[{"id":"demo","label":"Demo","capabilities":["stream","tools","structured","vision"],"context_window":null,"price":{"input":"0","output":"0","per_tokens":1000000}},{"id":"echo","label":"Echo","capabilities":["stream","tools","structured","vision"],"context_window":null,"price":{"input":"0","output":"0","per_tokens":1000000}}]"#]]
        .assert_eq(&of(&listed, "script")["models"].to_string());
    assert_eq!((&of(&listed, "openai")["configured"], &of(&listed, "script")["configured"]), (&json!(false), &json!(true)));

    studio.set_host(Arc::new(Keeper), declared());
    let listed = studio.providers(&scope()).await.expect("a list");
    assert_eq!((&listed["default_provider"], &listed["default_model"]), (&json!("openai"), &json!("gpt-4o-mini")));
    assert_eq!(of(&listed, "openai")["configured"], true);
    assert_eq!(make(&studio, Resource::Agent, json!({"name": "A"})).await["provider"], "openai");
    let other = Scope { tenant: "other".into(), ..Scope::default() };
    let made = studio.create(&other, Resource::Agent, &json!({"name": "A"})).await.expect("made");
    assert_eq!(made["provider"], "script", "a host may know a secret for one tenant only");
}

#[tokio::test]
async fn node_types_and_settings_are_told_as_data() {
    let studio = studio_with(&json!({"limits": {"loop_max_steps": 77}}));
    let schema = studio.graph_schema();
    let node = schema["node_types"].as_array().expect("types").iter().find(|one| one["type"] == "loop").expect("a loop");
    let key = node["keys"].as_array().expect("keys").iter().find(|key| key["name"] == "max_steps").expect("a bound");
    assert_eq!(key["max"], 77);
    assert_eq!(studio.settings()["flags"]["canBuildTools"], true);
}
