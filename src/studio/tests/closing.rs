//! What an engine that has no time left does no more.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{make, scope};
use crate::engine::Boundary;
use crate::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp, HostTool};
use crate::model::event::EntityKind;
use crate::studio::requests::RunRequest;
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
    is_reached.recv_timeout(Duration::from_secs(10)).expect("the call is being recorded");
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
