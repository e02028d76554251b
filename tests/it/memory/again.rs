//! Steps that run again from a completed one: what they added to memory is taken back, so that no turn is there twice.

use serde_json::{Value, json};

use super::{sent, whole};
use crate::support::story::Story;

fn story() -> Story {
    Story::scripted(json!([{"times": 0, "text": "Yes."}]))
}

async fn step(story: &Story, run: &str, node: &str) -> Value {
    let trace = story.trace(run).await;
    let steps = trace["steps"].as_array().expect("steps");
    steps.iter().rev().find(|step| step["node_id"] == node && step["superseded"] != true).expect("a step")["id"].clone()
}

#[tokio::test]
async fn an_agent_that_runs_again_has_said_nothing_before() {
    for driver in ["database", "in_memory"] {
        let story = story();
        let sketch = format!(
            "start -> agent_1{{provider: script, model: m, driver: {driver}}} -> tool_1{{tool_ref: \"host:flaky\", parameters: {{times: 1}}}} -> agent_2{{provider: script, model: m, memory: shared, driver: {driver}}} -> stop"
        );
        let workflow = story.workflow(&sketch).await;
        let run = story.start(&workflow, json!({"message": "hi"})).await;
        let again = step(&story, &run.id, "agent_1").await;
        story.retry(&run.id, json!({"from_step_id": again})).await;
        let trace = whole(&story, &run.id).await;
        assert_eq!(trace["trace"]["status"], "completed");
        assert_eq!(sent(&trace, "chat", 1), ["user: hi"], "{driver}");
        if driver == "database" {
            let next = story.start(&workflow, json!({"message": "more", "thread_id": trace["trace"]["thread_id"]})).await;
            let trace = whole(&story, &next.id).await;
            assert_eq!(sent(&trace, "chat", 0), ["user: hi", "assistant: Yes.", "user: more"], "{driver}");
        }
    }
}

#[tokio::test]
async fn a_fork_that_closes_again_gives_each_turn_once() {
    let story = story();
    let sketch = "start -> fork_1 -> join_1 -> tool_1{tool_ref: \"host:flaky\", parameters: {times: 1}} -> stop
        fork_1.a -> agent_a{provider: script, model: m} -> join_1
        fork_1.b -> agent_b{provider: script, model: m} -> join_1";
    let workflow = story.workflow(sketch).await;
    let run = story.start(&workflow, json!({"message": "hi"})).await;
    let again = step(&story, &run.id, "agent_a").await;
    story.retry(&run.id, json!({"from_step_id": again})).await;
    let trace = whole(&story, &run.id).await;
    assert_eq!(trace["trace"]["status"], "completed");
    let next = story.start(&workflow, json!({"message": "more", "thread_id": trace["trace"]["thread_id"]})).await;
    let trace = whole(&story, &next.id).await;
    let once = ["user: hi", "assistant: Yes.", "user: more"];
    assert_eq!((sent(&trace, "chat", 0), sent(&trace, "chat", 1)), (once.map(String::from).to_vec(), once.map(String::from).to_vec()));
}
