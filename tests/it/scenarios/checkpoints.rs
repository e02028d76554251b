//! Node checkpoints: scenario 16, by iteration and branch, and when the input changed.

use expect_test::expect;
use serde_json::json;

use crate::support::story::Story;

const SKETCH: &str = "start -> set_1{key: topic, value: \"{{input}}\"} -> llm_1{provider: script, model: m, prompt: \"{{topic}}\", checkpoint: true, stream: true} -> tool_2{tool_ref: \"host:look\", parameters: {t: \"{{topic}}\"}, checkpoint: true} -> tool_3{tool_ref: \"host:flaky\", parameters: {times: 2}} -> stop";

#[tokio::test]
async fn a_stored_result_is_used_on_retry() {
    let story = Story::scripted(json!([{"text": "One two", "times": 1}, {"text": "Other", "times": 1}]));
    let run = story.run(SKETCH).await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="set_1" node_type="set_state" iteration=null attempt=1
        4 step_completed step_id="s1" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"topic":"hi"}
        5 step_started step_id="s2" node_id="llm_1" node_type="llm" iteration=null attempt=1
        6 token step_id="s2" node_id="llm_1" delta="One " publish_reply=true
        7 token step_id="s2" node_id="llm_1" delta="two" publish_reply=true
        8 step_completed step_id="s2" node_id="llm_1" node_type="llm" handle="default" duration_ms="ms" iteration=null changes={"llm_response":"One two"} provider="script" model="m" usage="1+2"
        9 step_started step_id="s3" node_id="tool_2" node_type="tool" iteration=null attempt=1
        10 step_completed step_id="s3" node_id="tool_2" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"look","result":{"did":"look","with":{"t":"hi"}}}}
        11 step_started step_id="s4" node_id="tool_3" node_type="tool" iteration=null attempt=1
        12 step_failed step_id="s4" node_id="tool_3" node_type="tool" duration_ms="ms" code="tool_failed" message="broken 1"
        13 trace_failed node_id="tool_3" code="tool_failed" message="broken 1" usage="1+2"
    "#]].assert_eq(&run.text);
    let step = story.id("s1");
    expect![[r#"
        15 step_started step_id="s5" node_id="set_1" node_type="set_state" iteration=null attempt=1
        16 step_completed step_id="s5" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"topic":"hi"}
        17 step_started step_id="s6" node_id="llm_1" node_type="llm" iteration=null attempt=1
        18 checkpoint_hit step_id="s6" node_id="llm_1" iteration=null input_hash="ddf9a17d57403c6af4b13c74f6970a8b2a0fe822d970ad3a37ab8ec8a5805762"
        19 step_completed step_id="s6" node_id="llm_1" node_type="llm" handle="default" duration_ms="ms" iteration=null changes={"llm_response":"One two"} provider=null model=null usage="0+0"
        20 step_started step_id="s7" node_id="tool_2" node_type="tool" iteration=null attempt=1
        21 checkpoint_hit step_id="s7" node_id="tool_2" iteration=null input_hash="5e9945743064e71124b7c20b06c542fa0e385684be364c293abae9cf55880dd0"
        22 step_completed step_id="s7" node_id="tool_2" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"look","result":{"did":"look","with":{"t":"hi"}}}}
        23 step_started step_id="s8" node_id="tool_3" node_type="tool" iteration=null attempt=1
        24 step_failed step_id="s8" node_id="tool_3" node_type="tool" duration_ms="ms" code="tool_failed" message="broken 2"
        25 trace_failed node_id="tool_3" code="tool_failed" message="broken 2" usage="1+2"
    "#]].assert_eq(&story.retry(&run.id, json!({"from_step_id": step})).await);
    expect![[r#"
        s1 set_1 completed .default superseded=true output={"topic":"hi"}
        s2 llm_1 completed .default superseded=true output={"llm_response":"One two"}
        s3 tool_2 completed .default superseded=true output={"tool_result":{"name":"look","result":{"did":"look","with":{"t":"hi"}}}}
        s4 tool_3 failed superseded=true error={"code":"tool_failed","message":"broken 1"}
        s5 set_1 completed .default output={"topic":"hi"}
        s6 llm_1 completed .default checkpoint_hit=true output={"llm_response":"One two"}
        s7 tool_2 completed .default checkpoint_hit=true output={"tool_result":{"name":"look","result":{"did":"look","with":{"t":"hi"}}}}
        s8 tool_3 failed error={"code":"tool_failed","message":"broken 2"}
    "#]].assert_eq(&story.steps(&run.id).await);
    let trace = story.trace(&run.id).await;
    let again = trace["steps"].as_array().unwrap().iter().find(|step| step["node_id"] == "set_1" && step["superseded"] == false).unwrap();
    let step = again["id"].clone();
    expect![[r#"
        27 step_started step_id="s9" node_id="set_1" node_type="set_state" iteration=null attempt=1
        28 step_completed step_id="s9" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"topic":"else"}
        29 step_started step_id="s10" node_id="llm_1" node_type="llm" iteration=null attempt=1
        30 token step_id="s10" node_id="llm_1" delta="Other" publish_reply=true
        31 step_completed step_id="s10" node_id="llm_1" node_type="llm" handle="default" duration_ms="ms" iteration=null changes={"llm_response":"Other"} provider="script" model="m" usage="1+2"
        32 step_started step_id="s11" node_id="tool_2" node_type="tool" iteration=null attempt=1
        33 step_completed step_id="s11" node_id="tool_2" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"look","result":{"did":"look","with":{"t":"else"}}}}
        34 step_started step_id="s12" node_id="tool_3" node_type="tool" iteration=null attempt=1
        35 step_completed step_id="s12" node_id="tool_3" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":2}}}}
        36 step_started step_id="s13" node_id="stop" node_type="stop" iteration=null attempt=1
        37 step_completed step_id="s13" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        38 trace_completed status="completed" output={"input":"else","topic":"else","llm_response":"Other","tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":2}}}} reply="Other" thread_id="t1" duration_ms="ms" usage="2+4"
    "#]].assert_eq(&story.retry(&run.id, json!({"from_step_id": step, "state": {"input": "else"}})).await);
    let calls = story.hands.calls();
    assert_eq!(calls.iter().filter(|call| call.starts_with("look")).count(), 2, "{calls:?}");
}

#[tokio::test]
async fn each_pass_of_a_loop_has_its_own() {
    let story = Story::plain();
    let run = story.run("start -> set_0{key: k, value: 1} -> loop_1{max_steps: 2, on_max: exit}; loop_1.continue -> tool_1{tool_ref: \"host:look\", parameters: {k: \"{{k}}\"}, checkpoint: true} -> loop_1; loop_1.exit -> tool_2{tool_ref: \"host:flaky\", parameters: {times: 1}} -> stop").await;
    let step = story.id("s1");
    expect![[r#"
        22 step_started step_id="s8" node_id="set_0" node_type="set_state" iteration=null attempt=1
        23 step_completed step_id="s8" node_id="set_0" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"k":1}
        24 step_started step_id="s9" node_id="loop_1" node_type="loop" iteration=1 attempt=1
        25 loop_iteration step_id="s9" node_id="loop_1" iteration=1 max_steps=2
        26 step_completed step_id="s9" node_id="loop_1" node_type="loop" handle="continue" duration_ms="ms" iteration=1 changes={}
        27 step_started step_id="s10" node_id="tool_1" node_type="tool" iteration=1 attempt=1
        28 checkpoint_hit step_id="s10" node_id="tool_1" iteration=1 input_hash="a0da1fce57d0e4f9f0ae4e4cbe040d34dcc046255c6c8d18e97f55aaed0655f0"
        29 step_completed step_id="s10" node_id="tool_1" node_type="tool" handle="default" duration_ms="ms" iteration=1 changes={"tool_result":{"name":"look","result":{"did":"look","with":{"k":"1"}}}}
        30 step_started step_id="s11" node_id="loop_1" node_type="loop" iteration=2 attempt=1
        31 loop_iteration step_id="s11" node_id="loop_1" iteration=2 max_steps=2
        32 step_completed step_id="s11" node_id="loop_1" node_type="loop" handle="continue" duration_ms="ms" iteration=2 changes={}
        33 step_started step_id="s12" node_id="tool_1" node_type="tool" iteration=2 attempt=1
        34 checkpoint_hit step_id="s12" node_id="tool_1" iteration=2 input_hash="a0da1fce57d0e4f9f0ae4e4cbe040d34dcc046255c6c8d18e97f55aaed0655f0"
        35 step_completed step_id="s12" node_id="tool_1" node_type="tool" handle="default" duration_ms="ms" iteration=2 changes={"tool_result":{"name":"look","result":{"did":"look","with":{"k":"1"}}}}
        36 step_started step_id="s13" node_id="loop_1" node_type="loop" iteration=3 attempt=1
        37 loop_iteration step_id="s13" node_id="loop_1" iteration=3 max_steps=2
        38 step_completed step_id="s13" node_id="loop_1" node_type="loop" handle="exit" duration_ms="ms" iteration=3 changes={}
        39 step_started step_id="s14" node_id="tool_2" node_type="tool" iteration=null attempt=1
        40 step_completed step_id="s14" node_id="tool_2" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}}
        41 step_started step_id="s15" node_id="stop" node_type="stop" iteration=null attempt=1
        42 step_completed step_id="s15" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        43 trace_completed status="completed" output={"input":"hi","k":1,"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&story.retry(&run.id, json!({"from_step_id": step})).await);
    assert_eq!(story.hands.calls().iter().filter(|call| call.starts_with("look")).count(), 2);
}

#[tokio::test]
async fn switched_off_nothing_is_used() {
    let story = Story::with(json!({"checkpoints": {"enabled": false}}), json!([{"times": 0, "text": "x"}]));
    let run = story.run(SKETCH).await;
    let step = story.id("s1");
    let told = story.retry(&run.id, json!({"from_step_id": step})).await;
    assert!(!told.contains("checkpoint_hit"), "{told}");
}
