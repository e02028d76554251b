//! Steps one after another: scenarios 1, 4 and 5, replies, large values, positions.

use expect_test::expect;
use serde_json::json;
use wfstudio::engine::{Follow, From, Order};

use crate::support::story::Story;

#[tokio::test]
async fn one_step_after_another() {
    let story = Story::plain();
    let run = story
        .run("start -> set_1{key: a, value: \"{{input}}!\"} -> llm_1{provider: script, model: echo, stream: true} -> stop{reply: \"{{llm_response}}\"}")
        .await;
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
        10 step_started step_id="s3" node_id="stop" node_type="stop" iteration=null attempt=1
        11 step_completed step_id="s3" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={"reply":"You said: hi"}
        12 trace_completed status="completed" output={"input":"hi","a":"hi!","llm_response":"You said: hi","reply":"You said: hi"} reply="You said: hi" thread_id="t1" duration_ms="ms" usage="1+3"
    "#]].assert_eq(&run.text);
    expect![[r#"
        10 step_started step_id="s3" node_id="stop" node_type="stop" iteration=null attempt=1
        11 step_completed step_id="s3" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={"reply":"You said: hi"}
        12 trace_completed status="completed" output={"input":"hi","a":"hi!","llm_response":"You said: hi","reply":"You said: hi"} reply="You said: hi" thread_id="t1" duration_ms="ms" usage="1+3"
        13 run_terminal status="completed"
    "#]].assert_eq(&story.tail(&run.id, Order::Ordered, 9).await);
}

#[tokio::test]
async fn a_graph_may_end_anywhere_and_a_title_is_told() {
    let story = Story::plain();
    let mut graph = wfstudio::model::sketch::graph("start -> set_1{key: a.b, value: 5} -> condition_1{state_key: a.b, operator: gt, value: 9}; condition_1.true -> stop").unwrap();
    graph["nodes"][1]["title"] = json!("Keep it");
    let workflow = story.bench.workflow(graph).await;
    let run = story.start(&workflow, json!({"message": "hi", "state": {"__studio_locale": "pt_BR", "a": {"c": 1}}})).await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="set_1" node_type="set_state" node_title="Keep it" iteration=null attempt=1
        4 step_completed step_id="s1" node_id="set_1" node_type="set_state" node_title="Keep it" handle="default" duration_ms="ms" iteration=null changes={"a":{"c":1,"b":5}}
        5 step_started step_id="s2" node_id="condition_1" node_type="condition" iteration=null attempt=1
        6 step_completed step_id="s2" node_id="condition_1" node_type="condition" handle="false" duration_ms="ms" iteration=null changes={}
        7 trace_completed status="completed" output={"a":{"c":1,"b":5},"input":"hi"} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&run.text);
}

#[tokio::test]
async fn a_blocking_llm_uses_templates_and_prices() {
    let usage = json!({"prompt_tokens": 1000, "completion_tokens": 100, "cached_tokens": 400, "reasoning_tokens": 7});
    let story = Story::with(
        json!({"usage": {"prices": {"models": [{"provider": "script", "model": "m", "input": "1.00", "output": "2.00", "cached_input": "0.5"}]}}}),
        json!([{"match": {"system_contains": "Be kind to hi"}, "text": "Hello", "usage": usage}]),
    );
    let run = story.run("start -> llm_1{provider: script, model: m, instructions: \"Be kind to {{input}}\", publish_reply: false} -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="llm_1" node_type="llm" iteration=null attempt=1
        4 step_completed step_id="s1" node_id="llm_1" node_type="llm" handle="default" duration_ms="ms" iteration=null changes={"llm_response":"Hello"} provider="script" model="m" usage="1000+100 cached 400 reasoning 7 $0.001000"
        5 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        6 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        7 trace_completed status="completed" output={"input":"hi","llm_response":"Hello"} reply=null thread_id="t1" duration_ms="ms" usage="1000+100 cached 400 reasoning 7 $0.001000"
    "#]].assert_eq(&run.text);
}

#[tokio::test]
async fn a_rag_node_tells_its_query() {
    let story = Story::plain();
    let run = story.run("start -> rag_1{on_missing: empty, query: \"about {{input}}\"} -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="rag_1" node_type="rag" iteration=null attempt=1
        4 rag_query step_id="s1" node_id="rag_1" query="about hi" knowledge_base_id=null chunk_count=0 top_score=0
        5 step_completed step_id="s1" node_id="rag_1" node_type="rag" handle="default" duration_ms="ms" iteration=null changes={"rag_context":{"query":"about hi","results":[],"context":"","knowledge_base_id":null,"chunk_count":0,"top_score":0}} provider=null model=null usage="0+0"
        6 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        7 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        8 trace_completed status="completed" output={"input":"hi","rag_context":{"query":"about hi","results":[],"context":"","knowledge_base_id":null,"chunk_count":0,"top_score":0}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&run.text);
}

#[tokio::test]
async fn a_tool_node_is_no_tool_call_of_a_model() {
    let story = Story::plain();
    let run = story.run("start -> tool_1{tool_ref: \"host:look\", parameters: {at: \"$input\", text: \"{{input}}?\", money: \"$$5\"}} -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="tool_1" node_type="tool" iteration=null attempt=1
        4 step_completed step_id="s1" node_id="tool_1" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"look","result":{"did":"look","with":{"at":"hi","text":"hi?","money":"$5"}}}}
        5 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        6 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        7 trace_completed status="completed" output={"input":"hi","tool_result":{"name":"look","result":{"did":"look","with":{"at":"hi","text":"hi?","money":"$5"}}}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&run.text);
    assert_eq!(story.hands.calls(), [r#"look {"at":"hi","text":"hi?","money":"$5"}"#]);
}

#[tokio::test]
async fn large_values_are_named_only() {
    let story = Story::with(
        json!({"limits": {"event_value_kb": 1}}),
        json!([{"tool_calls": [{"name": "look", "arguments": {"small": 1, "large": "x".repeat(2000)}}]}, {"text": "ok"}]),
    );
    let workflow = story.workflow("start -> set_1{key: big, value: \"{{input}}{{input}}\"} -> agent_1{provider: script, model: m, tools: [{ref: \"host:look\"}]} -> stop").await;
    let started = story.bench.start(&workflow, json!({"message": "y".repeat(600)})).await;
    let told = story.events_text(&started).await;
    let told: Vec<&str> = told.lines().filter(|line| line.contains("omitted_keys")).collect();
    expect![[r#"
        4 step_completed step_id="s1" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={} omitted_keys=["big"]
        6 tool_call step_id="s2" node_id="agent_1" call_id="call_agent_1_1" name="look" inputs={"small":1} result=null omitted_keys=["large"]
        7 tool_result step_id="s2" node_id="agent_1" call_id="call_agent_1_1" name="look" inputs={"small":1} is_error=false skipped=false duration_ms="ms" omitted_keys=["large","result"]"#]].assert_eq(&told.join("\n"));
    let trace = story.trace(&started.run.to_string()).await;
    assert_eq!(trace["steps"][0]["output"]["big"].as_str().unwrap().len(), 1200, "the trace has it whole");
}

#[tokio::test]
async fn a_value_is_told_whole_up_to_the_limit() {
    let told = async |kb: u32, bytes: usize| {
        let story = Story::with(json!({"limits": {"event_value_kb": kb}}), json!([]));
        let workflow = story.workflow("start -> set_1{key: big, value: \"{{input}}\"} -> stop").await;
        let started = story.bench.start(&workflow, json!({"message": "y".repeat(bytes)})).await;
        let told = story.events_text(&started).await;
        let line = told.lines().find(|line| line.contains("step_completed") && line.contains("set_1")).unwrap().to_owned();
        !line.contains("omitted_keys")
    };
    assert!(told(8, 7 * 1024).await && !told(8, 9 * 1024).await, "8 KiB");
}

#[tokio::test]
async fn any_position_can_be_read_from() {
    let story = Story::plain();
    let run = story.run("start -> llm_1{provider: script, model: echo, stream: true} -> stop").await;
    let all = story.read(&run.id, From::default(), Follow::Tail).await;
    for (at, frame) in all.iter().enumerate() {
        let rest = story.read(&run.id, From { after: frame.number(), order: Order::Ordered }, Follow::Tail).await;
        assert_eq!(rest, all[at + 1..]);
    }
    assert!(story.read(&run.id, From { after: 10_000, order: Order::Ordered }, Follow::Tail).await.is_empty(), "beyond the end is the end");
}
