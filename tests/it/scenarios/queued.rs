//! Runs that a worker drives: scenarios 22 and 23, answers and retries through the queue, tails without progress.

use expect_test::expect;
use serde_json::json;
use wfstudio::engine::Order;
use wfstudio::store::runs;

use crate::support::story::Story;

fn queueing(replies: serde_json::Value) -> Story {
    Story::with(json!({"async_runs_enabled": true, "worker": {"in_process": false}}), replies)
}

const ALL: &str = "start -> set_1{key: a, value: \"{{input}}!\"} -> llm_1{provider: script, model: echo, stream: true} \
    -> fork_1 -> join_1 -> stop{reply: \"{{llm_response}}\"}; \
    fork_1.x -> set_2{key: b, value: 1} -> join_1; fork_1.y -> llm_2{provider: script, model: echo} -> join_1";

#[tokio::test]
async fn the_tail_of_a_queued_run_is_that_of_a_run_here() {
    let here = queueing(json!([]));
    let run = here.run(ALL).await;
    let queue = queueing(json!([]));
    let queued = queue.queue(ALL).await;
    let told = queue.work(&queued, 0).await;
    assert_eq!(told, here.tail(&run.id, Order::Ordered, 0).await);
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="set_1" node_type="set_state" iteration=null attempt=1
        4 step_completed step_id="s1" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"a":"hi!"}
        5 step_started step_id="s2" node_id="llm_1" node_type="llm" iteration=null attempt=1
        6 token step_id="s2" node_id="llm_1" delta="You " publish_reply=true
        7 token step_id="s2" node_id="llm_1" delta="said: " publish_reply=true
        8 token step_id="s2" node_id="llm_1" delta="hi" publish_reply=true
        9 step_completed step_id="s2" node_id="llm_1" node_type="llm" handle="default" duration_ms="ms" iteration=null changes={"llm_response":"You said: hi"} provider="script" model="echo" usage="1+3"
        10 step_started step_id="s3" node_id="fork_1" node_type="fork" iteration=null attempt=1
        11 branch_started fork_id="fork_1" branch_id="x"
        12 step_started step_id="s4" node_id="set_2" node_type="set_state" iteration=null attempt=1 branch_id="x"
        13 step_completed step_id="s4" node_id="set_2" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"b":1} branch_id="x"
        14 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="x"
        15 branch_started fork_id="fork_1" branch_id="y"
        16 step_started step_id="s5" node_id="llm_2" node_type="llm" iteration=null attempt=1 branch_id="y"
        17 step_completed step_id="s5" node_id="llm_2" node_type="llm" handle="default" duration_ms="ms" iteration=null changes={"llm_response":"You said: hi"} provider="script" model="echo" branch_id="y" usage="1+3"
        18 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="y"
        19 step_completed step_id="s3" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        20 step_started step_id="s6" node_id="join_1" node_type="join" iteration=null attempt=1
        21 step_completed step_id="s6" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"x":1,"y":{}}}
        22 step_started step_id="s7" node_id="stop" node_type="stop" iteration=null attempt=1
        23 step_completed step_id="s7" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={"reply":"You said: hi"}
        24 trace_completed status="completed" output={"input":"hi","a":"hi!","llm_response":"You said: hi","parallel_results":{"x":1,"y":{}},"reply":"You said: hi"} reply="You said: hi" thread_id="t1" duration_ms="ms" usage="2+6"
        25 run_terminal status="completed"
    "#]].assert_eq(&told);
}

#[tokio::test]
async fn a_queued_run_pauses_and_goes_on_through_the_queue() {
    let story = queueing(json!([]));
    let run = story.queue("start -> human_1{prompt: \"Who?\", output_key: name} -> stop{reply: \"Hello {{name}}\"}").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="human_1" node_type="human" iteration=null attempt=1
        4 human_input_required step_id="s1" node_id="human_1" pause_id="p1" prompt="Who?" output_key="name" thread_id="t1"
        5 run_terminal status="awaiting_input"
    "#]].assert_eq(&story.work(&run, 0).await);
    let answered = story.bench.queue_resume(&run, json!({"message": "Ada"})).await.expect("an answer");
    assert_eq!(answered.status.as_str(), "queued");
    expect![[r#"
        6 step_started step_id="s1" node_id="human_1" node_type="human" iteration=null attempt=1 resumed=true
        7 step_completed step_id="s1" node_id="human_1" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"Ada","name":"Ada"}
        8 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        9 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={"reply":"Hello Ada"}
        10 trace_completed status="completed" output={"input":"Ada","name":"Ada","reply":"Hello Ada"} reply="Hello Ada" thread_id="t1" duration_ms="ms" usage="0+0"
        11 run_terminal status="completed"
    "#]].assert_eq(&story.work(&run, 5).await);
}

#[tokio::test]
async fn an_approval_and_a_retry_go_through_the_queue() {
    let story = queueing(json!([{"tool_calls": [{"name": "pay", "arguments": {"sum": 1}}]}, {"text": "Paid."}]));
    let run = story.queue("start -> agent_1{provider: script, model: m, tools: [{ref: \"host:pay\"}]} -> tool_1{tool_ref: \"host:fail\"} -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1
        4 tool_approval_required step_id="s1" node_id="agent_1" pause_id="p1" pending_tools=[{"name":"pay","arguments":{"sum":1},"call_id":"call_agent_1_1"}] message="1 tool call is waiting for approval."
        5 run_terminal status="awaiting_tool_approval"
    "#]].assert_eq(&story.work(&run, 0).await);
    story.bench.queue_resume(&run, json!({"approval": "approve"})).await.expect("an answer");
    expect![[r#"
        6 tool_approval_resolved step_id="s1" node_id="agent_1" pause_id="p1" approved=true decisions=[{"call_id":"call_agent_1_1","approval":"approve","edited":false}]
        7 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1 resumed=true
        8 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="pay" inputs={"sum":1} result=null
        9 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="pay" inputs={"sum":1} result="{\"did\":\"pay\",\"with\":{\"sum\":1}}" is_error=false skipped=false duration_ms="ms"
        10 step_completed step_id="s1" node_id="agent_1" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"agent_response":"Paid."} provider="script" model="m" usage="12+5"
        11 step_started step_id="s2" node_id="tool_1" node_type="tool" iteration=null attempt=1
        12 step_failed step_id="s2" node_id="tool_1" node_type="tool" duration_ms="ms" code="tool_failed" message="it is broken"
        13 trace_failed node_id="tool_1" code="tool_failed" message="it is broken" usage="12+5"
        14 run_terminal status="failed" error={"code":"tool_failed","message":"it is broken","node_id":"tool_1"}
    "#]].assert_eq(&story.work(&run, 5).await);
    story.bench.queue_retry(&run, json!({})).await.expect("a retry");
    expect![[r#"
        15 step_started step_id="s2" node_id="tool_1" node_type="tool" iteration=null attempt=2 resumed=true
        16 step_failed step_id="s2" node_id="tool_1" node_type="tool" duration_ms="ms" code="tool_failed" message="it is broken"
        17 trace_failed node_id="tool_1" code="tool_failed" message="it is broken" usage="12+5"
        18 run_terminal status="failed" error={"code":"tool_failed","message":"it is broken","node_id":"tool_1"}
    "#]].assert_eq(&story.work(&run, 14).await);
}

#[tokio::test]
async fn without_progress_a_tail_tells_only_where_a_queued_run_rests() {
    let settings = json!({"async_runs_enabled": true, "worker": {"in_process": false}, "async_progress": {"enabled": false}});
    let story = Story::with(settings, json!([]));
    let run = story.queue("start -> llm_1{provider: script, model: echo, stream: true} -> human_1 -> stop").await;
    expect![[r#"
        7 run_terminal status="awaiting_input"
    "#]].assert_eq(&story.work(&run, 0).await);
    assert_eq!(story.trace(&run).await["trace"]["async_progress_steps"], json!([]));
    let here = story.run("start -> llm_1{provider: script, model: echo, stream: true} -> stop").await;
    assert!(here.text.contains(" token "), "a stream of a request tells all: {}", here.text);
}

#[tokio::test]
async fn a_run_that_cannot_be_read_is_cancelled_and_who_had_it_writes_no_more() {
    let story = queueing(json!([]));
    let run = story.queue("start -> stop").await;
    let (id, store) = (run.parse().expect("an id"), story.bench.studio.world().store.clone());
    let row = async || store.read(move |tx| runs::get(tx, "", &id)).await.expect("a store").expect("a run");
    let before = row().await.fence;
    store.write(|tx| tx.execute("UPDATE #log SET body = '{}'", &[])).await.expect("a log that nobody can read");
    assert_eq!(story.cancel(&run).await, "cancelled");
    let after = row().await;
    assert_eq!((after.status.as_str(), after.fence), ("cancelled", before + 1));
}

#[tokio::test]
async fn a_chat_turn_is_not_tried_again_through_the_queue() {
    let story = queueing(json!([{"error": "provider_unavailable"}, {"text": "Here."}]));
    let agent = story.bench.agent(json!({"name": "Helper", "provider": "script", "model": "m"})).await;
    let turn = story.chat(&agent, json!({"message": "hi"})).await;
    expect![[r#"409 invalid_state: a chat turn cannot be queued; nothing was done; retry it with the route that ends in `/stream` {"run_status":"failed"}"#]]
        .assert_eq(&story.refused(&turn.id, "queue retry", json!({})).await);
    story.retry(&turn.id, json!({})).await;
    assert_eq!(story.trace(&turn.id).await["trace"]["status"], "completed");
}

#[tokio::test]
async fn a_second_try_begins_no_branch_that_waits_for_an_answer() {
    let settings = json!({"async_runs_enabled": true, "queue_tries": 2, "queue_backoff": 0, "worker": {"in_process": false}, "parallel": {"concurrency": 2}});
    let story = Story::with(settings, json!([{"error": "provider_unavailable"}, {"text": "Fine."}]));
    let run = story
        .queue(
            "start -> fork_1 -> join_1 -> stop
            fork_1.a -> human_a{output_key: a} -> join_1; fork_1.b -> llm_b{provider: script, model: m} -> join_1; fork_1.c -> set_c{key: c, value: 1} -> join_1",
        )
        .await;
    for _ in 0..2 {
        while story.bench.studio.world().work().await.expect("work").is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        story.settle(&run).await;
    }
    story.join(&run).await;
    let told = story.tail(&run, Order::Ordered, 0).await;
    assert!(told.contains("attempt=2 resumed=true branch_id=\"b\"") && told.contains("parallel_interrupt"), "{told}");
    assert!(!told.contains("branch_id=\"c\""), "it waits for the answer: {told}");
    assert!(story.resume(&run, json!({"message": "A"})).await.contains("trace_completed"));
}
