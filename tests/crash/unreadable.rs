//! A run whose log cannot be read comes to rest: it is not taken again and again, and it can be cancelled and deleted.

use std::time::Duration;

use serde_json::json;

use crate::support::{Bench, folder, single};

const SOON: Duration = Duration::from_secs(60);

/// Takes away what runs were made from.
async fn lose_parts(bench: &Bench) {
    let lost = bench.studio.world().store.write(|tx| tx.execute("DELETE FROM #parts", &[]).map(drop));
    lost.await.expect("a store");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_run_that_cannot_be_read_fails_and_stops_no_other() {
    let folder = folder();
    let first = Bench::open(folder.path(), json!({}));
    let slow = first.workflow("slow", single("llm", json!({"provider": "script", "model": "slow"}))).await;
    let run = first.start(&slow, json!({"message": "hi"}), false).await.expect("a run").run;
    first.studio.shutdown(Duration::from_millis(400)).await;
    let next = Bench::open(folder.path(), json!({"worker": {"in_process": true}}));
    lose_parts(&next).await;
    let fine = next.workflow("talk", single("llm", json!({"provider": "script", "model": "talk"}))).await;
    next.studio.start_workers().expect("a studio");
    let row = next.until(&run, "failed", SOON).await;
    let error = row.error.expect("an error");
    assert_eq!(error["code"], "internal");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("graph is missing")), "{error}");
    assert_eq!(next.studio.take_over().await.expect("a studio"), 0, "it was taken again");
    let other = next.start(&fine, json!({"message": "hi"}), true).await.expect("a run").run;
    next.until(&other, "completed", SOON).await;
    next.studio.delete_run(&next.scope, &run.to_string()).await.expect("it is deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_be_read_can_be_cancelled_and_deleted() {
    let folder = folder();
    let first = Bench::open(folder.path(), json!({}));
    let slow = first.workflow("slow", single("llm", json!({"provider": "script", "model": "slow"}))).await;
    let queued = first.start(&slow, json!({"message": "hi"}), true).await.expect("a run").run;
    let left = first.start(&slow, json!({"message": "hi"}), false).await.expect("a run").run;
    first.studio.shutdown(Duration::from_millis(400)).await;
    let next = Bench::open(folder.path(), json!({}));
    lose_parts(&next).await;
    for run in [queued, left] {
        let (_, status) = next.studio.cancel(&next.scope, &run.to_string()).await.expect("a cancel");
        assert_eq!(status.as_str(), "cancelled");
        assert_eq!(next.row(&run).await.status, "cancelled");
        next.studio.delete_run(&next.scope, &run.to_string()).await.expect("it is deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_log_takes_no_entry_ends_all_the_same() {
    let folder = folder();
    let first = Bench::open(folder.path(), json!({}));
    let slow = first.workflow("slow", single("llm", json!({"provider": "script", "model": "slow"}))).await;
    let run = first.start(&slow, json!({"message": "hi"}), true).await.expect("a run").run;
    first.studio.shutdown(Duration::from_millis(400)).await;
    let next = Bench::open(folder.path(), json!({}));
    let lost = next.studio.world().store.write(|tx| tx.execute("DELETE FROM #log", &[]).map(drop));
    lost.await.expect("a store");
    assert_eq!(next.studio.world().work().await.expect("work"), Some(run));
    let row = next.until(&run, "failed", SOON).await;
    assert_eq!((row.owner, row.lease_until, row.queue.is_some()), (None, None, true));
    next.studio.delete_run(&next.scope, &run.to_string()).await.expect("it is deleted");
}
