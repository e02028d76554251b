//! What is made under a key is made once: asked for again, also at once, from a client that lost the answer, it is the first answer.

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::http::{HostMarks, dispatch};

use super::{ask, least};
use crate::support::Bench;

const FORM: &str = "multipart/form-data; boundary=X";

struct Answer {
    status: u16,
    replayed: bool,
    location: Option<String>,
    body: Value,
}

async fn send(bench: &Bench, tenant: &str, key: &str, path: &str, kind: &str, body: String) -> Answer {
    let request = Request::post(format!("/studio{path}")).header("sec-fetch-site", "same-origin").header("content-type", kind);
    let request = request.header("idempotency-key", key).body(Bytes::from(body)).expect("a request");
    let answer = dispatch(&bench.studio, request, HostMarks { tenant: tenant.into(), ..HostMarks::default() }).await;
    let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (status, replayed, location) = (answer.status().as_u16(), header("idempotency-replayed").as_deref() == Some("true"), header("location"));
    let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
    Answer { status, replayed, location, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) }
}

async fn keyed(bench: &Bench, key: &str, path: &str, body: &Value) -> Answer {
    send(bench, "", key, path, "application/json", body.to_string()).await
}

async fn count(bench: &Bench, path: &str) -> usize {
    ask(bench, "GET", path, json!({})).await.1["data"].as_array().map_or(0, Vec::len)
}

/// Asked for twice, it is made once, and both have the same answer.
async fn once(bench: &Bench, list: &str, path: &str, body: &Value) -> Value {
    let before = count(bench, list).await;
    let first = keyed(bench, "k-1", path, body).await;
    assert!(matches!(first.status, 201 | 202) && !first.replayed, "{path}: {}", first.body);
    let again = keyed(bench, "k-1", path, body).await;
    assert_eq!((again.status, again.replayed, &again.location), (first.status, true, &first.location), "{path}: {}", again.body);
    // A document may have been read since.
    let of = |answer: &Answer| if path.ends_with("/documents") { answer.body["id"].clone() } else { answer.body.clone() };
    assert_eq!(of(&again), of(&first), "{path}");
    assert_eq!(count(bench, list).await, before + 1, "{path}");
    first.body
}

#[tokio::test]
async fn a_definition_is_made_and_copied_once_for_each_key() {
    let bench = Bench::new(json!({}));
    for (kind, body) in least() {
        let list = format!("/api/{kind}");
        let made = once(&bench, &list, &list, &body).await;
        let copy = format!("{list}/{}/duplicate", made["id"].as_str().expect("an id"));
        once(&bench, &list, &copy, &json!({})).await;
        let other = keyed(&bench, "k-1", &list, &json!({"name": "another"})).await;
        assert_eq!((other.status, &other.body["code"]), (422, &json!("idempotency_key_reused")), "{kind}");
        let theirs = send(&bench, "b", "k-1", &list, "application/json", body.to_string()).await;
        assert_eq!((theirs.status, theirs.replayed), (201, false), "a key is its tenant's");
    }
}

#[tokio::test]
async fn a_refused_definition_leaves_its_key_free() {
    let bench = Bench::new(json!({}));
    assert_eq!(keyed(&bench, "k-1", "/api/agents", &json!({"name": ""})).await.status, 422);
    assert_eq!(keyed(&bench, "k-1", "/api/agents", &json!({"name": "thing"})).await.status, 201);
    let wrong = keyed(&bench, "a b", "/api/agents", &json!({"name": "thing"})).await;
    assert!(wrong.status == 422 && wrong.body["errors"].get("Idempotency-Key").is_some(), "{}", wrong.body);
    assert_eq!(count(&bench, "/api/agents").await, 1);
}

#[tokio::test]
async fn of_several_requests_at_once_with_one_key_one_makes_it() {
    let bench = Bench::new(json!({}));
    for n in 0..10 {
        let (key, body) = (format!("k-{n}"), json!({"name": format!("Thing {n}"), "slug": format!("thing-{n}")}));
        let all = futures_util::future::join_all((0..6).map(|_| keyed(&bench, &key, "/api/workflows", &body))).await;
        assert!(all.iter().all(|answer| answer.status == 201 && answer.body == all[0].body), "{:?}", all.iter().map(|a| &a.body).collect::<Vec<_>>());
        assert_eq!(all.iter().filter(|answer| !answer.replayed).count(), 1);
        assert_eq!(count(&bench, "/api/workflows").await, n + 1);
    }
}

#[tokio::test]
async fn templates_imports_and_documents_come_once_for_each_key() {
    let bench = Bench::new(json!({"codegen": {"enabled": true}}));
    let templates = ask(&bench, "GET", "/api/templates?type=workflow", json!({})).await.1;
    let id = templates["data"][0]["id"].as_str().expect("a template").to_owned();
    once(&bench, "/api/workflows", &format!("/api/templates/workflow/{id}/install"), &json!({})).await;
    let graph = wfstudio::model::sketch::graph("start -> stop").expect("a sketch");
    once(&bench, "/api/workflows", "/api/codegen/import", &json!({"json": {"name": "Imported", "graph": graph}})).await;

    let base = ask(&bench, "POST", "/api/knowledge-bases", json!({"name": "Help"})).await.1;
    let documents = format!("/api/knowledge-bases/{}/documents", base["id"].as_str().expect("an id"));
    once(&bench, &documents, &documents, &json!({"name": "a.md", "text": "Refunds take ten days."})).await;
    let form = |text: &str| format!("--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"b.txt\"\r\n\r\n{text}\r\n--X--\r\n");
    let first = send(&bench, "", "f-1", &documents, FORM, form("Cats purr.")).await;
    let again = send(&bench, "", "f-1", &documents, FORM, form("Cats purr.")).await;
    assert_eq!((first.status, first.replayed, again.status, again.replayed), (202, false, 202, true), "{}", again.body);
    assert_eq!(again.body["id"], first.body["id"]);
    assert_eq!(send(&bench, "", "f-1", &documents, FORM, form("Dogs bark.")).await.body["code"], "idempotency_key_reused");
    assert_eq!(count(&bench, &documents).await, 2);
}

#[tokio::test]
async fn a_branch_is_made_once_for_each_key() {
    let bench = Bench::new(json!({}));
    let agent = ask(&bench, "POST", "/api/agents", json!({"name": "E", "provider": "script", "model": "echo"})).await.1;
    let told = ask(&bench, "POST", &format!("/agents/{}/chat/stream", agent["id"].as_str().expect("an id")), json!({"message": "hi"})).await;
    assert_eq!(told.0, 200);
    let threads = ask(&bench, "GET", "/api/threads", json!({})).await.1;
    let branch = format!("/api/threads/{}/branch", threads["data"][0]["id"].as_str().expect("a thread"));
    once(&bench, "/api/threads", &branch, &json!({})).await;
}
