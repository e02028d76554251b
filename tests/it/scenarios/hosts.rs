//! A run that another host goes on with: what its first owner decided still holds.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::engine::Order;

use crate::support::Bench;
use crate::support::story::Story;

/// A run whose owner went away as soon as its tail said this, taken over by another host and followed until it rests.
async fn moved(folder: &Path, settings: Value, sketch: &str, said: &str) -> (Story, Story, String) {
    let first = Story::of(Bench::on_disk(settings.clone(), folder));
    let workflow = first.workflow(sketch).await;
    let run = first.bench.start(&workflow, json!({"message": "hi"})).await.run.to_string();
    while !story_has(&first, &run, said).await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    first.bench.studio.shutdown(Duration::from_millis(100)).await;
    let next = Story::of(Bench::on_disk(settings, folder));
    next.bench.studio.take_over().await.expect("a studio");
    next.join(&run).await;
    next.check(&run).await;
    (first, next, run)
}

async fn story_has(story: &Story, run: &str, said: &str) -> bool {
    let loaded = wfstudio::engine::load(story.bench.studio.world(), "", run).await.expect("a run");
    let calls = story.hands.calls();
    loaded.entries.iter().any(|entry| format!("{:?}", entry.event).starts_with(said)) || calls.iter().any(|call| call.starts_with(said))
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_that_were_made_elsewhere_count() {
    let folder = tempfile::tempdir().unwrap();
    let sketch = "start -> tool_1{tool_ref: \"host:fail\", retries: {max: 1, backoff_ms: 4000}} -> stop";
    let (_, story, run) = moved(folder.path(), json!({}), sketch, "StepRetrying").await;
    let told = story.tail(&run, Order::Ordered, 0).await;
    assert_eq!((told.matches("step_retrying").count(), told.matches("step_failed").count()), (1, 1), "{told}");
    assert!(told.contains("attempt=2 resumed=true"), "{told}");
    let told = story.retry(&run, json!({})).await;
    assert_eq!((told.matches("step_retrying").count(), told.matches("step_failed").count()), (1, 1), "a person's retry begins anew: {told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn branches_that_had_not_begun_wait_for_the_answer_elsewhere_too() {
    let folder = tempfile::tempdir().unwrap();
    let sketch = "start -> fork_1 -> join_1 -> stop
        fork_1.a -> human_a{output_key: a} -> join_1
        fork_1.b -> tool_b{tool_ref: \"host:again\", parameters: {ms: 600}} -> join_1
        fork_1.c -> set_c{key: c, value: 1} -> join_1
        fork_1.d -> human_d{output_key: d} -> join_1";
    let settings = json!({"parallel": {"concurrency": 2}});
    let (_, story, run) = moved(folder.path(), settings, sketch, "again").await;
    let told = story.tail(&run, Order::Ordered, 0).await;
    assert!(told.contains("parallel_interrupt") && told.contains("branch_completed fork_id=\"fork_1\" duration_ms=\"ms\" branch_id=\"b\""), "{told}");
    assert!(!told.contains("branch_id=\"c\"") && !told.contains("branch_id=\"d\""), "what had not begun waits: {told}");
    let told = story.resume(&run, json!({"message": "A"})).await;
    assert!(told.contains("branch_started fork_id=\"fork_1\" branch_id=\"d\"") && told.contains("human_input_required"), "{told}");
    assert!(story.resume(&run, json!({"message": "D"})).await.contains("trace_completed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_made_again_is_given_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let sketch = "start -> tool_1{tool_ref: \"host:again\", parameters: {ms: \"$wait\", at: \"{{__studio_now}}\"}} -> stop";
    let sketch = sketch.replace("start ->", "start -> set_1{key: wait, value: 3000} ->");
    let (first, story, run) = moved(folder.path(), json!({}), &sketch, "again").await;
    assert_eq!(story.trace(&run).await["trace"]["status"], "completed");
    assert_eq!((first.hands.calls()[0].clone(), 1), (story.hands.calls()[0].clone(), story.hands.calls().len()));
}
