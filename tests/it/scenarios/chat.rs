//! Turns of a stored agent: their events, approvals, failures, tails.

use expect_test::expect;
use serde_json::json;
use wfstudio::engine::Order;

use crate::support::story::Story;

async fn agent(story: &Story, more: serde_json::Value) -> String {
    let mut body = json!({"name": "Helper", "provider": "script", "model": "m", "tools": [{"ref": "host:look"}]});
    crate::support::merge(&mut body, more);
    story.bench.agent(body).await
}

#[tokio::test]
async fn a_turn_is_told_and_remembered() {
    let story = Story::scripted(json!([
        {"chunks": ["Let me ", "see."], "tool_calls": [{"name": "look", "arguments": {"n": 1}}]},
        {"chunks": ["All ", "good."]},
        {"match": {"contains": "again"}, "text": "Yes."}]));
    let agent = agent(&story, json!({})).await;
    let turn = story.chat(&agent, json!({"message": "hi"})).await;
    expect![[r#"
        1 thread thread_id="t1" agent_id="a1"
        2 token delta="Let me "
        3 token delta="see."
        4 tool_call call_id="call_agent_1" name="look" inputs={"n":1}
        5 tool_result call_id="call_agent_1" name="look" inputs={"n":1} result="{\"did\":\"look\",\"with\":{\"n\":1}}" is_error=false skipped=false duration_ms="ms"
        6 token delta="All "
        7 token delta="good."
        8 done thread_id="t1" status="completed" message_id="m1" reply="All good." usage="15+9"
    "#]].assert_eq(&turn.text);
    let thread = story.id("t1");
    let turn = story.chat(&agent, json!({"message": "again", "thread_id": thread})).await;
    // The first turn has a call of that id: this one gets its own.
    expect![[r#"
        1 thread thread_id="t1" agent_id="a1"
        2 token delta="Let me "
        3 token delta="see."
        4 tool_call call_id="c1" name="look" inputs={"n":1}
        5 tool_result call_id="c1" name="look" inputs={"n":1} result="{\"did\":\"look\",\"with\":{\"n\":1}}" is_error=false skipped=false duration_ms="ms"
        6 token delta="All "
        7 token delta="good."
        8 done thread_id="t1" status="completed" message_id="m2" reply="All good." usage="47+9"
        9 run_terminal status="completed"
    "#]].assert_eq(&story.tail(&turn.id, Order::Ordered, 0).await);
    let query = wfstudio::studio::TraceQuery { messages: true, ..Default::default() };
    let trace = story.bench.studio.trace(&story.bench.scope, &turn.id, query).await.unwrap();
    let sent: Vec<&str> = trace["spans"][0]["input"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect();
    assert_eq!(sent, ["hi", "Let me see.", r#"{"did":"look","with":{"n":1}}"#, "All good.", "again"]);
}

#[tokio::test]
async fn a_turn_waits_for_approval() {
    let story = Story::scripted(json!([{"tool_calls": [{"name": "look", "arguments": {}}]}, {"text": "Done it."}]));
    let agent = agent(&story, json!({"require_tool_approval": true})).await;
    let turn = story.chat(&agent, json!({"message": "hi"})).await;
    expect![[r#"
        1 thread thread_id="t1" agent_id="a1"
        2 tool_approval_required pause_id="p1" pending_tools=[{"name":"look","arguments":{},"call_id":"call_agent_1"}] message="1 tool call is waiting for approval."
    "#]].assert_eq(&turn.text);
    expect![[r#"
        4 tool_approval_resolved pause_id="p1" approved=true decisions=[{"call_id":"call_agent_1","approval":"approve","edited":false}]
        5 tool_call call_id="call_agent_1" name="look" inputs={}
        6 tool_result call_id="call_agent_1" name="look" inputs={} result="{\"did\":\"look\",\"with\":{}}" is_error=false skipped=false duration_ms="ms"
        7 token delta="Done it."
        8 done thread_id="t1" status="completed" message_id="m1" reply="Done it." usage="9+4"
    "#]].assert_eq(&story.resume(&turn.id, json!({"approval": "approve"})).await);
}

#[tokio::test]
async fn a_structured_answer_comes_in_one_piece() {
    let story = Story::scripted(json!([{"text": "{\"n\": 5}"}]));
    let agent = agent(&story, json!({"tools": [], "schema": {"type": "object", "required": ["n"]}})).await;
    expect![[r#"
        1 thread thread_id="t1" agent_id="a1"
        2 token delta="{\"n\":5}"
        3 done thread_id="t1" status="completed" message_id="m1" reply="{\"n\":5}" usage="1+2"
    "#]].assert_eq(&story.chat(&agent, json!({"message": "hi"})).await.text);
}

#[tokio::test]
async fn a_failed_turn_adds_nothing_to_the_thread() {
    let story = Story::scripted(json!([{"match": {"contains": "bad"}, "error": "provider_auth", "text": "who are you"}, {"text": "Hello."}]));
    let agent = agent(&story, json!({})).await;
    let turn = story.chat(&agent, json!({"message": "bad"})).await;
    expect![[r#"
        1 thread thread_id="t1" agent_id="a1"
        2 error code="provider_auth" message="who are you"
    "#]].assert_eq(&turn.text);
    let thread = story.id("t1");
    let turn = story.chat(&agent, json!({"message": "hello", "thread_id": thread})).await;
    assert!(turn.text.contains("reply=\"Hello.\""), "{}", turn.text);
    let query = wfstudio::studio::TraceQuery { messages: true, ..Default::default() };
    let trace = story.bench.studio.trace(&story.bench.scope, &turn.id, query).await.unwrap();
    assert_eq!(trace["spans"][0]["input"].as_array().unwrap().len(), 1, "{trace}");
}

#[tokio::test]
async fn a_cancelled_turn_is_an_error() {
    let story = Story::scripted(json!([{"tool_calls": [{"name": "look", "arguments": {}}]}]));
    let agent = agent(&story, json!({"require_tool_approval": true})).await;
    let turn = story.chat(&agent, json!({"message": "hi"})).await;
    assert_eq!(story.cancel(&turn.id).await, "cancelled");
    expect![[r#"
        4 error code="cancelled" message="the turn was cancelled"
        5 run_terminal status="cancelled"
    "#]].assert_eq(&story.tail(&turn.id, Order::Ordered, 3).await);
}

#[tokio::test]
async fn a_turn_goes_on_only_when_no_other_is_at_work_on_its_thread() {
    let story = Story::scripted(json!([
        {"match": {"contains": "pay"}, "tool_calls": [{"name": "pay", "arguments": {"sum": 1}}]},
        {"match": {"contains": "bad"}, "error": "provider_auth", "text": "who are you"},
        {"match": {"contains": "slow"}, "tool_calls": [{"name": "slow", "arguments": {"ms": 1500}}]},
        {"times": 0, "text": "Done."}]));
    let agent = agent(&story, json!({"tools": [{"ref": "host:pay"}, {"ref": "host:slow"}]})).await;
    let paused = story.chat(&agent, json!({"message": "pay"})).await;
    let thread = story.id("t1");
    let failed = story.chat(&agent, json!({"message": "bad", "thread_id": thread})).await;
    let body = wfstudio::studio::runs::requests::RunRequest::parse(&json!({"message": "slow", "thread_id": thread}), wfstudio::model::event::EntityKind::Agent).unwrap();
    let kind = wfstudio::model::event::EntityKind::Agent;
    let started = story.bench.studio.start(&story.bench.scope, kind, &agent, body, false).await.unwrap();
    story.calls(1).await;
    for (run, what, body) in [(&paused, "resume", json!({"approval": "approve"})), (&failed, "retry", json!({}))] {
        let told = story.refused(&run.id, what, body).await;
        assert!(told.starts_with("409 thread_busy"), "{told}");
    }
    story.events_text(&started).await;
    assert!(story.resume(&paused.id, json!({"approval": "approve"})).await.contains("done"));
    assert!(story.retry(&failed.id, json!({})).await.contains("done"));
}
