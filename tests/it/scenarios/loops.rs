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
    expect![[r#"38 trace_failed node_id="set_1" code="state_too_large" message="the workflow state is larger than 1 KiB; write less into it or raise `limits.state_kb`" usage="0+0""#]].assert_eq(run.text.lines().last().unwrap());
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

#[tokio::test]
async fn a_value_that_is_put_into_itself_ends_the_run_before_it_cannot_be_read_back() {
    let story = Story::plain();
    let sketch = "start -> loop_1{max_steps: 200}; loop_1.continue -> set_1{key: a.b, from_key: a} -> loop_1; loop_1.exit -> stop";
    let run = story.run(sketch).await;
    let last: Vec<&str> = run.text.lines().rev().take(3).collect();
    expect![[r#"
        488 trace_failed node_id="set_1" code="state_too_large" message="a state value is nested deeper than 96 levels; do not put a value into itself" usage="0+0"
        487 step_failed step_id="s194" node_id="set_1" node_type="set_state" duration_ms="ms" code="state_too_large" message="a state value is nested deeper than 96 levels; do not put a value into itself"
        486 step_started step_id="s194" node_id="set_1" node_type="set_state" iteration=97 attempt=1"#]].assert_eq(&last.join("\n"));
    let failed = story.trace(&run.id).await;
    assert_eq!(failed["trace"]["error"]["code"], "state_too_large", "the log can be read back");
}

#[tokio::test]
async fn what_would_be_too_large_is_not_written() {
    let limits = json!({"limits": {"state_kb": 1}});
    for (sketch, wanted) in [
        ("start -> set_1{key: a, value: \"{{input}}{{input}}{{input}}\"} -> stop", expect![[r#"
            3 step_started step_id="s1" node_id="set_1" node_type="set_state" iteration=null attempt=1
            4 step_failed step_id="s1" node_id="set_1" node_type="set_state" duration_ms="ms" code="state_too_large" message="the workflow state is larger than 1 KiB; write less into it or raise `limits.state_kb`"
            5 trace_failed node_id="set_1" code="state_too_large" message="the workflow state is larger than 1 KiB; write less into it or raise `limits.state_kb`" usage="0+0""#]]),
        ("start -> tool_1{tool_ref: \"host:look\", parameters: {a: \"{{input}}\", b: \"{{input}}\"}} -> stop", expect![[r#"
            3 step_started step_id="s1" node_id="tool_1" node_type="tool" iteration=null attempt=1
            4 step_failed step_id="s1" node_id="tool_1" node_type="tool" duration_ms="ms" code="state_too_large" message="the workflow state is larger than 1 KiB; write less into it or raise `limits.state_kb`"
            5 trace_failed node_id="tool_1" code="state_too_large" message="the workflow state is larger than 1 KiB; write less into it or raise `limits.state_kb`" usage="0+0""#]]),
        ("start -> tool_1{tool_ref: \"host:look\", parameters: {a: \"{{input}}\", b: \"{{input}}\"}, on_error: continue} -> stop", expect![[r#"
            3 step_started step_id="s1" node_id="tool_1" node_type="tool" iteration=null attempt=1
            4 step_completed step_id="s1" node_id="tool_1" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"error":"the workflow state is larger than 1 KiB; write less into it or raise `limits.state_kb`"}} error={"code":"state_too_large","message":"the workflow state is larger than 1 KiB; write less into it or raise `limits.state_kb`"}
            5 step_started step_id="s2" node_id="stop" node_type="stop" iteration=null attempt=1
            6 step_completed step_id="s2" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
            7 trace_completed status="completed" output={"input":"<y>","tool_result":{"error":"the workflow state is larger than 1 KiB; write less into it or raise `limits.state_kb`"}} reply=null thread_id="t1" duration_ms="ms" usage="0+0""#]]),
        ("start -> set_1{key: a, value: \"{{input}}\"} -> fork_1 -> join_1 -> stop; fork_1.x -> set_2{key: b, value: \"x\"} -> join_1; fork_1.y -> set_3{key: c, value: \"{{input}}\"} -> join_1", expect![[r#"
            3 step_started step_id="s1" node_id="set_1" node_type="set_state" iteration=null attempt=1
            4 step_completed step_id="s1" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"a":"<y>"}
            5 step_started step_id="s2" node_id="fork_1" node_type="fork" iteration=null attempt=1
            6 branch_started fork_id="fork_1" branch_id="x"
            7 step_started step_id="s3" node_id="set_2" node_type="set_state" iteration=null attempt=1 branch_id="x"
            8 step_completed step_id="s3" node_id="set_2" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"b":"x"} branch_id="x"
            9 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="x"
            10 branch_started fork_id="fork_1" branch_id="y"
            11 step_started step_id="s4" node_id="set_3" node_type="set_state" iteration=null attempt=1 branch_id="y"
            12 step_failed step_id="s4" node_id="set_3" node_type="set_state" duration_ms="ms" code="state_too_large" message="the workflow state is larger than 1 KiB; write less into it or raise `limits.state_kb`" branch_id="y"
            13 trace_failed node_id="set_3" code="state_too_large" message="the workflow state is larger than 1 KiB; write less into it or raise `limits.state_kb`" usage="0+0""#]]),
    ] {
        let story = Story::with(limits.clone(), json!([]));
        let run = story.run_with(sketch, json!({"message": "y".repeat(400)})).await;
        let told = run.text.replace(&"y".repeat(400), "<y>");
        let last: Vec<&str> = told.lines().filter(|line| !line.contains(" thread ") && !line.contains(" trace_started ")).collect();
        wanted.assert_eq(&last.join("\n"));
    }
    let story = Story::with(limits, json!([]));
    let run = story.run("start -> human_1 -> stop").await;
    expect![[r#"
        6 step_started step_id="s1" node_id="human_1" node_type="human" iteration=null attempt=1 resumed=true
        7 step_failed step_id="s1" node_id="human_1" node_type="human" duration_ms="ms" code="state_too_large" message="the workflow state is larger than 1 KiB; write less into it or raise `limits.state_kb`"
        8 trace_failed node_id="human_1" code="state_too_large" message="the workflow state is larger than 1 KiB; write less into it or raise `limits.state_kb`" usage="0+0"
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "y".repeat(600)})).await);
}

#[tokio::test]
async fn a_loop_that_is_left_in_the_middle_counts_no_more() {
    let story = Story::plain();
    let run = story.run("start -> loop_1{max_steps: 9}; loop_1.continue -> set_1{key: text, value: \"{{text}}x\"} -> condition_1{state_key: text, operator: length_gte, value: 2}
        condition_1.false -> loop_1; condition_1.true -> set_2{key: b, value: 1} -> stop").await;
    expect![[r#"
        s1 loop_1 completed .continue iteration=1 iteration_path="loop_1#1" output={}
        s2 set_1 completed .default iteration=1 iteration_path="loop_1#1" output={"text":"x"}
        s3 condition_1 completed .false iteration=1 iteration_path="loop_1#1" output={}
        s4 loop_1 completed .continue iteration=2 iteration_path="loop_1#2" output={}
        s5 set_1 completed .default iteration=2 iteration_path="loop_1#2" output={"text":"xx"}
        s6 condition_1 completed .true iteration=2 iteration_path="loop_1#2" output={}
        s7 set_2 completed .default output={"b":1}
        s8 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
}

#[tokio::test]
async fn a_run_that_records_too_much_ends_and_can_be_read() {
    let story = Story::with(json!({"limits": {"run_log_kb": 64}}), json!([]));
    let sketch = "start -> loop_1{max_steps: 1000}; loop_1.continue -> set_1{key: a, value: \"{{input}}\"} -> loop_1; loop_1.exit -> stop";
    let run = story.run_with(sketch, json!({"message": "y".repeat(4000)})).await;
    let last = run.text.lines().last().unwrap_or_default().to_owned();
    assert!(last.contains(r#"code="run_too_large" message="the run has recorded more than 64 KiB"#), "{last}");
    let failed = story.trace(&run.id).await;
    assert_eq!(failed["trace"]["error"]["code"], "run_too_large");
    let steps = failed["steps"].as_array().expect("steps").len();
    assert!((20..60).contains(&steps), "{steps} steps");
}

#[tokio::test]
async fn a_model_is_not_asked_by_a_run_that_has_recorded_too_much() {
    let replies = json!([{"text": "z".repeat(70_000), "tool_calls": [{"name": "look", "arguments": {}}]}, {"text": "Done."}]);
    let story = Story::with(json!({"limits": {"run_log_kb": 64}}), replies);
    let run = story.run("start -> agent_1{provider: script, model: m, tools: [{ref: \"host:look\"}]} -> stop").await;
    let last: Vec<&str> = run.text.lines().rev().take(2).collect();
    assert!(last.iter().all(|line| line.contains(r#"node_id="agent_1""#) && line.contains(r#"code="run_too_large""#)), "{last:?}");
    assert_eq!(story.hands.calls().len(), 1);
}

#[tokio::test]
async fn what_a_run_has_recorded_counts_when_it_goes_on() {
    let story = Story::with(json!({"limits": {"run_log_kb": 64}}), json!([]));
    let copy = "human_1 -> set_2{key: b, value: \"{{a}}\"} -> set_3{key: c, value: \"{{a}}\"} -> stop";
    let run = story.run_with(&format!("start -> set_1{{key: a, value: \"{{{{input}}}}\"}} -> {copy}"), json!({"message": "y".repeat(20_000)})).await;
    let told = story.resume(&run.id, json!({"message": "go on"})).await;
    assert!(told.lines().last().is_some_and(|line| line.contains(r#"code="run_too_large""#)), "{told}");
}

#[tokio::test]
async fn a_trace_shows_of_values_what_it_has_room_for() {
    let story = Story::plain();
    let double = "set_1{key: a, value: \"{{a}}{{a}}{{a}}{{a}}{{a}}{{a}}{{a}}{{a}}{{a}}{{a}}\"}";
    let sketch = format!("start -> {double} -> loop_1{{max_steps: 12}}; loop_1.continue -> set_2{{key: b, from_key: a}} -> loop_1; loop_1.exit -> stop");
    let run = story.run_with(&sketch, json!({"message": "hi", "state": {"a": "y".repeat(180_000)}})).await;
    let shown = story.trace(&run.id).await;
    assert!(shown.to_string().len() < 24 << 20, "{} bytes", shown.to_string().len());
    let steps = shown["steps"].as_array().expect("steps");
    let written: Vec<_> = steps.iter().filter(|step| step["node_id"] == "set_2").collect();
    assert_eq!((written.len(), &written[0]["payloads_omitted"]), (12, &json!(null)));
    assert_eq!((&written[11]["payloads_omitted"], &written[11]["output"]), (&json!(true), &json!(null)));
    assert_eq!(written[11]["status"], "completed");
}
