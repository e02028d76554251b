//! Failures: scenarios 17 to 19, attempts of nodes, time limits.

use expect_test::expect;
use serde_json::json;

use crate::support::story::Story;

#[tokio::test]
async fn a_node_tries_again_and_then_fails() {
    let story = Story::scripted(json!([
        {"error": "provider_unavailable", "text": "down", "usage": {"prompt_tokens": 3}},
        {"error": "provider_rate_limited", "text": "slow down"},
        {"error": "provider_timeout", "text": "late"}]));
    let run = story.run("start -> llm_1{provider: script, model: m, retries: {max: 2, backoff_ms: 2}} -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="llm_1" node_type="llm" iteration=null attempt=1
        4 step_retrying step_id="s1" node_id="llm_1" attempt=2 delay_ms=2 code="provider_unavailable" message="down"
        5 step_retrying step_id="s1" node_id="llm_1" attempt=3 delay_ms=4 code="provider_rate_limited" message="slow down"
        6 step_failed step_id="s1" node_id="llm_1" node_type="llm" duration_ms="ms" code="provider_timeout" message="late" usage="3+0"
        7 trace_failed node_id="llm_1" code="provider_timeout" message="late" usage="3+0"
    "#]].assert_eq(&run.text);
}

#[tokio::test]
async fn a_node_tries_again_and_goes_on() {
    let story = Story::scripted(json!([
        {"tool_calls": [{"name": "look", "arguments": {}}]}, {"error": "provider_unavailable", "text": "down"}, {"text": "Fine."}]));
    let run = story.run("start -> agent_1{provider: script, model: m, retries: {max: 1, backoff_ms: 1}, tools: [{ref: \"host:look\"}]} -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1
        4 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="look" inputs={} result=null
        5 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="look" inputs={} result="{\"did\":\"look\",\"with\":{}}" is_error=false skipped=false duration_ms="ms"
        6 step_retrying step_id="s1" node_id="agent_1" attempt=2 delay_ms=1 code="provider_unavailable" message="down"
        7 step_completed step_id="s1" node_id="agent_1" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"agent_response":"Fine."} provider="script" model="m" usage="9+4"
        8 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        9 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        10 trace_completed status="completed" output={"input":"hi","agent_response":"Fine."} reply="Fine." thread_id="t1" duration_ms="ms" usage="9+4"
    "#]].assert_eq(&run.text);
    assert_eq!(story.hands.calls().len(), 1, "a completed call is used again");
}

#[tokio::test]
async fn some_failures_are_not_tried_again() {
    let story = Story::scripted(json!([{"error": "provider_auth", "text": "who are you"}]));
    let run = story.run("start -> llm_1{provider: script, model: m, retries: {max: 3, backoff_ms: 1}} -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="llm_1" node_type="llm" iteration=null attempt=1
        4 step_failed step_id="s1" node_id="llm_1" node_type="llm" duration_ms="ms" code="provider_auth" message="who are you" usage="0+0"
        5 trace_failed node_id="llm_1" code="provider_auth" message="who are you" usage="0+0"
    "#]].assert_eq(&run.text);
}

#[tokio::test]
async fn an_error_may_be_handled() {
    let story = Story::scripted(json!([{"times": 0, "error": "provider_bad_request", "text": "no", "usage": {"prompt_tokens": 9}}]));
    let run = story.run("start -> llm_1{provider: script, model: m, on_error: continue, output_key: said} -> stop; llm_1.error -> set_1{key: seen, value: \"{{said.error}}\"} -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="llm_1" node_type="llm" iteration=null attempt=1
        4 step_completed step_id="s1" node_id="llm_1" node_type="llm" handle="error" duration_ms="ms" iteration=null changes={"said":{"error":"no"}} provider="script" model="m" error={"code":"provider_bad_request","message":"no"} usage="9+0"
        5 step_started step_id="s2" node_id="set_1" node_type="set_state" iteration=null attempt=1
        6 step_completed step_id="s2" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"seen":"no"}
        7 step_started step_id="s3" node_id="stop" node_type="stop" iteration=null attempt=1
        8 step_completed step_id="s3" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        9 trace_completed status="completed" output={"input":"hi","said":{"error":"no"},"seen":"no"} reply=null thread_id="t1" duration_ms="ms" usage="9+0"
    "#]].assert_eq(&run.text);
    let run = story.run("start -> llm_1{provider: script, model: m, on_error: continue} -> tool_1{tool_ref: \"host:fail\", on_error: continue} -> stop").await;
    expect![[r#"
        1 thread thread_id="t2" workflow_id="w2"
        2 trace_started workflow_id="w2" thread_id="t2" status="running" started_at="time"
        3 step_started step_id="s4" node_id="llm_1" node_type="llm" iteration=null attempt=1
        4 step_completed step_id="s4" node_id="llm_1" node_type="llm" handle="default" duration_ms="ms" iteration=null changes={"llm_response":{"error":"no"}} provider="script" model="m" error={"code":"provider_bad_request","message":"no"} usage="9+0"
        5 step_started step_id="s5" node_id="tool_1" node_type="tool" iteration=null attempt=1
        6 step_completed step_id="s5" node_id="tool_1" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"error":"it is broken"}} error={"code":"tool_failed","message":"it is broken"}
        7 step_started step_id="s6" node_id="stop" node_type="stop" iteration=null attempt=1
        8 step_completed step_id="s6" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        9 trace_completed status="completed" output={"input":"hi","llm_response":{"error":"no"},"tool_result":{"error":"it is broken"}} reply=null thread_id="t2" duration_ms="ms" usage="9+0"
    "#]].assert_eq(&run.text);
}

#[tokio::test]
async fn a_node_may_take_too_long() {
    let story = Story::with(json!({"timeouts": {"cancel_grace_ms": 20}}), json!([]));
    let run = story.run("start -> tool_1{tool_ref: \"host:stuck\", timeout_ms: 1000, retries: {max: 2, backoff_ms: 1}} -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="tool_1" node_type="tool" iteration=null attempt=1
        4 step_failed step_id="s1" node_id="tool_1" node_type="tool" duration_ms="ms" code="node_timeout" message="the node took longer than its time limit of 1000 ms and was ended"
        5 trace_failed node_id="tool_1" code="node_timeout" message="the node took longer than its time limit of 1000 ms and was ended" calls=[{"call_id":"c1","name":"stuck","arguments":{},"node_id":"tool_1"}] usage="0+0"
    "#]].assert_eq(&run.text);
    assert_eq!(story.hands.calls().iter().filter(|call| call.starts_with("stuck")).count(), 1, "it may have done its work: not again by itself");
    let run = story.run("start -> tool_1{tool_ref: \"host:again\", parameters: {ms: 10000}, idempotent: true, timeout_ms: 20, retries: {max: 1, backoff_ms: 1}} -> stop").await;
    expect![[r#"
        1 thread thread_id="t2" workflow_id="w2"
        2 trace_started workflow_id="w2" thread_id="t2" status="running" started_at="time"
        3 step_started step_id="s2" node_id="tool_1" node_type="tool" iteration=null attempt=1
        4 step_retrying step_id="s2" node_id="tool_1" attempt=2 delay_ms=1 code="node_timeout" message="the node took longer than its time limit of 20 ms and was ended"
        5 step_failed step_id="s2" node_id="tool_1" node_type="tool" duration_ms="ms" code="node_timeout" message="the node took longer than its time limit of 20 ms and was ended"
        6 trace_failed node_id="tool_1" code="node_timeout" message="the node took longer than its time limit of 20 ms and was ended" usage="0+0"
    "#]].assert_eq(&run.text);
}

#[tokio::test]
async fn a_failed_tool_fails_its_node() {
    let story = Story::plain();
    let run = story.run("start -> tool_1{tool_ref: \"host:flaky\", parameters: {times: 2}, retries: {max: 2, backoff_ms: 1}} -> tool_2{tool_ref: \"host:fail\"} -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="tool_1" node_type="tool" iteration=null attempt=1
        4 step_retrying step_id="s1" node_id="tool_1" attempt=2 delay_ms=1 code="tool_failed" message="broken 1"
        5 step_retrying step_id="s1" node_id="tool_1" attempt=3 delay_ms=2 code="tool_failed" message="broken 2"
        6 step_completed step_id="s1" node_id="tool_1" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":2}}}}
        7 step_started step_id="s2" node_id="tool_2" node_type="tool" iteration=null attempt=1
        8 step_failed step_id="s2" node_id="tool_2" node_type="tool" duration_ms="ms" code="tool_failed" message="it is broken"
        9 trace_failed node_id="tool_2" code="tool_failed" message="it is broken" usage="0+0"
    "#]].assert_eq(&run.text);
    expect![[r#"
        11 step_started step_id="s2" node_id="tool_2" node_type="tool" iteration=null attempt=2 resumed=true
        12 step_failed step_id="s2" node_id="tool_2" node_type="tool" duration_ms="ms" code="tool_failed" message="it is broken"
        13 trace_failed node_id="tool_2" code="tool_failed" message="it is broken" usage="0+0"
    "#]].assert_eq(&story.retry(&run.id, json!({})).await);
}

#[tokio::test]
async fn a_failing_branch_lets_its_siblings_finish_their_step() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> fork_1 -> join_1 -> stop
            fork_1.a -> tool_a{tool_ref: \"host:slow\", parameters: {ms: 1500}} -> set_a{key: a, value: 1} -> join_1
            fork_1.b -> tool_b{tool_ref: \"host:fail\"} -> join_1
            fork_1.c -> set_c{key: c, value: 1} -> join_1",
        )
        .await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="fork_1" node_type="fork" iteration=null attempt=1
        4 branch_started fork_id="fork_1" branch_id="a"
        5 step_started step_id="s2" node_id="tool_a" node_type="tool" iteration=null attempt=1 branch_id="a"
        6 step_completed step_id="s2" node_id="tool_a" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"slow","result":{"did":"slow","with":{"ms":1500}}}} branch_id="a"
        7 branch_started fork_id="fork_1" branch_id="b"
        8 step_started step_id="s3" node_id="tool_b" node_type="tool" iteration=null attempt=1 branch_id="b"
        9 step_failed step_id="s3" node_id="tool_b" node_type="tool" duration_ms="ms" code="tool_failed" message="it is broken" branch_id="b"
        10 branch_started fork_id="fork_1" branch_id="c"
        11 step_started step_id="s4" node_id="set_c" node_type="set_state" iteration=null attempt=1 branch_id="c"
        12 step_completed step_id="s4" node_id="set_c" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"c":1} branch_id="c"
        13 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="c"
        14 trace_failed node_id="tool_b" code="tool_failed" message="it is broken" usage="0+0"
    "#]].assert_eq(&run.text);
    expect![[r#"
        s1 fork_1 failed error={"code":"tool_failed","message":"it is broken"}
        s2 tool_a completed .default iteration_path="fork_1:a" branch_path=["a"] output={"tool_result":{"name":"slow","result":{"did":"slow","with":{"ms":1500}}}}
        s3 tool_b failed iteration_path="fork_1:b" branch_path=["b"] error={"code":"tool_failed","message":"it is broken"}
        s4 set_c completed .default iteration_path="fork_1:c" branch_path=["c"] output={"c":1}
    "#]].assert_eq(&story.steps(&run.id).await);
}

#[tokio::test]
async fn a_failing_branch_lets_no_sibling_begin_a_step() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> fork_1 -> join_1 -> stop
            fork_1.a -> tool_a{tool_ref: \"host:slow\", parameters: {ms: 1}} -> join_1
            fork_1.b -> condition_b{expression: \"state.input + 1 > 2\"}; condition_b.true -> join_1; condition_b.false -> join_1",
        )
        .await;
    assert!(run.text.contains("expression_error") && !run.text.contains("tool_a"), "{}", run.text);
    assert_eq!(story.hands.calls(), Vec::<String>::new(), "nothing is paid for after a failure");
    let told = story.retry(&run.id, json!({"state": {"input": 7}})).await;
    assert!(told.contains("node_id=\"tool_a\" node_type=\"tool\" iteration=null attempt=1") && told.contains("trace_completed"), "{told}");
}

#[tokio::test]
async fn a_run_may_work_too_long() {
    let story = Story::with(json!({"timeouts": {"run_seconds": 3, "cancel_grace_ms": 50}}), json!([]));
    let run = story.run("start -> set_1{key: a, value: 1} -> tool_1{tool_ref: \"host:again\", parameters: {ms: 60000}} -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="set_1" node_type="set_state" iteration=null attempt=1
        4 step_completed step_id="s1" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"a":1}
        5 step_started step_id="s2" node_id="tool_1" node_type="tool" iteration=null attempt=1
        6 trace_failed node_id=null code="run_timeout" message="the run was at work for more than 3 s (`timeouts.run_seconds`) and was ended" usage="0+0"
    "#]].assert_eq(&run.text);
    expect![[r#"
        s1 set_1 completed .default output={"a":1}
        s2 tool_1 cancelled
    "#]].assert_eq(&story.steps(&run.id).await);
    let again = story.retry(&run.id, json!({})).await;
    expect![[r#"
        8 step_started step_id="s2" node_id="tool_1" node_type="tool" iteration=null attempt=1 resumed=true
        9 trace_failed node_id=null code="run_timeout" message="the run was at work for more than 3 s (`timeouts.run_seconds`) and was ended" usage="0+0"
    "#]].assert_eq(&again);
    assert_eq!(story.trace(&run.id).await["trace"]["error"]["code"], "run_timeout", "each try has its own time");
}

#[tokio::test]
async fn a_missing_knowledge_base_is_told() {
    let story = Story::plain();
    let run = story.run("start -> rag_1 -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="rag_1" node_type="rag" iteration=null attempt=1
        4 step_failed step_id="s1" node_id="rag_1" node_type="rag" duration_ms="ms" code="knowledge_base_missing" message="the knowledge base (none) is not there; choose one in the node, or set `on_missing` to `empty`" usage="0+0"
        5 trace_failed node_id="rag_1" code="knowledge_base_missing" message="the knowledge base (none) is not there; choose one in the node, or set `on_missing` to `empty`" usage="0+0"
    "#]].assert_eq(&run.text);
}
