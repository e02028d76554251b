//! What there is: lists with filters, one template with what its install would do, the switch.

use serde_json::{Value, json};

use super::{WORKFLOWS, all, get, install, sent};
use crate::support::Bench;

async fn ids(bench: &Bench, query: &str) -> Vec<String> {
    let (status, listed) = get(bench, &format!("/api/templates?{query}")).await;
    assert_eq!(status, 200, "{query}: {listed}");
    listed["data"].as_array().expect("a list").iter().map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test]
async fn seven_agents_and_eleven_workflows_ship() {
    let bench = Bench::new(json!({}));
    let agents = ["support-assistant", "intent-classifier", "knowledge-agent", "lead-qualifier", "support-triage-composer", "refund-actions-agent", "dev-support-specialist"];
    assert_eq!(ids(&bench, "type=agent").await, agents);
    assert_eq!(ids(&bench, "type=workflows").await, WORKFLOWS);
    assert_eq!(ids(&bench, "").await, [&agents[..], &WORKFLOWS[..]].concat());
    let listed = get(&bench, "/api/templates?type=workflow&q=RAG%20Knowledge").await.1;
    assert_eq!(listed["data"], json!([{
        "id": "rag-knowledge-qna", "type": "workflow", "name": "RAG Knowledge QnA",
        "description": "Searches a knowledge base and answers from the passages found, with citations.",
        "category": "knowledge", "complexity": "basic", "tags": ["knowledge", "rag", "citations"], "agents": ["knowledge-agent"],
        "node_types": ["start", "rag", "agent", "stop"], "source": "bundled",
    }]));
    assert_eq!(all(&bench, "/api/agents", "slug").await, Vec::<String>::new(), "listing writes nothing");
}

#[tokio::test]
async fn filters_narrow_a_list_and_nonsense_is_refused() {
    let bench = Bench::new(json!({}));
    assert_eq!(ids(&bench, "complexity=basic").await, ["basic-agent-chat", "rag-knowledge-qna"]);
    assert_eq!(ids(&bench, "type=workflow&complexity=advanced").await.len(), 4);
    assert_eq!(ids(&bench, "type=agent&complexity=advanced").await, Vec::<String>::new());
    assert_eq!(ids(&bench, "type=agents&category=Sales").await, ["lead-qualifier"]);
    assert_eq!(ids(&bench, "tag=RAG&type=workflow").await, ["rag-knowledge-qna", "support-rag-hitl", "dev-support-memory-loop"]);
    assert_eq!(ids(&bench, "q=%20refund&complexity=advanced").await, ["parallel-refund-approval"]);
    assert_eq!(ids(&bench, "category=none").await, Vec::<String>::new());
    for (query, field) in [("type=tool", "type"), ("complexity=hard", "complexity")] {
        let (status, told) = get(&bench, &format!("/api/templates?{query}")).await;
        assert_eq!((status, told["errors"][field].is_array()), (422, true), "{told}");
    }
}

#[tokio::test]
async fn one_template_is_its_file_and_what_an_install_would_do() {
    let bench = Bench::new(json!({}));
    let (status, shown) = get(&bench, "/api/templates/workflows/support-rag-hitl").await;
    assert_eq!((status, &shown["meta"]["id"], &shown["graph"]["version"]), (200, &json!("support-rag-hitl"), &json!(1)));
    assert_eq!(shown["install_preview"], json!({"agents_create": ["intent-classifier", "knowledge-agent", "support-assistant"], "agents_reuse": []}));
    install(&bench, "rag-knowledge-qna").await;
    let shown = get(&bench, "/api/templates/workflow/support-rag-hitl").await.1;
    assert_eq!(shown["install_preview"], json!({"agents_create": ["intent-classifier", "support-assistant"], "agents_reuse": ["knowledge-agent"]}));
    let shown = get(&bench, "/api/templates/agent/knowledge-agent").await.1;
    assert_eq!((&shown["definition"]["model"], &shown["install_preview"]["agents_reuse"]), (&json!("default"), &json!(["knowledge-agent"])));
    let other: Value = serde_json::from_str(&sent(&bench, "other", "GET", "/api/templates/agent/knowledge-agent", None).await.1).expect("JSON");
    assert_eq!(other["install_preview"]["agents_create"], json!(["knowledge-agent"]), "another tenant has agents of its own");
    for path in ["workflow/none", "agent/basic-agent-chat", "tool/knowledge-agent", "agent/..%2Fworkflows%2Fbasic-agent-chat", "agent/"] {
        let (status, told) = get(&bench, &format!("/api/templates/{path}")).await;
        assert_eq!((status, &told["code"]), (404, &json!("not_found")), "{path}: {told}");
    }
}

#[tokio::test]
async fn where_templates_are_off_nothing_is_listed_shown_or_installed() {
    let bench = Bench::new(json!({"templates_enabled": false}));
    assert_eq!(get(&bench, "/api/templates").await, (200, json!({"data": []})));
    for (method, path) in [("GET", "/api/templates/agent/support-assistant"), ("POST", "/api/templates/agent/support-assistant/install")] {
        let (status, text) = sent(&bench, "", method, path, Some(&json!({}))).await;
        let told: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((status, &told["code"], &told["flag"]), (404, &json!("route_disabled"), &json!("templates_enabled")), "{text}");
    }
    assert_eq!(all(&bench, "/api/agents", "slug").await, Vec::<String>::new());
}
