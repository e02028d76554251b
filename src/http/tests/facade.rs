//! What needs runs: streams, keys, tails. Told by the facade's stand-in.

use serde_json::json;

use super::support::{ask, ask_as, request, studio, with};
use crate::http::{HostMarks, dispatch};

const RUN: &str = "/studio/workflows/known/run";
const BODY: &str = r#"{"message":"hi"}"#;

#[tokio::test]
async fn a_stream_has_its_headers_and_its_frames() {
    let answer = ask(&studio(json!({})), request("POST", "/studio/workflows/known/run/stream", BODY)).await;
    assert_eq!(answer.status.as_u16(), 200);
    assert_eq!(answer.header("content-type"), "text/event-stream");
    assert_eq!(answer.header("cache-control"), "no-cache, no-transform");
    assert_eq!(answer.header("x-accel-buffering"), "no");
    assert!(!answer.headers.contains_key("content-length"));
    let run = answer.text().split(r#""trace_id":""#).nth(1).and_then(|rest| rest.get(..36)).expect("a run").to_owned();
    let text = answer.text().replace(&run, "RUN");
    assert_eq!(text, "retry: 2000\n\nid: 1\nevent: thread\ndata: {\"trace_id\":\"RUN\"}\n\nid: 2\nevent: trace_completed\ndata: {\"trace_id\":\"RUN\"}\n\n");
}

#[tokio::test]
async fn problems_come_before_any_stream() {
    let studio = studio(json!({"limits": {"streams": 0}}));
    let stream = |query: &str| request("POST", &format!("/studio/workflows/known/run/stream{query}"), BODY);
    assert_eq!(ask(&studio, with(stream("?order=sideways"), "accept", "text/event-stream")).await.code(), "validation_failed");
    let full = ask(&studio, stream("")).await;
    assert_eq!((full.status.as_u16(), full.code().as_str(), full.header("retry-after")), (429, "too_many_streams", "1"));
    assert_eq!(studio.started(), 0, "nothing was started");
}

#[tokio::test]
async fn a_tail_goes_on_after_its_position() {
    let studio = studio(json!({}));
    let tail = |query: &str| request("GET", &format!("/studio/workflows/runs/0199a000-0000-7000-8000-000000000000/events/stream{query}"), "");
    let events = |text: &str| text.lines().filter_map(|line| line.strip_prefix("id: ").map(str::to_owned)).collect::<Vec<_>>();
    assert_eq!(events(ask(&studio, tail("")).await.text()), ["1", "2", "3"]);
    assert_eq!(events(ask(&studio, tail("?after=2")).await.text()), ["3"]);
    assert_eq!(events(ask(&studio, tail("?after=L2")).await.text()), ["L3"]);
    assert_eq!(events(ask(&studio, with(tail("?after=1"), "last-event-id", "2")).await.text()), ["3"], "the header wins");
    let done = ask(&studio, tail("?after=3")).await;
    assert_eq!((done.status.as_u16(), done.body.len()), (204, 0));
    for wrong in ["?after=", "?after=x", "?after=2&order=live"] {
        assert_eq!(ask(&studio, tail(wrong)).await.status.as_u16(), 422, "{wrong}");
    }
}

#[tokio::test]
async fn async_routes_say_when_they_are_off() {
    let answer = ask(&studio(json!({})), request("POST", RUN, BODY)).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (501, "async_disabled"));
}

#[tokio::test]
async fn a_key_gives_the_first_answer_again() {
    let studio = studio(json!({"async_runs_enabled": true}));
    let keyed = |path: &str, body: &str| with(request("POST", path, body), "idempotency-key", "k-1");
    let first = ask(&studio, keyed(RUN, BODY)).await;
    assert_eq!(first.status.as_u16(), 202);
    assert_eq!(first.json()["status"], "queued");
    assert_eq!(first.json().as_object().map(serde_json::Map::len), Some(3), "{}", first.text());
    let again = ask(&studio, keyed(RUN, r#" { "message" : "hi" } "#)).await;
    assert_eq!((again.text(), again.header("idempotency-replayed")), (first.text(), "true"));
    assert_eq!(studio.started(), 1);

    assert_eq!(ask(&studio, keyed(RUN, r#"{"message":"ho"}"#)).await.code(), "idempotency_key_reused");
    assert_eq!(ask(&studio, keyed("/studio/workflows/other/run", BODY)).await.code(), "idempotency_key_reused");
    let marks = HostMarks { tenant: "b".into(), ..HostMarks::default() };
    assert_eq!(ask_as(&studio, keyed(RUN, BODY), marks).await.header("idempotency-replayed"), "", "a key is its tenant's");
    assert_eq!(studio.started(), 2);
}

#[tokio::test]
async fn a_refused_request_leaves_its_key_free() {
    let studio = studio(json!({"async_runs_enabled": true}));
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
async fn a_repeated_stream_attaches_to_the_same_run() {
    let studio = studio(json!({}));
    let stream = || with(request("POST", "/studio/agents/known/chat/stream", BODY), "idempotency-key", "k-3");
    let first = ask(&studio, stream()).await;
    let again = ask(&studio, stream()).await;
    assert_eq!(first.text(), again.text());
    let rest = ask(&studio, with(stream(), "last-event-id", "1")).await;
    assert!(rest.text().starts_with("retry: 2000\n\nid: 2\n"), "{}", rest.text());
    assert_eq!(ask(&studio, with(stream(), "last-event-id", "9")).await.status.as_u16(), 204);
    assert_eq!(studio.started(), 1);
}

#[tokio::test]
async fn a_leaving_starter_cancels_only_when_asked() {
    let studio = studio(json!({}));
    for (body, cancels) in [(r#"{"message":"hi"}"#, 0), (r#"{"message":"hi","on_disconnect":"cancel"}"#, 1)] {
        let request = request("POST", "/studio/workflows/known/run/stream", body);
        drop(dispatch(&studio, request, HostMarks::default()).await);
        for _ in 0..200 {
            if studio.cancelled() == cancels {
                break;
            }
            tokio::task::yield_now().await;
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(studio.cancelled(), cancels, "{body}");
    }
    let whole = request("POST", "/studio/workflows/known/run/stream", r#"{"message":"hi","on_disconnect":"cancel"}"#);
    assert_eq!(ask(&studio, whole).await.status.as_u16(), 200);
    assert_eq!(studio.cancelled(), 1, "a stream that was read to its end cancels nothing");
}

#[tokio::test]
async fn files_are_taken_from_forms() {
    let studio = studio(json!({"attachments": {"max_size_kb": 1}}));
    let form = |content: &str| {
        let body = format!("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n{content}\r\n--b--\r\n");
        let form = with(request("POST", "/studio/api/attachments", &body), "content-type", "multipart/form-data; boundary=b");
        with(form, "x-requested-with", "test")
    };
    let stored = ask(&studio, form("hello")).await;
    assert_eq!(stored.status.as_u16(), 201, "{}", stored.text());
    let url = stored.json()["url"].as_str().expect("a url").to_owned();
    assert!(url.starts_with("/studio/api/attachments/file?storage_key="), "{url}");
    assert_eq!(ask(&studio, form("")).await.json()["errors"], json!({"file": ["file is empty"]}));
    for size in [1025, 200_000] {
        let large = ask(&studio, form(&"x".repeat(size))).await;
        assert_eq!((large.code().as_str(), &large.json()["limit_kb"]), ("attachment_too_large", &json!(1)), "{size}");
    }
    let json = ask(&studio, request("POST", "/studio/api/attachments", "{}")).await;
    assert_eq!(json.code(), "unsupported_media_type");
}
