//! Two things that happen to a run at once: exactly one of them happened first, and the log says which.

use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::engine::load;
use wfstudio::model::Id;
use wfstudio::model::event::Event;

use crate::program::ask_and_pay;
use crate::record::record;
use crate::support::{Bench, folder, graph, marks, single};

const SOON: Duration = Duration::from_secs(60);

async fn over(bench: &Bench, run: &Id) -> String {
    let until = tokio::time::Instant::now() + SOON;
    loop {
        let row = bench.row(run).await;
        if ["completed", "failed", "cancelled"].contains(&row.status.as_str()) {
            return row.status;
        }
        assert!(tokio::time::Instant::now() < until, "the run stays {row:?}");
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}

async fn events(bench: &Bench, run: &Id) -> Vec<Event> {
    let loaded = load(bench.studio.world(), "", &run.to_string()).await.expect("a run");
    loaded.entries.iter().map(|entry| entry.event.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_and_an_answer_at_once_leave_one_end() {
    let folder = folder();
    let (own, other) = (Bench::open(folder.path(), json!({})), Bench::open(folder.path(), json!({})));
    let workflow = own.workflow("ask", ask_and_pay()).await;
    for _ in 0..60 {
        let run = own.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
        own.until(&run, "awaiting_input", SOON).await;
        let text = run.to_string();
        let (answered, cancelled) =
            tokio::join!(own.resume(&run, json!({"message": "go on"})), other.studio.cancel(&other.scope, &text));
        let status = over(&own, &run).await;
        let ends = events(&own, &run).await.iter().filter(|event| matches!(event, Event::Completed { .. } | Event::Cancelled { .. })).count();
        assert_eq!(ends, 1);
        assert!(answered.is_ok() || cancelled.is_ok());
        if cancelled.as_ref().is_ok_and(|(_, status)| status.as_str() == "cancelled") {
            assert_eq!(status, "cancelled");
        }
        if answered.is_err() {
            assert_eq!(status, "cancelled");
        }
        if status != "cancelled" || marks(&own.effects).iter().all(|line| !line.ends_with(&text)) {
            let _checked = record(&own, &run).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_is_never_lost_between_working_and_waiting() {
    let folder = folder();
    let (own, other) = (Bench::open(folder.path(), json!({})), Bench::open(folder.path(), json!({})));
    let workflow = own.workflow("ask", ask_and_pay()).await;
    for at in 0..60 {
        let run = own.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
        let by = if at % 2 == 0 { &own } else { &other };
        tokio::time::sleep(Duration::from_micros(at * 40)).await;
        by.studio.cancel(&by.scope, &run.to_string()).await.expect("a cancel");
        assert_eq!(over(&own, &run).await, "cancelled");
        let _checked = record(&own, &run).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_nobody_lived_to_act_on_still_fails_the_run() {
    let folder = folder();
    let first = Bench::open(folder.path(), json!({}));
    let failing = graph(
        &[
            ("start", "start", json!({})), ("fork", "fork", json!({"branches": ["bad", "long"]})),
            ("bad", "tool", json!({"tool_ref": "host:broken"})), ("long", "llm", json!({"provider": "script", "model": "slow"})),
            ("join", "join", json!({})), ("stop", "stop", json!({})),
        ],
        &[
            ("start", "fork"), ("fork.bad", "bad"), ("bad", "join"), ("fork.long", "long"), ("long", "join"), ("fork", "join"),
            ("join", "stop"),
        ],
    );
    let workflow = first.workflow("failing", failing).await;
    let run = first.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    while !events(&first, &run).await.iter().any(|event| matches!(event, Event::StepFailed { .. })) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(first);
    let next = Bench::open(folder.path(), json!({}));
    while next.studio.take_over().await.expect("a studio") == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let row = next.until(&run, "failed", SOON).await;
    let error = row.error.expect("an error");
    assert_eq!((&error["code"], &error["node_id"]), (&json!("tool_failed"), &json!("bad")), "{error}");
    let failed = events(&next, &run).await.iter().filter(|event| matches!(event, Event::StepFailed { .. })).count();
    assert_eq!((failed, marks(&next.effects).len()), (1, 1), "the failed step is not made again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_while_a_run_is_driven_leaves_it_to_the_next() {
    let folder = folder();
    let bench = Bench::open(folder.path(), json!({}));
    let workflow = bench.workflow("panic", single("tool", json!({"tool_ref": "host:panic"}))).await;
    let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    while bench.studio.take_over().await.expect("a studio") == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let row = bench.until(&run, "failed", SOON).await;
    assert_eq!(row.error.expect("an error")["code"], "in_doubt");
    let until = tokio::time::Instant::now() + SOON;
    while bench.studio.world().at_work() > 0 {
        assert!(tokio::time::Instant::now() < until, "a run that ended is still at work");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retryable_failure_waits_in_the_queue_and_goes_on() {
    let folder = folder();
    let bench = Bench::open(folder.path(), json!({"queue_tries": 2, "queue_backoff": 4}));
    let workflow = bench.workflow("flaky", single("llm", json!({"provider": "script", "model": "flaky"}))).await;
    let run = bench.start(&workflow, json!({"message": "hi"}), true).await.expect("a run").run;
    let row = bench.row(&run).await;
    assert_eq!((row.tries, row.queue.as_deref(), row.available_at.is_some()), (0, Some("default"), true));
    let now = || bench.studio.world().clock.now().0;
    let before = now();
    assert_eq!(bench.studio.world().work().await.expect("work"), Some(run));
    let row = bench.until(&run, "queued", SOON).await;
    // It failed between both looks at the clock; a server's clock may be a little off.
    let (available, after) = (row.available_at.expect("a time").0, now());
    assert!((before + 3900..=after + 4100).contains(&available), "it waits from {before} or {after} to {available}");
    assert_eq!((row.tries, row.owner, row.lease_until), (1, None, None));
    assert_eq!(bench.studio.world().work().await.expect("work"), None, "its time has not come");
    let until = tokio::time::Instant::now() + SOON;
    while bench.studio.world().work().await.expect("work").is_none() {
        assert!(tokio::time::Instant::now() < until, "nobody takes it");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let row = bench.until(&run, "completed", SOON).await;
    assert_eq!((row.tries, row.total.tokens.prompt), (2, 14), "the failed call is metered, too");
    let checked: Value = record(&bench, &run).await;
    assert_eq!(checked["status"], "completed");
}
