//! Forks in forks, forks in loops, loops in forks.

use expect_test::expect;
use serde_json::json;

use crate::support::story::Story;

#[tokio::test]
async fn pauses_in_nested_forks_name_their_innermost_branch() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> fork_out -> join_out -> stop
            fork_out.p -> fork_in -> join_in -> join_out; fork_in.u -> human_u{output_key: u} -> join_in; fork_in.v -> human_v{output_key: v} -> join_in
            fork_out.q -> set_q{key: q, value: 1} -> human_q{output_key: q} -> join_out",
        )
        .await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="fork_out" node_type="fork" iteration=null attempt=1
        4 branch_started fork_id="fork_out" branch_id="p"
        5 step_started step_id="s2" node_id="fork_in" node_type="fork" iteration=null attempt=1 branch_id="p"
        6 branch_started fork_id="fork_in" branch_id="u" branch_path=["p","u"]
        7 step_started step_id="s3" node_id="human_u" node_type="human" iteration=null attempt=1 branch_id="u" branch_path=["p","u"]
        8 branch_started fork_id="fork_in" branch_id="v" branch_path=["p","v"]
        9 step_started step_id="s4" node_id="human_v" node_type="human" iteration=null attempt=1 branch_id="v" branch_path=["p","v"]
        10 branch_started fork_id="fork_out" branch_id="q"
        11 step_started step_id="s5" node_id="set_q" node_type="set_state" iteration=null attempt=1 branch_id="q"
        12 step_completed step_id="s5" node_id="set_q" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"q":1} branch_id="q"
        13 step_started step_id="s6" node_id="human_q" node_type="human" iteration=null attempt=1 branch_id="q"
        14 parallel_interrupt fork_id="fork_in" node_id="human_u" pause_id="p1" reason="human" branch_id="u" branch_path=["p","u"]
        15 human_input_required step_id="s3" node_id="human_u" pause_id="p1" prompt="Your input is needed." output_key="u" thread_id="t1" branch_id="u" branch_path=["p","u"]
        16 parallel_interrupt fork_id="fork_in" node_id="human_v" pause_id="p2" reason="human" branch_id="v" branch_path=["p","v"]
        17 human_input_required step_id="s4" node_id="human_v" pause_id="p2" prompt="Your input is needed." output_key="v" thread_id="t1" branch_id="v" branch_path=["p","v"]
        18 parallel_interrupt fork_id="fork_out" node_id="human_q" pause_id="p3" reason="human" branch_id="q"
        19 human_input_required step_id="s6" node_id="human_q" pause_id="p3" prompt="Your input is needed." output_key="q" thread_id="t1" branch_id="q"
    "#]].assert_eq(&run.text);
    let checkpoint = story.trace(&run.id).await["trace"]["checkpoint"].clone();
    expect![[r#"
        {
          "state": {
            "input": "hi"
          },
          "node_id": "human_u",
          "pause_id": "p1",
          "interrupt": "opaque",
          "prompt": "Your input is needed.",
          "output_key": "u",
          "kind": "parallel",
          "parallel": {
            "fork_id": "fork_out",
            "join_id": "join_out",
            "pending_branch": "p",
            "branch_path": [
              "p",
              "u"
            ],
            "pending_node": "human_u",
            "reason": "human",
            "pending_state": {
              "input": "hi"
            },
            "completed": {}
          }
        }"#]].assert_eq(&story.shown(&checkpoint));
    expect![[r#"
        21 step_started step_id="s4" node_id="human_v" node_type="human" iteration=null attempt=1 resumed=true branch_id="v" branch_path=["p","v"]
        22 step_completed step_id="s4" node_id="human_v" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"V","v":"V"} branch_id="v" branch_path=["p","v"]
        23 branch_completed fork_id="fork_in" duration_ms="ms" branch_id="v" branch_path=["p","v"]
        24 parallel_interrupt fork_id="fork_in" node_id="human_u" pause_id="p1" reason="human" branch_id="u" branch_path=["p","u"]
        25 human_input_required step_id="s3" node_id="human_u" pause_id="p1" prompt="Your input is needed." output_key="u" thread_id="t1" branch_id="u" branch_path=["p","u"]
        26 parallel_interrupt fork_id="fork_out" node_id="human_q" pause_id="p3" reason="human" branch_id="q"
        27 human_input_required step_id="s6" node_id="human_q" pause_id="p3" prompt="Your input is needed." output_key="q" thread_id="t1" branch_id="q"
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "V", "node_id": "human_v"})).await);
    expect![[r#"
        29 step_started step_id="s6" node_id="human_q" node_type="human" iteration=null attempt=1 resumed=true branch_id="q"
        30 step_completed step_id="s6" node_id="human_q" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"Q","q":"Q"} branch_id="q"
        31 branch_completed fork_id="fork_out" duration_ms="ms" branch_id="q"
        32 parallel_interrupt fork_id="fork_in" node_id="human_u" pause_id="p1" reason="human" branch_id="u" branch_path=["p","u"]
        33 human_input_required step_id="s3" node_id="human_u" pause_id="p1" prompt="Your input is needed." output_key="u" thread_id="t1" branch_id="u" branch_path=["p","u"]
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "Q", "node_id": "human_q"})).await);
    expect![[r#"
        35 step_started step_id="s3" node_id="human_u" node_type="human" iteration=null attempt=1 resumed=true branch_id="u" branch_path=["p","u"]
        36 step_completed step_id="s3" node_id="human_u" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"U","u":"U"} branch_id="u" branch_path=["p","u"]
        37 branch_completed fork_id="fork_in" duration_ms="ms" branch_id="u" branch_path=["p","u"]
        38 step_completed step_id="s2" node_id="fork_in" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={} branch_id="p"
        39 step_started step_id="s7" node_id="join_in" node_type="join" iteration=null attempt=1 branch_id="p"
        40 step_completed step_id="s7" node_id="join_in" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"u":"U","v":"V"}} branch_id="p"
        41 branch_completed fork_id="fork_out" duration_ms="ms" branch_id="p"
        42 step_completed step_id="s1" node_id="fork_out" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        43 step_started step_id="s8" node_id="join_out" node_type="join" iteration=null attempt=1
        44 step_completed step_id="s8" node_id="join_out" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"p":{"u":"U","v":"V"},"q":"Q"}}
        45 step_started step_id="s9" node_id="stop" node_type="stop" iteration=null attempt=1
        46 step_completed step_id="s9" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        47 trace_completed status="completed" output={"input":"hi","parallel_results":{"p":{"u":"U","v":"V"},"q":"Q"}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "U"})).await);
    expect![[r#"
        s1 fork_out completed .default output={}
        s2 fork_in completed .default iteration_path="fork_out:p" branch_path=["p"] output={}
        s3 human_u completed .default iteration_path="fork_out:p/fork_in:u" branch_path=["p","u"] output={"input":"U","u":"U"}
        s4 human_v completed .default iteration_path="fork_out:p/fork_in:v" branch_path=["p","v"] output={"input":"V","v":"V"}
        s5 set_q completed .default iteration_path="fork_out:q" branch_path=["q"] output={"q":1}
        s6 human_q completed .default iteration_path="fork_out:q" branch_path=["q"] output={"input":"Q","q":"Q"}
        s7 join_in completed .default iteration_path="fork_out:p" branch_path=["p"] output={"parallel_results":{"u":"U","v":"V"}}
        s8 join_out completed .default output={"parallel_results":{"p":{"u":"U","v":"V"},"q":"Q"}}
        s9 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
}

#[tokio::test]
async fn forks_in_loops_in_forks() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> fork_out -> join_out{output_key: out} -> stop
            fork_out.p -> loop_1{max_steps: 2, on_max: exit}; loop_1.exit -> join_out
            loop_1.continue -> fork_in -> join_in{output_key: inner} -> set_p{key: log, value: \"{{log}}{{inner.u}}\"} -> loop_1
            fork_in.u -> set_u{key: u, value: \"u{{log}}\"} -> join_in; fork_in.v -> condition_v{state_key: log, operator: empty}
            condition_v.true -> set_v{key: v, value: 1} -> join_in; condition_v.false -> join_in
            fork_out.q -> set_q{key: q, value: 1} -> join_out",
        )
        .await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="fork_out" node_type="fork" iteration=null attempt=1
        4 branch_started fork_id="fork_out" branch_id="p"
        5 step_started step_id="s2" node_id="loop_1" node_type="loop" iteration=1 attempt=1 branch_id="p"
        6 loop_iteration step_id="s2" node_id="loop_1" iteration=1 max_steps=2 branch_id="p"
        7 step_completed step_id="s2" node_id="loop_1" node_type="loop" handle="continue" duration_ms="ms" iteration=1 changes={} branch_id="p"
        8 step_started step_id="s3" node_id="fork_in" node_type="fork" iteration=1 attempt=1 branch_id="p"
        9 branch_started fork_id="fork_in" branch_id="u" branch_path=["p","u"]
        10 step_started step_id="s4" node_id="set_u" node_type="set_state" iteration=1 attempt=1 branch_id="u" branch_path=["p","u"]
        11 step_completed step_id="s4" node_id="set_u" node_type="set_state" handle="default" duration_ms="ms" iteration=1 changes={"u":"u"} branch_id="u" branch_path=["p","u"]
        12 branch_completed fork_id="fork_in" duration_ms="ms" branch_id="u" branch_path=["p","u"]
        13 branch_started fork_id="fork_in" branch_id="v" branch_path=["p","v"]
        14 step_started step_id="s5" node_id="condition_v" node_type="condition" iteration=1 attempt=1 branch_id="v" branch_path=["p","v"]
        15 step_completed step_id="s5" node_id="condition_v" node_type="condition" handle="true" duration_ms="ms" iteration=1 changes={} branch_id="v" branch_path=["p","v"]
        16 step_started step_id="s6" node_id="set_v" node_type="set_state" iteration=1 attempt=1 branch_id="v" branch_path=["p","v"]
        17 step_completed step_id="s6" node_id="set_v" node_type="set_state" handle="default" duration_ms="ms" iteration=1 changes={"v":1} branch_id="v" branch_path=["p","v"]
        18 branch_completed fork_id="fork_in" duration_ms="ms" branch_id="v" branch_path=["p","v"]
        19 step_completed step_id="s3" node_id="fork_in" node_type="fork" handle="default" duration_ms="ms" iteration=1 changes={} branch_id="p"
        20 step_started step_id="s7" node_id="join_in" node_type="join" iteration=1 attempt=1 branch_id="p"
        21 step_completed step_id="s7" node_id="join_in" node_type="join" handle="default" duration_ms="ms" iteration=1 changes={"inner":{"u":"u","v":1}} branch_id="p"
        22 step_started step_id="s8" node_id="set_p" node_type="set_state" iteration=1 attempt=1 branch_id="p"
        23 step_completed step_id="s8" node_id="set_p" node_type="set_state" handle="default" duration_ms="ms" iteration=1 changes={"log":"u"} branch_id="p"
        24 step_started step_id="s9" node_id="loop_1" node_type="loop" iteration=2 attempt=1 branch_id="p"
        25 loop_iteration step_id="s9" node_id="loop_1" iteration=2 max_steps=2 branch_id="p"
        26 step_completed step_id="s9" node_id="loop_1" node_type="loop" handle="continue" duration_ms="ms" iteration=2 changes={} branch_id="p"
        27 step_started step_id="s10" node_id="fork_in" node_type="fork" iteration=2 attempt=1 branch_id="p"
        28 branch_started fork_id="fork_in" branch_id="u" branch_path=["p","u"]
        29 step_started step_id="s11" node_id="set_u" node_type="set_state" iteration=2 attempt=1 branch_id="u" branch_path=["p","u"]
        30 step_completed step_id="s11" node_id="set_u" node_type="set_state" handle="default" duration_ms="ms" iteration=2 changes={"u":"uu"} branch_id="u" branch_path=["p","u"]
        31 branch_completed fork_id="fork_in" duration_ms="ms" branch_id="u" branch_path=["p","u"]
        32 branch_started fork_id="fork_in" branch_id="v" branch_path=["p","v"]
        33 step_started step_id="s12" node_id="condition_v" node_type="condition" iteration=2 attempt=1 branch_id="v" branch_path=["p","v"]
        34 step_completed step_id="s12" node_id="condition_v" node_type="condition" handle="false" duration_ms="ms" iteration=2 changes={} branch_id="v" branch_path=["p","v"]
        35 branch_completed fork_id="fork_in" duration_ms="ms" branch_id="v" branch_path=["p","v"]
        36 step_completed step_id="s10" node_id="fork_in" node_type="fork" handle="default" duration_ms="ms" iteration=2 changes={} branch_id="p"
        37 step_started step_id="s13" node_id="join_in" node_type="join" iteration=2 attempt=1 branch_id="p"
        38 step_completed step_id="s13" node_id="join_in" node_type="join" handle="default" duration_ms="ms" iteration=2 changes={"inner":{"u":"uu","v":{}}} branch_id="p"
        39 step_started step_id="s14" node_id="set_p" node_type="set_state" iteration=2 attempt=1 branch_id="p"
        40 step_completed step_id="s14" node_id="set_p" node_type="set_state" handle="default" duration_ms="ms" iteration=2 changes={"log":"uuu"} branch_id="p"
        41 step_started step_id="s15" node_id="loop_1" node_type="loop" iteration=3 attempt=1 branch_id="p"
        42 loop_iteration step_id="s15" node_id="loop_1" iteration=3 max_steps=2 branch_id="p"
        43 step_completed step_id="s15" node_id="loop_1" node_type="loop" handle="exit" duration_ms="ms" iteration=3 changes={} branch_id="p"
        44 branch_completed fork_id="fork_out" duration_ms="ms" branch_id="p"
        45 branch_started fork_id="fork_out" branch_id="q"
        46 step_started step_id="s16" node_id="set_q" node_type="set_state" iteration=null attempt=1 branch_id="q"
        47 step_completed step_id="s16" node_id="set_q" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"q":1} branch_id="q"
        48 branch_completed fork_id="fork_out" duration_ms="ms" branch_id="q"
        49 step_completed step_id="s1" node_id="fork_out" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        50 step_started step_id="s17" node_id="join_out" node_type="join" iteration=null attempt=1
        51 step_completed step_id="s17" node_id="join_out" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"out":{"p":{"inner":{"u":"uu","v":{}},"log":"uuu"},"q":1}}
        52 step_started step_id="s18" node_id="stop" node_type="stop" iteration=null attempt=1
        53 step_completed step_id="s18" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        54 trace_completed status="completed" output={"input":"hi","out":{"p":{"inner":{"u":"uu","v":{}},"log":"uuu"},"q":1}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&run.text);
    expect![[r#"
        s1 fork_out completed .default output={}
        s2 loop_1 completed .continue iteration=1 iteration_path="fork_out:p/loop_1#1" branch_path=["p"] output={}
        s3 fork_in completed .default iteration=1 iteration_path="fork_out:p/loop_1#1" branch_path=["p"] output={}
        s4 set_u completed .default iteration=1 iteration_path="fork_out:p/loop_1#1/fork_in:u" branch_path=["p","u"] output={"u":"u"}
        s5 condition_v completed .true iteration=1 iteration_path="fork_out:p/loop_1#1/fork_in:v" branch_path=["p","v"] output={}
        s6 set_v completed .default iteration=1 iteration_path="fork_out:p/loop_1#1/fork_in:v" branch_path=["p","v"] output={"v":1}
        s7 join_in completed .default iteration=1 iteration_path="fork_out:p/loop_1#1" branch_path=["p"] output={"inner":{"u":"u","v":1}}
        s8 set_p completed .default iteration=1 iteration_path="fork_out:p/loop_1#1" branch_path=["p"] output={"log":"u"}
        s9 loop_1 completed .continue iteration=2 iteration_path="fork_out:p/loop_1#2" branch_path=["p"] output={}
        s10 fork_in completed .default iteration=2 iteration_path="fork_out:p/loop_1#2" branch_path=["p"] output={}
        s11 set_u completed .default iteration=2 iteration_path="fork_out:p/loop_1#2/fork_in:u" branch_path=["p","u"] output={"u":"uu"}
        s12 condition_v completed .false iteration=2 iteration_path="fork_out:p/loop_1#2/fork_in:v" branch_path=["p","v"] output={}
        s13 join_in completed .default iteration=2 iteration_path="fork_out:p/loop_1#2" branch_path=["p"] output={"inner":{"u":"uu","v":{}}}
        s14 set_p completed .default iteration=2 iteration_path="fork_out:p/loop_1#2" branch_path=["p"] output={"log":"uuu"}
        s15 loop_1 completed .exit iteration=3 iteration_path="fork_out:p/loop_1#3" branch_path=["p"] output={}
        s16 set_q completed .default iteration_path="fork_out:q" branch_path=["q"] output={"q":1}
        s17 join_out completed .default output={"out":{"p":{"inner":{"u":"uu","v":{}},"log":"uuu"},"q":1}}
        s18 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
}

#[tokio::test]
async fn a_fork_in_a_loop_pauses_on_each_pass() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> loop_1{max_steps: 2, on_max: exit}; loop_1.exit -> stop
            loop_1.continue -> fork_1 -> join_1{output_key: got} -> loop_1; fork_1.a -> human_a{output_key: a} -> join_1; fork_1.b -> set_b{key: b, value: 1} -> join_1",
        )
        .await;
    story.resume(&run.id, json!({"message": "1"})).await;
    expect![[r#"
        35 step_started step_id="s8" node_id="human_a" node_type="human" iteration=2 attempt=1 resumed=true branch_id="a"
        36 step_completed step_id="s8" node_id="human_a" node_type="human" handle="default" duration_ms="ms" iteration=2 changes={"input":"2","a":"2"} branch_id="a"
        37 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="a"
        38 step_completed step_id="s7" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=2 changes={}
        39 step_started step_id="s10" node_id="join_1" node_type="join" iteration=2 attempt=1
        40 step_completed step_id="s10" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=2 changes={"got":{"a":"2","b":1}}
        41 step_started step_id="s11" node_id="loop_1" node_type="loop" iteration=3 attempt=1
        42 loop_iteration step_id="s11" node_id="loop_1" iteration=3 max_steps=2
        43 step_completed step_id="s11" node_id="loop_1" node_type="loop" handle="exit" duration_ms="ms" iteration=3 changes={}
        44 step_started step_id="s12" node_id="stop" node_type="stop" iteration=null attempt=1
        45 step_completed step_id="s12" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        46 trace_completed status="completed" output={"input":"hi","got":{"a":"2","b":1}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "2"})).await);
    expect![[r#"
        s1 loop_1 completed .continue iteration=1 iteration_path="loop_1#1" output={}
        s2 fork_1 completed .default iteration=1 iteration_path="loop_1#1" output={}
        s3 human_a completed .default iteration=1 iteration_path="loop_1#1/fork_1:a" branch_path=["a"] output={"input":"1","a":"1"}
        s4 set_b completed .default iteration=1 iteration_path="loop_1#1/fork_1:b" branch_path=["b"] output={"b":1}
        s5 join_1 completed .default iteration=1 iteration_path="loop_1#1" output={"got":{"a":"1","b":1}}
        s6 loop_1 completed .continue iteration=2 iteration_path="loop_1#2" output={}
        s7 fork_1 completed .default iteration=2 iteration_path="loop_1#2" output={}
        s8 human_a completed .default iteration=2 iteration_path="loop_1#2/fork_1:a" branch_path=["a"] output={"input":"2","a":"2"}
        s9 set_b completed .default iteration=2 iteration_path="loop_1#2/fork_1:b" branch_path=["b"] output={"b":1}
        s10 join_1 completed .default iteration=2 iteration_path="loop_1#2" output={"got":{"a":"2","b":1}}
        s11 loop_1 completed .exit iteration=3 iteration_path="loop_1#3" output={}
        s12 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
}
