//! What one tenant has is not there for another: by id, by slug, in lists, by reference.

use serde_json::{Value, json};

use super::{asked, least};
use crate::support::Bench;
use crate::tools::rag_graph;

async fn of(bench: &Bench, tenant: &str, method: &str, path: &str, body: Value) -> (u16, Value) {
    asked(bench, tenant, method, path, Some(&body)).await
}

#[tokio::test]
async fn definitions_of_another_tenant_are_not_there() {
    let bench = Bench::new(json!({}));
    for (path, body) in least() {
        let made = of(&bench, "a", "POST", &format!("/api/{path}"), body.clone()).await.1;
        let id = made["id"].as_str().expect("an id");
        for name in [id, "thing"] {
            let one = format!("/api/{path}/{name}");
            for (method, end) in [("GET", ""), ("PUT", ""), ("PATCH", ""), ("DELETE", "?force=true"), ("POST", "/duplicate")] {
                let (status, told) = of(&bench, "b", method, &format!("{one}{end}"), body.clone()).await;
                assert_eq!((status, &told["code"]), (404, &json!("not_found")), "{method} {one}{end}: {told}");
            }
        }
        let (_, listed) = of(&bench, "b", "GET", &format!("/api/{path}"), Value::Null).await;
        assert_eq!(listed["data"], json!([]), "{path}");
        let (status, own) = of(&bench, "b", "POST", &format!("/api/{path}"), body).await;
        assert_eq!((status, &own["slug"]), (201, &json!("thing")), "slugs are each tenant's own");
        assert_eq!(of(&bench, "a", "GET", &format!("/api/{path}/{id}"), Value::Null).await.1["revision"], 1, "{path}");
    }
}

#[tokio::test]
async fn what_hangs_on_a_definition_is_not_there_either() {
    let bench = Bench::new(json!({}));
    for (path, body) in least() {
        of(&bench, "a", "POST", &format!("/api/{path}"), body).await;
    }
    let document = of(&bench, "a", "POST", "/api/knowledge-bases/thing/documents", json!({"name": "faq", "text": "Thirty days."})).await.1;
    let document = format!("/api/knowledge-bases/thing/documents/{}", document["id"].as_str().expect("an id"));
    of(&bench, "a", "PUT", "/api/workflows/thing/draft", json!({"graph": {}})).await;
    for (method, path) in [
        ("GET", "/api/knowledge-bases/thing/documents"),
        ("POST", "/api/knowledge-bases/thing/documents"),
        ("POST", "/api/knowledge-bases/thing/search"),
        ("POST", "/api/knowledge-bases/thing/reindex"),
        ("GET", &document),
        ("DELETE", &document),
        ("GET", "/api/workflows/thing/draft"),
        ("DELETE", "/api/workflows/thing/draft"),
        ("POST", "/api/workflows/thing/draft/save"),
        ("GET", "/api/workflows/thing/revisions"),
        ("GET", "/api/workflows/thing/revisions/1"),
        ("POST", "/api/workflows/thing/revisions/1/restore"),
        ("POST", "/api/tools/thing/test"),
        ("POST", "/api/mcp-servers/thing/test"),
        ("GET", "/agents/thing/chat/threads"),
        ("GET", "/workflows/thing/chat/threads"),
        ("GET", "/workflows/thing/traces/list"),
        ("POST", "/workflows/thing/run/stream"),
        ("POST", "/agents/thing/chat/stream"),
    ] {
        let body = json!({"name": "x", "text": "x", "query": "x", "message": "x"});
        let (status, told) = of(&bench, "b", method, path, body).await;
        assert_eq!((status, &told["code"]), (404, &json!("not_found")), "{method} {path}: {told}");
    }
    assert_eq!(of(&bench, "a", "GET", &document, Value::Null).await.0, 200);
    let graph = rag_graph(json!({"knowledge_base_id": "thing"}));
    let (status, told) = of(&bench, "b", "POST", "/api/workflows", json!({"name": "w", "graph": graph})).await;
    assert_eq!((status, &told["issues"][0]["code"]), (422, &json!("knowledge_base_unknown")), "{told}");
    let (status, told) = of(&bench, "b", "POST", "/api/agents", json!({"name": "x", "tools": [{"ref": "tool:thing"}]})).await;
    assert_eq!(status, 422, "{told}");
}
