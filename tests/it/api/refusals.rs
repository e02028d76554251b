//! What is refused, in which order, and that nothing is stored then.

use serde_json::{Value, json};

use super::{ask, least};
use crate::support::Bench;
use crate::tools::rag_graph;

const NOBODY: &str = "0199a000-0000-7000-8000-000000000000";

#[tokio::test]
async fn what_is_not_there_is_told_before_what_is_wrong_with_the_body() {
    let bench = Bench::new(json!({}));
    let mut routes: Vec<(&str, String)> = vec![
        ("POST", format!("/api/tools/{NOBODY}/test")),
        ("POST", format!("/api/knowledge-bases/{NOBODY}/documents")),
        ("POST", format!("/api/knowledge-bases/{NOBODY}/search")),
        ("PUT", format!("/api/workflows/{NOBODY}/draft")),
        ("POST", format!("/api/workflows/{NOBODY}/draft/save")),
        ("POST", format!("/api/threads/{NOBODY}/branch")),
    ];
    for (path, _) in least() {
        routes.extend([("PUT", format!("/api/{path}/{NOBODY}")), ("PATCH", format!("/api/{path}/{NOBODY}"))]);
    }
    for (method, path) in routes {
        for body in [json!({"name": 5, "input": 5, "graph": 5, "query": 5, "before": 5, "revision": "x", "draft_revision": "x"}), json!([])] {
            let (status, told) = ask(&bench, method, &path, body).await;
            assert_eq!((status, &told["code"]), (404, &json!("not_found")), "{method} {path}: {told}");
        }
    }
}

#[tokio::test]
async fn a_body_that_is_no_object_is_refused_everywhere() {
    let bench = Bench::new(json!({}));
    for (path, body) in least() {
        let made = ask(&bench, "POST", &format!("/api/{path}"), body).await.1;
        let one = format!("/api/{path}/{}", made["id"].as_str().expect("an id"));
        for (method, path) in [("POST", format!("/api/{path}")), ("PUT", one.clone()), ("PATCH", one)] {
            let (status, told) = ask(&bench, method, &path, json!([1])).await;
            assert_eq!((status, &told["errors"]["body"][0]), (422, &json!("the body must be a JSON object")), "{method} {path}");
        }
    }
    for path in ["/api/tools/thing/test", "/api/knowledge-bases/thing/documents", "/api/knowledge-bases/thing/search", "/api/graph/validate"] {
        let (status, told) = ask(&bench, "POST", path, json!([1])).await;
        assert_eq!((status, &told["code"]), (422, &json!("validation_failed")), "{path}: {told}");
    }
}

#[tokio::test]
async fn filters_that_no_search_could_use_are_not_stored() {
    let bench = Bench::new(json!({}));
    ask(&bench, "POST", "/api/knowledge-bases", json!({"name": "docs"})).await;
    let filters = [(json!({"year": {"like": 1}}), "year"), (json!({"lang": {"in": "en"}}), "lang")];
    for (filter, key) in filters {
        let base = json!({"name": "more", "retrieval_defaults": {"filter": filter}});
        let (status, told) = ask(&bench, "POST", "/api/knowledge-bases", base).await;
        assert!(status == 422 && told["errors"][format!("retrieval_defaults.filter.{key}")].is_array(), "{told}");
        let tool = json!({"name": "find", "kind": "rag", "config": {"knowledge_base_id": "docs", "filter": filter}});
        let (status, told) = ask(&bench, "POST", "/api/tools", tool).await;
        assert!(status == 422 && told["errors"][format!("config.filter.{key}")].is_array(), "{told}");
        let graph = rag_graph(json!({"knowledge_base_id": "docs", "filter": filter}));
        let (status, told) = ask(&bench, "POST", "/api/workflows", json!({"name": "asks", "graph": graph})).await;
        assert_eq!((status, &told["issues"][0]["field"]), (422, &json!(format!("data.filter.{key}"))), "{told}");
    }
    let fine = json!({"name": "more", "retrieval_defaults": {"filter": {"year": {"gte": 2020, "lt": 2030}, "lang": {"in": ["en"]}, "kind": "faq"}}});
    assert_eq!(ask(&bench, "POST", "/api/knowledge-bases", fine).await.0, 201);
}

#[tokio::test]
async fn another_provider_of_embeddings_needs_a_model_of_its_own() {
    let bench = Bench::new(json!({}));
    let (status, told) = ask(&bench, "POST", "/api/knowledge-bases", json!({"name": "docs", "embeddings_provider": "openai"})).await;
    assert_eq!((status, &told["errors"]["embeddings_model"].is_array()), (422, &true), "{told}");
    let named = json!({"name": "docs", "embeddings_provider": "hash"});
    let made = ask(&bench, "POST", "/api/knowledge-bases", named).await.1;
    assert_eq!(made["embeddings_model"], "hash-256");
}

#[tokio::test]
async fn a_refusal_stores_nothing() {
    let bench = Bench::new(json!({}));
    for (path, body) in least() {
        let made = ask(&bench, "POST", &format!("/api/{path}"), body).await.1;
        let one = format!("/api/{path}/{}", made["id"].as_str().expect("an id"));
        for wrong in [json!({"description": 5}), json!({"description": "new", "slug": "Not A Slug"}), json!({"description": "new", "revision": 9})] {
            assert!(ask(&bench, "PATCH", &one, wrong).await.0 >= 400, "{path}");
        }
        assert_eq!(ask(&bench, "GET", &one, Value::Null).await.1, made, "{path}");
    }
}
