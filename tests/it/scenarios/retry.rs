//! Retry: scenario 21, from a step, in branches, with state, calls in doubt.

use expect_test::expect;
use serde_json::json;
use wfstudio::engine::Order;

use crate::support::story::Story;

#[tokio::test]
async fn the_failed_step_is_tried_again() {
    let story = Story::scripted(json!([
        {"tool_calls": [{"name": "look", "arguments": {}}]}, {"error": "provider_unavailable", "text": "down"}, {"text": "Fine."}]));
    let run = story.run("start -> agent_1{provider: script, model: m, tools: [{ref: \"host:look\"}]} -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=1
        4 tool_call step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="look" inputs={} result=null
        5 tool_result step_id="s1" node_id="agent_1" call_id="call_agent_1_1" name="look" inputs={} result="{\"did\":\"look\",\"with\":{}}" is_error=false skipped=false duration_ms="ms"
        6 step_failed step_id="s1" node_id="agent_1" node_type="agent" duration_ms="ms" code="provider_unavailable" message="down" usage="1+2"
        7 trace_failed node_id="agent_1" code="provider_unavailable" message="down" usage="1+2"
    "#]].assert_eq(&run.text);
    expect![[r#"
        9 step_started step_id="s1" node_id="agent_1" node_type="agent" iteration=null attempt=2 resumed=true
        10 step_completed step_id="s1" node_id="agent_1" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"agent_response":"Fine."} provider="script" model="m" usage="9+4"
        11 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        12 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        13 trace_completed status="completed" output={"input":"hi","agent_response":"Fine."} reply="Fine." thread_id="t1" duration_ms="ms" usage="9+4"
    "#]].assert_eq(&story.retry(&run.id, json!({})).await);
    expect![[r#"
        s1 agent_1 completed .default attempt=2 output={"agent_response":"Fine."}
        s2 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
    assert_eq!(story.hands.calls().len(), 1, "a completed call is used again");
    expect![[r#"409 invalid_state: the run is completed; only a failed run can be retried {"run_status":"completed"}"#]].assert_eq(&story.refused(&run.id, "retry", json!({})).await);
}

#[tokio::test]
async fn state_is_merged_before_the_failed_step() {
    let story = Story::scripted(json!([{"error": "provider_bad_request", "text": "no"}, {"match": {"contains": "better"}, "text": "Fine."}]));
    let run = story.run("start -> llm_1{provider: script, model: m, prompt: \"{{question}}\"} -> stop").await;
    expect![[r#"
        7 step_started step_id="s1" node_id="llm_1" node_type="llm" iteration=null attempt=2 resumed=true
        8 step_completed step_id="s1" node_id="llm_1" node_type="llm" handle="default" duration_ms="ms" iteration=null changes={"llm_response":"Fine."} provider="script" model="m" usage="2+2"
        9 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
        10 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        11 trace_completed status="completed" output={"input":"hi","question":"better","llm_response":"Fine."} reply="Fine." thread_id="t1" duration_ms="ms" usage="2+2"
    "#]].assert_eq(&story.retry(&run.id, json!({"state": {"question": "better"}})).await);
}

const CHAIN: &str = "start -> set_1{key: a, value: \"{{a}}1\"} -> set_2{key: b, value: \"{{a}}2\"} -> tool_3{tool_ref: \"host:flaky\", parameters: {times: 2, b: \"{{b}}\"}} -> stop";

#[tokio::test]
async fn from_a_completed_step() {
    let story = Story::plain();
    let run = story.run(CHAIN).await;
    let (first, second, failed) = (story.id("s1"), story.id("s2"), story.id("s3"));
    expect![[r#"422 validation_failed: this run has no such completed step {"errors":{"from_step_id":["this run has no such completed step"]}}"#]].assert_eq(&story.refused(&run.id, "retry", json!({"from_step_id": failed})).await);
    expect![[r#"422 validation_failed: this run has no such completed step {"errors":{"from_step_id":["this run has no such completed step"]}}"#]].assert_eq(&story.refused(&run.id, "retry", json!({"from_step_id": run.id})).await);
    expect![[r#"
        11 step_started step_id="s4" node_id="set_2" node_type="set_state" iteration=null attempt=1
        12 step_completed step_id="s4" node_id="set_2" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"b":"X2"}
        13 step_started step_id="s5" node_id="tool_3" node_type="tool" iteration=null attempt=1
        14 step_failed step_id="s5" node_id="tool_3" node_type="tool" duration_ms="ms" code="tool_failed" message="broken 2"
        15 trace_failed node_id="tool_3" code="tool_failed" message="broken 2" usage="0+0"
    "#]].assert_eq(&story.retry(&run.id, json!({"from_step_id": second, "state": {"a": "X"}})).await);
    expect![[r#"
        s1 set_1 completed .default output={"a":"1"}
        s2 set_2 completed .default superseded=true output={"b":"12"}
        s3 tool_3 failed superseded=true error={"code":"tool_failed","message":"broken 1"}
        s4 set_2 completed .default output={"b":"X2"}
        s5 tool_3 failed error={"code":"tool_failed","message":"broken 2"}
    "#]].assert_eq(&story.steps(&run.id).await);
    expect![[r#"422 validation_failed: this run has no such completed step {"errors":{"from_step_id":["this run has no such completed step"]}}"#]].assert_eq(&story.refused(&run.id, "retry", json!({"from_step_id": second})).await);
    expect![[r#"
        17 step_started step_id="s6" node_id="set_1" node_type="set_state" iteration=null attempt=1
        18 step_completed step_id="s6" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"a":"1"}
        19 step_started step_id="s7" node_id="set_2" node_type="set_state" iteration=null attempt=1
        20 step_completed step_id="s7" node_id="set_2" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"b":"12"}
        21 step_started step_id="s8" node_id="tool_3" node_type="tool" iteration=null attempt=1
        22 step_completed step_id="s8" node_id="tool_3" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":2,"b":"12"}}}}
        23 step_started step_id="s9" node_id="stop" node_type="stop" iteration=null attempt=1
        24 step_completed step_id="s9" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        25 trace_completed status="completed" output={"input":"hi","a":"1","b":"12","tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":2,"b":"12"}}}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&story.retry(&run.id, json!({"from_step_id": first})).await);
    expect![[r#"
        s1 set_1 completed .default superseded=true output={"a":"1"}
        s2 set_2 completed .default superseded=true output={"b":"12"}
        s3 tool_3 failed superseded=true error={"code":"tool_failed","message":"broken 1"}
        s4 set_2 completed .default superseded=true output={"b":"X2"}
        s5 tool_3 failed superseded=true error={"code":"tool_failed","message":"broken 2"}
        s6 set_1 completed .default output={"a":"1"}
        s7 set_2 completed .default output={"b":"12"}
        s8 tool_3 completed .default output={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":2,"b":"12"}}}}
        s9 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
}

#[tokio::test]
async fn a_branch_fails_and_goes_on_while_its_sibling_still_waits() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> fork_1 -> join_1 -> stop
            fork_1.a -> human_a{output_key: a} -> join_1
            fork_1.b -> tool_b{tool_ref: \"host:flaky\", parameters: {times: 1}} -> set_b{key: b, value: 1} -> join_1",
        )
        .await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="fork_1" node_type="fork" iteration=null attempt=1
        4 branch_started fork_id="fork_1" branch_id="a"
        5 step_started step_id="s2" node_id="human_a" node_type="human" iteration=null attempt=1 branch_id="a"
        6 branch_started fork_id="fork_1" branch_id="b"
        7 step_started step_id="s3" node_id="tool_b" node_type="tool" iteration=null attempt=1 branch_id="b"
        8 step_failed step_id="s3" node_id="tool_b" node_type="tool" duration_ms="ms" code="tool_failed" message="broken 1" branch_id="b"
        9 trace_failed node_id="tool_b" code="tool_failed" message="broken 1" usage="0+0"
    "#]].assert_eq(&run.text);
    expect![[r#"
        s1 fork_1 failed error={"code":"tool_failed","message":"broken 1"}
        s2 human_a paused iteration_path="fork_1:a" branch_path=["a"]
        s3 tool_b failed iteration_path="fork_1:b" branch_path=["b"] error={"code":"tool_failed","message":"broken 1"}
    "#]].assert_eq(&story.steps(&run.id).await);
    expect![[r#"409 invalid_state: the run is failed; retry it first {"run_status":"failed"}"#]].assert_eq(&story.refused(&run.id, "resume", json!({"message": "x"})).await);
    expect![[r#"
        11 step_started step_id="s3" node_id="tool_b" node_type="tool" iteration=null attempt=2 resumed=true branch_id="b"
        12 step_completed step_id="s3" node_id="tool_b" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}} branch_id="b"
        13 step_started step_id="s4" node_id="set_b" node_type="set_state" iteration=null attempt=1 branch_id="b"
        14 step_completed step_id="s4" node_id="set_b" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"b":1} branch_id="b"
        15 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="b"
        16 parallel_interrupt fork_id="fork_1" node_id="human_a" pause_id="p1" reason="human" branch_id="a"
        17 human_input_required step_id="s2" node_id="human_a" pause_id="p1" prompt="Your input is needed." output_key="a" thread_id="t1" branch_id="a"
    "#]].assert_eq(&story.retry(&run.id, json!({})).await);
    expect![[r#"
        s1 fork_1 paused
        s2 human_a paused iteration_path="fork_1:a" branch_path=["a"]
        s3 tool_b completed .default iteration_path="fork_1:b" branch_path=["b"] attempt=2 output={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}}
        s4 set_b completed .default iteration_path="fork_1:b" branch_path=["b"] output={"b":1}
    "#]].assert_eq(&story.steps(&run.id).await);
    expect![[r#"
        19 step_started step_id="s2" node_id="human_a" node_type="human" iteration=null attempt=1 resumed=true branch_id="a"
        20 step_completed step_id="s2" node_id="human_a" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"A","a":"A"} branch_id="a"
        21 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="a"
        22 step_completed step_id="s1" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        23 step_started step_id="s5" node_id="join_1" node_type="join" iteration=null attempt=1
        24 step_completed step_id="s5" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"a":"A","b":{"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}},"b":1}}}
        25 step_started step_id="s6" node_id="stop" node_type="stop" iteration=null attempt=1
        26 step_completed step_id="s6" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        27 trace_completed status="completed" output={"input":"hi","parallel_results":{"a":"A","b":{"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}},"b":1}}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "A"})).await);
    expect![[r#"
        s1 fork_1 completed .default output={}
        s2 human_a completed .default iteration_path="fork_1:a" branch_path=["a"] output={"input":"A","a":"A"}
        s3 tool_b completed .default iteration_path="fork_1:b" branch_path=["b"] attempt=2 output={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}}
        s4 set_b completed .default iteration_path="fork_1:b" branch_path=["b"] output={"b":1}
        s5 join_1 completed .default output={"parallel_results":{"a":"A","b":{"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}},"b":1}}}
        s6 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
}

#[tokio::test]
async fn from_a_step_in_an_open_branch() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> fork_1 -> join_1 -> stop
            fork_1.a -> set_a{key: a, value: \"{{x}}a\"} -> set_a2{key: a2, value: 1} -> join_1
            fork_1.b -> set_b{key: b, value: 1} -> set_b2{key: b2, value: \"{{x}}\"} -> tool_b{tool_ref: \"host:flaky\", parameters: {times: 1}} -> join_1",
        )
        .await;
    let step = find(&story, &run.id, "set_a").await;
    expect![[r#"
        19 step_started step_id="s7" node_id="set_a" node_type="set_state" iteration=null attempt=1 branch_id="a"
        20 step_completed step_id="s7" node_id="set_a" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"a":"newa"} branch_id="a"
        21 step_started step_id="s8" node_id="set_a2" node_type="set_state" iteration=null attempt=1 branch_id="a"
        22 step_completed step_id="s8" node_id="set_a2" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"a2":1} branch_id="a"
        23 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="a"
        24 step_started step_id="s6" node_id="tool_b" node_type="tool" iteration=null attempt=2 resumed=true branch_id="b"
        25 step_completed step_id="s6" node_id="tool_b" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}} branch_id="b"
        26 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="b"
        27 step_completed step_id="s1" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        28 step_started step_id="s9" node_id="join_1" node_type="join" iteration=null attempt=1
        29 step_completed step_id="s9" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"a":{"a":"newa","a2":1},"b":{"b":1,"b2":"","tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}}}}
        30 step_started step_id="s10" node_id="stop" node_type="stop" iteration=null attempt=1
        31 step_completed step_id="s10" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        32 trace_completed status="completed" output={"input":"hi","parallel_results":{"a":{"a":"newa","a2":1},"b":{"b":1,"b2":"","tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}}}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&story.retry(&run.id, json!({"from_step_id": step, "state": {"x": "new"}})).await);
    expect![[r#"
        s1 fork_1 completed .default output={}
        s2 set_a completed .default iteration_path="fork_1:a" branch_path=["a"] superseded=true output={"a":"a"}
        s3 set_a2 completed .default iteration_path="fork_1:a" branch_path=["a"] superseded=true output={"a2":1}
        s4 set_b completed .default iteration_path="fork_1:b" branch_path=["b"] output={"b":1}
        s5 set_b2 completed .default iteration_path="fork_1:b" branch_path=["b"] output={"b2":""}
        s6 tool_b completed .default iteration_path="fork_1:b" branch_path=["b"] attempt=2 output={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}}
        s7 set_a completed .default iteration_path="fork_1:a" branch_path=["a"] output={"a":"newa"}
        s8 set_a2 completed .default iteration_path="fork_1:a" branch_path=["a"] output={"a2":1}
        s9 join_1 completed .default output={"parallel_results":{"a":{"a":"newa","a2":1},"b":{"b":1,"b2":"","tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}}}}
        s10 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
}

#[tokio::test]
async fn from_a_step_in_a_closed_fork() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> fork_1 -> join_1{output_key: got} -> set_z{key: z, value: 1} -> tool_z{tool_ref: \"host:flaky\", parameters: {times: 1}} -> stop
            fork_1.a -> set_a{key: a, value: \"{{x}}a\"} -> fork_2 -> join_2 -> join_1; fork_2.u -> set_u{key: u, value: \"{{x}}u\"} -> join_2; fork_2.v -> set_v{key: v, value: 1} -> join_2
            fork_1.b -> set_b{key: b, value: 1} -> join_1",
        )
        .await;
    let step = find(&story, &run.id, "set_u").await;
    expect![[r#"
        33 step_started step_id="s11" node_id="set_u" node_type="set_state" iteration=null attempt=1 branch_id="u" branch_path=["a","u"]
        34 step_completed step_id="s11" node_id="set_u" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"u":"newu"} branch_id="u" branch_path=["a","u"]
        35 branch_completed fork_id="fork_2" duration_ms="ms" branch_id="u" branch_path=["a","u"]
        36 step_completed step_id="s3" node_id="fork_2" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={} branch_id="a"
        37 step_started step_id="s12" node_id="join_2" node_type="join" iteration=null attempt=1 branch_id="a"
        38 step_completed step_id="s12" node_id="join_2" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"u":"newu","v":1}} branch_id="a"
        39 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="a"
        40 step_completed step_id="s1" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        41 step_started step_id="s13" node_id="join_1" node_type="join" iteration=null attempt=1
        42 step_completed step_id="s13" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"got":{"a":{"a":"a","parallel_results":{"u":"newu","v":1}},"b":1}}
        43 step_started step_id="s14" node_id="set_z" node_type="set_state" iteration=null attempt=1
        44 step_completed step_id="s14" node_id="set_z" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"z":1}
        45 step_started step_id="s15" node_id="tool_z" node_type="tool" iteration=null attempt=1
        46 step_completed step_id="s15" node_id="tool_z" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}}
        47 step_started step_id="s16" node_id="stop" node_type="stop" iteration=null attempt=1
        48 step_completed step_id="s16" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        49 trace_completed status="completed" output={"input":"hi","got":{"a":{"a":"a","parallel_results":{"u":"newu","v":1}},"b":1},"z":1,"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&story.retry(&run.id, json!({"from_step_id": step, "state": {"x": "new"}})).await);
    expect![[r#"
        s1 fork_1 completed .default output={}
        s2 set_a completed .default iteration_path="fork_1:a" branch_path=["a"] output={"a":"a"}
        s3 fork_2 completed .default iteration_path="fork_1:a" branch_path=["a"] output={}
        s4 set_u completed .default iteration_path="fork_1:a/fork_2:u" branch_path=["a","u"] superseded=true output={"u":"u"}
        s5 set_v completed .default iteration_path="fork_1:a/fork_2:v" branch_path=["a","v"] output={"v":1}
        s6 join_2 completed .default iteration_path="fork_1:a" branch_path=["a"] superseded=true output={"parallel_results":{"u":"u","v":1}}
        s7 set_b completed .default iteration_path="fork_1:b" branch_path=["b"] output={"b":1}
        s8 join_1 completed .default superseded=true output={"got":{"a":{"a":"a","parallel_results":{"u":"u","v":1}},"b":1}}
        s9 set_z completed .default superseded=true output={"z":1}
        s10 tool_z failed superseded=true error={"code":"tool_failed","message":"broken 1"}
        s11 set_u completed .default iteration_path="fork_1:a/fork_2:u" branch_path=["a","u"] output={"u":"newu"}
        s12 join_2 completed .default iteration_path="fork_1:a" branch_path=["a"] output={"parallel_results":{"u":"newu","v":1}}
        s13 join_1 completed .default output={"got":{"a":{"a":"a","parallel_results":{"u":"newu","v":1}},"b":1}}
        s14 set_z completed .default output={"z":1}
        s15 tool_z completed .default output={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}}
        s16 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="fork_1" node_type="fork" iteration=null attempt=1
        4 branch_started fork_id="fork_1" branch_id="a"
        5 step_started step_id="s2" node_id="set_a" node_type="set_state" iteration=null attempt=1 branch_id="a"
        6 step_completed step_id="s2" node_id="set_a" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"a":"a"} branch_id="a"
        7 step_started step_id="s3" node_id="fork_2" node_type="fork" iteration=null attempt=1 branch_id="a"
        8 branch_started fork_id="fork_2" branch_id="u" branch_path=["a","u"]
        9 step_started step_id="s4" node_id="set_u" node_type="set_state" iteration=null attempt=1 branch_id="u" branch_path=["a","u"]
        10 step_completed step_id="s4" node_id="set_u" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"u":"u"} branch_id="u" branch_path=["a","u"]
        11 branch_completed fork_id="fork_2" duration_ms="ms" branch_id="u" branch_path=["a","u"]
        12 branch_started fork_id="fork_2" branch_id="v" branch_path=["a","v"]
        13 step_started step_id="s5" node_id="set_v" node_type="set_state" iteration=null attempt=1 branch_id="v" branch_path=["a","v"]
        14 step_completed step_id="s5" node_id="set_v" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"v":1} branch_id="v" branch_path=["a","v"]
        15 branch_completed fork_id="fork_2" duration_ms="ms" branch_id="v" branch_path=["a","v"]
        16 step_completed step_id="s3" node_id="fork_2" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={} branch_id="a"
        17 step_started step_id="s6" node_id="join_2" node_type="join" iteration=null attempt=1 branch_id="a"
        18 step_completed step_id="s6" node_id="join_2" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"u":"u","v":1}} branch_id="a"
        19 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="a"
        20 branch_started fork_id="fork_1" branch_id="b"
        21 step_started step_id="s7" node_id="set_b" node_type="set_state" iteration=null attempt=1 branch_id="b"
        22 step_completed step_id="s7" node_id="set_b" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"b":1} branch_id="b"
        23 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="b"
        24 step_completed step_id="s1" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        25 step_started step_id="s8" node_id="join_1" node_type="join" iteration=null attempt=1
        26 step_completed step_id="s8" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"got":{"a":{"a":"a","parallel_results":{"u":"u","v":1}},"b":1}}
        27 step_started step_id="s9" node_id="set_z" node_type="set_state" iteration=null attempt=1
        28 step_completed step_id="s9" node_id="set_z" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"z":1}
        29 step_started step_id="s10" node_id="tool_z" node_type="tool" iteration=null attempt=1
        30 step_failed step_id="s10" node_id="tool_z" node_type="tool" duration_ms="ms" code="tool_failed" message="broken 1"
        31 trace_failed node_id="tool_z" code="tool_failed" message="broken 1" usage="0+0"
        33 step_started step_id="s11" node_id="set_u" node_type="set_state" iteration=null attempt=1 branch_id="u" branch_path=["a","u"]
        34 step_completed step_id="s11" node_id="set_u" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"u":"newu"} branch_id="u" branch_path=["a","u"]
        35 branch_completed fork_id="fork_2" duration_ms="ms" branch_id="u" branch_path=["a","u"]
        36 step_completed step_id="s3" node_id="fork_2" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={} branch_id="a"
        37 step_started step_id="s12" node_id="join_2" node_type="join" iteration=null attempt=1 branch_id="a"
        38 step_completed step_id="s12" node_id="join_2" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"u":"newu","v":1}} branch_id="a"
        39 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="a"
        40 step_completed step_id="s1" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        41 step_started step_id="s13" node_id="join_1" node_type="join" iteration=null attempt=1
        42 step_completed step_id="s13" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"got":{"a":{"a":"a","parallel_results":{"u":"newu","v":1}},"b":1}}
        43 step_started step_id="s14" node_id="set_z" node_type="set_state" iteration=null attempt=1
        44 step_completed step_id="s14" node_id="set_z" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"z":1}
        45 step_started step_id="s15" node_id="tool_z" node_type="tool" iteration=null attempt=1
        46 step_completed step_id="s15" node_id="tool_z" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}}
        47 step_started step_id="s16" node_id="stop" node_type="stop" iteration=null attempt=1
        48 step_completed step_id="s16" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        49 trace_completed status="completed" output={"input":"hi","got":{"a":{"a":"a","parallel_results":{"u":"newu","v":1}},"b":1},"z":1,"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
        50 run_terminal status="completed"
    "#]].assert_eq(&story.tail(&run.id, Order::Ordered, 0).await);
}

#[tokio::test]
async fn from_before_a_fork_that_waits() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> set_0{key: o, value: \"{{o}}o\"} -> fork_1 -> join_1 -> stop
            fork_1.a -> human_a{output_key: a} -> join_1
            fork_1.b -> tool_b{tool_ref: \"host:flaky\", parameters: {times: 1}} -> join_1",
        )
        .await;
    let step = find(&story, &run.id, "set_0").await;
    expect![[r#"
        13 step_started step_id="s5" node_id="set_0" node_type="set_state" iteration=null attempt=1
        14 step_completed step_id="s5" node_id="set_0" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"o":"o"}
        15 step_started step_id="s6" node_id="fork_1" node_type="fork" iteration=null attempt=1
        16 branch_started fork_id="fork_1" branch_id="a"
        17 step_started step_id="s7" node_id="human_a" node_type="human" iteration=null attempt=1 branch_id="a"
        18 branch_started fork_id="fork_1" branch_id="b"
        19 step_started step_id="s8" node_id="tool_b" node_type="tool" iteration=null attempt=1 branch_id="b"
        20 step_completed step_id="s8" node_id="tool_b" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}} branch_id="b"
        21 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="b"
        22 parallel_interrupt fork_id="fork_1" node_id="human_a" pause_id="p1" reason="human" branch_id="a"
        23 human_input_required step_id="s7" node_id="human_a" pause_id="p1" prompt="Your input is needed." output_key="a" thread_id="t1" branch_id="a"
    "#]].assert_eq(&story.retry(&run.id, json!({"from_step_id": step})).await);
    expect![[r#"
        s1 set_0 completed .default superseded=true output={"o":"o"}
        s2 fork_1 failed superseded=true error={"code":"tool_failed","message":"broken 1"}
        s3 human_a paused iteration_path="fork_1:a" branch_path=["a"] superseded=true
        s4 tool_b failed iteration_path="fork_1:b" branch_path=["b"] superseded=true error={"code":"tool_failed","message":"broken 1"}
        s5 set_0 completed .default output={"o":"o"}
        s6 fork_1 paused
        s7 human_a paused iteration_path="fork_1:a" branch_path=["a"]
        s8 tool_b completed .default iteration_path="fork_1:b" branch_path=["b"] output={"tool_result":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}}
    "#]].assert_eq(&story.steps(&run.id).await);
    expect![[r#"
        25 step_started step_id="s7" node_id="human_a" node_type="human" iteration=null attempt=1 resumed=true branch_id="a"
        26 step_completed step_id="s7" node_id="human_a" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"A","a":"A"} branch_id="a"
        27 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="a"
        28 step_completed step_id="s6" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        29 step_started step_id="s9" node_id="join_1" node_type="join" iteration=null attempt=1
        30 step_completed step_id="s9" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"a":"A","b":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}}}
        31 step_started step_id="s10" node_id="stop" node_type="stop" iteration=null attempt=1
        32 step_completed step_id="s10" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        33 trace_completed status="completed" output={"input":"hi","o":"o","parallel_results":{"a":"A","b":{"name":"flaky","result":{"did":"flaky","with":{"times":1}}}}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "A"})).await);
}

async fn find(story: &Story, run: &str, node: &str) -> String {
    let trace = story.trace(run).await;
    let step = trace["steps"].as_array().unwrap().iter().find(|step| step["node_id"] == node).unwrap();
    step["id"].as_str().unwrap().to_owned()
}
