//! Who may say that a call has ended: its tool, a person, never the queue or a clock.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::story::Story;

const GRACE: u64 = 60;

fn story(replies: Value) -> Story {
    Story::with(json!({"timeouts": {"cancel_grace_ms": GRACE}}), replies)
}

fn made(story: &Story, tool: &str) -> usize {
    story.hands.calls().iter().filter(|call| call.starts_with(&format!("{tool} "))).count()
}

/// Takes the run from the queue until it is at rest.
async fn drain(story: &Story, run: &str) -> Value {
    for _ in 0..3000 {
        let _nothing_is_due = story.bench.studio.world().work().await.expect("a store");
        story.settle(run).await;
        let trace = story.trace(run).await;
        if trace["trace"]["status"] != "queued" && trace["trace"]["status"] != "running" {
            return trace;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the run does not come to rest");
}

#[tokio::test]
async fn a_queue_retry_never_repeats_a_call_whose_end_nobody_saw() {
    let settings = json!({"async_runs_enabled": true, "worker": {"in_process": false}, "queue_tries": 3, "queue_backoff": 0,
        "timeouts": {"cancel_grace_ms": GRACE}});
    let story = Story::with(settings, json!([{"error": "provider_unavailable", "times": 1}, {"text": "well"}]));
    let sketch = "start -> fork_1 -> join_1 -> stop
        fork_1.a -> llm_a{provider: script, model: m} -> join_1
        fork_1.b -> tool_b{tool_ref: \"host:stuck\", timeout_ms: 3000} -> join_1";
    let run = story.queue(sketch).await;
    let trace = drain(&story, &run).await;
    let error = &trace["trace"]["error"];
    assert_eq!((&error["code"], &error["calls"][0]["name"]), (&json!("node_timeout"), &json!("stuck")), "{error}");
    assert_eq!(made(&story, "stuck"), 1);
    let call = error["calls"][0]["call_id"].clone();
    story.bench.queue_retry(&run, json!({})).await.expect("a retry");
    let error = drain(&story, &run).await["trace"]["error"].clone();
    assert_eq!((&error["code"], &error["calls"][0]["call_id"]), (&json!("in_doubt"), &call), "{error}");
    assert!(story.bench.queue_retry(&run, json!({})).await.is_err(), "a decision is needed");
    story.bench.queue_retry(&run, json!({"in_doubt": [{"call_id": call, "action": "use", "result": "paid"}]})).await.expect("a retry");
    assert_eq!(drain(&story, &run).await["trace"]["status"], "completed");
    assert_eq!(made(&story, "stuck"), 1, "nobody asked for it to be made again");
}

#[tokio::test]
async fn a_failure_that_waiting_does_not_cure_ends_a_queued_run_at_once() {
    let settings = json!({"async_runs_enabled": true, "worker": {"in_process": false}, "queue_tries": 3, "queue_backoff": 0});
    let story = Story::with(settings, json!([{"error": "provider_unavailable", "times": 1}, {"text": "well"}]));
    let sketch = "start -> fork_1 -> join_1 -> stop
        fork_1.a -> llm_a{provider: script, model: m} -> join_1
        fork_1.b -> tool_b0{tool_ref: \"host:slow\", parameters: {ms: 50}} -> tool_b{tool_ref: \"host:fail\"} -> join_1";
    let run = story.queue(sketch).await;
    let trace = drain(&story, &run).await;
    let code = trace["trace"]["error"]["code"].as_str().expect("a code").to_owned();
    assert!(made(&story, "fail") <= 1, "{code}");
}

#[tokio::test]
async fn a_tool_without_an_answer_in_time_is_asked_about_before_it_is_called_again() {
    let story = story(json!([]));
    let run = story.run("start -> tool_1{tool_ref: \"host:late\", retries: {max: 2, backoff_ms: 1}} -> stop").await;
    assert_eq!(made(&story, "late"), 1);
    let error = story.trace(&run.id).await["trace"]["error"].clone();
    assert_eq!((&error["code"], &error["calls"][0]["name"]), (&json!("tool_failed"), &json!("late")), "{error}");
    let decided = json!({"in_doubt": [{"call_id": error["calls"][0]["call_id"], "action": "skip"}]});
    story.retry(&run.id, decided).await;
    assert_eq!(story.trace(&run.id).await["trace"]["status"], "completed");
    let again = story.run("start -> tool_1{tool_ref: \"host:late\"} -> stop").await;
    let call = story.trace(&again.id).await["trace"]["error"]["calls"][0]["call_id"].clone();
    story.retry(&again.id, json!({"in_doubt": [{"call_id": call, "action": "rerun"}]})).await;
    assert_eq!(made(&story, "late"), 3, "a person asked for it");
}

async fn results(story: &Story, run: &str) -> Vec<(String, Value, Value)> {
    let trace = story.trace(run).await;
    let spans = trace["spans"].as_array().expect("spans").clone();
    let tools = spans.iter().filter(|span| span["output"].get("result").is_some());
    tools.map(|span| (span["name"].as_str().unwrap_or_default().to_owned(), span["status"].clone(), span["output"]["result"].clone())).collect()
}

#[tokio::test]
async fn a_tool_that_heeds_a_cancel_is_recorded_with_what_it_answers() {
    let story = story(json!([{"tool_calls": [{"name": "heed", "arguments": {}}, {"name": "stuck", "arguments": {}}]}]));
    let workflow = story.workflow("start -> agent_1{provider: script, model: m, tools: [{ref: \"host:heed\"}, {ref: \"host:stuck\"}]} -> stop").await;
    let run = story.bench.start(&workflow, json!({"message": "hi"})).await.run.to_string();
    story.calls(2).await;
    assert_eq!(story.cancel(&run).await, "cancelled");
    let told = results(&story, &run).await;
    assert_eq!((told[0].0.as_str(), &told[0].1, &told[0].2), ("heed", &json!("completed"), &json!("undone")), "{told:?}");
    assert_eq!((told[1].0.as_str(), &told[1].1), ("stuck", &json!("cancelled")), "{told:?}");
}

#[tokio::test]
async fn the_tool_of_a_specialist_may_heed_the_end_of_its_runs_time() {
    let settings = json!({"timeouts": {"run_seconds": 1, "cancel_grace_ms": 500}});
    let story = Story::with(settings, json!([
        {"match": {"node_id": "agent_boss"}, "tool_calls": [{"name": "ask", "arguments": {"input": "Why?"}}]},
        {"match": {"node_id": "agent_expert"}, "tool_calls": [{"name": "heed", "arguments": {}}]}]));
    let run = story
        .run(
            "start -> agent_boss{provider: script, model: m} -> stop
            agent_expert{provider: script, model: m, tool_mode: true, tools: [{ref: \"host:heed\"}], tool_exposure: {slug: ask, description: Knows}}.toolset => agent_boss",
        )
        .await;
    assert_eq!(story.trace(&run.id).await["trace"]["error"]["code"], "run_timeout");
    let told = results(&story, &run.id).await;
    assert!(told.iter().any(|(name, status, result)| name == "heed" && status == "completed" && result == "undone"), "{told:?}");
}

const TWO_PAYERS: &str = "start -> fork_1 -> join_1 -> stop
    fork_1.a -> agent_a{provider: script, model: m, output_key: a, tools: [{ref: \"host:pay\"}, {ref: \"host:slow\"}]} -> join_1
    fork_1.b -> agent_b{provider: script, model: m, output_key: b, tools: [{ref: \"host:pay\"}, {ref: \"host:slow\"}]} -> join_1";

fn payer(node: &str, calls: Value) -> [Value; 2] {
    [json!({"match": {"node_id": node, "call": 1}, "tool_calls": calls}), json!({"match": {"node_id": node, "call": 2}, "text": "{{tool_result}}"})]
}

#[tokio::test]
async fn two_branches_whose_providers_chose_one_call_id_are_decided_once_each() {
    let pay = |sum: u64| json!({"id": "call_1", "name": "pay", "arguments": {"sum": sum}});
    let slow = json!({"id": "call_0", "name": "slow", "arguments": {"ms": 40}});
    for (a, b) in [(json!([pay(1)]), json!([pay(2)])), (json!([slow.clone(), pay(1)]), json!([pay(2)]))] {
        let replies: Vec<Value> = payer("agent_a", a).into_iter().chain(payer("agent_b", b)).collect();
        let story = Story::scripted(json!(replies));
        let run = story.run(TWO_PAYERS).await;
        let pauses = story.trace(&run.id).await["trace"]["pauses"].clone();
        let of = |node: &str| pauses.as_array().expect("pauses").iter().find(|pause| pause["node_id"] == node).expect("a pause").clone();
        let (one, other) = (of("agent_a"), of("agent_b"));
        assert_ne!(one["pending_tools"][0]["call_id"], other["pending_tools"][0]["call_id"], "one run, one call of an id");
        let edited = json!([{"call_id": one["pending_tools"][0]["call_id"], "approval": "approve", "arguments": {"sum": 7}}]);
        story.resume(&run.id, json!({"pause_id": one["pause_id"], "decisions": edited})).await;
        assert_eq!(story.trace(&run.id).await["trace"]["pauses"].as_array().map(Vec::len), Some(1));
        story.resume(&run.id, json!({"pause_id": other["pause_id"], "approval": "reject", "message": "no"})).await;
        assert_eq!(story.trace(&run.id).await["trace"]["status"], "completed");
        let paid: Vec<String> = story.hands.calls().into_iter().filter(|call| call.starts_with("pay")).collect();
        assert_eq!(paid, [r#"pay {"sum":7}"#]);
    }
}
