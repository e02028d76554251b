//! Agents, llm and tool nodes through the facade: turns, approvals, specialists, structure, files, tools.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::support::Bench;

mod cloud;
mod fallbacks;
mod limits;
mod thoughts;

/// A studio whose model `m` plays this script.
fn bench(script: Value) -> Bench {
    Bench::new(json!({"providers": {"script": {"scripts": {"m": script}}}}))
}

/// start -> node `a` -> stop, with further nodes and edges.
fn graph(kind: &str, data: Value, more: &[(&str, &str, Value)], edges: &[&str]) -> Value {
    let place = json!({"x": 0, "y": 0});
    let node = |id: &str, kind: &str, data: &Value| json!({"id": id, "type": kind, "position": place, "data": data});
    let mut nodes = vec![node("start", "start", &json!({})), node("a", kind, &data), node("stop", "stop", &json!({}))];
    nodes.extend(more.iter().map(|(id, kind, data)| node(id, kind, data)));
    let all = ["start.default > a.default", "a.default > stop.default"].iter().chain(edges).enumerate().map(|(at, edge)| {
        let (from, to) = edge.split_once(" > ").expect("an edge");
        let ((source, out), (target, into)) = (from.split_once('.').expect("a handle"), to.split_once('.').expect("a handle"));
        json!({"id": format!("e{at}"), "source": source, "sourceHandle": out, "target": target, "targetHandle": into})
    });
    json!({"version": 1, "nodes": nodes, "edges": all.collect::<Vec<_>>()})
}

fn inline(more: Value) -> Value {
    let mut data = json!({"config_mode": "inline", "provider": "script", "model": "m"});
    data.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    data
}

/// What was told, without what is the same in every run.
fn short(told: &str) -> String {
    let lines = told.lines().filter_map(|line| {
        let (head, data) = line.split_once(" {")?;
        let event = head.split_once(' ')?.1;
        let data: Value = serde_json::from_str(&format!("{{{data}")).expect("JSON");
        let keys = ["node_id", "resumed", "delta", "call_id", "parent_call_id", "name", "inputs", "result", "is_error", "skipped",
            "pending_tools", "message", "approved", "handle", "changes", "code", "validation_errors", "error", "reply"];
        let kept = keys.iter().filter_map(|key| {
            let value = data.get(*key).filter(|value| !value.is_null() && **value != json!(false))?;
            Some(format!(" {key}={value}"))
        });
        Some(format!("{event}{}", kept.collect::<String>()))
    });
    let same = |line: &String| line.starts_with("thread") || line.starts_with("trace_started") || line.contains("\"stop\"");
    let text = lines.filter(|line| !same(line)).collect::<Vec<_>>().join("\n");
    regex::Regex::new("call_[0-9a-f]{24}").expect("a pattern").replace_all(&text, "call_*").into_owned()
}

async fn check(bench: &Bench, graph: Value, body: Value, wanted: Expect) -> String {
    let workflow = bench.workflow(graph).await;
    let started = bench.start(&workflow, body).await;
    wanted.assert_eq(&short(&bench.events_text(&started).await));
    started.run.to_string()
}

async fn answer(bench: &Bench, run: &str, body: Value, wanted: Expect) {
    let started = bench.resume(run, body).await.unwrap_or_else(|error| panic!("{error} {:?}", error.members));
    wanted.assert_eq(&short(&bench.events_text(&started).await));
}

fn refund(order: &str, id: &str) -> Value {
    json!({"name": "issue_refund", "arguments": {"order_id": order, "amount": "2", "reason": "r"}, "id": id})
}

#[tokio::test]
async fn a_streaming_agent_tells_the_texts_of_all_turns() {
    let bench = bench(json!({"replies": [
        {"text": "Let me see. ", "tool_calls": [{"name": "calculate", "arguments": {"expression": "1+1"}}, {"name": "nope"}, {"name": "calculate", "arguments": {"x": 1}}]},
        {"text": "It is 2."}]}));
    let data = inline(json!({"stream": true, "tools": [{"ref": "toolkit:calculator"}]}));
    check(&bench, graph("agent", data, &[], &[]), json!({"message": "1+1?"}), expect![[r#"
        step_started node_id="a"
        token node_id="a" delta="Let "
        token node_id="a" delta="me "
        token node_id="a" delta="see. "
        tool_call node_id="a" call_id="call_a_1" name="calculate" inputs={"expression":"1+1"}
        tool_call node_id="a" call_id="call_a_1_2" name="nope" inputs={}
        tool_call node_id="a" call_id="call_a_1_3" name="calculate" inputs={"x":1}
        tool_result node_id="a" call_id="call_a_1" name="calculate" inputs={"expression":"1+1"} result="{\"result\":2}"
        tool_result node_id="a" call_id="call_a_1_2" name="nope" inputs={} result="There is no tool `nope`; the tools are calculate." is_error=true
        tool_result node_id="a" call_id="call_a_1_3" name="calculate" inputs={"x":1} result="The arguments do not fit `calculate`, the call did not run: Additional properties are not allowed ('x' was unexpected); \"expression\" is a required property" is_error=true
        token node_id="a" delta="It "
        token node_id="a" delta="is "
        token node_id="a" delta="2."
        step_completed node_id="a" handle="default" changes={"agent_response":"It is 2."}
        trace_completed reply="It is 2.""#]]).await;
}

#[tokio::test]
async fn gated_calls_wait_and_free_ones_run_first() {
    let bench = bench(json!({"replies": [
        {"tool_calls": [refund("1", "g1"), {"name": "calculate", "arguments": {"expression": "2*3"}, "id": "f"}, refund("2", "g2"),
            {"name": "issue_refund", "arguments": {"order_id": "2"}, "id": "bad"}]},
        {"tool_calls": [refund("3", "g1")]},
        {"text": "done"}]}));
    let tools = json!([{"ref": "toolkit:calculator"}, {"ref": "toolkit:demo", "require_approval": true}]);
    let data = inline(json!({"stream": true, "tools": tools}));
    let graph = graph("agent", data, &[("no", "stop", json!({}))], &["a.rejected > no.default"]);
    let run = check(&bench, graph, json!({"message": "go"}), expect![[r#"
        step_started node_id="a"
        tool_call node_id="a" call_id="f" name="calculate" inputs={"expression":"2*3"}
        tool_call node_id="a" call_id="bad" name="issue_refund" inputs={"order_id":"2"}
        tool_result node_id="a" call_id="f" name="calculate" inputs={"expression":"2*3"} result="{\"result\":6}"
        tool_result node_id="a" call_id="bad" name="issue_refund" inputs={"order_id":"2"} result="The arguments do not fit `issue_refund`, the call did not run: \"amount\" is a required property; \"reason\" is a required property" is_error=true
        tool_approval_required node_id="a" pending_tools=[{"name":"issue_refund","arguments":{"order_id":"1","amount":"2","reason":"r"},"call_id":"g1"},{"name":"issue_refund","arguments":{"order_id":"2","amount":"2","reason":"r"},"call_id":"g2"}] message="2 tool calls are waiting for approval.""#]]).await;
    let decisions = json!([
        {"call_id": "g1", "approval": "approve", "arguments": {"order_id": "9", "amount": "9", "reason": "edited"}, "message": "ok"},
        {"call_id": "g2", "approval": "reject", "message": "too much"}]);
    answer(&bench, &run, json!({"decisions": decisions}), expect![[r#"
        tool_approval_resolved node_id="a" approved=true
        step_started node_id="a" resumed=true
        tool_call node_id="a" call_id="g1" name="issue_refund" inputs={"order_id":"9","amount":"9","reason":"edited"}
        tool_call node_id="a" call_id="g2" name="issue_refund" inputs={"order_id":"2","amount":"2","reason":"r"}
        tool_result node_id="a" call_id="g1" name="issue_refund" inputs={"order_id":"9","amount":"9","reason":"edited"} result="{\"status\":\"refunded\",\"refund_id\":\"rfnd_b26bd032e622\",\"order_id\":\"9\",\"amount\":\"9\",\"reason\":\"edited\",\"simulated\":true}"
        tool_result node_id="a" call_id="g2" name="issue_refund" inputs={"order_id":"2","amount":"2","reason":"r"} result="The person declined this call; it did not run. The reason given: \"too much\". Do not make this call again unless the person asks for it." skipped=true
        tool_approval_required node_id="a" pending_tools=[{"name":"issue_refund","arguments":{"order_id":"3","amount":"2","reason":"r"},"call_id":"call_*"}] message="1 tool call is waiting for approval.""#]]).await;
    answer(&bench, &run, json!({"approval": "reject"}), expect![[r#"
        tool_approval_resolved node_id="a"
        step_started node_id="a" resumed=true
        tool_call node_id="a" call_id="call_*" name="issue_refund" inputs={"order_id":"3","amount":"2","reason":"r"}
        tool_result node_id="a" call_id="call_*" name="issue_refund" inputs={"order_id":"3","amount":"2","reason":"r"} result="The person declined this call; it did not run. No reason was given. Do not make this call again unless the person asks for it." skipped=true
        step_completed node_id="a" handle="rejected" changes={"agent_response":"done"}
        step_started node_id="no"
        step_completed node_id="no" handle="default" changes={}
        trace_completed reply="done""#]]).await;
}

#[tokio::test]
async fn a_stored_agent_has_its_own_rules_and_its_node_may_lift_them() {
    let bench = bench(json!({"replies": [{"times": 0, "tool_calls": [{"name": "issue_refund", "arguments": {"order_id": "1", "amount": "2", "reason": "r"}}]}]}));
    let agent = json!({"name": "Refunds", "provider": "script", "model": "m", "tools": [{"ref": "toolkit:demo"}], "require_tool_approval": true, "tool_max_runs": 2, "on_tool_limit": "fail"});
    let agent = bench.agent(agent).await;
    let node = |more: Value| {
        let mut data = json!({"agent_id": agent});
        data.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        graph("agent", data, &[], &[])
    };
    check(&bench, node(json!({})), json!({"message": "go"}), expect![[r#"
        step_started node_id="a"
        tool_approval_required node_id="a" pending_tools=[{"name":"issue_refund","arguments":{"order_id":"1","amount":"2","reason":"r"},"call_id":"call_a_1"}] message="1 tool call is waiting for approval.""#]]).await;
    check(&bench, node(json!({"require_tool_approval": false})), json!({"message": "go"}), expect![[r#"
        step_started node_id="a"
        tool_call node_id="a" call_id="call_a_1" name="issue_refund" inputs={"order_id":"1","amount":"2","reason":"r"}
        tool_result node_id="a" call_id="call_a_1" name="issue_refund" inputs={"order_id":"1","amount":"2","reason":"r"} result="{\"status\":\"refunded\",\"refund_id\":\"rfnd_8ff04dca496b\",\"order_id\":\"1\",\"amount\":\"2\",\"reason\":\"r\",\"simulated\":true}"
        tool_call node_id="a" call_id="call_a_2" name="issue_refund" inputs={"order_id":"1","amount":"2","reason":"r"}
        tool_result node_id="a" call_id="call_a_2" name="issue_refund" inputs={"order_id":"1","amount":"2","reason":"r"} result="{\"status\":\"refunded\",\"refund_id\":\"rfnd_8ff04dca496b\",\"order_id\":\"1\",\"amount\":\"2\",\"reason\":\"r\",\"simulated\":true}"
        step_failed node_id="a" message="the model wanted tools in more than 2 turns" code="tool_limit"
        trace_failed node_id="a" message="the model wanted tools in more than 2 turns" code="tool_limit""#]]).await;
}

#[tokio::test]
async fn structured_answers_are_repaired_once() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let data = json!({"provider": "script", "model": "m", "prompt": "P", "structured": true, "schema": schema, "on_error": "continue"});
    let repaired = json!({"replies": [{"structured": {"n": "x"}}, {"text": "```json\n{\"n\": 2}\n```"}]});
    check(&bench(repaired), graph("llm", data.clone(), &[], &[]), json!({"message": "go"}), expect![[r#"
        step_started node_id="a"
        step_completed node_id="a" handle="default" changes={"llm_response":{"n":2}}
        trace_completed"#]]).await;
    let hopeless = json!({"replies": [{"text": "no"}, {"structured": {}}]});
    check(&bench(hopeless.clone()), graph("llm", data.clone(), &[], &[]), json!({"message": "go"}), expect![[r#"
        step_started node_id="a"
        step_completed node_id="a" handle="default" changes={"llm_response":{"error":"the answer does not fit the schema, not even after one repair"}} error={"code":"structured_invalid","message":"the answer does not fit the schema, not even after one repair"}
        trace_completed"#]]).await;
    let mut strict = data;
    strict["on_error"] = json!("fail");
    check(&bench(hopeless), graph("llm", strict.clone(), &[], &[]), json!({"message": "go"}), expect![[r#"
        step_started node_id="a"
        step_failed node_id="a" message="the answer does not fit the schema, not even after one repair" code="structured_invalid" validation_errors=["\"n\" is a required property"]
        trace_failed node_id="a" message="the answer does not fit the schema, not even after one repair" code="structured_invalid" validation_errors=["\"n\" is a required property"]"#]]).await;
    // What a filter stopped is not asked for again, and what was wrong with it is told.
    let filtered = json!({"replies": [{"text": "{}", "finish": "content_filter"}, {"structured": {"n": 1}}]});
    check(&bench(filtered), graph("llm", strict, &[], &[]), json!({"message": "go"}), expect![[r#"
        step_started node_id="a"
        step_failed node_id="a" message="the provider's filter stopped the structured answer, which does not fit its schema" code="provider_content_filtered" validation_errors=["\"n\" is a required property"]
        trace_failed node_id="a" message="the provider's filter stopped the structured answer, which does not fit its schema" code="provider_content_filtered" validation_errors=["\"n\" is a required property"]"#]]).await;
}

#[tokio::test]
async fn a_specialist_answers_its_supervisor() {
    let bench = bench(json!({"replies": [
        {"match": {"node_id": "a", "call": 1}, "tool_calls": [{"name": "research", "arguments": {"input": "why?"}, "id": "r1"}, {"name": "research", "arguments": {"input": "how?"}, "id": "r2"}]},
        {"match": {"node_id": "s", "tool_result": "calculate"}, "text": "found {{tool_result}}"},
        {"match": {"node_id": "s", "contains": "why"}, "tool_calls": [{"name": "calculate", "arguments": {"expression": "40+2"}, "id": "c"}]},
        {"match": {"node_id": "s", "contains": "how"}, "error": "provider_auth"},
        {"match": {"node_id": "a"}, "text": "So it is."}]}));
    let exposure = json!({"slug": "research", "description": "D", "parameters": {"input": {"description": "Q", "controlled_by": "caller"}}});
    let specialist = inline(json!({"tool_mode": true, "tool_exposure": exposure, "tools": [{"ref": "toolkit:calculator"}]}));
    let graph = graph("agent", inline(json!({"stream": true})), &[("s", "agent", specialist)], &["s.toolset > a.tools"]);
    check(&bench, graph, json!({"message": "go"}), expect![[r#"
        step_started node_id="a"
        tool_call node_id="a" call_id="r1" name="research" inputs={"input":"why?"}
        tool_call node_id="a" call_id="r2" name="research" inputs={"input":"how?"}
        tool_call node_id="a" call_id="call_*" parent_call_id="r1" name="calculate" inputs={"expression":"40+2"}
        tool_result node_id="a" call_id="call_*" parent_call_id="r1" name="calculate" inputs={"expression":"40+2"} result="{\"result\":42}"
        tool_result node_id="a" call_id="r1" name="research" inputs={"input":"why?"} result="found {\"result\":42}"
        tool_result node_id="a" call_id="r2" name="research" inputs={"input":"how?"} result="provider_auth: the script says `provider_auth`" is_error=true
        token node_id="a" delta="So "
        token node_id="a" delta="it "
        token node_id="a" delta="is."
        step_completed node_id="a" handle="default" changes={"agent_response":"So it is."}
        trace_completed reply="So it is.""#]]).await;
}

#[tokio::test]
async fn a_bound_tool_node_fixes_arguments() {
    let call = json!({"name": "issue_refund", "arguments": {"amount": "1", "reason": "r"}, "id": "c1"});
    let bench = bench(json!({"replies": [{"tool_calls": [call]}, {"text": "ok"}]}));
    let tool = json!({"tool_ref": "toolkit:demo/issue_refund", "parameters": {"order_id": "$order"}});
    let graph = graph("agent", inline(json!({})), &[("t", "tool", tool)], &["t.default > a.tools"]);
    check(&bench, graph, json!({"message": "go", "state": {"order": "A-1"}}), expect![[r#"
        step_started node_id="a"
        tool_call node_id="a" call_id="c1" name="issue_refund" inputs={"amount":"1","reason":"r"}
        tool_result node_id="a" call_id="c1" name="issue_refund" inputs={"amount":"1","reason":"r"} result="{\"status\":\"refunded\",\"refund_id\":\"rfnd_6dff534b6162\",\"order_id\":\"A-1\",\"amount\":\"1\",\"reason\":\"r\",\"simulated\":true}"
        step_completed node_id="a" handle="default" changes={"agent_response":"ok"}
        trace_completed reply="ok""#]]).await;
}

#[tokio::test]
async fn a_tool_node_gives_its_result_or_fails() {
    let bench = bench(json!({}));
    let node = |parameters: Value| graph("tool", json!({"tool_ref": "toolkit:calendar/add", "parameters": parameters}), &[], &[]);
    let check = async |bench: &Bench, graph, body, wanted: Expect| {
        let workflow = bench.workflow(graph).await;
        let told = short(&bench.events_text(&bench.start(&workflow, body).await).await);
        wanted.assert_eq(&told.lines().filter(|line| !line.starts_with("tool_")).collect::<Vec<_>>().join("\n"));
    };
    let state = json!({"message": "go", "state": {"d": "2024-01-01", "n": 5}});
    check(&bench, node(json!({"date": "{{d}}", "days": "$n"})), state.clone(), expect![[r#"
        step_started node_id="a"
        step_completed node_id="a" handle="default" changes={"tool_result":{"name":"add","result":{"date":"2024-01-06","weekday":"Saturday"}}}
        trace_completed"#]]).await;
    check(&bench, node(json!({"date": "x", "days": "$n"})), state.clone(), expect![[r#"
        step_started node_id="a"
        step_failed node_id="a" message="`date` is no date of the form YYYY-MM-DD: `x`" code="tool_failed"
        trace_failed node_id="a" message="`date` is no date of the form YYYY-MM-DD: `x`" code="tool_failed""#]]).await;
    check(&bench, node(json!({"date": 5})), state, expect![[r#"
        step_started node_id="a"
        step_failed node_id="a" message="the parameters do not fit `add`: \"days\" is a required property; /date: 5 is not of type \"string\"" code="tool_failed"
        trace_failed node_id="a" message="the parameters do not fit `add`: \"days\" is a required property; /date: 5 is not of type \"string\"" code="tool_failed""#]]).await;
}

#[tokio::test]
async fn an_agent_remembers_its_turns_in_a_thread() {
    let bench = bench(json!({"replies": [{"match": {"system_contains": "x"}, "text": "never"}, {"times": 0, "text": "Hello {{last_user}}"}]}));
    let workflow = bench.workflow(graph("agent", inline(json!({})), &[], &[])).await;
    let first = bench.start(&workflow, json!({"message": "one"})).await;
    bench.events_text(&first).await;
    let second = bench.start(&workflow, json!({"message": "two", "thread_id": first.thread.to_string()})).await;
    bench.events_text(&second).await;
    let query = wfstudio::studio::TraceQuery { messages: true, ..wfstudio::studio::TraceQuery::default() };
    let trace = bench.studio.trace(&bench.scope, &second.run.to_string(), query).await.expect("a trace");
    let said: Vec<_> = trace["spans"][0]["input"].as_array().expect("messages").iter().map(|message| message["content"].clone()).collect();
    assert_eq!(said, [json!("one"), json!("Hello one"), json!("two")]);
}

#[tokio::test]
async fn what_is_nested_too_deeply_is_not_called_and_can_be_read_back() {
    let deep = (0..110).fold(json!(1), |inner, _| json!({"a": inner}));
    let bench = bench(json!({"replies": [
        {"tool_calls": [{"name": "multiply", "arguments": deep, "id": "c1"}, {"name": "calculate", "arguments": deep, "id": "c2"}]},
        {"text": "Well."}
    ]}));
    let data = inline(json!({"tools": [{"ref": "toolkit:calculator"}]}));
    let workflow = bench.workflow(graph("agent", data, &[], &[])).await;
    let started = bench.start(&workflow, json!({"message": "hi"})).await;
    let told = short(&bench.events_text(&started).await);
    expect![[r#"
        step_started node_id="a"
        tool_call node_id="a" call_id="c1" name="multiply" inputs={}
        tool_call node_id="a" call_id="c2" name="calculate" inputs={}
        tool_result node_id="a" call_id="c1" name="multiply" inputs={} result="There is no tool `multiply`; the tools are calculate." is_error=true
        tool_result node_id="a" call_id="c2" name="calculate" inputs={} result="The arguments do not fit `calculate`, the call did not run: the arguments are nested deeper than 96 levels" is_error=true
        step_completed node_id="a" handle="default" changes={"agent_response":"Well."}
        trace_completed reply="Well.""#]].assert_eq(&told);
    let trace = bench.trace(&started.run.to_string()).await;
    assert_eq!(trace["trace"]["status"], "completed");
}
