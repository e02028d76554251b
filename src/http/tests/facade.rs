//! What needs runs: streams, tails, keys, a reader who leaves; and files.

use std::time::Duration;

use serde_json::{Value, json};

use super::support::{WholeAnswer, ask, ask_as, request, studio, with};
use crate::http::{HostMarks, dispatch};
use crate::studio::Studio;

const RUN: &str = "/studio/workflows/known/run";
pub(super) const STREAM: &str = "/studio/workflows/known/run/stream";
pub(super) const BODY: &str = r#"{"message":"hi"}"#;

/// A studio with the workflow `known`: start, a question to a person, stop.
pub(super) async fn asking(keys: Value) -> Studio {
    let studio = studio(keys);
    let node = |id: &str, kind: &str, data: Value| json!({"id": id, "type": kind, "position": {"x": 0, "y": 0}, "data": data});
    let edge = |id: &str, source: &str, target: &str| json!({"id": id, "source": source, "target": target, "sourceHandle": "default", "targetHandle": "default"});
    let graph = json!({"version": 1,
        "nodes": [node("start_1", "start", json!({})), node("human_1", "human", json!({"prompt": "Well?", "output_key": "said"})), node("stop_1", "stop", json!({}))],
        "edges": [edge("e1", "start_1", "human_1"), edge("e2", "human_1", "stop_1")]});
    let body = json!({"name": "Known", "graph": graph}).to_string();
    let made = ask(&studio, request("POST", "/studio/api/workflows", &body)).await;
    assert_eq!((made.status.as_u16(), made.header("etag")), (201, "\"1\""), "{}", made.text());
    assert_eq!(made.header("location"), format!("/studio/api/workflows/{}", made.json()["id"].as_str().expect("an id")));
    studio
}

fn lines(told: &WholeAnswer, prefix: &str) -> Vec<String> {
    told.text().lines().filter_map(|line| line.strip_prefix(prefix).map(str::to_owned)).collect()
}

async fn runs(studio: &Studio) -> Vec<Value> {
    let listed = ask(studio, request("GET", "/studio/api/runs", "")).await;
    listed.json()["data"].as_array().cloned().unwrap_or_default()
}

pub(super) fn run_of(told: &WholeAnswer) -> String {
    let data = lines(told, "data: ").first().map(|line| serde_json::from_str::<Value>(line).expect("JSON")).unwrap_or_default();
    data["trace_id"].as_str().expect("a run").to_owned()
}

#[tokio::test]
async fn a_stream_has_its_headers_and_its_frames() {
    let answer = ask(&asking(json!({})).await, request("POST", STREAM, BODY)).await;
    assert_eq!(answer.status.as_u16(), 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "text/event-stream");
    assert_eq!(answer.header("cache-control"), "no-cache, no-transform");
    assert_eq!(answer.header("x-accel-buffering"), "no");
    assert!(!answer.headers.contains_key("content-length"));
    assert_eq!(lines(&answer, "event: "), ["thread", "trace_started", "step_started", "human_input_required"]);
    assert_eq!(lines(&answer, "id: "), ["1", "2", "3", "4"]);
    let frames = answer.text().strip_prefix("retry: 2000\n\n").and_then(|rest| rest.strip_suffix("\n\n"));
    for frame in frames.expect("an opening and an end").split("\n\n") {
        let parts: Vec<&str> = frame.lines().collect();
        let [id, event, data] = parts.as_slice() else { panic!("three lines: {frame}") };
        assert!(id.starts_with("id: ") && event.starts_with("event: ") && data.starts_with("data: {"), "{frame}");
    }
}

#[tokio::test]
async fn problems_come_before_any_stream_and_start_nothing() {
    let studio = asking(json!({"limits": {"streams": 1}})).await;
    let slot = studio.stream_slot().expect("a slot");
    let wrong = with(request("POST", &format!("{STREAM}?order=sideways"), BODY), "accept", "text/event-stream");
    assert_eq!(ask(&studio, wrong).await.code(), "validation_failed");
    let full = ask(&studio, request("POST", STREAM, BODY)).await;
    assert_eq!((full.status.as_u16(), full.code().as_str(), full.header("retry-after")), (429, "too_many_streams", "1"));
    assert_eq!(runs(&studio).await.len(), 0);
    drop(slot);
    assert_eq!(ask(&studio, request("POST", STREAM, BODY)).await.status.as_u16(), 200);
    assert_eq!(ask(&studio, request("POST", STREAM, BODY)).await.status.as_u16(), 200, "a stream that ended gives its slot back");
}

#[tokio::test]
async fn a_tail_goes_on_after_its_position() {
    let studio = asking(json!({})).await;
    let run = run_of(&ask(&studio, request("POST", STREAM, BODY)).await);
    let tail = |query: &str| request("GET", &format!("/studio/workflows/runs/{run}/events/stream{query}"), "");
    let ids = |told: WholeAnswer| lines(&told, "id: ");
    let all = ask(&studio, tail("")).await;
    assert_eq!(lines(&all, "event: ").last().map(String::as_str), Some("run_terminal"));
    assert_eq!(ids(all), ["1", "2", "3", "4", "5"]);
    assert_eq!(ids(ask(&studio, tail("?after=4")).await), ["5"]);
    assert_eq!(ids(ask(&studio, tail("?after=L4")).await), ["L5"]);
    assert_eq!(ids(ask(&studio, with(tail("?after=1"), "last-event-id", "4")).await), ["5"], "the header wins");
    let done = ask(&studio, tail("?after=5")).await;
    assert_eq!((done.status.as_u16(), done.body.len()), (204, 0));
    for wrong in ["?after=", "?after=x", "?after=2&order=live"] {
        assert_eq!(ask(&studio, tail(wrong)).await.status.as_u16(), 422, "{wrong}");
    }
}

#[tokio::test]
async fn async_routes_say_when_they_are_off() {
    let answer = ask(&asking(json!({})).await, request("POST", RUN, BODY)).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (501, "async_disabled"));
}

#[tokio::test]
async fn a_key_gives_the_first_answer_again() {
    let studio = asking(json!({"async_runs_enabled": true, "worker": {"in_process": false}})).await;
    let keyed = |path: &str, body: &str| with(request("POST", path, body), "idempotency-key", "k-1");
    let first = ask(&studio, keyed(RUN, BODY)).await;
    assert_eq!((first.status.as_u16(), &first.json()["status"]), (202, &json!("queued")), "{}", first.text());
    assert_eq!(first.json().as_object().map(serde_json::Map::len), Some(3), "{}", first.text());
    let again = ask(&studio, keyed(RUN, r#" { "message" : "hi" } "#)).await;
    assert_eq!((again.text(), again.header("idempotency-replayed")), (first.text(), "true"));
    assert_eq!(ask(&studio, keyed(RUN, r#"{"message":"ho"}"#)).await.code(), "idempotency_key_reused");
    assert_eq!(ask(&studio, keyed("/studio/workflows/other/run", BODY)).await.code(), "idempotency_key_reused");
    let marks = HostMarks { tenant: "b".into(), ..HostMarks::default() };
    assert_eq!(ask_as(&studio, keyed(RUN, BODY), marks).await.code(), "not_found", "a key is its tenant's");
    assert_eq!(runs(&studio).await.len(), 1);
}

#[tokio::test]
async fn a_refused_request_leaves_its_key_free() {
    let studio = asking(json!({"async_runs_enabled": true, "worker": {"in_process": false}})).await;
    let keyed = |path: &str| with(request("POST", path, BODY), "idempotency-key", "k-2");
    assert_eq!(ask(&studio, keyed("/studio/workflows/unknown/run")).await.status.as_u16(), 404);
    assert_eq!(ask(&studio, keyed(RUN)).await.status.as_u16(), 202);
    let long = "x".repeat(256);
    for wrong in ["", "a b", long.as_str()] {
        let answer = ask(&studio, with(request("POST", RUN, BODY), "idempotency-key", wrong)).await;
        assert!(answer.json()["errors"].get("Idempotency-Key").is_some(), "{wrong:?}");
    }
}

#[tokio::test]
async fn pages_of_traces_follow_each_other() {
    let studio = asking(json!({})).await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.insert(0, run_of(&ask(&studio, request("POST", STREAM, BODY)).await));
    }
    for (page, wanted) in [(1, &made[..2]), (2, &made[2..4]), (3, &made[4..]), (4, &[]), (9_000_000_000_000_000_000_u64, &[])] {
        let path = format!("/studio/workflows/known/traces/list?page={page}&per_page=2");
        let told = ask(&studio, request("GET", &path, "")).await.json();
        let ids: Vec<&str> = told["data"].as_array().expect("a list").iter().filter_map(|run| run["id"].as_str()).collect();
        assert_eq!(ids, wanted, "page {page}");
        assert_eq!(told["meta"], json!({"current_page": page, "last_page": 3, "per_page": 2, "total": 5}));
    }
}

#[tokio::test]
async fn what_is_not_there_is_told_before_a_wrong_body() {
    let studio = asking(json!({})).await;
    let known = run_of(&ask(&studio, request("POST", STREAM, BODY)).await);
    let unknown = "0190d5a4-0000-7000-8000-000000000000";
    let wrong = r#"{"message":7,"approval":"maybe","state":[],"in_doubt":7}"#;
    for (path, wanted) in [
        (STREAM.to_owned(), 422),
        ("/studio/workflows/none/run/stream".to_owned(), 404),
        ("/studio/agents/none/chat/stream".to_owned(), 404),
        (format!("/studio/workflows/traces/{known}/resume/stream"), 422),
        (format!("/studio/workflows/traces/{unknown}/resume/stream"), 404),
        (format!("/studio/workflows/traces/{known}/retry/stream"), 422),
        (format!("/studio/workflows/traces/{unknown}/retry/stream"), 404),
        ("/studio/workflows/traces/nothing/resume/stream".to_owned(), 404),
    ] {
        let answer = ask(&studio, request("POST", &path, wrong)).await;
        assert_eq!(answer.status.as_u16(), wanted, "{path}: {}", answer.text());
    }
}

#[tokio::test]
async fn of_two_requests_at_once_with_one_key_one_is_accepted() {
    let studio = asking(json!({})).await;
    for at in 0..20 {
        let key = format!("both-{at}");
        let keyed = || with(request("POST", STREAM, BODY), "idempotency-key", &key);
        let (first, second) = tokio::join!(ask(&studio, keyed()), ask(&studio, keyed()));
        let ran: Vec<&WholeAnswer> = [&first, &second].into_iter().filter(|answer| answer.status.as_u16() == 200).collect();
        let refused = [&first, &second].into_iter().filter(|answer| answer.code() == "idempotency_in_progress").count();
        assert_eq!(ran.len() + refused, 2, "{} {}", first.text(), second.text());
        assert!(!ran.is_empty() && ran.iter().all(|answer| answer.text() == ran[0].text()));
    }
    assert_eq!(runs(&studio).await.len(), 20);
}

#[tokio::test]
async fn a_repeated_stream_attaches_to_the_same_run() {
    let studio = asking(json!({})).await;
    let stream = || with(request("POST", STREAM, BODY), "idempotency-key", "k-3");
    let first = ask(&studio, stream()).await;
    assert_eq!(first.text(), ask(&studio, stream()).await.text());
    let rest = ask(&studio, with(stream(), "last-event-id", "3")).await;
    assert_eq!(lines(&rest, "id: "), ["4"]);
    for all in ["4", "5", "9", "L4"] {
        assert_eq!(ask(&studio, with(stream(), "last-event-id", all)).await.status.as_u16(), 204, "{all}");
    }
    let path = format!("/studio/api/runs/{}/resume/stream", run_of(&first));
    let resume = || with(request("POST", &path, BODY), "idempotency-key", "k-3");
    let part = ask(&studio, resume()).await;
    let last = lines(&part, "id: ").pop().expect("an event");
    assert_eq!(ask(&studio, with(resume(), "last-event-id", &last)).await.status.as_u16(), 204);
    assert_eq!(ask(&studio, with(stream(), "last-event-id", "4")).await.status.as_u16(), 204, "what came after its part is no part of its answer");
    assert_eq!(runs(&studio).await.len(), 1);
}

#[tokio::test]
async fn a_replayed_resume_begins_at_its_own_part() {
    let studio = asking(json!({})).await;
    let run = run_of(&ask(&studio, request("POST", STREAM, BODY)).await);
    let resume = || with(request("POST", &format!("/studio/api/runs/{run}/resume/stream"), BODY), "idempotency-key", "k-4");
    let first = ask(&studio, resume()).await;
    assert_eq!(lines(&first, "event: ").last().map(String::as_str), Some("trace_completed"), "{}", first.text());
    assert_eq!(lines(&first, "event: ").first().map(String::as_str), Some("step_started"));
    assert_eq!(first.text(), ask(&studio, resume()).await.text());
    let other = r#"{"node_id":"human_1","message":"ho"}"#;
    let again = ask(&studio, request("POST", &format!("/studio/workflows/traces/{run}/resume/stream"), other)).await;
    assert_eq!(again.code(), "already_resumed", "without the key it is a second answer");
}

#[tokio::test]
async fn a_starter_who_leaves_a_paused_run_cancels_nothing() {
    for body in [BODY, r#"{"message":"hi","on_disconnect":"cancel"}"#] {
        let studio = asking(json!({})).await;
        let stream = dispatch(&studio, request("POST", STREAM, body), HostMarks::default()).await;
        assert_eq!(settled(&studio, "awaiting_input").await, "awaiting_input", "{body}");
        drop(stream);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(settled(&studio, "awaiting_input").await, "awaiting_input", "{body}");
        let whole = request("POST", STREAM, body);
        assert_eq!(ask(&studio, whole).await.status.as_u16(), 200);
    }
}

/// The status of the only run, once it is the one that is wanted or nothing changes any more.
async fn settled(studio: &Studio, wanted: &str) -> String {
    let mut status = String::new();
    for _ in 0..6000 {
        status = runs(studio).await.first().map_or_else(String::new, |run| run["status"].as_str().unwrap_or_default().to_owned());
        if status == wanted {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    status
}

#[tokio::test]
async fn an_old_revision_is_refused_by_its_tag() {
    let studio = asking(json!({})).await;
    let patch = |tag: &str| with(request("PATCH", "/studio/api/workflows/known", r#"{"description":"d"}"#), "if-match", tag);
    assert_eq!(ask(&studio, patch("\"1\"")).await.header("etag"), "\"2\"");
    assert_eq!(ask(&studio, patch("\"1\"")).await.code(), "revision_conflict");
    assert_eq!(ask(&studio, patch("*")).await.header("etag"), "\"3\"");
    assert_eq!(ask(&studio, patch("\"x\"")).await.code(), "validation_failed");
    let gone = ask(&studio, with(request("DELETE", "/studio/api/workflows/known", ""), "if-match", "\"3\"")).await;
    assert_eq!((gone.status.as_u16(), gone.body.len()), (204, 0));
}
