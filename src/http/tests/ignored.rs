//! Members of a body that no route reads are named in the answer.

use serde_json::{Value, json};

use super::facade::{BODY, STREAM, asking};
use super::support::{ask, request, studio};

const HEADER: &str = "x-studio-ignored";

#[tokio::test]
async fn a_misspelt_member_is_named_whatever_the_answer_is() {
    let studio = asking(json!({"async_runs_enabled": true})).await;
    let post = |path: &str, body: Value| request("POST", &format!("/studio{path}"), &body.to_string());
    let streamed = ask(&studio, post("/workflows/known/run/stream", json!({"message": "hi", "mesage": "x", "state": {"free": 1}}))).await;
    assert_eq!((streamed.status.as_u16(), streamed.header(HEADER)), (200, "mesage"));
    let queued = ask(&studio, post("/workflows/known/run", json!({"message": "hi", "thread": "x", "Message": "y"}))).await;
    assert_eq!((queued.status.as_u16(), queued.header(HEADER)), (202, "thread, Message"));
    let refused = ask(&studio, post("/workflows/known/run/stream", json!({"mesage": "hi"}))).await;
    assert_eq!((refused.status.as_u16(), refused.header(HEADER)), (422, "mesage"));
    for whole in [ask(&studio, request("POST", STREAM, BODY)).await, ask(&studio, request("GET", "/studio/api/settings", "")).await] {
        assert!(!whole.headers.contains_key(HEADER), "{:?}", whole.headers);
    }
}

#[tokio::test]
async fn members_further_down_are_named_by_their_path() {
    let studio = studio(json!({}));
    let agent = json!({"name": "A", "slug": "a", "temperature": 1, "parameters": {"temperature": 1, "topp": 1},
        "tools": [{"ref": "toolkit:calculator"}, {"ref": "toolkit:demo", "aproval": true, "config": {"any": 1}}], "metadata": {"any": 1}});
    let made = ask(&studio, request("POST", "/studio/api/agents", &agent.to_string())).await;
    assert_eq!((made.status.as_u16(), made.header(HEADER)), (201, "temperature, parameters.topp, tools.1.aproval"), "{}", made.text());
    let patched = ask(&studio, request("PATCH", "/studio/api/agents/a", r#"{"nam":"B","memory_config":{"driverr":null}}"#)).await;
    assert_eq!((patched.status.as_u16(), patched.header(HEADER)), (200, "nam, memory_config.driverr"), "{}", patched.text());
    let base = json!({"name": "Docs", "retrieval_defaults": {"topk": 3, "rerank": {"provider": "p", "model": "m", "candidate": 9}}});
    let made = ask(&studio, request("POST", "/studio/api/knowledge-bases", &base.to_string())).await;
    assert_eq!((made.status.as_u16(), made.header(HEADER)), (201, "retrieval_defaults.topk, retrieval_defaults.rerank.candidate"), "{}", made.text());
}

#[tokio::test]
async fn what_a_graph_has_beside_its_own_members_is_kept_and_not_named() {
    let studio = studio(json!({}));
    let node = |id: &str, kind: &str| json!({"id": id, "type": kind, "colour": "red", "data": {"any": 1}});
    let graph = json!({"version": 1, "nodes": [node("a", "start"), node("b", "stop")], "edges": [{"source": "a", "target": "b", "curve": 2}]});
    let made = ask(&studio, request("POST", "/studio/api/workflows", &json!({"name": "A", "graph": graph}).to_string())).await;
    assert_eq!((made.status.as_u16(), made.header(HEADER)), (201, ""), "{}", made.text());
    assert_eq!(made.json()["graph"]["nodes"][0]["colour"], "red");
}

#[tokio::test]
async fn what_was_read_can_be_put_back_without_a_word() {
    let studio = asking(json!({})).await;
    ask(&studio, request("POST", "/studio/api/agents", r#"{"name":"A","slug":"known"}"#)).await;
    for path in ["/studio/api/workflows/known", "/studio/api/agents/known"] {
        let read = ask(&studio, request("GET", path, "")).await;
        let put = ask(&studio, request("PUT", path, read.text())).await;
        assert_eq!((put.status.as_u16(), put.header(HEADER)), (200, ""), "{path}");
    }
}

#[tokio::test]
async fn names_are_written_so_that_a_header_can_carry_them() {
    let studio = asking(json!({})).await;
    let body = json!({"message": "hi", "a,b": 1, "zwei\r\nX: y": 2, "\u{e9}": 3, "": 4, "x%": 5});
    let told = ask(&studio, request("POST", STREAM, &body.to_string())).await;
    assert_eq!(told.header(HEADER), "a%2Cb, zwei%0D%0AX%3A%20y, %C3%A9, \"\", x%25");
    let mut many = json!({"message": "hi", "x".repeat(5_000): 1});
    for number in 0..5_000 {
        many[format!("member-{number}")] = number.into();
    }
    let told = ask(&studio, request("POST", STREAM, &many.to_string())).await;
    assert_eq!(told.status.as_u16(), 200);
    let named = told.header(HEADER);
    assert!(named.len() < 1_100 && named.ends_with(", ..."), "{}: {named}", named.len());
}

#[tokio::test]
async fn documents_are_held_against_their_members_too() {
    let studio = studio(json!({}));
    ask(&studio, request("POST", "/studio/api/knowledge-bases", r#"{"name":"docs"}"#)).await;
    let added = ask(&studio, request("POST", "/studio/api/knowledge-bases/docs/documents", r#"{"name":"a.txt","text":"hello","meta":{}}"#)).await;
    assert_eq!((added.status.as_u16(), added.header(HEADER)), (202, "meta"), "{}", added.text());
}
