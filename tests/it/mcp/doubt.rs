//! Calls that were under way when the studio ended: nobody knows whether they did their work, unless they may be made twice.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::support::{call, program, until};
use crate::support::Bench;

fn bench(folder: &Path) -> Bench {
    Bench::on_disk(json!({"mcp": {"servers": {"peer": program("modern", json!({}))}}}), folder)
}

/// The trace of a run whose studio ended while its call was made, after another studio took it over.
async fn taken_over(folder: &Path, more: Value) -> (Bench, String, Value) {
    let file = folder.join("called");
    let mut data = json!({"parameters": {"file": file}});
    crate::support::merge(&mut data, more);
    let first = bench(folder);
    let workflow = first.workflow(call("peer", "once", data)).await;
    let run = first.start(&workflow, json!({"message": "go"})).await.run.to_string();
    until("the call", || file.exists()).await;
    first.studio.shutdown(Duration::from_secs(2)).await;
    drop(first);
    let next = bench(folder);
    next.studio.take_over().await.expect("a studio");
    for _ in 0..6000 {
        let trace = next.trace(&run).await["trace"].clone();
        if trace["status"] != "running" {
            return (next, run, trace);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the run did not come to rest");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_doubt_waits_for_a_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let (bench, run, trace) = taken_over(folder.path(), json!({})).await;
    assert_eq!((&trace["status"], &trace["error"]["code"]), (&json!("failed"), &json!("in_doubt")), "{trace}");
    let asked = &trace["error"]["calls"][0];
    assert_eq!((&asked["name"], &asked["node_id"]), (&json!("once"), &json!("a")));
    let word = json!({"in_doubt": [{"call_id": asked["call_id"], "action": "use", "result": "{\"it\": \"ran\"}"}]});
    let retried = bench.retry(&run, word).await.expect("a retry");
    let told = bench.events_text(&retried).await;
    assert!(told.contains(r#""mcp_result":{"server":"peer","name":"once","result":{"it":"ran"}}"#), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_may_be_made_twice_is_made_again_under_the_same_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_bench, _, trace) = taken_over(folder.path(), json!({"idempotent": true})).await;
    assert_eq!(trace["output"]["mcp_result"]["result"], json!("again, the same call"), "{trace}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_decided_of_a_call_holds_where_its_server_is_gone() {
    for (action, wanted) in [("use", "it ran"), ("skip", "The call was skipped")] {
        let folder = tempfile::tempdir().expect("a folder");
        let (bench, run, trace) = taken_over(folder.path(), json!({})).await;
        bench.studio.shutdown(Duration::from_secs(2)).await;
        drop(bench);
        let silent = json!({"mcp": {"servers": {"peer": {"transport": "stdio", "command": "/nowhere/at-all"}}}});
        let next = Bench::on_disk(silent, folder.path());
        let mut word = json!({"call_id": trace["error"]["calls"][0]["call_id"], "action": action});
        if action == "use" {
            word["result"] = json!("it ran");
        }
        let retried = next.retry(&run, json!({"in_doubt": [word]})).await.expect("a retry");
        let told = next.events_text(&retried).await;
        assert!(told.contains(&format!(r#""mcp_result":{{"server":"peer","name":"once","result":"{wanted}"#)), "{told}");
    }
}
