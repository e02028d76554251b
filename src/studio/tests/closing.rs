//! What an engine that has no time left does no more.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use tokio::sync::oneshot;

use super::{make, scope};
use crate::engine::{Boundary, load};
use crate::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp, HostTool};
use crate::model::event::{CallOutcome, EntityKind, Event};
use crate::studio::runs::requests::RunRequest;
use crate::studio::{Options, Resource, Studio};

/// Counts what it is asked.
#[derive(Clone, Default)]
struct Counts(Arc<AtomicUsize>);

impl Host for Counts {
    fn call(&self, _: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(Value::Null) })
    }
}

/// A studio whose second write of a log says that it is reached, and waits.
fn held_at_second_write() -> (Studio, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (reached, is_reached) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let may_go_on = Mutex::new(may_go_on);
    let hook = move |boundary, _, head| {
        if boundary == Boundary::Before && head > 0 && reached.send(()).is_ok() {
            let _ended = may_go_on.lock().unwrap().recv();
        }
    };
    let config = crate::config::Config::with(json!({"database": crate::place::database(":memory:")})).unwrap();
    let studio = Studio::open_with(config, Options { on_append: Some(Arc::new(hook)), ..Options::default() }).unwrap();
    (studio, is_reached, go_on)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_only_recorded_is_not_made_when_the_engine_gives_its_runs_back() {
    let (studio, is_reached, go_on) = held_at_second_write();
    let host = Counts::default();
    let pay: HostTool = serde_json::from_value(json!({"name": "pay"})).unwrap();
    studio.set_host(Arc::new(host.clone()), HostDeclaration { ops: vec![HostOp::ToolCall], tools: vec![pay], ..HostDeclaration::default() });
    let graph = crate::model::sketch::graph("start -> tool_1{tool_ref: \"host:pay\"} -> stop").unwrap();
    let workflow = make(&studio, Resource::Workflow, json!({"name": "W", "graph": graph})).await;
    let request = RunRequest::parse(&json!({"message": "go"}), EntityKind::Workflow).unwrap();
    studio.start(&scope(), EntityKind::Workflow, workflow["id"].as_str().unwrap(), request, false).await.unwrap();
    is_reached.recv_timeout(Duration::from_secs(60)).expect("the call is being recorded");
    let world = Arc::clone(studio.world());
    world.stopping.cancel();
    tokio::time::sleep(Duration::from_millis(50)).await;
    // No thread of the runtime comes to hear what happens now, until all of it has happened.
    let runtime = studio.runtime().unwrap();
    let gate = Arc::new(std::sync::Barrier::new(runtime.metrics().num_workers() + 1));
    for _ in 0..runtime.metrics().num_workers() {
        let gate = Arc::clone(&gate);
        drop(runtime.spawn(async move {
            gate.wait();
            gate.wait();
        }));
    }
    gate.wait();
    drop(go_on);
    let stored = || world.store.read(|tx| tx.query_one("SELECT MAX(head) FROM #runs", &[], |row| row.int(0)));
    while stored().await.unwrap() < Some(4) {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(50));
    world.hurry.cancel();
    world.abandon();
    gate.wait();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(host.0.load(Ordering::SeqCst), 0, "the run was given back before the call was made");
}

/// Answers the one call that it gets when it is told to.
struct Pays {
    answer: Mutex<Option<BoxFuture<'static, Result<Value, HostFailure>>>>,
    /// Called when no more answers are taken.
    shut: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl Host for Pays {
    fn call(&self, _: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        self.answer.lock().unwrap().take().expect("one call")
    }

    fn shut(&self) -> BoxFuture<'static, ()> {
        self.shut.lock().unwrap().take().unwrap_or_else(|| Box::pin(std::future::ready(())))
    }
}

fn on_disk(folder: &std::path::Path) -> Studio {
    let path = folder.join("studio.sqlite");
    let config = json!({"database": crate::place::database(path.to_str().unwrap())});
    Studio::open(crate::config::Config::with(config).unwrap()).unwrap()
}

/// Starts a run that pays; its id.
async fn pay(studio: &Studio, answer: BoxFuture<'static, Result<Value, HostFailure>>, shut: BoxFuture<'static, ()>) -> String {
    let tool: HostTool = serde_json::from_value(json!({"name": "pay"})).unwrap();
    let host = Pays { answer: Mutex::new(Some(answer)), shut: Mutex::new(Some(shut)) };
    studio.set_host(Arc::new(host), HostDeclaration { ops: vec![HostOp::ToolCall], tools: vec![tool], ..HostDeclaration::default() });
    let graph = crate::model::sketch::graph("start -> tool_1{tool_ref: \"host:pay\"} -> stop").unwrap();
    let workflow = make(studio, Resource::Workflow, json!({"name": "W", "graph": graph})).await;
    let request = RunRequest::parse(&json!({"message": "go"}), EntityKind::Workflow).unwrap();
    let started = studio.start(&scope(), EntityKind::Workflow, workflow["id"].as_str().unwrap(), request, false).await.unwrap();
    started.run.to_string()
}

/// Whoever looks at the run later finds what the tool answered.
async fn is_paid(folder: &std::path::Path, run: &str) -> bool {
    let studio = on_disk(folder);
    let paid = |outcome: &CallOutcome| matches!(outcome, CallOutcome::Tool(outcome) if outcome.result == "paid");
    // What an engine has handed to its writer is stored, also when its time to close is over.
    for _ in 0..12_000 {
        let loaded = load(studio.world(), "", run).await.unwrap();
        if loaded.entries.iter().any(|entry| matches!(&entry.event, Event::CallFinished(ended) if paid(&ended.outcome))) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_a_call_is_taking_while_the_engine_ends_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let studio = on_disk(folder.path());
    let ((reached, is_reached), (go_on, may_go_on)) = (mpsc::channel(), mpsc::channel());
    let slow = async move {
        reached.send(()).unwrap();
        let _ended = may_go_on.recv();
        Ok(json!("paid"))
    };
    let run = pay(&studio, Box::pin(slow), Box::pin(std::future::ready(()))).await;
    is_reached.recv_timeout(Duration::from_secs(60)).expect("the call is made");
    let closed = studio.clone();
    let closing = tokio::spawn(async move { closed.shutdown(Duration::from_millis(30)).await });
    // Its time is over: it gives its runs back now.
    studio.world().hurry.cancelled().await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    go_on.send(()).unwrap();
    closing.await.unwrap();
    drop(studio);
    assert!(is_paid(folder.path(), &run).await, "the host gave its answer, and it is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_accepted_just_before_the_engine_ends_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let studio = on_disk(folder.path());
    let ((answers, answer), (heard, is_heard), (asked, is_asked)) = (oneshot::channel(), oneshot::channel(), oneshot::channel());
    let waits = async move {
        asked.send(()).unwrap();
        let answer = answer.await.map_err(|_| HostFailure::new("none came"));
        drop(heard);
        answer
    };
    let accepts = async move {
        answers.send(json!("paid")).unwrap();
        let _it_is_dropped: Result<(), _> = is_heard.await;
    };
    let run = pay(&studio, Box::pin(waits), Box::pin(accepts)).await;
    is_asked.await.expect("the call is made");
    studio.shutdown(Duration::from_millis(30)).await;
    drop(studio);
    assert!(is_paid(folder.path(), &run).await, "an answer was accepted, and it is gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_are_kept_as_long_as_an_engine_that_closes_waits_for_its_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("studio.sqlite");
    let opened = || {
        let config = json!({"database": crate::place::database(path.to_str().unwrap()), "runs": {"lease_seconds": 6},
            "timeouts": {"cancel_grace_ms": 120_000}, "worker": {"in_process": false}});
        Studio::open(crate::config::Config::with(config).unwrap()).unwrap()
    };
    let studio = opened();
    let ((asked, is_asked), (answers, answer)) = (oneshot::channel(), oneshot::channel());
    let slow = async move {
        asked.send(()).unwrap();
        answer.await.map_err(|_| HostFailure::new("none came"))
    };
    let run = pay(&studio, Box::pin(slow), Box::pin(std::future::ready(()))).await;
    is_asked.await.expect("the call is made");
    // Most of its time to close is over: the call is cut, and may still answer.
    studio.world().stopping.cancel();
    studio.world().hurry.cancel();
    let other = opened();
    // Renewed twice: once may have been under way when it was cut.
    let (until, id) = (std::time::Instant::now() + Duration::from_secs(60), run.parse().unwrap());
    let mut ends = Vec::new();
    while ends.len() < 3 {
        assert_eq!(other.take_over().await.unwrap(), 0, "somebody else took a run whose owner waits for its call");
        let row = other.world().store.read(move |tx| crate::store::runs::get(tx, "", &id)).await.unwrap().unwrap();
        ends.push(row.lease_until);
        ends.dedup();
        assert!(std::time::Instant::now() < until, "its lease is not renewed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    answers.send(json!("paid")).unwrap();
    studio.shutdown(Duration::from_secs(60)).await;
    drop(studio);
    assert!(is_paid(folder.path(), &run).await, "its answer is kept");
}
