//! Several retries of one run: in sibling branches, in nested forks, behind pauses, and where a retry must ask a model again.

use serde_json::{Value, json};

use crate::support::story::{Run, Story};

/// The latest step of a node that counts.
async fn step(story: &Story, run: &Run, node: &str) -> Value {
    let trace = story.trace(&run.id).await;
    let steps = trace["steps"].as_array().expect("steps");
    steps.iter().rev().find(|step| step["node_id"] == node && step["superseded"] != true).expect("a step").clone()
}

async fn again_from(story: &Story, run: &Run, node: &str, state: Value) -> String {
    let from = step(story, run, node).await["id"].clone();
    story.retry(&run.id, json!({"from_step_id": from, "state": state})).await
}

#[tokio::test]
async fn a_retry_in_one_branch_keeps_what_a_retry_in_its_sibling_did() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> fork_1 -> join_1{output_key: got} -> tool_z{tool_ref: \"host:flaky\", parameters: {times: 2}} -> stop
            fork_1.a -> set_a{key: a, value: \"one:{{x}}\"} -> join_1
            fork_1.b -> set_b{key: b, value: \"two:{{y}}\"} -> join_1",
        )
        .await;
    again_from(&story, &run, "set_a", json!({"x": "new"})).await;
    again_from(&story, &run, "set_b", json!({"y": "new"})).await;
    assert_eq!(story.trace(&run.id).await["trace"]["status"], "completed");
    assert_eq!(step(&story, &run, "join_1").await["output"], json!({"got": {"a": "one:new", "b": "two:new"}}));
}

#[tokio::test]
async fn retries_in_nested_forks_keep_what_those_before_them_did() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> fork_1 -> join_1{output_key: got} -> tool_z{tool_ref: \"host:flaky\", parameters: {times: 4}} -> stop
            fork_1.a -> fork_2 -> join_2 -> join_1; fork_2.u -> set_u{key: u, value: \"u:{{x}}\"} -> join_2; fork_2.v -> set_v{key: v, value: \"v:{{z}}\"} -> join_2
            fork_1.b -> set_b{key: b, value: \"b:{{y}}\"} -> join_1",
        )
        .await;
    for (node, state) in [("set_u", json!({"x": 1})), ("set_b", json!({"y": 1})), ("set_v", json!({"z": 1})), ("set_u", json!({"x": 2}))] {
        again_from(&story, &run, node, state).await;
    }
    assert_eq!(story.trace(&run.id).await["trace"]["status"], "completed");
    assert_eq!(step(&story, &run, "join_1").await["output"], json!({"got": {"a": {"u": "u:2", "v": "v:1"}, "b": "b:1"}}));
}

#[tokio::test]
async fn a_pause_behind_a_closed_fork_is_gone_after_a_retry_inside_of_it() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> fork_o -> join_0 -> stop
            fork_o.b1 -> fork_i -> join_1 -> human_h{output_key: h} -> join_0; fork_i.c1 -> set_1{key: s, value: 1} -> join_1; fork_i.c2 -> set_2{key: t, value: 1} -> join_1
            fork_o.b2 -> tool_b{tool_ref: \"host:flaky\", parameters: {times: 2}} -> join_0",
        )
        .await;
    let told = again_from(&story, &run, "set_1", json!({})).await;
    let place = |of: &str, last: bool| {
        let mut found = told.lines().enumerate().filter(|(_, line)| line.contains(of)).map(|(at, _)| at);
        if last { found.last() } else { found.next() }
    };
    assert!(place("branch_path=[\"b1\"", true).max(place("branch_id=\"b1\"", true)) < place("branch_id=\"b2\"", false), "branches are told as declared: {told}");
    let told = story.retry(&run.id, json!({})).await;
    assert_eq!(told.matches("human_input_required").count(), 1, "{told}");
    assert_eq!(told.matches("parallel_interrupt").count(), 1, "{told}");
    assert!(story.resume(&run.id, json!({"message": "A"})).await.contains("trace_completed"));
}

#[tokio::test]
async fn a_retry_asks_the_model_again_whose_answer_did_not_fit() {
    let story = Story::scripted(json!([{"text": "no"}, {"text": "still no"}, {"text": "again no"}, {"text": "{\"n\": 5}"}]));
    let run = story.run("start -> agent_1{provider: script, model: m, structured: true, schema: {type: object, properties: {n: {type: integer}}, required: [n]}} -> stop").await;
    assert!(run.text.contains("structured_invalid"), "{}", run.text);
    let told = story.retry(&run.id, json!({})).await;
    assert!(told.contains("structured_invalid"), "the third answer fits as little: {told}");
    let told = story.retry(&run.id, json!({})).await;
    assert!(told.contains("changes={\"agent_response\":{\"n\":5}}"), "{told}");
}

#[tokio::test]
async fn a_retry_asks_the_model_again_that_wanted_too_many_tools() {
    let call = |n: usize| json!({"tool_calls": [{"name": "look", "arguments": {"n": n}}]});
    let story = Story::scripted(json!([call(1), call(2), {"text": "Fine."}]));
    let run = story.run("start -> agent_1{provider: script, model: m, tool_max_runs: 1, on_tool_limit: fail, tools: [{ref: \"host:look\"}]} -> stop").await;
    assert!(run.text.contains("tool_limit"), "{}", run.text);
    let told = story.retry(&run.id, json!({})).await;
    assert!(told.contains("changes={\"agent_response\":\"Fine.\"}"), "{told}");
    assert_eq!(story.hands.calls(), ["look {\"n\":1}"], "completed calls are used again");
}
