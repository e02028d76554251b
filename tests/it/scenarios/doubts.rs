//! Calls in doubt: their owner died while they ran, and a person decides what becomes of each.

use std::path::Path;
use std::time::Duration;

use expect_test::expect;
use serde_json::json;
use wfstudio::engine::Order;
use wfstudio::model::event::{CallKind, CallOutcome, Event};

use crate::support::story::Story;

fn script() -> serde_json::Value {
    json!([
        {"tool_calls": [{"name": "stuck", "arguments": {"id": 1}}, {"name": "look", "arguments": {"id": 2}}, {"name": "stuck", "arguments": {"id": 3}}]},
        {"text": "{{tool_result}}"}])
}

const AGENT: &str = "start -> agent_1{provider: script, model: m, tools: [{ref: \"host:stuck\"}, {ref: \"host:look\"}]} -> stop";

/// A run whose owner died while its calls were made, taken over by another studio.
async fn in_doubt(folder: &Path, sketch: &str, calls: usize) -> (Story, String) {
    let first = Story::on_disk(folder, script());
    let workflow = first.workflow(sketch).await;
    let run = first.bench.start(&workflow, json!({"message": "hi"})).await.run.to_string();
    first.calls(calls).await;
    // What `look` answered is on record.
    let looked = first.hands.calls().iter().filter(|call| call.starts_with("look ")).count();
    loop {
        let loaded = wfstudio::engine::load(first.bench.studio.world(), "", &run).await.expect("a run");
        let ended = loaded.entries.iter().filter(|entry| matches!(&entry.event, Event::CallFinished(call) if matches!(call.outcome, CallOutcome::Tool(_)))).count();
        if ended >= looked {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    first.bench.studio.shutdown(Duration::from_millis(200)).await;
    let next = Story::on_disk(folder, script());
    next.bench.studio.take_over().await.expect("a studio");
    next.join(&run).await;
    (next, run)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_call_is_decided() {
    let folder = tempfile::tempdir().unwrap();
    let (story, run) = in_doubt(folder.path(), AGENT, 3).await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1
        4 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="stuck" inputs={"id":1} result=null
        5 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1_2" name="look" inputs={"id":2} result=null
        6 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1_3" name="stuck" inputs={"id":3} result=null
        7 trace_failed node_id=null code="in_doubt" message="the process died while these tools ran, and nobody knows whether they did their work: stuck, stuck; retry the run with a decision for each call (`in_doubt`)" calls=[{"call_id":"call_agent_1_1","name":"stuck","arguments":{"id":1},"node_id":"agent_1"},{"call_id":"call_agent_1_1_3","name":"stuck","arguments":{"id":3},"node_id":"agent_1"}] usage="1+10"
        8 run_terminal status="failed" error={"code":"in_doubt","message":"the process died while these tools ran, and nobody knows whether they did their work: stuck, stuck; retry the run with a decision for each call (`in_doubt`)","node_id":null}
    "#]].assert_eq(&story.tail(&run, Order::Ordered, 0).await);
    let trace = story.trace(&run).await;
    expect![[r#"
        {
          "code": "in_doubt",
          "message": "the process died while these tools ran, and nobody knows whether they did their work: stuck, stuck; retry the run with a decision for each call (`in_doubt`)",
          "node_id": null,
          "calls": [
            {
              "call_id": "call_agent_1_1",
              "name": "stuck",
              "arguments": {
                "id": 1
              },
              "node_id": "agent_1"
            },
            {
              "call_id": "call_agent_1_1_3",
              "name": "stuck",
              "arguments": {
                "id": 3
              },
              "node_id": "agent_1"
            }
          ]
        }"#]].assert_eq(&story.shown(&trace["trace"]["error"]));
    let mut table = String::new();
    let one = |action: &str| json!({"call_id": "call_agent_1_1", "action": action});
    for in_doubt in [
        json!([]),
        json!([one("skip")]),
        json!([one("skip"), one("rerun")]),
        json!([one("skip"), {"call_id": "other", "action": "skip"}, {"call_id": "call_agent_1_1_3", "action": "skip"}]),
        json!([one("use"), {"call_id": "call_agent_1_1_3", "action": "skip"}]),
        json!([one("perhaps"), {"call_id": "call_agent_1_1_3", "action": "skip"}]),
    ] {
        table.push_str(&format!("{}\n", story.refused(&run, "retry", json!({ "in_doubt": in_doubt })).await));
    }
    expect![[r#"
        422 validation_failed: one decision is needed for call `call_agent_1_1` of `stuck` {"errors":{"in_doubt":["one decision is needed for call `call_agent_1_1` of `stuck`","one decision is needed for call `call_agent_1_1_3` of `stuck`"]}}
        422 validation_failed: one decision is needed for call `call_agent_1_1_3` of `stuck` {"errors":{"in_doubt":["one decision is needed for call `call_agent_1_1_3` of `stuck`"]}}
        422 validation_failed: in_doubt.1.call_id is listed twice {"errors":{"in_doubt.1.call_id":["in_doubt.1.call_id is listed twice"]}}
        422 validation_failed: the run has no call `other` in doubt {"errors":{"in_doubt.1.call_id":["the run has no call `other` in doubt"]}}
        422 validation_failed: in_doubt.0.result is required {"errors":{"in_doubt.0.result":["in_doubt.0.result is required"]}}
        422 validation_failed: in_doubt.0.action must be one of rerun, skip, use {"errors":{"in_doubt.0.action":["in_doubt.0.action must be one of rerun, skip, use"]}}
    "#]].assert_eq(&table);
    let told = story.retry(&run, json!({"in_doubt": [one("skip"), {"call_id": "call_agent_1_1_3", "action": "use", "result": "It is done."}]})).await;
    expect![[r#"
        9 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1 resumed=true
        10 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="stuck" inputs={"id":1} result="The call was skipped; it is not known whether it ran." is_error=false skipped=true duration_ms="ms"
        11 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1_2" name="look" inputs={"id":2} result="{\"did\":\"look\",\"with\":{\"id\":2}}" is_error=false skipped=false duration_ms="ms"
        12 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1_3" name="stuck" inputs={"id":3} result="It is done." is_error=false skipped=false duration_ms="ms"
        13 step_completed step_id="s1" node_id="agent_1" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"agent_response":"It is done."} provider="script" model="m" usage="35+13"
        14 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        15 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        16 trace_completed status="completed" output={"input":"hi","agent_response":"It is done."} reply="It is done." thread_id="t1" duration_ms="ms" usage="35+13"
    "#]].assert_eq(&told);
    assert!(story.hands.calls().is_empty(), "nothing is called again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_node_in_doubt_takes_the_given_result() {
    let folder = tempfile::tempdir().unwrap();
    let sketch = "start -> tool_1{tool_ref: \"host:stuck\"} -> stop";
    let (story, run) = in_doubt(folder.path(), sketch, 1).await;
    let call = story.trace(&run).await["trace"]["error"]["calls"][0]["call_id"].clone();
    let told = story.retry(&run, json!({"in_doubt": [{"call_id": call, "action": "use", "result": "{\"paid\": true}"}]})).await;
    expect![[r#"
        6 step_started step_id="s1" node_id="tool_1" node_type="tool" iteration=null attempt=1 resumed=true
        7 step_completed step_id="s1" node_id="tool_1" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"stuck","result":{"paid":true}}}
        8 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        9 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        10 trace_completed status="completed" output={"input":"hi","tool_result":{"name":"stuck","result":{"paid":true}}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&told);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_given_result_is_cut_like_one_of_the_tool() {
    let folder = tempfile::tempdir().unwrap();
    let (story, run) = in_doubt(folder.path(), "start -> tool_1{tool_ref: \"host:stuck\"} -> stop", 1).await;
    let call = story.trace(&run).await["trace"]["error"]["calls"][0]["call_id"].clone();
    story.retry(&run, json!({"in_doubt": [{"call_id": call, "action": "use", "result": "é".repeat(200_000)}]})).await;
    let trace = story.trace(&run).await;
    let result = trace["trace"]["output"]["tool_result"]["result"].as_str().expect("a text");
    assert_eq!((result.len(), &result[256 << 10..]), ((256 << 10) + 13, "\n\n[truncated]"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_decided_of_a_tool_node_holds_where_its_tool_is_not_declared_any_more() {
    for (decision, wanted) in [(json!({"action": "use", "result": "paid"}), "paid"), (json!({"action": "skip"}), "The call was skipped")] {
        let folder = tempfile::tempdir().unwrap();
        let (story, run) = in_doubt(folder.path(), "start -> tool_1{tool_ref: \"host:stuck\"} -> stop", 1).await;
        let mut declaration = crate::support::hands::Hands::declaration();
        declaration.tools.retain(|tool| tool.name != "stuck");
        story.bench.studio.set_host(std::sync::Arc::new(story.hands.clone()), declaration);
        let undecided = story.refused(&run, "retry", json!({})).await;
        assert!(undecided.starts_with("422 validation_failed"), "{undecided}");
        let mut word = decision.clone();
        word["call_id"] = story.trace(&run).await["trace"]["error"]["calls"][0]["call_id"].clone();
        let told = story.retry(&run, json!({"in_doubt": [word]})).await;
        assert!(told.contains("trace_completed") && told.contains(&format!("\"name\":\"stuck\",\"result\":\"{wanted}")), "{told}");
        assert!(story.hands.calls().is_empty(), "nothing is called again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_decided_of_a_call_is_refused_where_its_step_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let sketch = "start -> set_1{key: a, value: 1} -> tool_1{tool_ref: \"host:stuck\"} -> stop";
    let (story, run) = in_doubt(folder.path(), sketch, 1).await;
    let trace = story.trace(&run).await;
    let call = &trace["trace"]["error"]["calls"][0]["call_id"];
    let set = trace["steps"].as_array().unwrap().iter().find(|step| step["node_id"] == "set_1").expect("a step")["id"].clone();
    for decision in [json!({"call_id": call, "action": "use", "result": "paid"}), json!({"call_id": call, "action": "skip"})] {
        let refused = story.refused(&run, "retry", json!({"from_step_id": set, "in_doubt": [decision]})).await;
        assert!(refused.starts_with("422 validation_failed") && refused.contains("in_doubt.0.action"), "{refused}");
    }
    assert!(story.hands.calls().is_empty(), "nothing is called again");
    let told = story.retry(&run, json!({"in_doubt": [{"call_id": call, "action": "use", "result": "paid"}]})).await;
    assert!(told.contains("trace_completed"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harmless_call_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let sketch = "start -> set_1{key: a, value: 1} -> tool_1{tool_ref: \"host:again\", parameters: {ms: 3000}} -> stop";
    let (story, run) = in_doubt(folder.path(), sketch, 1).await;
    assert_eq!(story.hands.calls(), [r#"again {"ms":3000}"#]);
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="set_1" node_type="set_state" iteration=null attempt=1
        4 step_completed step_id="s1" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"a":1}
        5 step_started step_id="s2" node_id="tool_1" node_type="tool" iteration=null attempt=1
        6 step_started step_id="s2" node_id="tool_1" node_type="tool" iteration=null attempt=1 resumed=true
        7 step_completed step_id="s2" node_id="tool_1" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"again","result":{"did":"again","with":{"ms":3000}}}}
        8 step_started step_id="s3" node_id="stop" node_type="stop" iteration=null attempt=1
        9 step_completed step_id="s3" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        10 trace_completed status="completed" output={"input":"hi","a":1,"tool_result":{"name":"again","result":{"did":"again","with":{"ms":3000}}}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
        11 run_terminal status="completed"
    "#]].assert_eq(&story.tail(&run, Order::Ordered, 0).await);
}

/// The process of a story dies; another takes its run over.
async fn died(first: Story, next: &Story, run: &str) {
    let world = std::sync::Arc::clone(first.bench.studio.world());
    world.store.close(Duration::ZERO).await;
    let owner = world.owner().to_string();
    let expire = next.bench.studio.world().store.write(move |tx| wfstudio::store::runs::queue::expire(tx, &owner));
    expire.await.expect("a store");
    // A worker of the other one may be the first to see it.
    while next.trace(run).await["trace"]["status"] == "running" {
        next.bench.studio.take_over().await.expect("a studio");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    next.join(run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_failed_before_its_process_died_is_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let first = Story::on_disk(folder.path(), json!([]));
    let sketch = "start -> fork_1 -> join_1 -> stop
        fork_1.a -> tool_a{tool_ref: \"host:fail\"} -> join_1; fork_1.b -> tool_b{tool_ref: \"host:again\", parameters: {ms: 60000}} -> join_1";
    let workflow = first.workflow(sketch).await;
    let run = first.bench.start(&workflow, json!({"message": "hi"})).await.run.to_string();
    first.calls(2).await;
    while !first.trace(&run).await["steps"].as_array().expect("steps").iter().any(|step| step["status"] == "failed") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let next = Story::on_disk(folder.path(), json!([]));
    died(first, &next, &run).await;
    assert_eq!(next.hands.calls(), Vec::<String>::new());
    let trace = next.trace(&run).await;
    let error = &trace["trace"]["error"];
    assert_eq!((&error["code"], &error["node_id"]), (&json!("tool_failed"), &json!("tool_a")), "{error}");
}

/// Earlier versions gave the calls of specialists no ids of their own.
#[tokio::test(flavor = "multi_thread")]
async fn a_specialists_call_that_an_earlier_version_made_is_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let replies = |delay: u64| {
        json!([
            {"match": {"node_id": "agent_boss", "call": 1}, "tool_calls": [{"name": "ask_expert", "arguments": {"input": "Why?"}}]},
            {"match": {"node_id": "agent_expert", "call": 1}, "tool_calls": [{"id": "given", "name": "look", "arguments": {"at": "books"}}]},
            {"match": {"node_id": "agent_expert", "call": 2}, "text": "Because.", "delay_ms": delay},
            {"match": {"node_id": "agent_boss", "call": 2}, "text": "{{tool_result}}"}])
    };
    let first = Story::on_disk(folder.path(), replies(60_000));
    let sketch = "start -> agent_boss{provider: script, model: m} -> stop
        agent_expert{provider: script, model: m, tool_mode: true, tools: [{ref: \"host:look\"}], tool_exposure: {slug: ask_expert, description: Knows, parameters: {input: {description: question, controlled_by: caller}}}}.toolset => agent_boss";
    let workflow = first.workflow(sketch).await;
    let run = first.bench.start(&workflow, json!({"message": "hi"})).await.run.to_string();
    let (id, mut own) = (run.parse().expect("an id"), None);
    let mut asked = 0;
    while asked < 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let log = first.bench.studio.world().store.read(move |tx| wfstudio::store::log::entries(tx, "", &id, 0, 1000)).await.expect("a log");
        let calls = log.iter().filter_map(|entry| if let Event::CallStarted(call) = &entry.event { Some(call) } else { None });
        asked = calls.clone().filter(|call| call.kind == CallKind::Model).count();
        own = calls.filter(|call| call.name == "look").find_map(|call| call.call_id.clone());
    }
    let own = own.expect("a call");
    assert_ne!(own, "given");
    let next = Story::on_disk(folder.path(), replies(0));
    let renamed = next.bench.studio.world().store.write(move |tx| {
        tx.execute("UPDATE #log SET body = replace(body, $1, 'given')", &[wfstudio::store::Param::from(own.as_str())])
    });
    assert!(renamed.await.expect("a store") > 0);
    died(first, &next, &run).await;
    assert_eq!(next.hands.calls(), Vec::<String>::new());
}
