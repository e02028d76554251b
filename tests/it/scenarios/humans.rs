//! Human nodes: scenarios 6 and 7, several visits, attachments, tails.

use expect_test::expect;
use serde_json::json;
use wfstudio::engine::Order;

use crate::support::story::Story;

#[tokio::test]
async fn a_person_is_asked_and_answers() {
    let story = Story::plain();
    let run = story.run("start -> human_1{prompt: \"Name, {{input}}?\", output_key: name} -> set_1{key: greeting, value: \"Hello {{name}}\"} -> stop{reply: \"{{greeting}}\"}").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="human_1" node_type="human" iteration=null attempt=1
        4 human_input_required step_id="s1" node_id="human_1" pause_id="p1" prompt="Name, hi?" output_key="name" thread_id="t1"
    "#]].assert_eq(&run.text);
    let paused = story.trace(&run.id).await;
    expect![[r#"
        {
          "checkpoint": {
            "state": {
              "input": "hi"
            },
            "node_id": "human_1",
            "pause_id": "p1",
            "interrupt": "opaque",
            "prompt": "Name, hi?",
            "output_key": "name"
          },
          "pauses": [
            {
              "pause_id": "p1",
              "node_id": "human_1",
              "step_id": "s1",
              "reason": "human",
              "prompt": "Name, hi?",
              "output_key": "name",
              "created_at": "time"
            }
          ]
        }"#]].assert_eq(&story.shown(&json!({"checkpoint": paused["trace"]["checkpoint"], "pauses": paused["trace"]["pauses"]})));
    expect![[r#"
        3 step_started step_id="s1" node_id="human_1" node_type="human" iteration=null attempt=1
        4 human_input_required step_id="s1" node_id="human_1" pause_id="p1" prompt="Name, hi?" output_key="name" thread_id="t1"
        5 run_terminal status="awaiting_input"
    "#]].assert_eq(&story.tail(&run.id, Order::Ordered, 2).await);
    expect![[r#"
        6 step_started step_id="s1" node_id="human_1" node_type="human" iteration=null attempt=1 resumed=true
        7 step_completed step_id="s1" node_id="human_1" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"Ada","name":"Ada"}
        8 step_started step_id="s2" node_id="set_1" node_type="set_state" iteration=null attempt=1
        9 step_completed step_id="s2" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"greeting":"Hello Ada"}
        10 step_started step_id="s3" node_id="stop" node_type="stop" iteration=null attempt=1
        11 step_completed step_id="s3" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={"reply":"Hello Ada"}
        12 trace_completed status="completed" output={"input":"Ada","name":"Ada","greeting":"Hello Ada","reply":"Hello Ada"} reply="Hello Ada" thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "Ada"})).await);
    expect![[r#"
        6 step_started step_id="s1" node_id="human_1" node_type="human" iteration=null attempt=1 resumed=true
        7 step_completed step_id="s1" node_id="human_1" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"Ada","name":"Ada"}
        8 step_started step_id="s2" node_id="set_1" node_type="set_state" iteration=null attempt=1
        9 step_completed step_id="s2" node_id="set_1" node_type="set_state" handle="default" duration_ms="ms" iteration=null changes={"greeting":"Hello Ada"}
        10 step_started step_id="s3" node_id="stop" node_type="stop" iteration=null attempt=1
        11 step_completed step_id="s3" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={"reply":"Hello Ada"}
        12 trace_completed status="completed" output={"input":"Ada","name":"Ada","greeting":"Hello Ada","reply":"Hello Ada"} reply="Hello Ada" thread_id="t1" duration_ms="ms" usage="0+0"
        13 run_terminal status="completed"
    "#]].assert_eq(&story.tail(&run.id, Order::Ordered, 5).await);
}

#[tokio::test]
async fn a_human_node_asks_on_every_visit() {
    let story = Story::plain();
    let run = story.run("start -> loop_1{state_key: human_response, operator: equals, value: stop, max_steps: 5}; loop_1.continue -> human_1 -> loop_1; loop_1.exit -> stop").await;
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="loop_1" node_type="loop" iteration=1 attempt=1
        4 loop_iteration step_id="s1" node_id="loop_1" iteration=1 max_steps=5
        5 step_completed step_id="s1" node_id="loop_1" node_type="loop" handle="continue" duration_ms="ms" iteration=1 changes={}
        6 step_started step_id="s2" node_id="human_1" node_type="human" iteration=1 attempt=1
        7 human_input_required step_id="s2" node_id="human_1" pause_id="p1" prompt="Your input is needed." output_key="human_response" thread_id="t1"
    "#]].assert_eq(&run.text);
    expect![[r#"
        9 step_started step_id="s2" node_id="human_1" node_type="human" iteration=1 attempt=1 resumed=true
        10 step_completed step_id="s2" node_id="human_1" node_type="human" handle="default" duration_ms="ms" iteration=1 changes={"input":"more","human_response":"more"}
        11 step_started step_id="s3" node_id="loop_1" node_type="loop" iteration=2 attempt=1
        12 loop_iteration step_id="s3" node_id="loop_1" iteration=2 max_steps=5
        13 step_completed step_id="s3" node_id="loop_1" node_type="loop" handle="continue" duration_ms="ms" iteration=2 changes={}
        14 step_started step_id="s4" node_id="human_1" node_type="human" iteration=2 attempt=1
        15 human_input_required step_id="s4" node_id="human_1" pause_id="p2" prompt="Your input is needed." output_key="human_response" thread_id="t1"
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "more", "node_id": "human_1"})).await);
    expect![[r#"
        17 step_started step_id="s4" node_id="human_1" node_type="human" iteration=2 attempt=1 resumed=true
        18 step_completed step_id="s4" node_id="human_1" node_type="human" handle="default" duration_ms="ms" iteration=2 changes={"input":"stop","human_response":"stop"}
        19 step_started step_id="s5" node_id="loop_1" node_type="loop" iteration=3 attempt=1
        20 loop_iteration step_id="s5" node_id="loop_1" iteration=3 max_steps=5
        21 step_completed step_id="s5" node_id="loop_1" node_type="loop" handle="exit" duration_ms="ms" iteration=3 changes={}
        22 step_started step_id="s6" node_id="stop" node_type="stop" iteration=null attempt=1
        23 step_completed step_id="s6" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        24 trace_completed status="completed" output={"input":"stop","human_response":"stop"} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
    "#]].assert_eq(&story.resume(&run.id, json!({"message": "stop"})).await);
}

#[tokio::test]
async fn a_pause_is_known_by_its_id_in_capitals_too() {
    let story = Story::plain();
    let run = story.run("start -> human_1 -> stop").await;
    let pause = story.trace(&run.id).await["trace"]["awaiting_pause_id"].as_str().expect("a pause").to_uppercase();
    story.resume(&run.id, json!({"pause_id": pause, "message": "x"})).await;
    assert_eq!(story.trace(&run.id).await["trace"]["status"], "completed");
}

#[tokio::test]
async fn an_answer_writes_nothing_of_agents_that_are_done() {
    let story = Story::scripted(json!([{"times": 0, "text": "Fine."}]));
    let agent = story.bench.agent(json!({"name": "Helper", "provider": "script", "model": "m"})).await;
    let sketch = "start -> loop_1{max_steps: 3, on_max: exit}; loop_1.continue -> agent_1{agent_id: AGENT} -> human_1 -> loop_1; loop_1.exit -> stop";
    let run = story.run(&sketch.replace("AGENT", &format!("\"{agent}\""))).await;
    story.resume(&run.id, json!({"message": "on"})).await;
    let store = &story.bench.studio.world().store;
    // Whatever writes their rows again takes this back.
    let marked = store.write(|tx| tx.execute("UPDATE #runs SET waiting_ms = 77 WHERE parent IS NOT NULL", &[])).await;
    assert_eq!(marked.expect("a store"), 2);
    story.resume(&run.id, json!({"message": "on"})).await;
    let kept = store.read(|tx| tx.query_one("SELECT COUNT(*) FROM #runs WHERE parent IS NOT NULL AND waiting_ms = 77", &[], |row| row.int(0))).await;
    assert_eq!(kept.expect("a store"), Some(2), "an answer that writes all of them anew takes longer each time");
    assert!(story.bench.studio.cancel(&story.bench.scope, &run.id).await.is_ok());
    let kept = store.read(|tx| tx.query_one("SELECT COUNT(*) FROM #runs WHERE parent IS NOT NULL AND waiting_ms = 77", &[], |row| row.int(0))).await;
    assert_eq!(kept.expect("a store"), Some(2), "so does a cancel");
}
