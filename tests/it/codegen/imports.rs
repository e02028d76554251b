//! Imports: registered classes, JSON files and bodies; agents that come along; what is refused.

use serde_json::{Value, json};

use super::{Desk, code};

fn graph(agent: &str) -> Value {
    json!({"version": 1, "nodes": [
            {"id": "start_1", "type": "start", "position": {"x": 0, "y": 0}, "data": {}},
            {"id": "agent_1", "type": "agent", "position": {"x": 1, "y": 2.5}, "data": {"config_mode": "existing", "agent_ref": agent, "message": "{{input}}"}},
            {"id": "stop_1", "type": "stop", "position": {"x": 2, "y": 0}, "data": {"reply": "{{agent_response}}"}}],
        "edges": [{"id": "e1", "source": "start_1", "target": "agent_1", "sourceHandle": "default", "targetHandle": "default"},
            {"id": "e2", "source": "agent_1", "target": "stop_1", "sourceHandle": "default", "targetHandle": "default"}],
        "annotations": [], "viewport": {"x": 0, "y": 0, "zoom": 1}})
}

fn file(agent: &str) -> Value {
    json!({"meta": {"name": "Lead triage", "slug": "lead-triage", "description": "Sorts", "tags": ["a"], "agents": [agent], "colour": "red"},
        "graph": graph(agent), "agents": {agent: {"name": "The one", "instructions": "Be."}}})
}

#[tokio::test]
async fn a_file_makes_a_workflow_and_the_agents_that_are_not_there() {
    let desk = Desk::new();
    let (status, made) = desk.post("/api/codegen/import", json!({"json": file("own-agent")})).await;
    assert_eq!(status, 201, "{made}");
    let workflow = &made["workflow"];
    let told = [&workflow["slug"], &workflow["name"], &workflow["description"], &workflow["tags"], &workflow["source"], &workflow["locked"]];
    assert_eq!(told, [&json!("lead-triage"), &json!("Lead triage"), &json!("Sorts"), &json!(["a"]), &json!("code"), &json!(false)]);
    assert_eq!((&made["agents"][0]["slug"], &made["agents"][0]["reused"]), (&json!("own-agent"), &json!(false)));
    assert_eq!(workflow["graph"]["nodes"][1]["data"]["agent_id"], made["agents"][0]["id"]);
    assert_eq!(desk.get("/api/agents/own-agent").await.1["instructions"], "Be.");
    let (_, again) = desk.post("/api/codegen/import", json!({"json": file("own-agent")})).await;
    assert_eq!((&again["workflow"]["slug"], &again["agents"][0]["reused"]), (&json!("lead-triage-1"), &json!(true)));
    // Of a template, when the file brings none.
    let mut of_template = file("support-assistant");
    of_template["agents"] = Value::Null;
    let (status, made) = desk.post("/api/codegen/import", json!({"json": of_template})).await;
    assert_eq!((status, &made["agents"][0]["slug"]), (201, &json!("support-assistant")), "{made}");
    // A bare graph, and a template file as it is.
    let (status, made) = desk.post("/api/codegen/import", json!({"json": graph("own-agent")})).await;
    assert_eq!((status, &made["workflow"]["name"]), (201, &json!("Imported workflow")), "{made}");
    let template: Value = serde_json::from_str(include_str!("../../../templates/workflows/support-rag-hitl.json")).expect("JSON");
    let (status, made) = desk.post("/api/codegen/import", json!({"json": template})).await;
    assert_eq!((status, &made["workflow"]["slug"]), (201, &json!("support-rag-hitl")), "{made}");
}

#[tokio::test]
async fn nothing_is_kept_of_an_import_that_is_refused() {
    let desk = Desk::new();
    let mut missing = file("nobody");
    missing["agents"] = Value::Null;
    let mut broken = file("own-agent");
    broken["graph"]["nodes"][1]["type"] = "rocket".into();
    let mut wrong = file("own-agent");
    wrong["agents"]["own-agent"]["tool_max_runs"] = 0.into();
    let mut slug = file("own-agent");
    slug["meta"]["slug"] = "No Slug".into();
    for (body, wanted) in [
        (json!({}), "422 validation_failed"),
        (json!({"json": {}, "ref": "class:A"}), "422 validation_failed"),
        (json!({"source": "x"}), "422 validation_failed"),
        (json!({"source": "x", "language": "cobol"}), "422 validation_failed"),
        (json!({"source": "<?php class A {}", "language": "php"}), "422 import_invalid"),
        (json!({"json": []}), "422 import_invalid"),
        (json!({"json": {}}), "422 import_invalid"),
        (json!({"json": {"meta": []}}), "422 import_invalid"),
        (json!({"json": {"meta": {}, "graph": 7}}), "422 import_invalid"),
        (json!({"json": missing}), "422 validation_failed"),
        (json!({"json": broken}), "422 import_invalid"),
        (json!({"json": wrong}), "422 import_invalid"),
        (json!({"json": slug}), "422 import_invalid"),
        (json!({"json": strange("/agents/own-agent", "tool_max_run")}), "422 import_invalid"),
        (json!({"json": strange("", "grpah")}), "422 import_invalid"),
        (json!({"json": {"name": "A", "graph": graph("own-agent"), "colour": "red"}}), "422 import_invalid"),
        (json!({"source": "class A(StudioTool):\n @staticmethod\n def definition(): return {'name': 'a', 'kind': 'webhook', 'colour': 1}", "language": "python"}), "422 import_invalid"),
        (json!({"ref": "class:Nowhere"}), "404 not_found"),
        (json!({"ref": "json:../../etc/passwd"}), "404 not_found"),
    ] {
        let answer = desk.post("/api/codegen/import", body.clone()).await;
        assert_eq!(code(&answer), wanted, "{body}: {}", answer.1);
        if wanted.ends_with("import_invalid") {
            let issue = &answer.1["issues"][0];
            assert!(issue["file"].is_string() && issue["line"].is_u64() && issue["message"].is_string(), "{}", answer.1);
        }
    }
    let answer = desk.post("/api/codegen/import", json!({"json": missing_agents()})).await;
    assert!(answer.1["errors"]["agents"].is_array(), "{}", answer.1);
    for path in ["/api/workflows", "/api/agents"] {
        assert_eq!(desk.get(path).await.1["data"], json!([]), "{path}");
    }
}

/// A file with a key that nothing has.
fn strange(place: &str, key: &str) -> Value {
    let mut file = file("own-agent");
    file.pointer_mut(place).expect("a place")[key] = 1.into();
    file
}

fn missing_agents() -> Value {
    json!({"meta": {"name": "A", "agents": ["nobody", "noone"]}, "graph": graph("nobody")})
}

#[tokio::test]
async fn json_files_are_listed_and_imported_by_reference() {
    let desk = Desk::new();
    desk.put("json/deep/lead.json", &file("own-agent").to_string());
    desk.put("json/bare.json", &graph("own-agent").to_string());
    desk.put("json/broken.json", "{");
    desk.put("json/notes.txt", "no");
    desk.put("outside.json", &file("own-agent").to_string());
    #[cfg(unix)]
    std::os::unix::fs::symlink(desk.folder.path().join("outside.json"), desk.folder.path().join("json/link.json")).expect("a link");
    let listed = desk.get("/api/registry/classes").await.1;
    let rows: Vec<String> = listed["data"].as_array().expect("rows").iter().map(|row| format!("{} {} {} {}", row["ref"], row["label"], row["kind"], row["language"])).collect();
    assert_eq!(rows, [r#""json:bare.json" "bare" "workflow" null"#, r#""json:deep/lead.json" "Lead triage" "workflow" null"#]);
    let (status, shown) = desk.get("/api/registry/class?json=deep/lead.json").await;
    assert_eq!((status, &shown["locked"], &shown["definition"]["name"]), (200, &json!(true), &json!("Lead triage")), "{shown}");
    assert_eq!(desk.get("/api/registry/class?json=link.json").await.0, 404);
    assert_eq!(desk.get("/api/registry/class").await.0, 422);
    let (status, made) = desk.post("/api/codegen/import", json!({"ref": "json:deep/lead.json"})).await;
    assert_eq!((status, &made["workflow"]["name"]), (201, &json!("Lead triage")), "{made}");
    let (status, made) = desk.post("/api/codegen/import", json!({"ref": "json:bare.json"})).await;
    assert_eq!((status, &made["workflow"]["name"]), (201, &json!("bare")), "{made}");
}

#[tokio::test]
async fn builder_tools_are_imported_only_where_they_may_be_made() {
    let tool = json!({"name": "sum", "kind": "builder", "config": {"code": "return 1"}, "slug": "sum"});
    for (allowed, wanted) in [(true, 201), (false, 403)] {
        let desk = Desk::with(json!({"allow_builder_tools": allowed}));
        let answer = desk.post("/api/codegen/import", json!({"json": tool})).await;
        assert_eq!(answer.0, wanted, "{}", answer.1);
        let names = desk.get("/api/tools").await.1["data"].as_array().map_or(0, Vec::len);
        assert_eq!(names, usize::from(allowed));
    }
}

#[tokio::test]
async fn the_deepest_agent_comes_back_with_its_workflow() {
    let desk = Desk::new();
    let nested = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({"a": inner}));
    let agent = |levels: usize| json!({"name": "Deep", "provider": "script", "model": "echo", "metadata": {"a": nested(levels - 1)}});
    let mut levels = 70;
    while desk.post("/api/agents", agent(levels)).await.0 != 201 {
        levels -= 1;
    }
    assert!(levels > 60, "{levels}");
    let (status, _) = desk.post("/api/codegen/import", json!({"json": {"meta": {"name": "Flow", "slug": "flow"}, "graph": graph("deep")}})).await;
    assert_eq!(status, 201);
    let shown = desk.make("/api/codegen/preview", json!({"kind": "workflow", "id": "flow", "target": "python"})).await;
    let to = Desk::new();
    let (status, made) = to.post("/api/codegen/import", json!({"source": shown["code"], "language": "python"})).await;
    assert_eq!(status, 201, "{made}");
    assert_eq!(to.get("/api/agents/deep").await.1["metadata"], desk.get("/api/agents/deep").await.1["metadata"]);
}

#[tokio::test]
async fn a_file_of_many_classes_is_read_once() {
    let desk = Desk::new();
    let class = |number: usize| format!("class A{number}(StudioAgent):\n    @staticmethod\n    def definition() -> dict:\n        return {{'name': 'Agent {number}', 'model': 'm'}}\n\n");
    desk.put("more/many.py", &(0..3000).map(class).collect::<String>());
    let begun = std::time::Instant::now();
    let listed = desk.get("/api/registry/classes").await.1;
    let took = begun.elapsed();
    assert_eq!((listed["data"].as_array().map(Vec::len), &listed["data"][2999]["label"]), (Some(3000), &json!("Agent 2999")));
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
}

#[tokio::test]
async fn the_file_of_a_tool_is_imported_as_it_was() {
    let desk = Desk::new();
    let tool = json!({"name": "sum", "slug": "sum", "description": "Adds.", "kind": "webhook", "config": {"method": "GET", "url": "https://example.com/"}});
    let made = desk.make("/api/tools", tool).await;
    let request = wfstudio::studio::ExportRequest {
        kind: wfstudio::codegen::ClassKind::Tool, id: "sum".into(), target: None, json_file: true, overwrite: false, folder: None, base: None,
    };
    let file = desk.bench.studio.drawn_code(&desk.bench.scope, &request).await.expect("a file");
    let file: Value = serde_json::from_str(&file.text).expect("JSON");
    let (status, imported) = Desk::new().post("/api/codegen/import", json!({"json": file})).await;
    assert_eq!(status, 201, "{imported}");
    for key in ["name", "slug", "description", "kind", "config", "input_schema"] {
        assert_eq!(imported["tool"][key], made[key], "{key}");
    }
}
