//! What an install writes: agents once, a workflow each time, nothing when it is refused.

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use wfstudio::http::{HostMarks, dispatch};

use super::{WORKFLOWS, all, get, install, post, sent};
use crate::support::Bench;

#[tokio::test]
async fn a_workflow_is_made_each_time_and_its_agents_once() {
    let bench = Bench::new(json!({}));
    for template in WORKFLOWS {
        let (first, second) = (install(&bench, template).await, install(&bench, template).await);
        let slug = |made: &Value| made["workflow"]["slug"].as_str().expect("a slug").to_owned();
        assert_eq!((slug(&first), slug(&second)), (template.to_owned(), format!("{template}-1")));
        assert_ne!(first["workflow"]["id"], second["workflow"]["id"]);
        assert_eq!((&first["workflow"]["source"], &first["workflow"]["template_id"]), (&json!("template"), &json!(template)));
        assert!(second["agents"].as_array().expect("agents").iter().all(|agent| agent["reused"] == true), "{second}");
        let ids = |made: &Value| made["agents"].as_array().expect("agents").iter().map(|agent| agent["id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&first), ids(&second));
        let warnings = first["workflow"]["warnings"].as_array().expect("warnings");
        assert!(warnings.iter().all(|warning| warning["code"] == "knowledge_base_missing"), "{template}: {warnings:?}");
        let graph = first["workflow"]["graph"].to_string();
        assert!(!graph.contains(r#""agent_ref""#) && !graph.contains(r#""provider":"default""#) && !graph.contains(r#""model":"default""#), "{graph}");
        assert_eq!(get(&bench, &format!("/api/workflows/{}", slug(&first))).await.1["graph"], first["workflow"]["graph"]);
    }
    let slugs = all(&bench, "/api/agents", "slug").await;
    assert_eq!(slugs, ["dev-support-specialist", "intent-classifier", "knowledge-agent", "lead-qualifier", "refund-actions-agent", "support-assistant", "support-triage-composer"]);
    assert_eq!(all(&bench, "/api/workflows?limit=100", "slug").await.len(), 22);
}

#[tokio::test]
async fn the_configured_provider_and_model_take_the_place_of_default() {
    let bench = Bench::new(json!({"default_provider": "anthropic", "default_model": "some-model"}));
    let made = install(&bench, "lead-qualification").await;
    let nodes = made["workflow"]["graph"]["nodes"].as_array().expect("nodes");
    let models: Vec<&Value> = nodes.iter().filter(|node| node["type"] == "llm").flat_map(|node| [&node["data"]["provider"], &node["data"]["model"]]).collect();
    assert_eq!(models, ["anthropic", "some-model", "anthropic", "some-model"]);
    let agent = get(&bench, "/api/agents/support-assistant").await.1;
    assert_eq!((&agent["provider"], &agent["model"], &agent["source"], &agent["template_id"]), (&json!("anthropic"), &json!("some-model"), &json!("template"), &json!("support-assistant")));
}

#[tokio::test]
async fn an_agent_with_the_slug_is_reused_unchanged() {
    let bench = Bench::new(json!({}));
    let own = post(&bench, "/api/agents", json!({"name": "Ours", "slug": "knowledge-agent", "instructions": "Ours."})).await.1;
    let (status, made) = post(&bench, "/api/templates/agents/knowledge-agent/install", json!({"name": "Another"})).await;
    assert_eq!((status, &made["reused"], &made["agent"]), (201, &json!(true), &own));
    let made = install(&bench, "rag-knowledge-qna").await;
    assert_eq!(made["agents"], json!([{"id": own["id"], "slug": "knowledge-agent", "reused": true}]));
    assert_eq!(made["workflow"]["agents"][0]["name"], "Ours");
    assert_eq!(get(&bench, "/api/agents/knowledge-agent").await.1, own);
}

#[tokio::test]
async fn an_agent_template_makes_an_agent_with_the_name_that_is_asked_for() {
    let bench = Bench::new(json!({}));
    let (status, made) = post(&bench, "/api/templates/agent/refund-actions-agent/install", json!({"name": "Refunds"})).await;
    assert_eq!((status, &made["reused"]), (201, &json!(false)));
    assert_eq!(made["agents"], json!([{"id": made["agent"]["id"], "slug": "refund-actions-agent", "reused": false}]));
    let agent = &made["agent"];
    assert_eq!((&agent["name"], &agent["require_tool_approval"], &agent["tools"][0]["only"]), (&json!("Refunds"), &json!(true), &json!(["issue_refund"])));
    assert_eq!(get(&bench, "/api/agents/refund-actions-agent").await.1, *agent);
}

#[tokio::test]
async fn a_workflow_has_the_name_that_is_asked_for_and_a_free_slug() {
    let bench = Bench::new(json!({}));
    let path = "/api/templates/workflow/basic-agent-chat/install";
    let made = post(&bench, path, json!({"name": "Traces"})).await.1;
    assert_eq!((&made["workflow"]["name"], &made["workflow"]["slug"]), (&json!("Traces"), &json!("traces-1")), "`traces` is a path of the studio's own");
    assert_eq!(made["agents"][0]["reused"], false);
    assert_eq!(get(&bench, "/api/agents/support-assistant").await.1["name"], "Support Assistant");
    for (body, field) in [(json!({"name": ""}), "name"), (json!({"name": 7}), "name"), (json!({"name": "x".repeat(256)}), "name"), (json!([]), "body")] {
        let (status, told) = post(&bench, path, body).await;
        assert_eq!((status, told["errors"][field].is_array()), (422, true), "{told}");
    }
    let (status, told) = post(&bench, "/api/templates/workflow/none/install", json!([])).await;
    assert_eq!((status, &told["code"]), (404, &json!("not_found")));
    assert_eq!(all(&bench, "/api/workflows", "slug").await, ["traces-1"]);
}

#[tokio::test]
async fn a_refused_install_changes_nothing() {
    let bench = Bench::new(json!({"tools": {"toolkits": ["calculator"]}}));
    // The composer is fine and would be made last; the refund agent needs a toolkit that is off.
    let (status, told) = post(&bench, "/api/templates/workflow/parallel-refund-approval/install", json!({})).await;
    assert_eq!((status, told["errors"]["tools.0.ref"].is_array()), (422, true), "{told}");
    let small = Bench::new(json!({"limits": {"graph_nodes": 4}}));
    let (status, told) = post(&small, "/api/templates/workflow/lead-qualification/install", json!({})).await;
    assert_eq!((status, &told["code"]), (422, &json!("graph_invalid")), "the agent was made before the graph was checked");
    for bench in [&bench, &small] {
        for path in ["/api/agents", "/api/workflows"] {
            assert_eq!(all(bench, path, "slug").await, Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn installs_at_the_same_time_share_their_agents() {
    let bench = Bench::new(json!({}));
    let installs = (0..6).map(|_| install(&bench, "support-rag-hitl"));
    let made = futures_util::future::join_all(installs).await;
    let created = made.iter().flat_map(|made| made["agents"].as_array().expect("agents")).filter(|agent| agent["reused"] == false).count();
    assert_eq!((created, all(&bench, "/api/agents", "slug").await.len(), all(&bench, "/api/workflows", "slug").await.len()), (3, 3, 6));
}

#[tokio::test]
async fn an_install_belongs_to_its_tenant_and_may_not_come_from_another_site() {
    let bench = Bench::new(json!({}));
    let path = "/api/templates/workflow/basic-agent-chat/install";
    assert_eq!(sent(&bench, "one", "POST", path, Some(&json!({}))).await.0, 201);
    assert_eq!(all(&bench, "/api/workflows", "slug").await, Vec::<String>::new());
    for (name, value, code) in [("sec-fetch-site", "cross-site", "cross_origin"), ("origin", "https://evil.example", "cross_origin")] {
        let request = Request::post(format!("/studio{path}")).header(name, value).header("content-type", "application/json");
        let answer = dispatch(&bench.studio, request.body(Bytes::from("{}")).expect("a request"), HostMarks::default()).await;
        assert_eq!(answer.status().as_u16(), 403, "{code}");
    }
    let closed = HostMarks { gate: Some(false), ..HostMarks::default() };
    let request = Request::post(format!("/studio{path}")).header("sec-fetch-site", "same-origin").header("content-type", "application/json");
    assert_eq!(dispatch(&bench.studio, request.body(Bytes::from("{}")).expect("a request"), closed).await.status().as_u16(), 403);
    assert_eq!(all(&bench, "/api/agents", "slug").await, Vec::<String>::new());
    let request = Request::post(format!("/studio{path}")).header("sec-fetch-site", "same-origin").header("content-type", "application/json");
    let answer = dispatch(&bench.studio, request.body(Bytes::from("{}")).expect("a request"), HostMarks::default()).await;
    let location = answer.headers()["location"].to_str().expect("a path").to_owned();
    assert_eq!(get(&bench, location.strip_prefix("/studio").expect("our path")).await.1["slug"], "basic-agent-chat");
}
