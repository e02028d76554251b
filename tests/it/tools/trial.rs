//! Trying a tool out over HTTP.

use bytes::Bytes;
use expect_test::expect;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::http::{HostMarks, dispatch};
use wfstudio::studio::Resource;

use super::{script, stored};
use crate::support::Bench;

async fn post(bench: &Bench, path: &str, body: &Value, tenant: &str) -> (u16, Value) {
    let request = Request::builder().method("POST").uri(path).header("content-type", "application/json");
    let request = request.body(Bytes::from(body.to_string())).expect("a request");
    let marks = HostMarks { tenant: tenant.into(), ..HostMarks::default() };
    let (head, body) = dispatch(&bench.studio, request, marks).await.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    (head.status.as_u16(), serde_json::from_slice(&body).expect("JSON"))
}

#[tokio::test]
async fn a_tool_is_tried_by_id_or_slug() {
    let bench = Bench::new(json!({}));
    let id = script(&bench, "if (input.fail) throw new Error('as wanted'); return {got: input}").await;
    let mut told = String::new();
    for (path, body) in [
        (id.as_str(), json!({"input": {"a": [1, 2]}})),
        ("script", json!({})),
        ("script", json!({"input": {"fail": true}})),
        ("script", json!({"input": 5})),
        ("nothing", json!({"input": {}})),
    ] {
        let (status, answer) = post(&bench, &format!("/studio/api/tools/{path}/test"), &body, "").await;
        let shown = if status == 200 { format!("{} {}", answer["result"], answer["is_error"]) } else { answer["detail"].to_string() };
        assert_eq!(status == 200, answer["duration_ms"].is_u64(), "{answer}");
        told.push_str(&format!("{status} {shown}\n"));
    }
    expect![[r#"
        200 {"got":{"a":[1,2]}} false
        200 {"got":{}} false
        200 "Error: as wanted" true
        422 "input must be an object"
        404 "there is no tool `nothing`"
    "#]].assert_eq(&told);
    let (status, _) = post(&bench, &format!("/studio/api/tools/{id}/test"), &json!({}), "other").await;
    assert_eq!(status, 404, "another tenant's tool");
}

#[tokio::test]
async fn an_input_that_does_not_fit_is_an_error_of_the_call() {
    let bench = Bench::new(json!({}));
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    stored(&bench, json!({"name": "typed", "kind": "builder", "input_schema": schema, "config": {"code": "return input.n"}})).await;
    let (status, answer) = post(&bench, "/studio/api/tools/typed/test", &json!({"input": {"n": "x"}}), "").await;
    assert_eq!((status, &answer["is_error"]), (200, &json!(true)));
    assert_eq!(answer["result"], "the input does not fit `typed`: /n: \"x\" is not of type \"integer\"");
}

#[tokio::test]
async fn a_search_of_a_base_that_is_not_there_says_so() {
    let bench = Bench::new(json!({}));
    let base = bench.studio.create(&bench.scope, Resource::KnowledgeBase, &json!({"name": "Gone"})).await.expect("a base");
    stored(&bench, json!({"name": "find", "kind": "rag", "config": {"knowledge_base_id": "gone"}})).await;
    let id = base["id"].as_str().expect("an id");
    bench.studio.delete(&bench.scope, Resource::KnowledgeBase, id, &json!({}), None, true).await.expect("a deleted base");
    let (status, answer) = post(&bench, "/studio/api/tools/find/test", &json!({"input": {"query": "x"}}), "").await;
    assert_eq!((status, &answer["is_error"]), (200, &json!(true)), "{answer}");
}
