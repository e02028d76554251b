//! Agents: scenarios 2 and 3, Tool Mode, structured answers, memory.

use expect_test::expect;
use serde_json::json;

use crate::support::story::Story;

#[tokio::test]
async fn parallel_calls_are_told_in_model_order() {
    let story = Story::scripted(json!([
        {"text": "Let me see.", "tool_calls": [
            {"name": "slow", "arguments": {"ms": 30}}, {"name": "look", "arguments": {"n": 1}}, {"name": "fail"}]},
        {"text": "Done."}]));
    let tools = "tools: [{ref: \"host:slow\"}, {ref: \"host:look\"}, {ref: \"host:fail\"}]";
    let run = story.run(&format!("start -> agent_1{{provider: script, model: m, {tools}}} -> stop")).await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1
        4 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="slow" inputs={"ms":30} result=null
        5 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1_2" name="look" inputs={"n":1} result=null
        6 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1_3" name="fail" inputs={} result=null
        7 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="slow" inputs={"ms":30} result="{\"did\":\"slow\",\"with\":{\"ms\":30}}" is_error=false skipped=false duration_ms="ms"
        8 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1_2" name="look" inputs={"n":1} result="{\"did\":\"look\",\"with\":{\"n\":1}}" is_error=false skipped=false duration_ms="ms"
        9 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1_3" name="fail" inputs={} result="it is broken" is_error=true skipped=false duration_ms="ms"
        10 step_completed step_id="s1" node_id="agent_1" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"agent_response":"Done."} provider="script" model="m" usage="30+13"
        11 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        12 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        13 trace_completed status="completed" output={"input":"hi","agent_response":"Done."} reply="Done." thread_id="t1" duration_ms="ms" usage="30+13"
    "#]].assert_eq(&run.text);
}

#[tokio::test]
async fn a_streaming_agent_tells_all_its_texts() {
    let story = Story::scripted(json!([
        {"chunks": ["One ", "moment."], "tool_calls": [{"name": "look", "arguments": {}}]},
        {"chunks": ["It is ", "there."]}]));
    let run = story.run("start -> agent_1{provider: script, model: m, stream: true, publish_reply: false, tools: [{ref: \"host:look\"}]} -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1
        4 token step_id="s1" node_id="agent_1" delta="One " publish_reply=false
        5 token step_id="s1" node_id="agent_1" delta="moment." publish_reply=false
        6 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="look" inputs={} result=null
        7 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="look" inputs={} result="{\"did\":\"look\",\"with\":{}}" is_error=false skipped=false duration_ms="ms"
        8 token step_id="s1" node_id="agent_1" delta="It is " publish_reply=false
        9 token step_id="s1" node_id="agent_1" delta="there." publish_reply=false
        10 step_completed step_id="s1" node_id="agent_1" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"agent_response":"It is there."} provider="script" model="m" usage="12+8"
        11 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        12 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        13 trace_completed status="completed" output={"input":"hi","agent_response":"It is there."} reply=null thread_id="t1" duration_ms="ms" usage="12+8"
    "#]].assert_eq(&run.text);
}

#[tokio::test]
async fn a_specialist_is_a_tool_call_and_its_own_calls_name_it() {
    let story = Story::scripted(json!([
        {"match": {"node_id": "agent_boss", "call": 1}, "tool_calls": [{"name": "ask_expert", "arguments": {"input": "Why?"}}]},
        {"match": {"node_id": "agent_expert", "call": 1}, "tool_calls": [{"name": "look", "arguments": {"at": "books"}}]},
        {"match": {"node_id": "agent_expert", "call": 2}, "text": "Because."},
        {"match": {"node_id": "agent_boss", "call": 2}, "text": "The expert says: {{tool_result}}"}]));
    let run = story
        .run(
            "start -> agent_boss{provider: script, model: m, stream: true} -> stop
            agent_expert{provider: script, model: m, stream: true, tool_mode: true, tools: [{ref: \"host:look\"}], tool_exposure: {slug: ask_expert, description: Knows, parameters: {input: {description: question, controlled_by: caller}}}}.toolset => agent_boss",
        )
        .await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="agent_boss" node_type="agent" iteration=null attempt=1
        4 tool_call step_id="s1" node_id="agent_boss" call_id="call_agent_boss_1" name="ask_expert" inputs={"input":"Why?"} result=null
        5 tool_call step_id="s1" node_id="agent_boss" call_id="c1" name="look" inputs={"at":"books"} result=null parent_call_id="call_agent_boss_1"
        6 tool_result step_id="s1" node_id="agent_boss" call_id="c1" name="look" inputs={"at":"books"} result="{\"did\":\"look\",\"with\":{\"at\":\"books\"}}" is_error=false skipped=false duration_ms="ms" parent_call_id="call_agent_boss_1"
        7 tool_result step_id="s1" node_id="agent_boss" call_id="call_agent_boss_1" name="ask_expert" inputs={"input":"Why?"} result="Because." is_error=false skipped=false duration_ms="ms"
        8 token step_id="s1" node_id="agent_boss" delta="The " publish_reply=true
        9 token step_id="s1" node_id="agent_boss" delta="expert " publish_reply=true
        10 token step_id="s1" node_id="agent_boss" delta="says: " publish_reply=true
        11 token step_id="s1" node_id="agent_boss" delta="Because." publish_reply=true
        12 step_completed step_id="s1" node_id="agent_boss" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"agent_response":"The expert says: Because."} provider="script" model="m" usage="26+21"
        13 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        14 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        15 trace_completed status="completed" output={"input":"hi","agent_response":"The expert says: Because."} reply="The expert says: Because." thread_id="t1" duration_ms="ms" usage="26+21"
    "#]].assert_eq(&run.text);
    expect![[r#"
        s1 agent_boss completed .default output={"agent_response":"The expert says: Because."}
        s2 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
}

#[tokio::test]
async fn specialists_call_each_other_three_deep() {
    let answers = (0..4).map(|n| json!({"match": {"node_id": format!("agent_{n}"), "call": 2}, "text": format!("{n} says: {{{{tool_result}}}}")}));
    let asks = (0..4).map(|n| {
        let next = format!("ask_{}", n + 1);
        json!({"match": {"node_id": format!("agent_{n}"), "call": 1}, "tool_calls": [{"name": next, "arguments": {"input": "Why?"}}]})
    });
    let story = Story::scripted(asks.chain(answers).collect());
    let specialists = (1..5).map(|n| {
        let exposure = format!("{{slug: ask_{n}, description: Knows, parameters: {{input: {{description: question, controlled_by: caller}}}}}}");
        format!("\nagent_{n}{{provider: script, model: m, tool_mode: true, tool_exposure: {exposure}}}.toolset => agent_{}", n - 1)
    });
    let run = story.run(&format!("start -> agent_0{{provider: script, model: m}} -> stop{}", specialists.collect::<String>())).await;
    let reply = story.trace(&run.id).await["trace"]["reply"].clone();
    assert_eq!(reply, "0 says: 1 says: 2 says: 3 says: nesting_limit: specialists may call each other at most 3 deep", "{}", run.text);
}

#[tokio::test]
async fn a_structured_answer_is_repaired_once() {
    let schema = "schema: {type: object, properties: {n: {type: integer}}, required: [n]}";
    let story = Story::scripted(json!([{"text": "no json"}, {"text": "{\"n\": 5}"}]));
    let run = story.run(&format!("start -> agent_1{{provider: script, model: m, stream: true, structured: true, {schema}}} -> stop")).await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1
        4 step_completed step_id="s1" node_id="agent_1" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"agent_response":{"n":5}} provider="script" model="m" usage="44+4"
        5 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        6 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        7 trace_completed status="completed" output={"input":"hi","agent_response":{"n":5}} reply=null thread_id="t1" duration_ms="ms" usage="44+4"
    "#]].assert_eq(&run.text);
    let story = Story::scripted(json!([{"text": "{}"}, {"text": "{\"n\": \"x\"}"}]));
    let run = story.run(&format!("start -> agent_1{{provider: script, model: m, structured: true, {schema}}} -> stop")).await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1
        4 step_failed step_id="s1" node_id="agent_1" node_type="agent" duration_ms="ms" code="structured_invalid" message="the answer does not fit the schema, not even after one repair" validation_errors=["/n: \"x\" is not of type \"integer\""] usage="35+4"
        5 trace_failed node_id="agent_1" code="structured_invalid" message="the answer does not fit the schema, not even after one repair" validation_errors=["/n: \"x\" is not of type \"integer\""] usage="35+4"
    "#]].assert_eq(&run.text);
}

#[tokio::test]
async fn memory_is_own_shared_or_none() {
    let story = Story::with(json!({}), json!([{"times": 0, "text": "ok"}]));
    let agent = |id: &str, memory: &str| format!("agent_{id}{{provider: script, model: m, memory: {memory}, message: \"{id} {{{{input}}}}\"}}");
    let sketch = format!(
        "start -> {} -> {} -> {} -> {} -> stop",
        agent("a", "own"), agent("b", "shared"), agent("c", "shared"), agent("d", "none")
    );
    let workflow = story.workflow(&sketch).await;
    let first = story.start(&workflow, json!({"message": "1"})).await;
    let thread = story.trace(&first.id).await["trace"]["thread_id"].clone();
    let second = story.start(&workflow, json!({"message": "2", "thread_id": thread})).await;
    expect![[r#"
        agent_a: a 1
        agent_b: b 1
        agent_c: b 1 | ok | c 1
        agent_d: d 1
    "#]].assert_eq(&prompts(&story, &first.id).await);
    expect![[r#"
        agent_a: a 1 | ok | a 2
        agent_b: b 1 | ok | c 1 | ok | b 2
        agent_c: b 1 | ok | c 1 | ok | b 2 | ok | c 2
        agent_d: d 2
    "#]].assert_eq(&prompts(&story, &second.id).await);
}

#[tokio::test]
async fn branches_see_the_history_from_before_their_fork() {
    let story = Story::with(json!({}), json!([{"times": 0, "text": "ok"}]));
    let agent = |id: &str| format!("agent_{id}{{provider: script, model: m, memory: shared, message: \"{id}\"}}");
    let sketch = format!(
        "start -> {} -> fork_1 -> join_1 -> {} -> stop; fork_1.x -> {} -> {} -> join_1; fork_1.y -> {} -> join_1",
        agent("before"), agent("after"), agent("x1"), agent("x2"), agent("y1")
    );
    let run = story.run(&sketch).await;
    expect![[r#"
        agent_before: before
        agent_x1: before | ok | x1
        agent_x2: before | ok | x1 | ok | x2
        agent_y1: before | ok | y1
        agent_after: before | ok | x1 | ok | x2 | ok | y1 | ok | after
    "#]].assert_eq(&prompts(&story, &run.id).await);
}

/// What each model call was sent, node by node.
async fn prompts(story: &Story, run: &str) -> String {
    let query = wfstudio::studio::TraceQuery { messages: true, ..Default::default() };
    let trace = story.bench.studio.trace(&story.bench.scope, run, query).await.unwrap();
    let order: Vec<_> = trace["steps"].as_array().unwrap().iter().map(|step| step["id"].clone()).collect();
    let mut spans = trace["spans"].as_array().unwrap().clone();
    spans.sort_by_key(|span| order.iter().position(|id| *id == span["step_id"]));
    let line = |span: &serde_json::Value| {
        let said: Vec<_> = span["input"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect();
        format!("{}: {}\n", span["node_id"].as_str().unwrap(), said.join(" | "))
    };
    spans.iter().map(line).collect()
}
