//! Loops: scenarios 14 and 15, nesting, limits.

use expect_test::expect;
use serde_json::json;

use crate::support::story::Story;

#[tokio::test]
async fn a_loop_goes_on_until_its_test_holds() {
    let story = Story::plain();
    let run = story.run("start -> loop_1{state_key: text, operator: length_gte, value: 2, max_steps: 5}; loop_1.continue -> set_1{key: text, value: \"{{text}}x\"} -> loop_1; loop_1.exit -> stop{reply: \"{{text}}\"}").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="loop_1" node_type="loop" iteration=1 attempt=1
        4 loop_iteration step_id="s1" node_id="loop_1" iteration=1 max_steps=5
        5 step_completed step_id="s1" node_id="loop_1" node_type="loop" handle="continue" duration_ms="ms" iteration=1 changes={}
        6 step_started step_id="s2" node_id="set_1" node_type="set_state" iteration=1 attempt=1
        7 step_completed step_id="s2" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=1 changes={"text":"x"}
        8 step_started step_id="s3" node_id="loop_1" node_type="loop" iteration=2 attempt=1
        9 loop_iteration step_id="s3" node_id="loop_1" iteration=2 max_steps=5
        10 step_completed step_id="s3" node_id="loop_1" node_type="loop" handle="continue" duration_ms="ms" iteration=2 changes={}
        11 step_started step_id="s4" node_id="set_1" node_type="set_state" iteration=2 attempt=1
        12 step_completed step_id="s4" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=2 changes={"text":"xx"}
        13 step_started step_id="s5" node_id="loop_1" node_type="loop" iteration=3 attempt=1
        14 loop_iteration step_id="s5" node_id="loop_1" iteration=3 max_steps=5
        15 step_completed step_id="s5" node_id="loop_1" node_type="loop" handle="exit" duration_ms="ms" iteration=3 changes={}
        16 step_started step_id="s6" node_id="stop" node_type="stop" iteration=null attempt=1
        17 step_completed step_id="s6" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={"reply":"xx"}
        18 trace_completed status="completed" output={"input":"hi","text":"xx","reply":"xx"} reply="xx" thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&run.text);
    expect![[r#"
        s1 loop_1 completed .continue iteration=1 iteration_path="loop_1#1" output={}
        s2 set_1 completed .default iteration=1 iteration_path="loop_1#1" output={"text":"x"}
        s3 loop_1 completed .continue iteration=2 iteration_path="loop_1#2" output={}
        s4 set_1 completed .default iteration=2 iteration_path="loop_1#2" output={"text":"xx"}
        s5 loop_1 completed .exit iteration=3 iteration_path="loop_1#3" output={}
        s6 stop completed .default output={"reply":"xx"}
    "#]].assert_eq(&story.steps(&run.id).await);
}

#[tokio::test]
async fn a_loop_may_not_go_on_for_ever() {
    let story = Story::plain();
    let run = story.run("start -> loop_1{max_steps: 2}; loop_1.continue -> set_1{key: a, value: 1} -> loop_1; loop_1.exit -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="loop_1" node_type="loop" iteration=1 attempt=1
        4 loop_iteration step_id="s1" node_id="loop_1" iteration=1 max_steps=2
        5 step_completed step_id="s1" node_id="loop_1" node_type="loop" handle="continue" duration_ms="ms" iteration=1 changes={}
        6 step_started step_id="s2" node_id="set_1" node_type="set_state" iteration=1 attempt=1
        7 step_completed step_id="s2" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=1 changes={"a":1}
        8 step_started step_id="s3" node_id="loop_1" node_type="loop" iteration=2 attempt=1
        9 loop_iteration step_id="s3" node_id="loop_1" iteration=2 max_steps=2
        10 step_completed step_id="s3" node_id="loop_1" node_type="loop" handle="continue" duration_ms="ms" iteration=2 changes={}
        11 step_started step_id="s4" node_id="set_1" node_type="set_state" iteration=2 attempt=1
        12 step_completed step_id="s4" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=2 changes={"a":1}
        13 step_started step_id="s5" node_id="loop_1" node_type="loop" iteration=3 attempt=1
        14 loop_iteration step_id="s5" node_id="loop_1" iteration=3 max_steps=2
        15 step_failed step_id="s5" node_id="loop_1" node_type="loop" duration_ms="ms" code="max_steps_exceeded" message="Max loop iterations exceeded: the loop ran its body 2 times and its exit test never held"
        16 trace_failed node_id="loop_1" code="max_steps_exceeded" message="Max loop iterations exceeded: the loop ran its body 2 times and its exit test never held" usage="0+0"
    "#]].assert_eq(&run.text);
    let again = story.retry(&run.id, json!({})).await;
    expect![[r#"
        18 step_started step_id="s5" node_id="loop_1" node_type="loop" iteration=3 attempt=2 resumed=true
        19 loop_iteration step_id="s5" node_id="loop_1" iteration=3 max_steps=2
        20 step_failed step_id="s5" node_id="loop_1" node_type="loop" duration_ms="ms" code="max_steps_exceeded" message="Max loop iterations exceeded: the loop ran its body 2 times and its exit test never held"
        21 trace_failed node_id="loop_1" code="max_steps_exceeded" message="Max loop iterations exceeded: the loop ran its body 2 times and its exit test never held" usage="0+0"
    "#]].assert_eq(&again);
}

#[tokio::test]
async fn a_loop_may_leave_when_it_has_had_enough() {
    let story = Story::plain();
    let run = story.run("start -> loop_1{max_steps: 1, on_max: exit}; loop_1.continue -> set_1{key: a, value: 1} -> loop_1; loop_1.exit -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="loop_1" node_type="loop" iteration=1 attempt=1
        4 loop_iteration step_id="s1" node_id="loop_1" iteration=1 max_steps=1
        5 step_completed step_id="s1" node_id="loop_1" node_type="loop" handle="continue" duration_ms="ms" iteration=1 changes={}
        6 step_started step_id="s2" node_id="set_1" node_type="set_state" iteration=1 attempt=1
        7 step_completed step_id="s2" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=1 changes={"a":1}
        8 step_started step_id="s3" node_id="loop_1" node_type="loop" iteration=2 attempt=1
        9 loop_iteration step_id="s3" node_id="loop_1" iteration=2 max_steps=1
        10 step_completed step_id="s3" node_id="loop_1" node_type="loop" handle="exit" duration_ms="ms" iteration=2 changes={}
        11 step_started step_id="s4" node_id="stop" node_type="stop" iteration=null attempt=1
        12 step_completed step_id="s4" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        13 trace_completed status="completed" output={"input":"hi","a":1} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&run.text);
}

#[tokio::test]
async fn inner_loops_start_afresh_on_each_pass_of_the_outer_one() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> loop_out{max_steps: 2, on_max: exit}
            loop_out.continue -> loop_in{max_steps: 2, on_max: exit}; loop_in.continue -> set_1{key: log, value: \"{{log}}.\"} -> loop_in
            loop_in.exit -> set_2{key: log, value: \"{{log}}|\"} -> loop_out; loop_out.exit -> stop{reply: \"{{log}}\"}",
        )
        .await;
    expect![[r#"
        s1 loop_out completed .continue iteration=1 iteration_path="loop_out#1" output={}
        s2 loop_in completed .continue iteration=1 iteration_path="loop_out#1/loop_in#1" output={}
        s3 set_1 completed .default iteration=1 iteration_path="loop_out#1/loop_in#1" output={"log":"."}
        s4 loop_in completed .continue iteration=2 iteration_path="loop_out#1/loop_in#2" output={}
        s5 set_1 completed .default iteration=2 iteration_path="loop_out#1/loop_in#2" output={"log":".."}
        s6 loop_in completed .exit iteration=3 iteration_path="loop_out#1/loop_in#3" output={}
        s7 set_2 completed .default iteration=1 iteration_path="loop_out#1" output={"log":"..|"}
        s8 loop_out completed .continue iteration=2 iteration_path="loop_out#2" output={}
        s9 loop_in completed .continue iteration=1 iteration_path="loop_out#2/loop_in#1" output={}
        s10 set_1 completed .default iteration=1 iteration_path="loop_out#2/loop_in#1" output={"log":"..|."}
        s11 loop_in completed .continue iteration=2 iteration_path="loop_out#2/loop_in#2" output={}
        s12 set_1 completed .default iteration=2 iteration_path="loop_out#2/loop_in#2" output={"log":"..|.."}
        s13 loop_in completed .exit iteration=3 iteration_path="loop_out#2/loop_in#3" output={}
        s14 set_2 completed .default iteration=2 iteration_path="loop_out#2" output={"log":"..|..|"}
        s15 loop_out completed .exit iteration=3 iteration_path="loop_out#3" output={}
        s16 stop completed .default output={"reply":"..|..|"}
    "#]].assert_eq(&story.steps(&run.id).await);
}

#[tokio::test]
async fn a_loop_left_by_another_way_is_entered_afresh() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> loop_out{max_steps: 2, on_max: exit}
            loop_out.continue -> loop_in{max_steps: 9}; loop_in.continue -> condition_1{state_key: x, operator: not_empty}
            condition_1.true -> set_3{key: x, value: \"\"} -> loop_out; condition_1.false -> set_1{key: x, value: y} -> loop_in
            loop_out.exit -> stop; loop_in.exit -> stop",
        )
        .await;
    expect![[r#"
        s1 loop_out completed .continue iteration=1 iteration_path="loop_out#1" output={}
        s2 loop_in completed .continue iteration=1 iteration_path="loop_out#1/loop_in#1" output={}
        s3 condition_1 completed .false iteration=1 iteration_path="loop_out#1/loop_in#1" output={}
        s4 set_1 completed .default iteration=1 iteration_path="loop_out#1/loop_in#1" output={"x":"y"}
        s5 loop_in completed .continue iteration=2 iteration_path="loop_out#1/loop_in#2" output={}
        s6 condition_1 completed .true iteration=2 iteration_path="loop_out#1/loop_in#2" output={}
        s7 set_3 completed .default iteration=2 iteration_path="loop_out#1/loop_in#2" output={"x":""}
        s8 loop_out completed .continue iteration=2 iteration_path="loop_out#2" output={}
        s9 loop_in completed .continue iteration=1 iteration_path="loop_out#2/loop_in#1" output={}
        s10 condition_1 completed .false iteration=1 iteration_path="loop_out#2/loop_in#1" output={}
        s11 set_1 completed .default iteration=1 iteration_path="loop_out#2/loop_in#1" output={"x":"y"}
        s12 loop_in completed .continue iteration=2 iteration_path="loop_out#2/loop_in#2" output={}
        s13 condition_1 completed .true iteration=2 iteration_path="loop_out#2/loop_in#2" output={}
        s14 set_3 completed .default iteration=2 iteration_path="loop_out#2/loop_in#2" output={"x":""}
        s15 loop_out completed .exit iteration=3 iteration_path="loop_out#3" output={}
        s16 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
}

#[tokio::test]
async fn a_run_may_not_make_too_many_steps() {
    let story = Story::with(json!({"loop": {"global_max_steps": 4}}), json!([]));
    let run = story.run("start -> loop_1{max_steps: 100}; loop_1.continue -> set_1{key: a, value: 1} -> loop_1; loop_1.exit -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="loop_1" node_type="loop" iteration=1 attempt=1
        4 loop_iteration step_id="s1" node_id="loop_1" iteration=1 max_steps=100
        5 step_completed step_id="s1" node_id="loop_1" node_type="loop" handle="continue" duration_ms="ms" iteration=1 changes={}
        6 step_started step_id="s2" node_id="set_1" node_type="set_state" iteration=1 attempt=1
        7 step_completed step_id="s2" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=1 changes={"a":1}
        8 step_started step_id="s3" node_id="loop_1" node_type="loop" iteration=2 attempt=1
        9 loop_iteration step_id="s3" node_id="loop_1" iteration=2 max_steps=100
        10 step_completed step_id="s3" node_id="loop_1" node_type="loop" handle="continue" duration_ms="ms" iteration=2 changes={}
        11 step_started step_id="s4" node_id="set_1" node_type="set_state" iteration=2 attempt=1
        12 step_completed step_id="s4" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=2 changes={"a":1}
        13 trace_failed node_id=null code="run_step_limit" message="the run made 4 steps (`loop.global_max_steps`) and was ended before the next" usage="0+0"
    "#]].assert_eq(&run.text);
}

#[tokio::test]
async fn a_state_may_not_grow_without_end() {
    let story = Story::with(json!({"limits": {"state_kb": 1}}), json!([]));
    let run = story.run("start -> loop_1{max_steps: 100}; loop_1.continue -> set_1{key: a, value: \"{{a}}{{a}}0123456789\"} -> loop_1; loop_1.exit -> stop").await;
    expect![[r#"38 trace_failed node_id=null code="state_too_large" message="the state is larger than 1 KiB (`limits.state_kb`)" usage="0+0""#]].assert_eq(run.text.lines().last().unwrap());
}

#[tokio::test]
async fn a_broken_expression_fails_the_node() {
    let story = Story::plain();
    let run = story.run("start -> condition_1{expression: \"state.input + 1 > 2\"}; condition_1.true -> stop; condition_1.false -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="condition_1" node_type="condition" iteration=null attempt=1
        4 step_failed step_id="s1" node_id="condition_1" node_type="condition" duration_ms="ms" code="expression_error" message="the expression `state.input + 1 > 2` could not be evaluated: invalid operation: tried to use + operator on unsupported types string and number"
        5 trace_failed node_id="condition_1" code="expression_error" message="the expression `state.input + 1 > 2` could not be evaluated: invalid operation: tried to use + operator on unsupported types string and number" usage="0+0"
    "#]].assert_eq(&run.text);
}
