//! Classes that the application registered: listed, run, locked, and copied by an import.

use serde_json::{Value, json};
use wfstudio::StudioWorkflow;

use super::{Desk, code};

struct Greeting;

impl StudioWorkflow for Greeting {
    fn definition() -> wfstudio::serde_json::Value {
        wfstudio::serde_json::json!({
            "slug": "greeting", "name": "Greeting", "description": "Says hello",
            "graph": {"version": 1, "nodes": [
                    {"id": "start_1", "type": "start", "position": {"x": 0, "y": 0}, "data": {}},
                    {"id": "agent_1", "type": "agent", "position": {"x": 1, "y": 0}, "data": {"config_mode": "existing", "agent_ref": "greeter", "message": "{{input}}"}},
                    {"id": "stop_1", "type": "stop", "position": {"x": 2, "y": 0}, "data": {"reply": "{{agent_response}}"}}],
                "edges": [{"id": "e1", "source": "start_1", "target": "agent_1"}, {"id": "e2", "source": "agent_1", "target": "stop_1"}]},
            "tags": [], "metadata": {},
            "agents": {"greeter": {"name": "Greeter", "provider": "script", "model": "echo"}},
        })
    }
}

#[tokio::test]
async fn a_registered_class_is_listed_run_and_locked_whatever_is_switched_off() {
    let desk = Desk::with(json!({"codegen": {"enabled": false}}));
    desk.bench.studio.register_workflow::<Greeting>().expect("registered");
    let listed = desk.get("/api/workflows").await.1;
    let row = &listed["data"][0];
    assert_eq!([&row["slug"], &row["locked"], &row["source"], &row["node_count"]], [&json!("greeting"), &json!(true), &json!("host"), &json!(3)]);
    let class = row["class_path"].as_str().expect("a class").to_owned();
    assert!(class.ends_with("::Greeting"), "{class}");
    assert_eq!(desk.get("/api/agents").await.1["data"], json!([]), "its agents are its own");
    let id = row["id"].as_str().expect("an id").to_owned();
    assert_eq!(desk.get(&format!("/api/workflows/{id}")).await.1["slug"], "greeting");
    let graph = listed["data"][0]["graph"].clone();
    for (method, path, body) in [
        ("PUT", format!("/api/workflows/{id}"), json!({"name": "Mine"})),
        ("PATCH", "/api/workflows/greeting".to_owned(), json!({"name": "Mine"})),
        ("DELETE", format!("/api/workflows/{id}"), json!({})),
        ("PUT", format!("/api/workflows/{id}/draft"), json!({"graph": {"nodes": [], "edges": []}})),
    ] {
        assert_eq!(code(&desk.sent("", method, &path, Some(&body)).await), "409 locked", "{method} {path}");
    }
    assert_eq!(graph, Value::Null);
    let run = desk.bench.start("greeting", json!({"message": "Hello"})).await;
    desk.bench.events_text(&run).await;
    let trace = desk.bench.trace(&run.run.to_string()).await;
    assert_eq!(trace["trace"]["status"], "completed", "{trace}");
    assert!(trace.to_string().contains("You said: Hello"), "{trace}");
    for query in ["entity_id=greeting", "entity_id=GREETING&entity_type=workflow"] {
        assert_eq!(desk.get(&format!("/api/runs?{query}")).await.1["data"].as_array().map(Vec::len), Some(1), "{query}");
    }
    // A slug is taken; a stored definition of that slug would have gone first.
    let made = desk.make("/api/workflows", json!({"name": "Greeting"})).await;
    assert_eq!(made["slug"], "greeting-1");
    assert_eq!(desk.sent("acme", "GET", "/api/workflows/greeting", None).await.0, 200, "for all tenants");
}

#[tokio::test]
async fn an_import_makes_an_editable_copy_of_it() {
    let desk = Desk::new();
    desk.bench.studio.register_workflow::<Greeting>().expect("registered");
    let listed = desk.get("/api/registry/classes").await.1;
    let row = &listed["data"][0];
    assert_eq!([&row["label"], &row["kind"], &row["description"], &row["language"]], [&json!("Greeting"), &json!("workflow"), &json!("Says hello"), &Value::Null]);
    let shown = desk.get("/api/registry/class?class=Greeting").await.1;
    assert_eq!((&shown["locked"], &shown["definition"]["agents"]["greeter"]["model"]), (&json!(true), &json!("echo")), "{shown}");
    let (status, made) = desk.post("/api/codegen/import", json!({"ref": row["ref"]})).await;
    assert_eq!(status, 201, "{made}");
    let copy = &made["workflow"];
    assert_eq!([&copy["slug"], &copy["locked"], &copy["source"], &copy["class_path"]], [&json!("greeting-1"), &json!(false), &json!("code"), &row["class_path"]]);
    assert_eq!((&made["agents"][0]["slug"], &made["agents"][0]["reused"]), (&json!("greeter"), &json!(false)));
    let (status, _) = desk.sent("", "PATCH", "/api/workflows/greeting-1", Some(&json!({"name": "Mine"}))).await;
    assert_eq!(status, 200);
}

#[tokio::test]
async fn an_export_keeps_agents_apart_that_have_one_slug() {
    let desk = Desk::new();
    desk.bench.studio.register_workflow::<Greeting>().expect("registered");
    let own = desk.make("/api/agents", json!({"name": "Greeter", "slug": "greeter", "instructions": "Mine.", "provider": "script", "model": "echo"})).await;
    let of_class = desk.get("/api/workflows/greeting").await.1["graph"]["nodes"][1]["data"]["agent_id"].clone();
    let sketched = format!("start -> agent_1{{agent_id: {of_class}}} -> agent_2{{agent_id: {}}} -> agent_3{{agent_id: {of_class}}} -> stop", own["id"]);
    let graph = wfstudio::model::sketch::graph(&sketched).expect("a graph");
    desk.make("/api/workflows", json!({"name": "Both", "slug": "both", "graph": graph})).await;
    let shown = desk.make("/api/codegen/preview", json!({"kind": "workflow", "id": "both", "target": "python"})).await;
    let (status, made) = Desk::new().post("/api/codegen/import", json!({"source": shown["code"], "language": "python"})).await;
    assert_eq!(status, 201, "{made}");
    let ids: Vec<&Value> = made["workflow"]["graph"]["nodes"].as_array().expect("nodes").iter().map(|node| &node["data"]["agent_id"]).filter(|id| id.is_string()).collect();
    assert_eq!(ids.len(), 3, "{made}");
    assert!(ids[0] == ids[2] && ids[0] != ids[1], "{made}");
    assert_eq!(made["agents"].as_array().map(Vec::len), Some(2), "{made}");
}

#[tokio::test]
async fn an_import_of_a_registered_agent_is_an_editable_copy_too() {
    let desk = Desk::new();
    let helper = json!({"name": "Helper", "instructions": "Help.", "provider": "script", "model": "echo"});
    desk.bench.studio.register_class("App\\Helper", helper).expect("registered");
    let (status, made) = desk.post("/api/codegen/import", json!({"ref": "class:App\\Helper"})).await;
    let copy = &made["agent"];
    assert_eq!((status, &copy["slug"], &copy["locked"]), (201, &json!("helper-1"), &json!(false)), "{made}");
    assert_eq!((&copy["source"], &copy["class_path"]), (&json!("code"), &json!("App\\Helper")));
    assert_eq!((&made["reused"], &made["agents"]), (&json!(false), &json!([{"id": copy["id"], "slug": "helper-1", "reused": false}])));
    let (status, _) = desk.sent("", "PATCH", "/api/agents/helper-1", Some(&json!({"name": "Mine"}))).await;
    assert_eq!(status, 200);
    assert_eq!(desk.get("/api/agents/helper").await.1["locked"], true);
}

#[tokio::test]
async fn an_empty_map_of_php_is_one_also_when_its_class_is_registered() {
    let desk = Desk::new();
    let mut greeting = Greeting::definition();
    greeting["metadata"] = json!([]);
    greeting["graph"]["nodes"][0]["data"] = json!([]);
    greeting["agents"]["greeter"]["parameters"] = json!([]);
    desk.bench.studio.register_class("App\\Greeting", greeting).expect("registered");
    let run = desk.bench.start("greeting", json!({"message": "Hello"})).await;
    desk.bench.events_text(&run).await;
    assert_eq!(desk.bench.trace(&run.run.to_string()).await["trace"]["status"], "completed");
}

#[tokio::test]
async fn an_empty_map_of_php_is_one_also_in_a_schema() {
    let desk = Desk::new();
    let schema = json!({"type": "object", "properties": {"a": {"type": "object", "properties": []}, "b": {"enum": [[]], "default": []}}, "$defs": []});
    let tool = json!({"name": "sum", "kind": "webhook", "config": {"method": "GET", "url": "https://example.com/"}, "input_schema": schema});
    desk.bench.studio.register_class("App\\Sum", tool).expect("registered");
    let kept = desk.get("/api/tools/sum").await.1["input_schema"].clone();
    assert_eq!(kept, json!({"type": "object", "properties": {"a": {"type": "object", "properties": {}}, "b": {"enum": [[]], "default": []}}, "$defs": {}}));
    let text = "<?php final class Go implements \\Studio\\StudioTool { public static function definition(): array { return ['name' => 'go', 'kind' => 'webhook',
        'config' => ['method' => 'GET', 'url' => 'https://example.com/'], 'input_schema' => ['type' => 'object', 'properties' => []]]; } }";
    let (status, made) = desk.post("/api/codegen/import", json!({"source": text, "language": "php"})).await;
    assert_eq!((status, &made["tool"]["input_schema"]["properties"]), (201, &json!({})), "{made}");
}

#[tokio::test]
async fn what_is_no_definition_is_not_registered() {
    let desk = Desk::new();
    let studio = &desk.bench.studio;
    for (class, definition) in [
        ("", Greeting::definition()),
        ("A\u{0}", Greeting::definition()),
        ("A", json!(null)),
        ("A", json!([])),
        ("A", json!({"name": "A", "graph": 7})),
        ("A", json!({"graph": Greeting::definition()["graph"]})),
        ("A", json!({"name": "B", "kind": "rocket"})),
    ] {
        assert!(studio.register_class(class, definition.clone()).is_err(), "{class} {definition}");
    }
    assert_eq!(desk.get("/api/registry/classes").await.1["data"], json!([]));
    studio.register_class("App\\A", Greeting::definition()).expect("registered");
    let mut other = Greeting::definition();
    other["name"] = "Other".into();
    studio.register_class("App\\A", other).expect("replaced");
    assert_eq!(desk.get("/api/workflows").await.1["data"][0]["name"], "Other");
    // Classes of the declaration come beside those that were registered one by one.
    let hands = crate::support::hands::Hands::default();
    let mut declaration = crate::support::hands::Hands::declaration();
    declaration.classes.insert("App\\B".to_owned(), json!({"name": "Helper", "instructions": "Help.", "provider": "script", "model": "echo"}));
    declaration.classes.insert("App\\Wrong".to_owned(), json!(7));
    studio.set_host(std::sync::Arc::new(hands), declaration);
    assert_eq!(desk.get("/api/workflows").await.1["data"][0]["name"], "Other");
    assert_eq!(desk.get("/api/agents").await.1["data"][0]["slug"], "helper");
    assert_eq!(desk.get("/api/registry/classes").await.1["data"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn a_template_uses_the_agent_of_a_class_that_has_its_slug() {
    let desk = Desk::new();
    let helper = json!({"name": "Ours", "slug": "support-assistant", "instructions": "Help.", "provider": "script", "model": "echo"});
    desk.bench.studio.register_class("App\\Helper", helper).expect("registered");
    let ours = desk.get("/api/agents/support-assistant").await.1;
    let preview = desk.get("/api/templates/workflow/basic-agent-chat").await.1;
    assert_eq!(preview["install_preview"], json!({"agents_create": [], "agents_reuse": ["support-assistant"]}));
    let (status, made) = desk.post("/api/templates/workflow/basic-agent-chat/install", json!({})).await;
    assert_eq!((status, &made["agents"]), (201, &json!([{"id": ours["id"], "slug": "support-assistant", "reused": true}])), "{made}");
    let slug = made["workflow"]["slug"].as_str().expect("a slug").to_owned();
    let run = desk.bench.start(&slug, json!({"message": "Hello"})).await;
    desk.bench.events_text(&run).await;
    let trace = desk.bench.trace(&run.run.to_string()).await;
    assert!(trace["trace"]["status"] == "completed" && trace.to_string().contains("You said: Hello"), "{trace}");
    let (status, made) = desk.post("/api/templates/agent/support-assistant/install", json!({})).await;
    assert_eq!((status, &made["reused"], &made["agent"]["id"]), (201, &json!(true), &ours["id"]), "{made}");
    assert_eq!(desk.get("/api/agents").await.1["data"].as_array().map(Vec::len), Some(1), "no second one is made");
}
