//! Who works on a run, and when: one that another has taken is left at once, one that is due later waits for its time.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use wfstudio::model::event::EntityKind;
use wfstudio::model::{Id, Timestamp};
use wfstudio::store::runs::queue;
use wfstudio::store::runs::{self, RunRow};
use wfstudio::studio::runs::requests::RunRequest;

use crate::support::Bench;
use crate::support::hands::Hands;

const FAR: Timestamp = Timestamp(i64::MAX / 2);

async fn row(bench: &Bench, run: Id) -> RunRow {
    bench.studio.world().store.read(move |tx| runs::get(tx, "", &run)).await.expect("a store").expect("a run")
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..1000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not come true within 10 s");
}

#[tokio::test]
async fn a_run_that_another_has_taken_is_left_in_the_middle_of_a_step() {
    let bench = Bench::new(json!({"runs": {"lease_seconds": 1}}));
    let hands = Hands::default();
    bench.studio.set_host(Arc::new(hands.clone()), Hands::declaration());
    let place = json!({"x": 0, "y": 0});
    let node = |id: &str, kind: &str, data| json!({"id": id, "type": kind, "position": place, "data": data});
    let edge = |from: &str, to: &str| json!({"id": from, "source": from, "target": to, "sourceHandle": "default", "targetHandle": "default"});
    let nodes = [node("start", "start", json!({})), node("a", "tool", json!({"tool_ref": "host:stuck"})), node("stop", "stop", json!({}))];
    let workflow = bench.workflow(json!({"version": 1, "nodes": nodes, "edges": [edge("start", "a"), edge("a", "stop")]})).await;
    let run = bench.start(&workflow, json!({"message": "go"})).await.run;
    until("a call", async || hands.calls().len() == 1).await;
    let before = row(&bench, run).await;
    let taken = bench.studio.world().store.write(move |tx| queue::claim(tx, "", &run, before.fence, "another", FAR)).await;
    let taken = taken.expect("a store").expect("it was there to be taken");
    until("the call is given up", async || hands.calls().iter().any(|call| call.starts_with("cancel "))).await;
    let after = row(&bench, run).await;
    let told = |row: &RunRow| (row.status.clone(), row.owner.clone(), row.fence, row.head, row.lease_until);
    assert_eq!(told(&after), told(&taken), "nothing more was written by who lost it");
}

#[tokio::test]
async fn a_failure_that_may_pass_waits_for_its_time_in_the_queue() {
    let script = json!({"m": {"replies": [{"error": "provider_unavailable"}, {"text": "well"}]}});
    let settings = json!({"async_runs_enabled": true, "queue_tries": 2, "queue_backoff": 3600, "worker": {"in_process": false}, "providers": {"script": {"scripts": script}}});
    let bench = Bench::new(settings);
    let agent = bench.agent(json!({"name": "A", "provider": "script", "model": "m"})).await;
    let request = RunRequest::parse(&json!({"message": "go"}), EntityKind::Agent).expect("a body");
    let run = bench.studio.start(&bench.scope, EntityKind::Agent, &agent, request, true).await.expect("a run").run;
    let world = bench.studio.world();
    assert_eq!(world.work().await.expect("work"), Some(run));
    until("a second try", async || row(&bench, run).await.status == "queued").await;
    assert_eq!(world.work().await.expect("work"), None, "it is not due yet");
    let due = row(&bench, run).await.available_at.expect("a time").0 - world.clock.now().0;
    assert!((3_000_000..=3_600_000).contains(&due), "it is due in {due} ms");
}
