//! The routes of documents and questions.

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::http::{HostMarks, dispatch};

use super::{bench, three};
use crate::support::Bench;

async fn send(bench: &Bench, method: &str, path: &str, kind: &str, body: Vec<u8>) -> (u16, Value) {
    let request = Request::builder().method(method).uri(format!("/studio{path}")).header("sec-fetch-site", "same-origin");
    let request = if body.is_empty() { request } else { request.header("content-type", kind) };
    let answer = dispatch(&bench.studio, request.body(Bytes::from(body)).expect("a request"), HostMarks::default()).await;
    let status = answer.status().as_u16();
    let bytes: Bytes = answer.into_body().collect().await.expect("a body").to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

async fn json_of(bench: &Bench, method: &str, path: &str, body: Value) -> (u16, Value) {
    send(bench, method, path, "application/json", body.to_string().into_bytes()).await
}

fn form(parts: &[(&str, Option<&str>, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, file, bytes) in parts {
        let file = file.map_or_else(String::new, |file| format!("; filename=\"{file}\""));
        body.extend(format!("--X\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n").into_bytes());
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    body.extend(b"--X--\r\n");
    body
}

#[tokio::test]
async fn documents_come_as_json_or_as_files() {
    let bench = bench(json!({"rag": {"max_document_kb": 2}}));
    let base = bench.base(json!({})).await;
    let path = format!("/api/knowledge-bases/{base}/documents");
    let (status, made) = json_of(&bench, "POST", &path, json!({"name": "a.md", "text": "# Hello\n\nWorld."})).await;
    assert_eq!((status, &made["status"], &made["mime_type"]), (202, &json!("completed"), &json!("text/markdown")));
    let body = form(&[("metadata", None, br#"{"lang":"en"}"#), ("file", Some("../b.txt"), b"Hello file.")]);
    let (status, made) = send(&bench, "POST", &path, "multipart/form-data; boundary=X", body).await;
    assert_eq!((status, &made["name"], &made["source_type"]), (202, &json!("b.txt"), &json!("file")), "{made}");
    assert_eq!(made["metadata"], json!({"lang": "en"}));
    let one = format!("{path}/{}", made["id"].as_str().expect("an id"));
    assert_eq!(send(&bench, "GET", &one, "", Vec::new()).await, (200, made.clone()));
    assert_eq!(json_of(&bench, "POST", &format!("{one}/reindex"), json!({})).await.0, 202);
    let (status, list) = send(&bench, "GET", &path, "", Vec::new()).await;
    assert_eq!((status, list["data"].as_array().map(Vec::len), &list["next_cursor"]), (200, Some(2), &Value::Null));
    assert_eq!(send(&bench, "DELETE", &one, "", Vec::new()).await.0, 204);
    assert_eq!(send(&bench, "GET", &one, "", Vec::new()).await.0, 404);
    for (body, code) in [
        (form(&[("file", Some("a.txt"), &[b'a'; 3000])]), "body_too_large"),
        (form(&[("file", Some("a.bin"), b"a\0b")]), "unsupported_media_type"),
        (form(&[("metadata", None, b"{}")]), "validation_failed"),
        (form(&[("metadata", None, b"{"), ("file", Some("a.txt"), b"a")]), "validation_failed"),
        (form(&[("metadata", None, b"[]"), ("file", Some("a.txt"), b"a")]), "validation_failed"),
    ] {
        assert_eq!(send(&bench, "POST", &path, "multipart/form-data; boundary=X", body).await.1["code"], json!(code));
    }
    assert_eq!(json_of(&bench, "POST", &path, json!({"name": "a", "text": "a".repeat(2049)})).await.1["code"], json!("body_too_large"));
    assert_eq!(send(&bench, "POST", &path, "text/plain", b"hello".to_vec()).await.0, 415);
}

#[tokio::test]
async fn both_search_paths_answer_the_same() {
    let bench = bench(json!({}));
    let base = three(&bench).await;
    let asked = json!({"query": "refund", "top_k": 2});
    let (status, one) = json_of(&bench, "POST", &format!("/api/knowledge-bases/{base}/search"), asked.clone()).await;
    assert_eq!((status, &one["results"][0]["source_name"]), (200, &json!("refunds.md")));
    assert_eq!(json_of(&bench, "POST", "/knowledge-bases/docs/search", asked).await, (200, one));
    let (status, told) = json_of(&bench, "POST", "/knowledge-bases/docs/search", json!({"query": ""})).await;
    assert_eq!((status, &told["errors"]["query"]), (422, &json!(["query is required"])));
    let (status, listed) = send(&bench, "GET", "/api/knowledge-bases", "", Vec::new()).await;
    assert_eq!((status, &listed["data"][0]["document_count"], &listed["data"][0]["chunk_count"]), (200, &json!(3), &json!(3)));
    assert_eq!(json_of(&bench, "POST", "/api/knowledge-bases/docs/reindex", json!({})).await.0, 202);
    let failing = json!({"name": "F", "embeddings_provider": "openai", "embeddings_model": "text-embedding-3-small"});
    let failing = bench.base(failing).await;
    bench.add(&failing, "a", "text").await;
    let (status, told) = json_of(&bench, "POST", &format!("/knowledge-bases/{failing}/search"), json!({"query": "x"})).await;
    assert_eq!((status, &told["code"]), (502, &json!("upstream_failed")), "{told}");
}
