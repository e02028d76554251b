//! An export that is imported again gives the same definition, in every language.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use wfstudio::codegen::{Target, read};
use wfstudio::model::sketch;

use super::{Desk, code};
use crate::support::hands::Hands;
use chance::Chance;

#[path = "../../lifecycle/chance.rs"]
#[expect(dead_code, reason = "shared with the suite that plays against the engine")]
mod chance;
#[path = "../../lifecycle/graphs.rs"]
mod graphs;

const TARGETS: [&str; 7] = ["php", "python", "typescript", "kotlin", "swift", "ruby", "rust"];
const TEMPLATES: [&str; 11] = [
    "basic-agent-chat", "supervisor-specialist-tool-mode", "rag-knowledge-qna", "lead-qualification", "lead-qualification-loop",
    "autonomous-lead-qualification", "parallel-support-triage", "support-rag-hitl", "parallel-triage-hitl", "parallel-refund-approval",
    "dev-support-memory-loop",
];
const TEXTS: [&str; 14] = [
    "", "plain", "\"'`\\", "$a {$b} ${c} #{d} #@e %{f} \\(g)", "\r\n\t\u{0}\u{1b}", "\u{2028}\u{2029}\u{feff}\u{202e}", "é 日本語 😀 \u{10ffff}", "?> <?php //",
    "\"\"\" ''' */ /* # --", "{{input}} {{ a | upper }}", "EOT\nEOT;\n", "__proto__", "\u{7f}\u{a0}\u{e000}", "r#\"x\"# \\u{41} \\x41 \\101",
];

fn any(chance: &mut Chance, depth: u64) -> Value {
    match chance.below(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => json!(chance.percent(50)),
        2 => json!(chance.next()),
        3 => json!(chance.next().cast_signed() >> chance.below(64)),
        4 => f64::from_bits(chance.next()).into(),
        5 => json!(chance.pick(&TEXTS)),
        6 => (0..chance.below(4)).map(|_| any(chance, depth - 1)).collect(),
        _ => Value::Object(members(chance, depth - 1)),
    }
}

fn members(chance: &mut Chance, depth: u64) -> Map<String, Value> {
    let key = |chance: &mut Chance| if chance.percent(15) { chance.below(3).to_string() } else { (*chance.pick(&TEXTS)).to_owned() };
    (0..chance.below(5)).map(|_| (key(chance), any(chance, depth))).collect()
}

/// A workflow that is valid, with everything around its nodes that may be there.
fn workflow(seed: u64) -> Value {
    let chance = &mut Chance::new(seed);
    let taste = *chance.pick(&[graphs::Taste::Mixed, graphs::Taste::Wide, graphs::Taste::Asking, graphs::Taste::Racing]);
    let mut graph = sketch::graph(&graphs::sketch(chance, taste)).expect("a graph");
    for node in graph["nodes"].as_array_mut().expect("nodes") {
        node["position"] = json!({"x": chance.below(2000), "y": (f64::from(u32::try_from(chance.below(4000)).expect("small")) - 2000.0) / 8.0});
        if chance.percent(50) {
            node["title"] = json!(format!("{} {}", chance.pick(&TEXTS), node["id"]));
        }
    }
    graph["viewport"] = json!({"x": -12.5, "y": 0, "zoom": 0.75});
    graph["annotations"] = json!([{"id": "a1", "text": chance.pick(&TEXTS), "position": {"x": 1, "y": 2}}]);
    // A tab or a line feed that ends a name is no part of it.
    let name = format!("Random {seed}{}x", chance.pick(&TEXTS).replace(['\0', '\u{1b}'], ""));
    json!({"name": name, "description": chance.pick(&TEXTS), "graph": graph, "tags": [chance.pick(&TEXTS)], "metadata": members(chance, 3)})
}

/// What of a stored workflow does not depend on where it is stored.
fn essence(mut stored: Value) -> Value {
    let agents = stored["agents"].as_array().cloned().unwrap_or_default();
    for node in stored["graph"]["nodes"].as_array_mut().into_iter().flatten() {
        let id = node["data"]["agent_id"].clone();
        if let Some(agent) = agents.iter().find(|agent| agent["id"] == id) {
            node["data"]["agent_id"] = agent["slug"].clone();
        }
    }
    json!(["slug", "name", "description", "graph", "state_schema", "tags", "metadata"].map(|key| stored[key].clone()))
}

fn essence_of_agent(stored: &Value) -> Value {
    let mut kept = stored.as_object().cloned().unwrap_or_default();
    for key in ["id", "source", "template_id", "class_path", "created_at", "updated_at", "revision"] {
        kept.shift_remove(key);
    }
    Value::Object(kept)
}

/// A studio with the tools that the graphs name.
fn desk() -> Desk {
    let desk = Desk::new();
    let mut declaration = Hands::declaration();
    for name in ["note", "pay", "refund", "flaky", "heed"] {
        declaration.tools.retain(|tool| tool.name != name);
        let tool = json!({"name": name, "require_approval": name == "refund"});
        declaration.tools.push(serde_json::from_value(tool).expect("a tool"));
    }
    desk.bench.studio.set_host(Arc::new(Hands::default()), declaration);
    desk
}

/// What the class of a workflow says in each language, read again: the same in all of them.
async fn one_definition(desk: &Desk, slug: &str) {
    let mut first: Option<String> = None;
    for target in TARGETS {
        let (status, shown) = desk.post("/api/codegen/preview", json!({"kind": "workflow", "id": slug, "target": target})).await;
        assert!(status == 200 || target == "kotlin", "{target} {slug}: {shown}");
        let Some(text) = shown["code"].as_str() else { continue };
        let found = read(Target::named(target).expect("a target"), text, None).unwrap_or_else(|error| panic!("{target} {slug}: {error:?}\n{text}"));
        let read = found.definition.to_string();
        assert_eq!(first.get_or_insert_with(|| read.clone()), &read, "{target} {slug}");
    }
}

/// Exports everything of a studio in a language and imports it into another one.
async fn there_and_back<'a>(from: &Desk, slugs: impl IntoIterator<Item = &'a String>, target: &str) {
    let to = desk();
    for slug in slugs {
        let shown = from.post("/api/codegen/preview", json!({"kind": "workflow", "id": slug, "target": target})).await;
        if target == "kotlin" && code(&shown) == "422 validation_failed" && shown.1["detail"].to_string().contains("-9223372036854775808") {
            continue;
        }
        assert_eq!(shown.0, 200, "{target} {slug}: {}", shown.1);
        let body = json!({"source": shown.1["code"], "language": target, "class": shown.1["class_name"]});
        let (status, made) = to.post("/api/codegen/import", body).await;
        assert_eq!(status, 201, "{target} {slug}: {made}\n{}", shown.1["code"].as_str().unwrap_or_default());
        let stored = from.get(&format!("/api/workflows/{slug}")).await.1;
        let agents = stored["agents"].clone();
        assert_eq!(essence(made["workflow"].clone()).to_string(), essence(stored).to_string(), "{target} {slug}");
        for agent in agents.as_array().into_iter().flatten() {
            let path = format!("/api/agents/{}", agent["slug"].as_str().expect("a slug"));
            let (one, other) = (from.get(&path).await.1, to.get(&path).await.1);
            assert_eq!(essence_of_agent(&other).to_string(), essence_of_agent(&one).to_string(), "{target} {slug}");
        }
    }
}

#[tokio::test]
async fn every_template_comes_back_in_every_language() {
    let desk = desk();
    let mut slugs = Vec::new();
    for template in TEMPLATES {
        slugs.push(desk.install(template).await["slug"].as_str().expect("a slug").to_owned());
    }
    for target in TARGETS {
        there_and_back(&desk, &slugs, target).await;
    }
}

#[tokio::test]
async fn two_hundred_random_workflows_come_back_in_every_language() {
    let desk = desk();
    let mut slugs = Vec::new();
    for seed in 0..200 {
        let made = desk.make("/api/workflows", workflow(seed)).await;
        slugs.push(made["slug"].as_str().expect("a slug").to_owned());
        one_definition(&desk, &slugs[slugs.len() - 1]).await;
    }
    for (at, target) in TARGETS.into_iter().enumerate() {
        there_and_back(&desk, slugs.iter().skip(at).step_by(TARGETS.len()), target).await;
    }
}

#[tokio::test]
async fn exported_files_are_found_where_they_are_scanned_and_imported_by_name() {
    let desk = Desk::new();
    desk.install("support-rag-hitl").await;
    desk.make("/api/tools", json!({"name": "look", "kind": "webhook", "config": {"url": "https://shop.example/"}})).await;
    for (kind, id, target) in [("workflow", "support-rag-hitl", "php"), ("agent", "intent-classifier", "ruby"), ("tool", "look", "kotlin")] {
        desk.make("/api/codegen/export", json!({"kind": kind, "id": id, "target": target})).await;
    }
    desk.put("app/broken.py", "class X(StudioWorkflow):\n    @staticmethod\n    def definition():\n        return make()\n");
    let listed = desk.get("/api/registry/classes").await.1;
    let rows: Vec<String> = listed["data"].as_array().expect("rows").iter().map(|row| format!("{} | {} | {} | {}", row["ref"], row["label"], row["class_path"], row["language"])).collect();
    let wanted = [
        r#""class:App\\Studio\\Workflows\\SupportRagHitlWorkflow" | "Support with knowledge and people" | "Workflows/SupportRagHitlWorkflow.php#SupportRagHitlWorkflow" | "php""#,
        r#""class:App::Studio::Agents::IntentClassifierAgent" | "Intent classifier" | "agents/intent_classifier_agent.rb#IntentClassifierAgent" | "ruby""#,
        r#""class:X" | "X" | "broken.py#X" | "python""#,
        r#""class:app.studio.tools.LookTool" | "look" | "tools/LookTool.kt#LookTool" | "kotlin""#,
    ];
    assert_eq!(rows.len(), wanted.len(), "{rows:#?}");
    for (row, wanted) in rows.iter().zip(wanted) {
        let (row, wanted) = (row.split(" | "), wanted.split(" | "));
        for (at, (row, wanted)) in row.zip(wanted).enumerate() {
            assert!(at == 1 || row == wanted, "{row} {wanted}");
        }
    }
    for name in ["SupportRagHitlWorkflow", "class:App\\Studio\\Workflows\\SupportRagHitlWorkflow", "\\App\\Studio\\Workflows\\SupportRagHitlWorkflow"] {
        let (status, made) = desk.post("/api/codegen/import", json!({"ref": name})).await;
        assert_eq!(status, 201, "{made}");
        assert_eq!(made["workflow"]["class_path"], "Workflows/SupportRagHitlWorkflow.php#SupportRagHitlWorkflow");
    }
    let (status, made) = desk.post("/api/codegen/import", json!({"ref": "LookTool"})).await;
    assert_eq!((status, &made["tool"]["slug"]), (201, &json!("look-1")), "{made}");
    let (status, made) = desk.post("/api/codegen/import", json!({"ref": "IntentClassifierAgent"})).await;
    assert_eq!((status, &made["reused"]), (201, &json!(true)), "{made}");
    let answer = desk.post("/api/codegen/import", json!({"ref": "X"})).await;
    assert_eq!((code(&answer).as_str(), &answer.1["issues"][0]["file"], &answer.1["issues"][0]["line"]), ("422 import_invalid", &json!("broken.py"), &json!(4)));
    // The same class in another folder: which one is meant has to be said.
    desk.put("more/copy.php", &desk.read("app/Workflows/SupportRagHitlWorkflow.php").expect("a file").replace("namespace App", "namespace Other"));
    assert_eq!(code(&desk.post("/api/codegen/import", json!({"ref": "SupportRagHitlWorkflow"})).await), "422 import_invalid");
    let (status, _) = desk.post("/api/codegen/import", json!({"ref": "class:Other\\Studio\\Workflows\\SupportRagHitlWorkflow"})).await;
    assert_eq!(status, 201);
}

#[tokio::test]
async fn fallbacks_come_back_in_every_language_and_as_a_file() {
    let desk = desk();
    let own = json!({"provider": "two", "model": "b", "credential": "secret:OWN", "parameters": {"max_tokens": 5}});
    let fallbacks = json!([{"provider": "one", "model": "a"}, own]);
    let agent = json!({"name": "A", "provider": "script", "model": "echo", "fallbacks": fallbacks});
    let (status, agent) = desk.post("/api/agents", agent).await;
    assert_eq!((status, &agent["fallbacks"][1]["credential"], agent["fallbacks"][0].get("credential")), (201, &json!("secret:OWN"), None), "{agent}");
    let id = agent["id"].as_str().expect("an id");
    let sketched = format!("start -> agent_1{{agent_id: \"{id}\"}} -> llm_1{{provider: script, model: echo, fallbacks: {fallbacks}}} -> stop");
    let graph = sketch::graph(&sketched).expect("a graph");
    let (status, stored) = desk.post("/api/workflows", json!({"name": "With fallbacks", "graph": graph})).await;
    assert_eq!(status, 201, "{stored}");
    let slug = stored["slug"].as_str().expect("a slug").to_owned();
    let node = |stored: &Value| stored["graph"]["nodes"].as_array().expect("nodes").iter().find(|node| node["type"] == "llm").expect("a node")["data"]["fallbacks"].clone();
    assert_eq!(node(&stored), fallbacks);
    one_definition(&desk, &slug).await;
    for target in TARGETS {
        there_and_back(&desk, [&slug], target).await;
    }
    let folder = desk.folder.path().join("json");
    super::commands::typed(&desk, &format!("export workflow {slug} --json-file --path {}", folder.display())).await;
    let file: Value = serde_json::from_str(&desk.read(&format!("json/{slug}.json")).expect("a file")).expect("JSON");
    let to = self::desk();
    let (status, made) = to.post("/api/codegen/import", json!({"json": file})).await;
    assert_eq!((status, node(&made["workflow"])), (201, fallbacks), "{made}");
    let agent = to.get("/api/agents/a").await.1;
    assert_eq!((&agent["fallbacks"][0]["model"], &agent["fallbacks"][1]["parameters"]["max_tokens"]), (&json!("a"), &json!(5)), "{agent}");
}

#[tokio::test]
async fn the_keys_of_long_agents_come_back_in_every_language() {
    let desk = desk();
    let parameters = json!({"temperature": 0.5, "tool_choice": {"tool": "look"}, "provider_options": {"openai": {"service_tier": "flex", "extra": {"a": [1, null]}}}});
    let tools = json!([{"ref": "host:look", "always": true}]);
    let agent = json!({"name": "Long one", "slug": "long-one", "provider": "script", "model": "m", "tools": tools, "parameters": parameters,
        "on_tool_limit": "fail", "stream_approval": true, "memory_config": {"inside_turn": "off"}});
    let (status, stored) = desk.post("/api/agents", agent).await;
    assert_eq!(status, 201, "{stored}");
    assert_eq!((&stored["on_tool_limit"], &stored["memory_config"]["inside_turn"], &stored["tools"][0]["always"]), (&json!("fail"), &json!("off"), &json!(true)));
    let mut graph = sketch::graph("start -> agent_1{} -> agent_2{} -> stop").expect("a graph");
    let inline = json!({"config_mode": "inline", "provider": "script", "model": "m", "tools": tools, "parameters": {"tool_choice": "required", "provider_options": {"work": {"x": true}}},
        "on_tool_limit": "answer", "stream_approval": false, "inside_turn": "auto"});
    let nodes = graph["nodes"].as_array_mut().expect("nodes").iter_mut().filter(|node| node["type"] == "agent");
    nodes.zip([json!({"agent_id": stored["id"]}), inline]).for_each(|(node, data)| node["data"] = data);
    let (status, made) = desk.post("/api/workflows", json!({"name": "Long", "slug": "long", "graph": graph})).await;
    assert_eq!(status, 201, "{made}");
    let slugs = vec!["long".to_owned()];
    for target in TARGETS {
        there_and_back(&desk, &slugs, target).await;
    }
    one_definition(&desk, "long").await;
}
