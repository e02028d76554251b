//! Owns the tests of workflows: graphs, drafts, revisions, and what a run pins of them.

use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::model::texts::Locale;
use crate::studio::ListQuery;
use crate::studio::runs::pinning;

/// A graph from start over one node to stop.
pub(super) fn graph_of(kind: &str, data: &Value) -> Value {
    json!({"version": 1, "nodes": [
        {"id": "start_1", "type": "start", "position": {"x": 0, "y": 0}, "data": {}},
        {"id": "n", "type": kind, "position": {"x": 1, "y": 0}, "data": data},
        {"id": "stop_1", "type": "stop", "position": {"x": 2, "y": 0}, "data": {"reply": ""}}],
      "edges": [{"id": "e1", "source": "start_1", "target": "n"}, {"id": "e2", "source": "n", "target": "stop_1"}]})
}

#[tokio::test]
async fn a_workflow_tells_its_warnings_and_its_agents() {
    let (studio, scope) = (studio(), scope());
    let agent = make(&studio, Resource::Agent, json!({"name": "Helper"})).await;
    let refused = studio.create(&scope, Resource::Workflow, &json!({"name": "W", "graph": graph_of("agent", &json!({"agent_id": "nobody"}))})).await;
    let refused = refused.expect_err("an unknown agent");
    assert!(is(&refused, Kind::GraphInvalid));
    assert_eq!(refused.members["issues"][0]["code"], "agent_unknown");
    assert_eq!(refused.members["errors"]["graph"][0], refused.message.as_str());

    let made = make(&studio, Resource::Workflow, json!({"name": "W", "graph": graph_of("agent", &json!({"agent_id": "helper"}))})).await;
    assert_eq!(made["agents"], json!([{"id": agent["id"], "slug": "helper", "name": "Helper"}]));
    let in_use = studio.delete(&scope, Resource::Agent, "helper", &Value::Null, None, false).await.expect_err("in use");
    assert_eq!(in_use.members["used_by"], json!([{"kind": "workflow", "id": made["id"], "name": "W"}]));

    let warned = make(&studio, Resource::Workflow, json!({"name": "R", "graph": graph_of("rag", &json!({"knowledge_base_id": null}))})).await;
    assert_eq!(warned["warnings"][0]["code"], "knowledge_base_missing");
    assert_eq!(studio.get(&scope, Resource::Workflow, "r").await.expect("there")["warnings"], warned["warnings"]);

    let listed = studio.list(&scope, Resource::Workflow, ListQuery::default()).await.expect("a list").data;
    assert_eq!((&listed[0]["node_count"], &listed[0]["last_run"]), (&json!(3), &Value::Null));
    assert!(listed[0].get("graph").is_none() && listed[0].get("warnings").is_none() && listed[0].get("agents").is_some());
    let whole = ListQuery { include: vec!["graph".into()], ..ListQuery::default() };
    assert!(studio.list(&scope, Resource::Workflow, whole).await.expect("a list").data[0].get("graph").is_some());
}

#[tokio::test]
async fn graphs_are_validated_without_being_stored() {
    let (studio, scope) = (studio(), scope());
    let told = studio.validate_graph(&scope, &json!({"graph": graph_of("rag", &json!({}))})).await.expect("a verdict");
    assert_eq!((&told["valid"], told["warnings"].as_array().map(Vec::len)), (&json!(true), Some(1)));
    let told = studio.speaking(Locale::PtBr).validate_graph(&scope, &json!({"graph": {"version": 1, "nodes": [], "edges": []}})).await.expect("a verdict");
    assert_eq!(told["valid"], false);
    assert!(told["errors"].to_string().contains("O grafo não tem nó de parada"), "in the language that was asked for: {told}");
    assert_eq!(refusal(studio.validate_graph(&scope, &json!({})).await), "validation_failed graph");
    assert_eq!(refusal(studio.validate_graph(&scope, &json!({"graph": {}, "workflow_id": "x"})).await), "not_found");
}

#[tokio::test]
async fn a_draft_is_kept_beside_its_workflow_until_it_is_saved() {
    let (studio, scope) = (studio(), scope());
    make(&studio, Resource::Workflow, json!({"name": "W"})).await;
    assert_eq!(studio.draft(&scope, "w").await.expect("there is none"), None);
    let broken = json!({"version": 1, "nodes": [], "edges": []});
    let draft = studio.put_draft(&scope, "w", &json!({"graph": broken}), None).await.expect("an invalid draft is kept");
    assert_eq!((&draft["draft_revision"], &draft["based_on_revision"]), (&json!(1), &json!(1)));
    assert!(!draft["issues"].as_array().expect("issues").is_empty());
    assert_eq!(studio.draft(&scope, "w").await.expect("there"), Some(draft));
    assert_eq!(refusal(studio.save_draft(&scope, "w", &Value::Null, None).await), "graph_invalid graph");

    studio.patch(&scope, Resource::Workflow, "w", &json!({"description": "x"}), None).await.expect("patched");
    assert_eq!(studio.draft(&scope, "w").await.expect("saving the workflow leaves it").expect("a draft")["graph"], broken);

    let better = graph_of("rag", &json!({}));
    let stale = studio.put_draft(&scope, "w", &json!({"graph": better, "draft_revision": 7}), None).await.expect_err("stale");
    assert_eq!((stale.kind, &stale.members["current"]["draft_revision"]), (Kind::RevisionConflict, &json!(1)));
    let draft = studio.put_draft(&scope, "w", &json!({"graph": better, "draft_revision": 1}), None).await.expect("kept");
    assert_eq!((&draft["draft_revision"], &draft["based_on_revision"]), (&json!(2), &json!(1)));
    let saved = studio.save_draft(&scope, "w", &Value::Null, Some(2)).await.expect("saved");
    assert_eq!((&saved["revision"], saved["graph"]["nodes"].as_array().map(Vec::len)), (&json!(3), Some(3)));
    assert_eq!(studio.draft(&scope, "w").await.expect("there is none"), None);
    let late = studio.put_draft(&scope, "w", &json!({"graph": better, "draft_revision": 2}), None).await;
    assert_eq!(refusal(late), "revision_conflict");
}

#[tokio::test]
async fn drafts_are_refused_only_for_shape_and_size() {
    let (studio, scope) = (studio_with(&json!({"limits": {"graph_kb": 1, "graph_nodes": 2}})), scope());
    make(&studio, Resource::Workflow, json!({"name": "W"})).await;
    let mut told = Vec::new();
    for body in [json!({}), json!({"graph": 3}), json!({"graph": {"nodes": 3}}), json!({"graph": {"nodes": [1, 2, 3]}}), json!({"graph": {"x": "a".repeat(2000)}})] {
        told.push(refusal(studio.put_draft(&scope, "w", &body, None).await));
    }
    expect![[r#"
        validation_failed graph
        validation_failed graph
        validation_failed graph.nodes
        validation_failed graph.nodes
        validation_failed graph"#]]
    .assert_eq(&told.join("\n"));
    studio.put_draft(&scope, "w", &json!({"graph": {}}), None).await.expect("kept");
    studio.delete_draft(&scope, "w", &Value::Null, None).await.expect("deleted");
    assert_eq!(refusal(studio.delete_draft(&scope, "w", &Value::Null, None).await), "not_found");
}

#[tokio::test]
async fn every_revision_can_be_read_and_restored() {
    let (studio, scope) = (studio(), user("ann"));
    let first = make(&studio, Resource::Workflow, json!({"name": "W", "tags": ["one"]})).await;
    studio.put(&scope, Resource::Workflow, "w", &json!({"name": "W two", "graph": graph_of("rag", &json!({}))}), None).await.expect("put");
    let page = studio.revisions(&scope, "w", ListQuery { limit: 1, ..ListQuery::default() }).await.expect("a page");
    assert_eq!((&page.data[0]["revision"], &page.data[0]["user_id"], &page.data[0]["node_count"]), (&json!(2), &json!("ann"), &json!(3)));
    let next = ListQuery::parse([("cursor", page.next_cursor.as_deref().expect("more"))]).expect("a query");
    assert_eq!(studio.revisions(&scope, "w", next).await.expect("a page").data[0]["revision"], 1);

    let old = studio.revision(&scope, "w", 1).await.expect("there");
    assert_eq!((&old["name"], &old["graph"], &old["tags"], &old["revision"]), (&first["name"], &first["graph"], &first["tags"], &json!(1)));
    assert_eq!(refusal(studio.revision(&scope, "w", 9).await), "not_found");
    let restored = studio.restore_revision(&scope, "w", 1).await.expect("restored");
    assert_eq!((&restored["revision"], &restored["name"], &restored["graph"]), (&json!(3), &first["name"], &first["graph"]));
    assert_eq!(studio.revisions(&scope, "w", ListQuery::default()).await.expect("a page").data.len(), 3);
}

#[tokio::test]
async fn a_run_pins_what_it_uses_and_what_that_uses() {
    let studio = studio();
    make(&studio, Resource::KnowledgeBase, json!({"name": "Docs"})).await;
    make(&studio, Resource::Tool, json!({"name": "search", "kind": "rag", "config": {"knowledge_base_id": "docs"}})).await;
    make(&studio, Resource::Tool, example(Resource::Tool)).await;
    make(&studio, Resource::McpServer, json!({"name": "Web", "transport": "http", "url": "https://x.example"})).await;
    let tools = json!([{"ref": "tool:search"}, {"ref": "mcp:files"}, {"ref": "toolkit:demo"}]);
    make(&studio, Resource::Agent, json!({"name": "Helper", "output_schema": "verdict", "tools": tools})).await;
    make(&studio, Resource::Agent, json!({"name": "Unused"})).await;
    let graph = json!({"nodes": [
        {"id": "a", "type": "agent", "data": {"agent_id": "helper"}},
        {"id": "gone", "type": "agent", "data": {"agent_id": "nobody"}},
        {"id": "i", "type": "agent", "data": {"config_mode": "inline", "agent_id": "unused", "provider": "p", "model": "m", "tools": [{"ref": "mcp:web"}]}},
        {"id": "t", "type": "tool", "data": {"tool_ref": "tool:lookup-order"}},
        {"id": "m", "type": "mcp", "data": {"mcp_server": "web"}}]});
    let catalog = studio.catalog();
    let pinned = studio.reading(move |tx| pinning::pin_graph(tx, "", &catalog, &graph)).await.expect("pinned");
    let slugs = |keys: Vec<&String>| keys.into_iter().filter(|key| key.parse::<Id>().is_err()).cloned().collect::<Vec<_>>().join(" ");
    let told = [
        slugs(pinned.agents.keys().collect()),
        slugs(pinned.tools.keys().collect()),
        slugs(pinned.mcp_servers.keys().collect()),
        slugs(pinned.schemas.keys().collect()),
    ];
    assert_eq!(told, ["helper", "lookup-order search", "files web", "verdict"]);
    assert_eq!((pinned.agents.len(), pinned.tools.len(), pinned.mcp_servers.len()), (2, 4, 4), "under their ids too");
    assert_eq!(pinned.agents["helper"].tools.len(), 3);

    let catalog = studio.catalog();
    let pinned = studio.reading(move |tx| pinning::pin_agent(tx, "", &catalog, "helper")).await.expect("pinned");
    assert_eq!((pinned.agents.len(), pinned.tools.len(), pinned.mcp_servers.len()), (2, 2, 2));
}
