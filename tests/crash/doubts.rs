//! Calls whose end nobody saw: whatever else happened to the run, they are asked about before it goes on.

use std::time::Duration;

use serde_json::json;
use wfstudio::model::Timestamp;
use wfstudio::store::runs::queue;
use wfstudio::store::runs::queue::Lapsed;

use crate::record::record;
use crate::support::{Bench, folder, marks, single};

const SOON: Duration = Duration::from_secs(60);
const LAPSED: Lapsed = Lapsed { now: Timestamp(2), far: Timestamp(i64::MAX), sync: 9, most: 9, own: true, held: Vec::new() };

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_doubt_is_asked_about_however_many_owners_the_run_lost() {
    let folder = folder();
    let first = Bench::open(folder.path(), json!({}));
    let workflow = first.workflow("slow", single("tool", json!({"tool_ref": "host:slow_pay"}))).await;
    let run = first.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    while marks(&first.effects).is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    first.studio.shutdown(Duration::from_millis(400)).await;
    let next = Bench::open(folder.path(), json!({}));
    for _ in 0..5 {
        // An owner that dies before it writes anything.
        let taken = next.studio.world().store.write(|tx| queue::claim_expired(tx, "gone", Timestamp(1), &LAPSED));
        assert_eq!(taken.await.expect("a store").len(), 1);
    }
    assert_eq!(next.studio.take_over().await.expect("a studio"), 1);
    let row = next.until(&run, "failed", SOON).await;
    let error = row.error.expect("an error");
    assert_eq!((&error["code"], row.takeovers), (&json!("in_doubt"), 5), "{error}");
    assert!(next.retry(&run, json!({})).await.is_err(), "a decision is needed");
    let call = &error["calls"][0]["call_id"];
    next.retry(&run, json!({"in_doubt": [{"call_id": call, "action": "skip"}]})).await.expect("a retry");
    next.until(&run, "completed", SOON).await;
    assert_eq!(marks(&next.effects).len(), 1);
    let _checked = record(&next, &run).await;
}
