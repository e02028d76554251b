//! Forks: scenarios 11 to 13, with several pauses, with few branches at once.

use expect_test::expect;
use serde_json::json;
use wfstudio::engine::Order;

use crate::support::story::Story;

#[tokio::test]
async fn branches_are_told_in_declaration_order() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> set_0{key: base, value: 1} -> fork_1{branches: [b, a, c]} -> join_1{output_key: got} -> stop
            fork_1.a -> set_a{key: x, value: \"{{base}}a\"} -> join_1
            fork_1.b -> tool_b{tool_ref: \"host:slow\", parameters: {ms: 30}} -> set_b{key: y, value: 2} -> set_b2{key: base, value: 9} -> join_1
            fork_1.c -> join_1",
        )
        .await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="set_0" node_type="set_state" iteration=null attempt=1
        4 step_completed step_id="s1" node_id="set_0" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"base":1}
        5 step_started step_id="s2" node_id="fork_1" node_type="fork" iteration=null attempt=1
        6 branch_started fork_id="fork_1" branch_id="b"
        7 step_started step_id="s3" node_id="tool_b" node_type="tool" iteration=null attempt=1 branch_id="b"
        8 step_completed step_id="s3" node_id="tool_b" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"slow","result":{"did":"slow","with":{"ms":30}}}} branch_id="b"
        9 step_started step_id="s4" node_id="set_b" node_type="set_state" iteration=null attempt=1 branch_id="b"
        10 step_completed step_id="s4" node_id="set_b" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"y":2} branch_id="b"
        11 step_started step_id="s5" node_id="set_b2" node_type="set_state" iteration=null attempt=1 branch_id="b"
        12 step_completed step_id="s5" node_id="set_b2" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"base":9} branch_id="b"
        13 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="b"
        14 branch_started fork_id="fork_1" branch_id="a"
        15 step_started step_id="s6" node_id="set_a" node_type="set_state" iteration=null attempt=1 branch_id="a"
        16 step_completed step_id="s6" node_id="set_a" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"x":"1a"} branch_id="a"
        17 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="a"
        18 branch_started fork_id="fork_1" branch_id="c"
        19 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="c"
        20 step_completed step_id="s2" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        21 step_started step_id="s7" node_id="join_1" node_type="join" iteration=null attempt=1
        22 step_completed step_id="s7" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"got":{"b":{"base":9,"tool_result":{"name":"slow","result":{"did":"slow","with":{"ms":30}}},"y":2},"a":"1a","c":{}}}
        23 step_started step_id="s8" node_id="stop" node_type="stop" iteration=null attempt=1
        24 step_completed step_id="s8" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        25 trace_completed status="completed" output={"input":"hi","base":1,"got":{"b":{"base":9,"tool_result":{"name":"slow","result":{"did":"slow","with":{"ms":30}}},"y":2},"a":"1a","c":{}}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&run.text);
    expect![[r#"
        s1 set_0 completed .default output={"base":1}
        s2 fork_1 completed .default output={}
        s3 tool_b completed .default iteration_path="fork_1:b" branch_path=["b"] output={"tool_result":{"name":"slow","result":{"did":"slow","with":{"ms":30}}}}
        s4 set_b completed .default iteration_path="fork_1:b" branch_path=["b"] output={"y":2}
        s5 set_b2 completed .default iteration_path="fork_1:b" branch_path=["b"] output={"base":9}
        s6 set_a completed .default iteration_path="fork_1:a" branch_path=["a"] output={"x":"1a"}
        s7 join_1 completed .default output={"got":{"b":{"base":9,"tool_result":{"name":"slow","result":{"did":"slow","with":{"ms":30}}},"y":2},"a":"1a","c":{}}}
        s8 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
}

const TWO_PAUSES: &str = "start -> fork_1 -> join_1 -> stop
    fork_1.a -> set_a{key: a0, value: 1} -> human_a{output_key: a} -> set_a2{key: a2, value: \"{{a}}!\"} -> join_1
    fork_1.b -> set_b{key: b, value: 1} -> join_1
    fork_1.c -> agent_c{provider: script, model: m, tools: [{ref: \"host:pay\"}], output_key: c} -> join_1";

fn pays() -> serde_json::Value {
    json!([{"tool_calls": [{"name": "pay", "arguments": {"sum": 5}}]}, {"text": "Paid."}])
}

#[tokio::test]
async fn open_pauses_are_told_when_all_branches_are_settled() {
    let story = Story::scripted(pays());
    let run = story.run(TWO_PAUSES).await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="fork_1" node_type="fork" iteration=null attempt=1
        4 branch_started fork_id="fork_1" branch_id="a"
        5 step_started step_id="s2" node_id="set_a" node_type="set_state" iteration=null attempt=1 branch_id="a"
        6 step_completed step_id="s2" node_id="set_a" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"a0":1} branch_id="a"
        7 step_started step_id="s3" node_id="human_a" node_type="human" iteration=null attempt=1 branch_id="a"
        8 branch_started fork_id="fork_1" branch_id="b"
        9 step_started step_id="s4" node_id="set_b" node_type="set_state" iteration=null attempt=1 branch_id="b"
        10 step_completed step_id="s4" node_id="set_b" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"b":1} branch_id="b"
        11 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="b"
        12 branch_started fork_id="fork_1" branch_id="c"
        13 step_started step_id="s5" node_id="agent_c" node_type="agent" iteration=null attempt=1 branch_id="c"
        14 parallel_interrupt fork_id="fork_1" node_id="human_a" pause_id="p1" reason="human" branch_id="a"
        15 human_input_required step_id="s3" node_id="human_a" pause_id="p1" prompt="Your input is needed." output_key="a" thread_id="t1" branch_id="a"
        16 parallel_interrupt fork_id="fork_1" node_id="agent_c" pause_id="p2" reason="tool_approval" branch_id="c"
        17 tool_approval_required step_id="s5" node_id="agent_c" pause_id="p2" pending_tools=[{"name":"pay","arguments":{"sum":5},"call_id":"call_agent_c_1"}] message="1 tool call is waiting for approval." branch_id="c"
    "#]].assert_eq(&run.text);
    let trace = story.trace(&run.id).await;
    let head = &trace["trace"];
    expect![[r#"
        {
          "status": "awaiting_input",
          "awaiting_node_id": "human_a",
          "awaiting_pause_id": "p1",
          "checkpoint": {
            "state": {
              "input": "hi"
            },
            "node_id": "human_a",
            "pause_id": "p1",
            "interrupt": "opaque",
            "prompt": "Your input is needed.",
            "output_key": "a",
            "kind": "parallel",
            "parallel": {
              "fork_id": "fork_1",
              "join_id": "join_1",
              "pending_branch": "a",
              "branch_path": [
                "a"
              ],
              "pending_node": "human_a",
              "reason": "human",
              "pending_state": {
                "input": "hi",
                "a0": 1
              },
              "completed": {
                "b": 1
              }
            }
          },
          "pauses": [
            {
              "pause_id": "p1",
              "node_id": "human_a",
              "step_id": "s3",
              "reason": "human",
              "prompt": "Your input is needed.",
              "output_key": "a",
              "fork_id": "fork_1",
              "branch_id": "a",
              "branch_path": [
                "a"
              ],
              "created_at": "time"
            },
            {
              "pause_id": "p2",
              "node_id": "agent_c",
              "step_id": "s5",
              "reason": "tool_approval",
              "message": "1 tool call is waiting for approval.",
              "pending_tools": [
                {
                  "name": "pay",
                  "arguments": {
                    "sum": 5
                  },
                  "call_id": "call_agent_c_1"
                }
              ],
              "fork_id": "fork_1",
              "branch_id": "c",
              "branch_path": [
                "c"
              ],
              "created_at": "time"
            }
          ]
        }"#]].assert_eq(&story.shown(&json!({"status": head["status"], "awaiting_node_id": head["awaiting_node_id"], "awaiting_pause_id": head["awaiting_pause_id"], "checkpoint": head["checkpoint"], "pauses": head["pauses"]})));
    expect![[r#"
        19 tool_approval_resolved step_id="s5" node_id="agent_c" pause_id="p2" approved=true decisions=[{"call_id":"call_agent_c_1","approval":"approve","edited":false}] branch_id="c"
        20 step_started step_id="s5" node_id="agent_c" node_type="agent" iteration=null attempt=1 resumed=true branch_id="c"
        21 tool_call step_id="s5" node_id="agent_c" call_id="call_agent_c_1" name="pay" inputs={"sum":5} result=null branch_id="c"
        22 tool_result step_id="s5" node_id="agent_c" call_id="call_agent_c_1" name="pay" inputs={"sum":5} result="{\"did\":\"pay\",\"with\":{\"sum\":5}}" is_error=false skipped=false duration_ms="ms" branch_id="c"
        23 step_completed step_id="s5" node_id="agent_c" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"c":"Paid."} provider="script" model="m" branch_id="c" usage="12+5"
        24 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="c"
        25 parallel_interrupt fork_id="fork_1" node_id="human_a" pause_id="p1" reason="human" branch_id="a"
        26 human_input_required step_id="s3" node_id="human_a" pause_id="p1" prompt="Your input is needed." output_key="a" thread_id="t1" branch_id="a"
    "#]].assert_eq(&story.resume(&run.id, json!({"node_id": "agent_c", "approval": "approve"})).await);
    expect![[r#"
        s1 fork_1 paused
        s2 set_a completed .default iteration_path="fork_1:a" branch_path=["a"] output={"a0":1}
        s3 human_a paused iteration_path="fork_1:a" branch_path=["a"]
        s4 set_b completed .default iteration_path="fork_1:b" branch_path=["b"] output={"b":1}
        s5 agent_c completed .default iteration_path="fork_1:c" branch_path=["c"] output={"c":"Paid."}
    "#]].assert_eq(&story.steps(&run.id).await);
    expect![[r#"
        28 step_started step_id="s3" node_id="human_a" node_type="human" iteration=null attempt=1 resumed=true branch_id="a"
        29 step_completed step_id="s3" node_id="human_a" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"Ada","a":"Ada"} branch_id="a"
        30 step_started step_id="s6" node_id="set_a2" node_type="set_state" iteration=null attempt=1 branch_id="a"
        31 step_completed step_id="s6" node_id="set_a2" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"a2":"Ada!"} branch_id="a"
        32 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="a"
        33 step_completed step_id="s1" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        34 step_started step_id="s7" node_id="join_1" node_type="join" iteration=null attempt=1
        35 step_completed step_id="s7" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"a":{"a0":1,"a":"Ada","a2":"Ada!"},"b":1,"c":"Paid."}}
        36 step_started step_id="s8" node_id="stop" node_type="stop" iteration=null attempt=1
        37 step_completed step_id="s8" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        38 trace_completed status="completed" output={"input":"hi","parallel_results":{"a":{"a0":1,"a":"Ada","a2":"Ada!"},"b":1,"c":"Paid."}} reply="Paid." thread_id="t1" duration_ms="ms" usage="12+5"
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "Ada"})).await);
    expect![[r#"
        s1 fork_1 completed .default output={}
        s2 set_a completed .default iteration_path="fork_1:a" branch_path=["a"] output={"a0":1}
        s3 human_a completed .default iteration_path="fork_1:a" branch_path=["a"] output={"input":"Ada","a":"Ada"}
        s4 set_b completed .default iteration_path="fork_1:b" branch_path=["b"] output={"b":1}
        s5 agent_c completed .default iteration_path="fork_1:c" branch_path=["c"] output={"c":"Paid."}
        s6 set_a2 completed .default iteration_path="fork_1:a" branch_path=["a"] output={"a2":"Ada!"}
        s7 join_1 completed .default output={"parallel_results":{"a":{"a0":1,"a":"Ada","a2":"Ada!"},"b":1,"c":"Paid."}}
        s8 stop completed .default output={}
    "#]].assert_eq(&story.steps(&run.id).await);
}

#[tokio::test]
async fn the_earliest_pause_is_answered_first() {
    let story = Story::scripted(pays());
    let run = story.run(TWO_PAUSES).await;
    expect![[r#"
        19 step_started step_id="s3" node_id="human_a" node_type="human" iteration=null attempt=1 resumed=true branch_id="a"
        20 step_completed step_id="s3" node_id="human_a" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"Ada","a":"Ada"} branch_id="a"
        21 step_started step_id="s6" node_id="set_a2" node_type="set_state" iteration=null attempt=1 branch_id="a"
        22 step_completed step_id="s6" node_id="set_a2" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"a2":"Ada!"} branch_id="a"
        23 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="a"
        24 parallel_interrupt fork_id="fork_1" node_id="agent_c" pause_id="p2" reason="tool_approval" branch_id="c"
        25 tool_approval_required step_id="s5" node_id="agent_c" pause_id="p2" pending_tools=[{"name":"pay","arguments":{"sum":5},"call_id":"call_agent_c_1"}] message="1 tool call is waiting for approval." branch_id="c"
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "Ada"})).await);
    expect![[r#"
        27 tool_approval_resolved step_id="s5" node_id="agent_c" pause_id="p2" approved=false decisions=[{"call_id":"call_agent_c_1","approval":"reject","edited":false}] branch_id="c"
        28 step_started step_id="s5" node_id="agent_c" node_type="agent" iteration=null attempt=1 resumed=true branch_id="c"
        29 tool_call step_id="s5" node_id="agent_c" call_id="call_agent_c_1" name="pay" inputs={"sum":5} result=null branch_id="c"
        30 tool_result step_id="s5" node_id="agent_c" call_id="call_agent_c_1" name="pay" inputs={"sum":5} result="The person declined this call; it did not run. No reason was given. Do not make this call again unless the person asks for it." is_error=false skipped=true duration_ms="ms" branch_id="c"
        31 step_completed step_id="s5" node_id="agent_c" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"c":"Paid."} provider="script" model="m" branch_id="c" usage="36+5"
        32 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="c"
        33 step_completed step_id="s1" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        34 step_started step_id="s7" node_id="join_1" node_type="join" iteration=null attempt=1
        35 step_completed step_id="s7" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"a":{"a0":1,"a":"Ada","a2":"Ada!"},"b":1,"c":"Paid."}}
        36 step_started step_id="s8" node_id="stop" node_type="stop" iteration=null attempt=1
        37 step_completed step_id="s8" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        38 trace_completed status="completed" output={"input":"hi","parallel_results":{"a":{"a0":1,"a":"Ada","a2":"Ada!"},"b":1,"c":"Paid."}} reply="Paid." thread_id="t1" duration_ms="ms" usage="36+5"
    "#]].assert_eq(&story.resume(&run.id, json!({"approval": "reject"})).await);
}

#[tokio::test]
async fn unstarted_branches_wait_for_the_resume() {
    let story = Story::with(json!({"parallel": {"concurrency": 1}}), json!([]));
    let run = story
        .run(
            "start -> fork_1 -> join_1 -> stop
            fork_1.a -> human_a{output_key: a} -> join_1; fork_1.b -> set_b{key: b, value: 1} -> join_1
            fork_1.c -> human_c{output_key: c} -> join_1; fork_1.d -> set_d{key: d, value: 1} -> join_1",
        )
        .await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="fork_1" node_type="fork" iteration=null attempt=1
        4 branch_started fork_id="fork_1" branch_id="a"
        5 step_started step_id="s2" node_id="human_a" node_type="human" iteration=null attempt=1 branch_id="a"
        6 parallel_interrupt fork_id="fork_1" node_id="human_a" pause_id="p1" reason="human" branch_id="a"
        7 human_input_required step_id="s2" node_id="human_a" pause_id="p1" prompt="Your input is needed." output_key="a" thread_id="t1" branch_id="a"
    "#]].assert_eq(&run.text);
    expect![[r#"
        9 step_started step_id="s2" node_id="human_a" node_type="human" iteration=null attempt=1 resumed=true branch_id="a"
        10 step_completed step_id="s2" node_id="human_a" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"A","a":"A"} branch_id="a"
        11 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="a"
        12 branch_started fork_id="fork_1" branch_id="b"
        13 step_started step_id="s3" node_id="set_b" node_type="set_state" iteration=null attempt=1 branch_id="b"
        14 step_completed step_id="s3" node_id="set_b" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"b":1} branch_id="b"
        15 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="b"
        16 branch_started fork_id="fork_1" branch_id="c"
        17 step_started step_id="s4" node_id="human_c" node_type="human" iteration=null attempt=1 branch_id="c"
        18 parallel_interrupt fork_id="fork_1" node_id="human_c" pause_id="p2" reason="human" branch_id="c"
        19 human_input_required step_id="s4" node_id="human_c" pause_id="p2" prompt="Your input is needed." output_key="c" thread_id="t1" branch_id="c"
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "A"})).await);
    expect![[r#"
        21 step_started step_id="s4" node_id="human_c" node_type="human" iteration=null attempt=1 resumed=true branch_id="c"
        22 step_completed step_id="s4" node_id="human_c" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"C","c":"C"} branch_id="c"
        23 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="c"
        24 branch_started fork_id="fork_1" branch_id="d"
        25 step_started step_id="s5" node_id="set_d" node_type="set_state" iteration=null attempt=1 branch_id="d"
        26 step_completed step_id="s5" node_id="set_d" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"d":1} branch_id="d"
        27 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="d"
        28 step_completed step_id="s1" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        29 step_started step_id="s6" node_id="join_1" node_type="join" iteration=null attempt=1
        30 step_completed step_id="s6" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"a":"A","b":1,"c":"C","d":1}}
        31 step_started step_id="s7" node_id="stop" node_type="stop" iteration=null attempt=1
        32 step_completed step_id="s7" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        33 trace_completed status="completed" output={"input":"hi","parallel_results":{"a":"A","b":1,"c":"C","d":1}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "C"})).await);
}

#[tokio::test]
async fn one_agent_node_pauses_in_many_branches() {
    let story = Story::scripted(json!([
        {"times": 2, "tool_calls": [{"name": "pay", "arguments": {"sum": 5}}]}, {"times": 0, "text": "Paid."}]));
    let run = story
        .run(
            "start -> fork_1 -> join_1 -> stop
            fork_1.a -> agent_1{provider: script, model: m, tools: [{ref: \"host:pay\"}], memory: none} -> join_1
            fork_1.b -> agent_1",
        )
        .await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="fork_1" node_type="fork" iteration=null attempt=1
        4 branch_started fork_id="fork_1" branch_id="a"
        5 step_started step_id="s2" node_id="agent_1" node_type="agent" iteration=null attempt=1 branch_id="a"
        6 branch_started fork_id="fork_1" branch_id="b"
        7 step_started step_id="s3" node_id="agent_1" node_type="agent" iteration=null attempt=1 branch_id="b"
        8 parallel_interrupt fork_id="fork_1" node_id="agent_1" pause_id="p1" reason="tool_approval" branch_id="a"
        9 tool_approval_required step_id="s2" node_id="agent_1" pause_id="p1" pending_tools=[{"name":"pay","arguments":{"sum":5},"call_id":"call_agent_1_1"}] message="1 tool call is waiting for approval." branch_id="a"
        10 parallel_interrupt fork_id="fork_1" node_id="agent_1" pause_id="p2" reason="tool_approval" branch_id="b"
        11 tool_approval_required step_id="s3" node_id="agent_1" pause_id="p2" pending_tools=[{"name":"pay","arguments":{"sum":5},"call_id":"call_agent_1_2"}] message="1 tool call is waiting for approval." branch_id="b"
    "#]].assert_eq(&run.text);
    expect![[r#"409 pause_ambiguous: several pauses are open at `agent_1`; name one with `pause_id` {"pauses":[{"pause_id":"p1","node_id":"agent_1"},{"pause_id":"p2","node_id":"agent_1"}]}"#]].assert_eq(&story.refused(&run.id, "resume", json!({"node_id": "agent_1", "approval": "approve"})).await);
    let pause = story.id("p2");
    expect![[r#"
        13 tool_approval_resolved step_id="s3" node_id="agent_1" pause_id="p2" approved=true decisions=[{"call_id":"call_agent_1_2","approval":"approve","edited":false}] branch_id="b"
        14 step_started step_id="s3" node_id="agent_1" node_type="agent" iteration=null attempt=1 resumed=true branch_id="b"
        15 tool_call step_id="s3" node_id="agent_1" call_id="call_agent_1_2" name="pay" inputs={"sum":5} result=null branch_id="b"
        16 tool_result step_id="s3" node_id="agent_1" call_id="call_agent_1_2" name="pay" inputs={"sum":5} result="{\"did\":\"pay\",\"with\":{\"sum\":5}}" is_error=false skipped=false duration_ms="ms" branch_id="b"
        17 step_completed step_id="s3" node_id="agent_1" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"agent_response":"Paid."} provider="script" model="m" branch_id="b" usage="12+5"
        18 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="b"
        19 parallel_interrupt fork_id="fork_1" node_id="agent_1" pause_id="p1" reason="tool_approval" branch_id="a"
        20 tool_approval_required step_id="s2" node_id="agent_1" pause_id="p1" pending_tools=[{"name":"pay","arguments":{"sum":5},"call_id":"call_agent_1_1"}] message="1 tool call is waiting for approval." branch_id="a"
    "#]].assert_eq(&story.resume(&run.id, json!({"pause_id": pause, "node_id": "agent_1", "approval": "approve"})).await);
    expect![[r#"
        22 tool_approval_resolved step_id="s2" node_id="agent_1" pause_id="p1" approved=true decisions=[{"call_id":"call_agent_1_1","approval":"approve","edited":false}] branch_id="a"
        23 step_started step_id="s2" node_id="agent_1" node_type="agent" iteration=null attempt=1 resumed=true branch_id="a"
        24 tool_call step_id="s2" node_id="agent_1" call_id="call_agent_1_1" name="pay" inputs={"sum":5} result=null branch_id="a"
        25 tool_result step_id="s2" node_id="agent_1" call_id="call_agent_1_1" name="pay" inputs={"sum":5} result="{\"did\":\"pay\",\"with\":{\"sum\":5}}" is_error=false skipped=false duration_ms="ms" branch_id="a"
        26 step_completed step_id="s2" node_id="agent_1" node_type="agent" handle="default" duration_ms="ms" iteration=null changes={"agent_response":"Paid."} provider="script" model="m" branch_id="a" usage="12+5"
        27 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="a"
        28 step_completed step_id="s1" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        29 step_started step_id="s4" node_id="join_1" node_type="join" iteration=null attempt=1
        30 step_completed step_id="s4" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"a":"Paid.","b":"Paid."}}
        31 step_started step_id="s5" node_id="stop" node_type="stop" iteration=null attempt=1
        32 step_completed step_id="s5" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        33 trace_completed status="completed" output={"input":"hi","parallel_results":{"a":"Paid.","b":"Paid."}} reply="Paid." thread_id="t1" duration_ms="ms" usage="24+10"
    "#]].assert_eq(&story.resume(&run.id, json!({"node_id": "agent_1", "approval": "approve"})).await);
}

#[tokio::test]
async fn a_branch_that_makes_many_steps_holds_up_no_call_of_its_sibling() {
    let story = Story::plain();
    let many: Vec<String> = (0..8_000).map(|n| format!("item {n}")).collect();
    let run = story
        .run_with(
            "start -> fork_1 -> join_1 -> stop
            fork_1.a -> loop_1{max_steps: 3000, on_max: exit, state_key: many, operator: contains, value: none}; loop_1.continue -> loop_1; loop_1.exit -> join_1
            fork_1.b -> tool_b{tool_ref: \"host:slow\", parameters: {ms: 20}} -> join_1",
            json!({"message": "hi", "state": {"many": many}}),
        )
        .await;
    let told = story.tail(&run.id, Order::Live, 0).await;
    let done = told.lines().position(|line| line.contains("step_completed") && line.contains("node_id=\"tool_b\"")).expect("an end");
    let passes = told.lines().skip(done).filter(|line| line.contains("loop_iteration")).count();
    assert!(passes > 100, "{passes} of 3000 passes came after a call of 20 ms had its answer");
}
