//! A request with an `Idempotency-Key` is done once, wherever the process dies that accepts it: sent again, it gives the same run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::engine::load;
use wfstudio::http::HostMarks;
use wfstudio::model::Id;
use wfstudio::model::event::Event;
use wfstudio::studio::{Options, RunsQuery};

use crate::program::{Program, say};
use crate::support::{Bench, folder, graph};

const SOON: Duration = Duration::from_secs(60);

/// A graph that pauses, then notes, then fails.
fn ask_and_break() -> Value {
    graph(
        &[
            ("start", "start", json!({})),
            ("human", "human", json!({"prompt": "Well?"})),
            ("note", "tool", json!({"tool_ref": "host:note", "idempotent": true})),
            ("broken", "tool", json!({"tool_ref": "host:broken", "idempotent": true})),
            ("stop", "stop", json!({})),
        ],
        &[("start", "human"), ("human", "note"), ("note", "broken"), ("broken", "stop")],
    )
}

/// Brings a run as far as the request needs it, sends the request, and dies at the given border of that.
pub async fn program(folder: &Path, given: &Value) {
    let (act, at) = (given["act"].as_str().expect("an act"), given["kill_at"].as_u64().unwrap_or(0));
    let count = Arc::new(AtomicU64::new(u64::MAX / 2));
    let counted = Arc::clone(&count);
    let hook = move |_, _, _| {
        if counted.fetch_add(1, Ordering::SeqCst) + 1 == at {
            let _this_process_ends_here = std::process::Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status();
            std::thread::sleep(Duration::from_secs(60));
        }
    };
    let options = Options { on_append: Some(Arc::new(hook)), ..Options::default() };
    let bench = Bench::open_with(folder, json!({}), options, Arc::new(|| ()));
    bench.studio.take_over().await.expect("a studio");
    let workflow = bench.workflow("ask", ask_and_break()).await;
    let run = match given["run"].as_str() {
        Some(run) => run.to_owned(),
        None => prepared(&bench, act, &workflow).await,
    };
    say(&run);
    count.store(0, Ordering::SeqCst);
    let path = match act {
        "start" => format!("/studio/workflows/{workflow}/run/stream"),
        act => format!("/studio/workflows/traces/{run}/{act}/stream"),
    };
    let body = if act == "retry" { json!({}) } else { json!({"message": "hi"}) };
    let request = http::Request::post(path).header("content-type", "application/json").header("idempotency-key", "k");
    let request = request.body(Bytes::from(body.to_string())).expect("a request");
    let response = wfstudio::http::dispatch(&bench.studio, request, HostMarks::default()).await;
    let status = response.status();
    let told = response.into_body().collect().await.expect("a body").to_bytes();
    count.store(u64::MAX / 2, Ordering::SeqCst);
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&told));
    say("done");
}

async fn prepared(bench: &Bench, act: &str, workflow: &str) -> String {
    if act == "start" {
        return String::new();
    }
    let run = bench.start(workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    bench.until(&run, "awaiting_input", SOON).await;
    if act == "retry" {
        bench.resume(&run, json!({"message": "go on"})).await.expect("an answer");
        bench.until(&run, "failed", SOON).await;
    }
    run.to_string()
}

/// How often the log of the only run says that this was done.
async fn done(bench: &Bench, act: &str) -> usize {
    let runs = bench.studio.runs(&bench.scope, RunsQuery::default()).await.expect("runs").into_json();
    let ids: Vec<Id> = runs["data"].as_array().expect("a list").iter().map(|run| run["id"].as_str().expect("an id").parse().expect("an id")).collect();
    assert_eq!(ids.len(), 1, "one request is one run");
    let loaded = load(bench.studio.world(), "", &ids[0].to_string()).await.expect("a run");
    let fits = |event: &Event| match act {
        "start" => matches!(event, Event::Created(_)),
        "resume" => matches!(event, Event::Resumed(_)),
        _retry => matches!(event, Event::Retried(_)),
    };
    loaded.entries.iter().filter(|entry| fits(&entry.event)).count()
}

async fn killed_at_every_border(act: &str) {
    for kill_at in 1.. {
        let folder = folder();
        let mut first = Program::run("key", folder.path(), &json!({"act": act, "kill_at": kill_at}));
        let run = first.next().expect("a run");
        let survived = first.next().is_some();
        first.child.wait().expect("its end");
        let mut again = Program::run("key", folder.path(), &json!({"act": act, "run": run}));
        let said: Vec<String> = std::iter::from_fn(|| again.next()).collect();
        assert_eq!(said.last().map(String::as_str), Some("done"), "{act}, killed at border {kill_at}");
        again.child.wait().expect("its end");
        let bench = Bench::open(folder.path(), json!({}));
        assert_eq!(done(&bench, act).await, 1, "{act}, killed at border {kill_at}");
        if survived {
            assert!(kill_at > 2, "the borders of being accepted were not met");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_with_a_key_makes_one_run() {
    killed_at_every_border("start").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_with_a_key_is_given_once() {
    killed_at_every_border("resume").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_with_a_key_is_made_once() {
    killed_at_every_border("retry").await;
}
