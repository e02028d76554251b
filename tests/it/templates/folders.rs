//! Templates of the host: files in folders of the configuration, read each time, bad ones skipped and told by the doctor.

use std::fs;

use serde_json::{Value, json};
use wfstudio::studio::{Examination, Level};

use super::{all, get, post};
use crate::support::Bench;

fn agent(id: &str) -> Value {
    json!({"meta": {"id": id, "name": "Mine", "tags": ["own"]},
        "definition": {"provider": "default", "model": "echo", "instructions": "Hi", "tools": [], "tool_max_runs": 3}})
}

fn workflow(id: &str, agents: &[&str], agent_ref: &str) -> Value {
    let node = |id: &str, kind: &str, data: Value| json!({"id": id, "type": kind, "position": {"x": 0, "y": 0}, "data": data});
    json!({"meta": {"id": id, "name": "My flow", "complexity": "basic", "agents": agents}, "graph": {"version": 1,
        "nodes": [node("start", "start", json!({})), node("agent", "agent", json!({"agent_ref": agent_ref})), node("stop", "stop", json!({}))],
        "edges": [{"source": "start", "target": "agent"}, {"source": "agent", "target": "stop"}]}})
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> &str {
        self.0.path().to_str().expect("a path")
    }

    fn put(&self, id: &str, file: &Value) {
        fs::write(self.0.path().join(format!("{id}.json")), file.to_string()).expect("a file");
    }
}

#[tokio::test]
async fn files_of_the_host_are_listed_as_they_are_now_and_installed() {
    let (agents, flows) = (Folder::new(), Folder::new());
    let bench = Bench::new(json!({"template_paths": {"agent": [agents.path()], "workflow": [flows.path()]}}));
    assert_eq!(get(&bench, "/api/templates?tag=own").await.1["data"], json!([]));
    agents.put("mine", &agent("mine"));
    flows.put("flow", &workflow("flow", &["mine"], "mine"));
    let listed = get(&bench, "/api/templates?tag=own").await.1;
    assert_eq!((&listed["data"][0]["id"], &listed["data"][0]["source"], &listed["data"][0]["complexity"]), (&json!("mine"), &json!("host"), &Value::Null));
    let shown = get(&bench, "/api/templates/workflow/flow").await.1;
    assert_eq!(shown["graph"]["edges"][0], json!({"source": "start", "target": "agent", "id": "e1", "sourceHandle": "default", "targetHandle": "default"}));
    assert_eq!((&shown["graph"]["annotations"], &shown["graph"]["viewport"]), (&json!([]), &json!({"x": 0, "y": 0, "zoom": 1})), "as an install stores it");
    let (status, made) = post(&bench, "/api/templates/workflow/flow/install", json!({})).await;
    assert_eq!((status, &made["workflow"]["slug"], &made["agents"][0]["slug"]), (201, &json!("my-flow"), &json!("mine")), "{made}");
    let mine = get(&bench, "/api/agents/mine").await.1;
    assert_eq!((&mine["tool_max_runs"], &mine["provider"], &mine["model"]), (&json!(3), &json!("script"), &json!("echo")));
    assert_eq!(all(&bench, "/api/templates?type=agent", "id").await.len(), 8);
}

#[tokio::test]
async fn an_agent_that_is_neither_stored_nor_a_template_refuses_the_install() {
    let (agents, flows) = (Folder::new(), Folder::new());
    agents.put("mine", &agent("mine"));
    flows.put("named", &workflow("named", &["mine", "missing", "gone"], "mine"));
    flows.put("referred", &workflow("referred", &["mine"], "missing"));
    let bench = Bench::new(json!({"template_paths": {"agent": [agents.path()], "workflow": [flows.path()]}}));
    let (status, told) = post(&bench, "/api/templates/workflow/named/install", json!({})).await;
    assert_eq!((status, told["errors"]["agents"].as_array().map(Vec::len)), (422, Some(2)), "{told}");
    assert_eq!(post(&bench, "/api/templates/workflow/referred/install", json!({})).await.1["errors"]["agents"].as_array().map(Vec::len), Some(1));
    assert_eq!(all(&bench, "/api/agents", "slug").await, Vec::<String>::new());
    assert_eq!(post(&bench, "/api/agents", json!({"name": "missing"})).await.0, 201);
    assert_eq!(post(&bench, "/api/templates/workflow/referred/install", json!({})).await.0, 201);
    assert_eq!(all(&bench, "/api/agents", "slug").await, ["mine", "missing"]);
}

#[tokio::test]
async fn an_agent_template_makes_one_agent_whatever_else_its_file_says() {
    let agents = Folder::new();
    let mut file = agent("mine");
    file["meta"]["agents"] = json!(["support-assistant", "nobody"]);
    file["graph"] = json!({"nodes": [{"id": "a", "type": "agent", "data": {"agent_ref": "knowledge-agent"}}]});
    agents.put("mine", &file);
    let bench = Bench::new(json!({"template_paths": {"agent": [agents.path()]}}));
    let shown = get(&bench, "/api/templates/agent/mine").await.1;
    assert_eq!(shown["install_preview"], json!({"agents_create": ["mine"], "agents_reuse": []}));
    let (status, made) = post(&bench, "/api/templates/agent/mine/install", json!({"name": "Given"})).await;
    assert_eq!((status, &made["agent"]["name"]), (201, &json!("Given")), "{made}");
    assert_eq!(all(&bench, "/api/agents", "slug").await, ["mine"]);
}

#[tokio::test]
async fn the_doctor_tells_the_files_that_lists_skip() {
    let (agents, flows) = (Folder::new(), Folder::new());
    agents.put("mine", &agent("mine"));
    agents.put("other-name", &agent("mine"));
    flows.put("mine", &json!({"meta": {"id": "mine"}}));
    let bench = Bench::new(json!({"template_paths": {"agent": [agents.path(), "/nowhere/at/all"], "workflow": [flows.path()]}}));
    assert_eq!(all(&bench, "/api/templates", "id").await.len(), 19);
    let found = bench.studio.doctor(Examination::default()).await;
    let told: Vec<_> = found.0.iter().filter(|check| check.name == "templates").collect();
    let warnings: Vec<&str> = told.iter().filter(|check| check.level == Level::Warn).map(|check| check.text.as_str()).collect();
    assert_eq!(warnings.len(), 3, "{told:?}");
    for part in ["other-name.json` is skipped: meta.id must equal the name of the file", "/nowhere/at/all` cannot be read", "mine.json` is skipped: meta.name is required"] {
        assert!(warnings.iter().any(|warning| warning.contains(part)), "{part}: {warnings:?}");
    }
    assert!(told.iter().any(|check| check.level == Level::Fine && check.text.ends_with("1 templates")), "{told:?}");
}
