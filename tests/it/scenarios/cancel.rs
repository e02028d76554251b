//! Cancel: scenario 20, while it works, while it waits, in branches.

use expect_test::expect;
use serde_json::json;
use wfstudio::engine::Order;

use crate::support::story::Story;

async fn working(story: &Story, sketch: &str, calls: usize) -> String {
    let workflow = story.workflow(sketch).await;
    let started = story.bench.start(&workflow, json!({"message": "hi"})).await;
    story.calls(calls).await;
    started.run.to_string()
}

#[tokio::test]
async fn a_working_run_is_cancelled() {
    let story = Story::plain();
    let run = working(&story, "start -> set_1{key: a, value: 1} -> tool_1{tool_ref: \"host:stuck\"} -> stop", 1).await;
    assert_eq!(story.cancel(&run).await, "cancelled");
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="set_1" node_type="set_state" iteration=null attempt=1
        4 step_completed step_id="s1" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"a":1}
        5 step_started step_id="s2" node_id="tool_1" node_type="tool" iteration=null attempt=1
        6 trace_cancelled node_id="tool_1" usage="0+0"
        7 run_terminal status="cancelled"
    "#]].assert_eq(&story.tail(&run, Order::Ordered, 0).await);
    expect![[r#"
        s1 set_1 completed .default output={"a":1}
        s2 tool_1 cancelled
    "#]].assert_eq(&story.steps(&run).await);
    assert!(story.hands.calls().iter().any(|call| call.starts_with("cancel")), "the tool is told");
    assert_eq!(story.cancel(&run).await, "cancelled", "again changes nothing");
    expect![[r#"409 invalid_state: the run was cancelled; it cannot go on {"run_status":"cancelled"}"#]].assert_eq(&story.refused(&run, "resume", json!({"message": "x"})).await);
    expect![[r#"409 invalid_state: the run is cancelled; only a failed run can be retried {"run_status":"cancelled"}"#]].assert_eq(&story.refused(&run, "retry", json!({})).await);
}

#[tokio::test]
async fn branches_stop_with_the_run() {
    let story = Story::scripted(json!([{"tool_calls": [{"name": "look", "arguments": {}}, {"name": "stuck", "arguments": {}}, {"name": "look", "arguments": {}}]}]));
    let sketch = "start -> fork_1 -> join_1 -> stop
        fork_1.a -> agent_a{provider: script, model: m, tools: [{ref: \"host:stuck\"}, {ref: \"host:look\"}]} -> join_1
        fork_1.b -> set_b{key: b, value: 1} -> human_b -> join_1; fork_1.c -> set_c{key: c, value: 1} -> join_1";
    let run = working(&story, sketch, 3).await;
    assert_eq!(story.cancel(&run).await, "cancelled");
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="fork_1" node_type="fork" iteration=null attempt=1
        4 branch_started fork_id="fork_1" branch_id="a"
        5 step_started step_id="s2" node_id="agent_a" node_type="agent" iteration=null attempt=1 branch_id="a"
        6 tool_call step_id="s2" node_id="agent_a" call_id="call_agent_a_1" name="look" inputs={} result=null branch_id="a"
        7 tool_call step_id="s2" node_id="agent_a" call_id="call_agent_a_1_2" name="stuck" inputs={} result=null branch_id="a"
        8 tool_call step_id="s2" node_id="agent_a" call_id="call_agent_a_1_3" name="look" inputs={} result=null branch_id="a"
        9 tool_result step_id="s2" node_id="agent_a" call_id="call_agent_a_1" name="look" inputs={} result="{\"did\":\"look\",\"with\":{}}" is_error=false skipped=false duration_ms="ms" branch_id="a"
        10 tool_result step_id="s2" node_id="agent_a" call_id="call_agent_a_1_2" name="stuck" inputs={} result="the call was cut short and gave no answer in time; it was abandoned" is_error=true skipped=false duration_ms="ms" branch_id="a"
        11 tool_result step_id="s2" node_id="agent_a" call_id="call_agent_a_1_3" name="look" inputs={} result="{\"did\":\"look\",\"with\":{}}" is_error=false skipped=false duration_ms="ms" branch_id="a"
        12 branch_started fork_id="fork_1" branch_id="b"
        13 step_started step_id="s3" node_id="set_b" node_type="set_state" iteration=null attempt=1 branch_id="b"
        14 step_completed step_id="s3" node_id="set_b" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"b":1} branch_id="b"
        15 step_started step_id="s4" node_id="human_b" node_type="human" iteration=null attempt=1 branch_id="b"
        16 branch_started fork_id="fork_1" branch_id="c"
        17 step_started step_id="s5" node_id="set_c" node_type="set_state" iteration=null attempt=1 branch_id="c"
        18 step_completed step_id="s5" node_id="set_c" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"c":1} branch_id="c"
        19 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="c"
        20 trace_cancelled node_id="agent_a" usage="1+5"
        21 run_terminal status="cancelled"
    "#]].assert_eq(&story.tail(&run, Order::Ordered, 0).await);
    expect![[r#"
        s1 fork_1 cancelled
        s2 agent_a cancelled iteration_path="fork_1:a" branch_path=["a"]
        s3 set_b completed .default iteration_path="fork_1:b" branch_path=["b"] output={"b":1}
        s4 human_b cancelled iteration_path="fork_1:b" branch_path=["b"]
        s5 set_c completed .default iteration_path="fork_1:c" branch_path=["c"] output={"c":1}
    "#]].assert_eq(&story.steps(&run).await);
}

#[tokio::test]
async fn a_paused_run_is_cancelled() {
    let story = Story::plain();
    let run = story.run("start -> human_1 -> stop").await;
    assert_eq!(story.cancel(&run.id).await, "cancelled");
    expect![[r#"
        4 human_input_required step_id="s1" node_id="human_1" pause_id="p1" prompt="Your input is needed." output_key="human_response" thread_id="t1"
        6 trace_cancelled node_id="human_1" usage="0+0"
        7 run_terminal status="cancelled"
    "#]].assert_eq(&story.tail(&run.id, Order::Ordered, 3).await);
    let trace = story.trace(&run.id).await;
    assert_eq!((&trace["trace"]["pauses"], &trace["trace"]["checkpoint"]), (&json!([]), &json!(null)));
    expect![[r#"409 invalid_state: the run was cancelled; it cannot go on {"run_status":"cancelled"}"#]].assert_eq(&story.refused(&run.id, "resume", json!({"message": "x"})).await);
}

#[tokio::test]
async fn a_finished_run_cannot_be_cancelled() {
    let story = Story::plain();
    let run = story.run("start -> stop").await;
    expect![[r#"409 invalid_state: the run is completed; it cannot be cancelled {"run_status":"completed"}"#]].assert_eq(&story.refused(&run.id, "cancel", json!({})).await);
}

/// The statuses of the runs of agents that a workflow has begun.
async fn children(story: &Story) -> Vec<String> {
    let text = "SELECT status FROM #runs WHERE parent IS NOT NULL ORDER BY no";
    let read = story.bench.studio.world().store.read(move |tx| tx.query(text, &[], |row| Ok(row.text(0)?.to_owned())));
    read.await.expect("a store")
}

#[tokio::test]
async fn runs_of_agents_end_with_their_workflow_unless_they_were_done_before() {
    let story = Story::scripted(json!([{"text": "Well."}]));
    let agent = story.bench.agent(json!({"name": "A", "provider": "script", "model": "m"})).await;
    let run = story.run(&format!("start -> agent_1{{agent_id: \"{agent}\"}} -> tool_1{{tool_ref: \"host:fail\"}} -> stop")).await;
    assert_eq!((story.trace(&run.id).await["trace"]["status"].clone(), children(&story).await), (json!("failed"), vec!["completed".to_owned()]));
    let story = Story::scripted(json!([{"tool_calls": [{"name": "stuck", "arguments": {}}]}]));
    let agent = story.bench.agent(json!({"name": "A", "provider": "script", "model": "m", "tools": [{"ref": "host:stuck"}]})).await;
    let run = working(&story, &format!("start -> agent_1{{agent_id: \"{agent}\"}} -> stop"), 1).await;
    assert_eq!((story.cancel(&run).await.as_str(), children(&story).await), ("cancelled", vec!["cancelled".to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_is_heard_while_many_branches_make_long_steps() {
    let story = Story::with(json!({"parallel": {"concurrency": 64}}), json!([]));
    let mut sketch = "start -> fork_1 -> join_1 -> stop".to_owned();
    for n in 0..48 {
        sketch.push_str(&format!("\nfork_1.b{n} -> loop_{n}{{max_steps: 10000, on_max: exit, state_key: many, operator: contains, value: none}}; loop_{n}.continue -> loop_{n}; loop_{n}.exit -> join_1"));
    }
    let workflow = story.workflow(&sketch).await;
    let many: Vec<String> = (0..8_000).map(|n| format!("item {n}")).collect();
    let run = story.bench.start(&workflow, json!({"message": "hi", "state": {"many": many}})).await.run.to_string();
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let asked = std::time::Instant::now();
    assert_eq!(story.cancel(&run).await, "cancelled");
    // All of it takes minutes.
    assert!(asked.elapsed() < std::time::Duration::from_secs(20), "it took {:?}", asked.elapsed());
}
