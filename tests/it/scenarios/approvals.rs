//! Approval of tool calls: scenarios 8 to 10, decisions for each call, edited arguments, several pauses of one agent.

use expect_test::expect;
use serde_json::json;

use crate::support::story::Story;

const AGENT: &str = "agent_1{provider: script, model: m, stream: true, tools: [{ref: \"host:look\"}, {ref: \"host:pay\"}]}";

fn pays() -> serde_json::Value {
    json!([
        {"text": "I will.", "tool_calls": [
            {"name": "pay", "arguments": {"sum": 5}}, {"name": "look", "arguments": {"n": 1}}, {"name": "pay", "arguments": {"sum": 7}}]},
        {"text": "Done."}])
}

#[tokio::test]
async fn free_calls_run_and_the_others_wait() {
    let story = Story::scripted(pays());
    let run = story.run(&format!("start -> {AGENT} -> stop; agent_1.rejected -> stop")).await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1
        4 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1_2" name="look" inputs={"n":1} result=null
        5 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1_2" name="look" inputs={"n":1} result="{\"did\":\"look\",\"with\":{\"n\":1}}" is_error=false skipped=false duration_ms="ms"
        6 tool_approval_required step_id="s1" node_id="agent_1" pause_id="p1" pending_tools=[{"name":"pay","arguments":{"sum":5},"call_id":"call_agent_1_1"},{"name":"pay","arguments":{"sum":7},"call_id":"call_agent_1_1_3"}] message="2 tool calls are waiting for approval."
    "#]].assert_eq(&run.text);
    let trace = story.trace(&run.id).await;
    expect![[r#"
        {
          "checkpoint": {
            "state": {
              "input": "hi"
            },
            "node_id": "agent_1",
            "pause_id": "p1",
            "interrupt": "opaque",
            "pending_tools": [
              {
                "name": "pay",
                "arguments": {
                  "sum": 5
                },
                "call_id": "call_agent_1_1"
              },
              {
                "name": "pay",
                "arguments": {
                  "sum": 7
                },
                "call_id": "call_agent_1_1_3"
              }
            ]
          },
          "pauses": [
            {
              "pause_id": "p1",
              "node_id": "agent_1",
              "step_id": "s1",
              "reason": "tool_approval",
              "message": "2 tool calls are waiting for approval.",
              "pending_tools": [
                {
                  "name": "pay",
                  "arguments": {
                    "sum": 5
                  },
                  "call_id": "call_agent_1_1"
                },
                {
                  "name": "pay",
                  "arguments": {
                    "sum": 7
                  },
                  "call_id": "call_agent_1_1_3"
                }
              ],
              "created_at": "time"
            }
          ],
          "status": "awaiting_tool_approval"
        }"#]].assert_eq(&story.shown(&json!({"checkpoint": trace["trace"]["checkpoint"], "pauses": trace["trace"]["pauses"], "status": trace["trace"]["status"]})));
    expect![[r#"
        8 tool_approval_resolved step_id="s1" node_id="agent_1" pause_id="p1" approved=true decisions=[{"call_id":"call_agent_1_1","approval":"approve","edited":false},{"call_id":"call_agent_1_1_3","approval":"approve","edited":false}]
        9 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1 resumed=true
        10 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="pay" inputs={"sum":5} result=null
        11 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1_3" name="pay" inputs={"sum":7} result=null
        12 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="pay" inputs={"sum":5} result="{\"did\":\"pay\",\"with\":{\"sum\":5}}" is_error=false skipped=false duration_ms="ms"
        13 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1_3" name="pay" inputs={"sum":7} result="{\"did\":\"pay\",\"with\":{\"sum\":7}}" is_error=false skipped=false duration_ms="ms"
        14 step_completed step_id="s1" node_id="agent_1" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"agent_response":"Done."} provider="script" model="m" usage="35+13"
        15 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        16 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        17 trace_completed status="completed" output={"input":"hi","agent_response":"Done."} reply="Done." thread_id="t1" duration_ms="ms" usage="35+13"
    "#]].assert_eq(&story.resume(&run.id, json!({"approval": "approve", "message": "go on"})).await);
    // Calls of one turn run side by side; which of the two is heard first is chance.
    let mut calls = story.hands.calls();
    calls.sort();
    assert_eq!(calls, [r#"look {"n":1}"#, r#"pay {"sum":5}"#, r#"pay {"sum":7}"#], "each runs exactly once");
}

#[tokio::test]
async fn all_rejected_leaves_by_its_handle() {
    let story = Story::scripted(pays());
    let run = story.run(&format!("start -> {AGENT} -> stop; agent_1.rejected -> set_no{{key: no, value: true}} -> stop")).await;
    expect![[r#"
        8 tool_approval_resolved step_id="s1" node_id="agent_1" pause_id="p1" approved=false decisions=[{"call_id":"call_agent_1_1","approval":"reject","edited":false},{"call_id":"call_agent_1_1_3","approval":"reject","edited":false}]
        9 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1 resumed=true
        10 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="pay" inputs={"sum":5} result=null
        11 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1_3" name="pay" inputs={"sum":7} result=null
        12 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="pay" inputs={"sum":5} result="The person declined this call; it did not run. The reason given: \"too much\". Do not make this call again unless the person asks for it." is_error=false skipped=true duration_ms="ms"
        13 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1_3" name="pay" inputs={"sum":7} result="The person declined this call; it did not run. The reason given: \"too much\". Do not make this call again unless the person asks for it." is_error=false skipped=true duration_ms="ms"
        14 step_completed step_id="s1" node_id="agent_1" node_type="agent" handle="rejected" duration_ms="ms" iteration=null changes={"agent_response":"Done."} provider="script" model="m" usage="87+13"
        15 step_started step_id="s2" node_id="set_no" node_type="set_state" iteration=null attempt=1
        16 step_completed step_id="s2" node_id="set_no" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"no":true}
        17 step_started step_id="s3" node_id="stop" node_type="stop" iteration=null attempt=1
        18 step_completed step_id="s3" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        19 trace_completed status="completed" output={"input":"hi","agent_response":"Done.","no":true} reply="Done." thread_id="t1" duration_ms="ms" usage="87+13"
    "#]].assert_eq(&story.resume(&run.id, json!({"approval": "reject", "message": "too much"})).await);
    assert_eq!(story.hands.calls(), [r#"look {"n":1}"#]);
}

#[tokio::test]
async fn calls_are_decided_one_by_one_and_edited() {
    let story = Story::scripted(pays());
    let run = story.run(&format!("start -> {AGENT} -> stop; agent_1.rejected -> set_no{{key: no, value: true}} -> stop")).await;
    let refused = |body| story.refused(&run.id, "resume", body);
    expect![[r#"422 validation_failed: without `approval`, a decision is needed for every waiting call {"errors":{"decisions":["without `approval`, a decision is needed for every waiting call"]}}"#]].assert_eq(&refused(json!({"decisions": [{"call_id": "call_agent_1_1", "approval": "approve"}]})).await);
    expect![[r#"422 validation_failed: `other` does not wait for approval {"errors":{"decisions.0.call_id":["`other` does not wait for approval"]}}"#]].assert_eq(&refused(json!({"approval": "reject", "decisions": [{"call_id": "other", "approval": "approve"}]})).await);
    expect![[r#"422 validation_failed: /sum: "x" is not of type "integer" {"errors":{"decisions.0.arguments":["/sum: \"x\" is not of type \"integer\""]}}"#]].assert_eq(&refused(json!({"approval": "reject", "decisions": [{"call_id": "call_agent_1_1", "approval": "approve", "arguments": {"sum": "x"}}]})).await);
    let body = json!({"approval": "reject", "decisions": [{"call_id": "call_agent_1_1_3", "approval": "approve", "arguments": {"sum": 1}}]});
    expect![[r#"
        8 tool_approval_resolved step_id="s1" node_id="agent_1" pause_id="p1" approved=true decisions=[{"call_id":"call_agent_1_1","approval":"reject","edited":false},{"call_id":"call_agent_1_1_3","approval":"approve","edited":true}]
        9 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1 resumed=true
        10 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="pay" inputs={"sum":5} result=null
        11 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1_3" name="pay" inputs={"sum":1} result=null
        12 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="pay" inputs={"sum":5} result="The person declined this call; it did not run. No reason was given. Do not make this call again unless the person asks for it." is_error=false skipped=true duration_ms="ms"
        13 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1_3" name="pay" inputs={"sum":1} result="{\"did\":\"pay\",\"with\":{\"sum\":1}}" is_error=false skipped=false duration_ms="ms"
        14 step_completed step_id="s1" node_id="agent_1" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"agent_response":"Done."} provider="script" model="m" usage="59+13"
        15 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        16 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        17 trace_completed status="completed" output={"input":"hi","agent_response":"Done."} reply="Done." thread_id="t1" duration_ms="ms" usage="59+13"
    "#]].assert_eq(&story.resume(&run.id, body).await);
    assert_eq!(story.hands.calls(), [r#"look {"n":1}"#, r#"pay {"sum":1}"#]);
}

#[tokio::test]
async fn another_gated_call_waits_again() {
    let story = Story::scripted(json!([
        {"tool_calls": [{"name": "pay", "arguments": {"sum": 1}}]},
        {"tool_calls": [{"name": "pay", "arguments": {"sum": 2}}]},
        {"text": "Paid."}]));
    let run = story.run(&format!("start -> {AGENT} -> stop; agent_1.rejected -> stop")).await;
    expect![[r#"
        6 tool_approval_resolved step_id="s1" node_id="agent_1" pause_id="p1" approved=false decisions=[{"call_id":"call_agent_1_1","approval":"reject","edited":false}]
        7 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1 resumed=true
        8 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="pay" inputs={"sum":1} result=null
        9 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="pay" inputs={"sum":1} result="The person declined this call; it did not run. No reason was given. Do not make this call again unless the person asks for it." is_error=false skipped=true duration_ms="ms"
        10 tool_approval_required step_id="s1" node_id="agent_1" pause_id="p2" pending_tools=[{"name":"pay","arguments":{"sum":2},"call_id":"call_agent_1_2"}] message="1 tool call is waiting for approval."
    "#]].assert_eq(&story.resume(&run.id, json!({"approval": "reject"})).await);
    expect![[r#"
        12 tool_approval_resolved step_id="s1" node_id="agent_1" pause_id="p2" approved=true decisions=[{"call_id":"call_agent_1_2","approval":"approve","edited":false}]
        13 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1 resumed=true
        14 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_2" name="pay" inputs={"sum":2} result=null
        15 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_2" name="pay" inputs={"sum":2} result="{\"did\":\"pay\",\"with\":{\"sum\":2}}" is_error=false skipped=false duration_ms="ms"
        16 step_completed step_id="s1" node_id="agent_1" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"agent_response":"Paid."} provider="script" model="m" usage="82+8"
        17 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        18 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        19 trace_completed status="completed" output={"input":"hi","agent_response":"Paid."} reply="Paid." thread_id="t1" duration_ms="ms" usage="82+8"
    "#]].assert_eq(&story.resume(&run.id, json!({"approval": "approve"})).await);
    expect![[r#"
        s1 agent_1 completed .default output={"agent_response":"Paid."}
        s2 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
}

#[tokio::test]
async fn a_call_that_does_not_fit_its_tool_asks_nobody() {
    let story = Story::scripted(json!([{"tool_calls": [{"name": "pay", "arguments": {"sum": "x"}}]}, {"text": "{{tool_result}}"}]));
    let run = story.run("start -> agent_1{provider: script, model: m, tools: [{ref: \"host:pay\"}]} -> stop").await;
    let trace = story.trace(&run.id).await;
    assert_eq!(trace["trace"]["status"], "completed", "{}", run.text);
    let reply = trace["trace"]["reply"].as_str().expect("a reply");
    assert!(reply.contains("/sum: \"x\" is not of type \"integer\""), "{reply}");
    assert_eq!(story.hands.calls(), Vec::<String>::new());
}

#[tokio::test]
async fn a_decision_in_between_gives_a_node_no_further_attempts() {
    let down = json!({"error": "provider_unavailable", "text": "down"});
    let story = Story::scripted(json!([down, {"tool_calls": [{"name": "pay", "arguments": {"sum": 5}}]}, down, {"text": "Fine."}]));
    let run = story.run("start -> agent_1{provider: script, model: m, tools: [{ref: \"host:pay\"}], retries: {max: 1, backoff_ms: 0}} -> stop").await;
    assert!(run.text.contains("step_retrying") && run.text.contains("tool_approval_required"), "{}", run.text);
    let told = story.resume(&run.id, json!({"approval": "approve"})).await;
    assert!(!told.contains("step_retrying") && told.contains("step_failed"), "{told}");
    let told = story.retry(&run.id, json!({})).await;
    assert!(told.contains("attempt=3 resumed=true") && told.contains("trace_completed"), "{told}");
}
