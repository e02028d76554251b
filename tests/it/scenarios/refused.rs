//! Scenario 25: what is refused is a problem document, never a stream, and leaves nothing behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use expect_test::expect;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::http::HostMarks;
use wfstudio::engine::Boundary;
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{Options, Resource, RunsQuery, Scope, Studio};

use crate::support::{Bench, config};

/// Asks for a stream, with a key; the answer as `status type body`.
async fn ask(bench: &Bench, path: &str, body: &Value) -> String {
    let request = http::Request::post(path).header("accept", "text/event-stream").header("content-type", "application/json");
    let request = request.header("idempotency-key", "k").body(Bytes::from(body.to_string())).expect("a request");
    let response = wfstudio::http::dispatch(&bench.studio, request, HostMarks::default()).await;
    let kind = response.headers().get("content-type").map(|kind| kind.to_str().expect("text").to_owned()).unwrap_or_default();
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    let told: Value = serde_json::from_slice(&bytes).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&bytes)));
    format!("{status} {kind} {}: {} {}\n", told["code"].as_str().unwrap_or_default(), told["detail"].as_str().unwrap_or_default(), told["errors"])
}

#[tokio::test]
async fn a_refused_graph_or_input_is_a_problem_and_no_run() {
    let bench = Bench::new(json!({"limits": {"body_kb": 4096}}));
    let agent = bench.agent(json!({"name": "Clerk", "provider": "script", "model": "echo"})).await;
    let sketch = format!("start -> agent_1{{agent_id: \"{agent}\"}} -> stop");
    let workflow = bench.workflow(wfstudio::model::sketch::graph(&sketch).expect("a sketch")).await;
    let strict = json!({"type": "object", "required": ["order"], "properties": {"order": {"type": "integer"}}});
    let patch = json!({"state_schema": strict});
    bench.studio.patch(&bench.scope, Resource::Workflow, &workflow, &patch, None).await.expect("a change");
    let stream = format!("/studio/workflows/{workflow}/run/stream");
    let deep = (0..70).fold(json!(1), |inner, _| json!([inner]));
    let bodies = [
        json!({}),
        json!({"message": "  "}),
        json!({"message": 7}),
        json!({"message": "x".repeat(200_001)}),
        json!({"message": "hi", "state": []}),
        json!({"message": "hi", "state": {"__secret": 1}}),
        json!({"message": "hi", "state": {"": 1}}),
        json!({"message": "hi", "state": {"order": "x".repeat(256 * 1024)}}),
        json!({"message": "hi", "state": {"order": "seven"}}),
        json!({"message": "hi", "state": {"order": 7}, "thread_id": "seven"}),
        json!({"message": "hi", "state": {"order": 7}, "attachments": [{"type": "image", "storage_key": "none"}]}),
        json!({"message": "hi", "state": {"order": 7}, "on_disconnect": "explode"}),
        json!({"message": "hi", "state": {"order": deep}}),
        json!([]),
    ];
    let mut told = String::new();
    for body in &bodies {
        told.push_str(&ask(&bench, &stream, body).await);
    }
    bench.studio.delete(&bench.scope, Resource::Agent, &agent, &json!({}), None, true).await.expect("a deletion");
    told.push_str(&ask(&bench, &stream, &json!({"message": "hi", "state": {"order": 7}})).await.replace(&agent, "<agent>"));
    told.push_str(&ask(&bench, &stream, &json!({"message": "hi", "draft": true})).await.replace(&workflow, "<workflow>"));
    told.push_str(&ask(&bench, "/studio/workflows/none/run/stream", &json!({"message": "hi"})).await);
    expect![[r#"
        422 application/problem+json validation_failed: message is required {"message":["message is required"]}
        422 application/problem+json validation_failed: message is required {"message":["message is required"]}
        422 application/problem+json validation_failed: message must be a string {"message":["message must be a string"]}
        422 application/problem+json validation_failed: message must have at most 200000 characters {"message":["message must have at most 200000 characters"]}
        422 application/problem+json validation_failed: state must be an object {"state":["state must be an object"]}
        422 application/problem+json validation_failed: state.__secret must not begin with `__` {"state.__secret":["state.__secret must not begin with `__`"]}
        422 application/problem+json validation_failed: state must have keys of 1 to 128 characters {"state":["state must have keys of 1 to 128 characters"]}
        422 application/problem+json validation_failed: state must have at most 256 KiB {"state":["state must have at most 256 KiB"]}
        422 application/problem+json validation_failed: /order: "seven" is not of type "integer" {"state":["/order: \"seven\" is not of type \"integer\""]}
        422 application/problem+json validation_failed: thread_id must be a UUID {"thread_id":["thread_id must be a UUID"]}
        422 application/problem+json validation_failed: attachments.0.storage_key is not the key of a file {"attachments.0.storage_key":["attachments.0.storage_key is not the key of a file"]}
        422 application/problem+json validation_failed: on_disconnect must be one of continue, cancel {"on_disconnect":["on_disconnect must be one of continue, cancel"]}
        400 application/problem+json malformed_json: the body has more than 64 objects and arrays inside each other null
        422 application/problem+json validation_failed: the body must be a JSON object {"body":["the body must be a JSON object"]}
        422 application/problem+json graph_invalid: “agent_1” uses the agent “<agent>”, which is not stored. {"graph":["“agent_1” uses the agent “<agent>”, which is not stored."]}
        404 application/problem+json not_found: there is no draft `<workflow>` null
        404 application/problem+json not_found: there is no workflow `none` null
    "#]].assert_eq(&told);
    let runs = bench.studio.runs(&bench.scope, RunsQuery::default()).await.expect("runs").into_json();
    assert_eq!(runs["data"], Value::Array(Vec::new()));
}

#[tokio::test]
async fn an_answer_is_told_to_whoever_watches_the_log_with_its_entry() {
    let heads = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    let hook = move |boundary, _, head| seen.lock().expect("a lock").push((boundary == Boundary::Before, head));
    let options = Options { on_append: Some(Arc::new(hook)), ..Options::default() };
    let studio = Studio::open_with(config(json!({}), ":memory:"), options).expect("a studio");
    let bench = Bench { studio, scope: Scope::default() };
    let workflow = bench.workflow(wfstudio::model::sketch::graph("start -> human_1 -> stop").expect("a sketch")).await;
    let started = bench.start(&workflow, json!({"message": "hi"})).await;
    bench.events_text(&started).await;
    // What is written may be told of after it can be read.
    let (id, patience) = (started.run, std::time::Instant::now());
    let rested = loop {
        let row = bench.studio.world().store.read(move |tx| wfstudio::store::runs::get(tx, "", &id)).await.expect("a store").expect("a run");
        let last = heads.lock().expect("a lock").last().copied();
        if row.status == "awaiting_input" && last == Some((false, row.head)) {
            break row.head;
        }
        assert!(patience.elapsed() < Duration::from_secs(60), "it does not rest: {row:?} {last:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    heads.lock().expect("a lock").clear();
    let resumed = bench.resume(&started.run.to_string(), json!({"message": "yes"})).await.expect("a resumed run");
    bench.events_text(&resumed).await;
    let heads = heads.lock().expect("a lock");
    assert_eq!(heads[..2], [(true, rested), (false, rested + 1)], "{heads:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_could_not_begin_is_not_stored_by_what_it_does_meanwhile() {
    let tries = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&tries);
    let hook = move |boundary, _, head| {
        if boundary == Boundary::Before && head == 0 && counted.fetch_add(1, Ordering::SeqCst) == 0 {
            std::thread::sleep(Duration::from_millis(300));
            panic!("the first try is taken back");
        }
    };
    let options = Options { on_append: Some(Arc::new(hook)), ..Options::default() };
    let studio = Studio::open_with(config(json!({}), ":memory:"), options).expect("a studio");
    let bench = Bench { studio, scope: Scope::default() };
    let sketch = "start -> loop_1{max_steps: 9000, on_max: exit}; loop_1.exit -> stop; loop_1.continue -> set_1{key: n, value: 1} -> loop_1";
    let graph = wfstudio::model::sketch::graph(sketch);
    let workflow = bench.workflow(graph.expect("a sketch")).await;
    let mut begun = 0;
    // One that shared its transaction is tried again apart, and begins.
    let refused = loop {
        tries.store(0, Ordering::SeqCst);
        let request = RunRequest::parse(&json!({"message": "hi"}), EntityKind::Workflow).expect("a run body");
        match bench.studio.start(&bench.scope, EntityKind::Workflow, &workflow, request, false).await {
            Ok(started) => drop(bench.events_text(&started).await),
            Err(refused) => break refused,
        }
        begun += 1;
        assert!(begun < 5, "each one shared its transaction");
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(tries.load(Ordering::SeqCst), 1, "its beginning is tried once: {refused}");
    let runs = bench.studio.runs(&bench.scope, RunsQuery::default()).await.expect("runs").into_json();
    assert_eq!(runs["data"].as_array().map(Vec::len), Some(begun));
}
