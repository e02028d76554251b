//! Events as they happen: branches interleaved, own numbers, pauses told at once.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use expect_test::expect;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::engine::{Follow, From as WithOrder, Order};
use wfstudio::http::{HostMarks, dispatch};

use crate::support::Bench;
use crate::support::render::EventFrame;
use crate::support::story::Story;

#[tokio::test]
async fn branches_are_told_as_they_happen() {
    let story = Story::plain();
    let run = story
        .run(
            "start -> fork_1 -> join_1 -> stop
            fork_1.a -> tool_a{tool_ref: \"host:slow\", parameters: {ms: 2500}} -> join_1
            fork_1.b -> tool_b{tool_ref: \"host:slow\", parameters: {ms: 20}} -> human_b{output_key: b} -> join_1",
        )
        .await;
    expect![[r#"
        L1 thread thread_id="t1" workflow_id="w1"
        L2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        L3 step_started step_id="s1" node_id="fork_1" node_type="fork" iteration=null attempt=1
        L4 branch_started fork_id="fork_1" branch_id="a"
        L5 branch_started fork_id="fork_1" branch_id="b"
        L6 step_started step_id="s2" node_id="tool_a" node_type="tool" iteration=null attempt=1 branch_id="a"
        L7 step_started step_id="s3" node_id="tool_b" node_type="tool" iteration=null attempt=1 branch_id="b"
        L8 step_completed step_id="s3" node_id="tool_b" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"slow","result":{"did":"slow","with":{"ms":20}}}} branch_id="b"
        L9 step_started step_id="s4" node_id="human_b" node_type="human" iteration=null attempt=1 branch_id="b"
        L10 step_completed step_id="s2" node_id="tool_a" node_type="tool" handle="default" duration_ms="ms" iteration=null changes={"tool_result":{"name":"slow","result":{"did":"slow","with":{"ms":2500}}}} branch_id="a"
        L11 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="a"
        L12 parallel_interrupt fork_id="fork_1" node_id="human_b" pause_id="p1" reason="human" branch_id="b"
        L13 human_input_required step_id="s4" node_id="human_b" pause_id="p1" prompt="Your input is needed." output_key="b" thread_id="t1" branch_id="b"
        L14 run_terminal status="awaiting_input"
    "#]].assert_eq(&story.tail(&run.id, Order::Live, 0).await);
    story.resume(&run.id, json!({"message": "B"})).await;
    expect![[r#"
        L16 step_completed step_id="s4" node_id="human_b" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"B","b":"B"} branch_id="b"
        L17 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="b"
        L18 step_completed step_id="s1" node_id="fork_1" node_type="fork" handle="default" duration_ms="ms" iteration=null changes={}
        L19 step_started step_id="s5" node_id="join_1" node_type="join" iteration=null attempt=1
        L20 step_completed step_id="s5" node_id="join_1" node_type="join" handle="default" duration_ms="ms" iteration=null changes={"parallel_results":{"a":{"name":"slow","result":{"did":"slow","with":{"ms":2500}}},"b":{"tool_result":{"name":"slow","result":{"did":"slow","with":{"ms":20}}},"b":"B"}}}
        L21 step_started step_id="s6" node_id="stop" node_type="stop" iteration=null attempt=1
        L22 step_completed step_id="s6" node_id="stop" node_type="stop" handle="default" duration_ms="ms" iteration=null changes={}
        L23 trace_completed status="completed" output={"input":"hi","parallel_results":{"a":{"name":"slow","result":{"did":"slow","with":{"ms":2500}}},"b":{"tool_result":{"name":"slow","result":{"did":"slow","with":{"ms":20}}},"b":"B"}}} reply=null thread_id="t1" duration_ms="ms" usage="0+0"
        L24 run_terminal status="completed"
    "#]].assert_eq(&story.tail(&run.id, Order::Live, 15).await);
}

#[tokio::test]
async fn an_open_pause_is_told_again_at_each_rest() {
    let story = Story::plain();
    let run = story.run("start -> fork_1 -> join_1 -> stop; fork_1.a -> human_a -> join_1; fork_1.b -> human_b -> join_1").await;
    story.resume(&run.id, json!({"node_id": "human_b", "message": "B"})).await;
    expect![[r#"
        L1 thread thread_id="t1" workflow_id="w1"
        L2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        L3 step_started step_id="s1" node_id="fork_1" node_type="fork" iteration=null attempt=1
        L4 branch_started fork_id="fork_1" branch_id="a"
        L5 branch_started fork_id="fork_1" branch_id="b"
        L6 step_started step_id="s2" node_id="human_a" node_type="human" iteration=null attempt=1 branch_id="a"
        L7 step_started step_id="s3" node_id="human_b" node_type="human" iteration=null attempt=1 branch_id="b"
        L8 parallel_interrupt fork_id="fork_1" node_id="human_a" pause_id="p1" reason="human" branch_id="a"
        L9 human_input_required step_id="s2" node_id="human_a" pause_id="p1" prompt="Your input is needed." output_key="human_response" thread_id="t1" branch_id="a"
        L10 parallel_interrupt fork_id="fork_1" node_id="human_b" pause_id="p2" reason="human" branch_id="b"
        L11 human_input_required step_id="s3" node_id="human_b" pause_id="p2" prompt="Your input is needed." output_key="human_response" thread_id="t1" branch_id="b"
        L13 step_started step_id="s3" node_id="human_b" node_type="human" iteration=null attempt=1 resumed=true branch_id="b"
        L14 step_completed step_id="s3" node_id="human_b" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"B","human_response":"B"} branch_id="b"
        L15 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="b"
        L16 parallel_interrupt fork_id="fork_1" node_id="human_a" pause_id="p1" reason="human" branch_id="a"
        L17 human_input_required step_id="s2" node_id="human_a" pause_id="p1" prompt="Your input is needed." output_key="human_response" thread_id="t1" branch_id="a"
        L18 run_terminal status="awaiting_input"
    "#]].assert_eq(&story.tail(&run.id, Order::Live, 0).await);
    expect![[r#"
        1 thread thread_id="t1" workflow_id="w1"
        2 trace_started workflow_id="w1" thread_id="t1" status="running" started_at="time"
        3 step_started step_id="s1" node_id="fork_1" node_type="fork" iteration=null attempt=1
        4 branch_started fork_id="fork_1" branch_id="a"
        5 step_started step_id="s2" node_id="human_a" node_type="human" iteration=null attempt=1 branch_id="a"
        6 branch_started fork_id="fork_1" branch_id="b"
        7 step_started step_id="s3" node_id="human_b" node_type="human" iteration=null attempt=1 branch_id="b"
        8 parallel_interrupt fork_id="fork_1" node_id="human_a" pause_id="p1" reason="human" branch_id="a"
        9 human_input_required step_id="s2" node_id="human_a" pause_id="p1" prompt="Your input is needed." output_key="human_response" thread_id="t1" branch_id="a"
        10 parallel_interrupt fork_id="fork_1" node_id="human_b" pause_id="p2" reason="human" branch_id="b"
        11 human_input_required step_id="s3" node_id="human_b" pause_id="p2" prompt="Your input is needed." output_key="human_response" thread_id="t1" branch_id="b"
        13 step_started step_id="s3" node_id="human_b" node_type="human" iteration=null attempt=1 resumed=true branch_id="b"
        14 step_completed step_id="s3" node_id="human_b" node_type="human" handle="default" duration_ms="ms" iteration=null changes={"input":"B","human_response":"B"} branch_id="b"
        15 branch_completed fork_id="fork_1" duration_ms="ms" branch_id="b"
        16 parallel_interrupt fork_id="fork_1" node_id="human_a" pause_id="p1" reason="human" branch_id="a"
        17 human_input_required step_id="s2" node_id="human_a" pause_id="p1" prompt="Your input is needed." output_key="human_response" thread_id="t1" branch_id="a"
        18 run_terminal status="awaiting_input"
    "#]].assert_eq(&story.tail(&run.id, Order::Ordered, 0).await);
}

#[tokio::test]
async fn an_answer_is_followed_as_it_happens_from_where_the_run_rested() {
    use wfstudio::engine::{Follow, From, Order};
    let bench = crate::support::Bench::new(serde_json::json!({}));
    let graph = wfstudio::model::sketch::graph("start -> human -> set_1{key: a, value: 1} -> stop");
    let workflow = bench.workflow(graph.expect("a graph")).await;
    let started = bench.start(&workflow, serde_json::json!({"message": "hi"})).await;
    bench.events_text(&started).await;
    let run = started.run.to_string();
    let resumed = bench.resume(&run, serde_json::json!({"message": "yes"})).await.expect("a resumed run");
    let from = From { order: Order::Live, after: resumed.after };
    let stream = bench.studio.events(&bench.scope, &run, from, Follow::Answer).await.expect("events").expect("a stream");
    let mut stream = stream.cut_when_behind();
    let mut told = Vec::new();
    while let Some(batch) = stream.next_batch().await {
        told.extend(batch.iter().map(|frame| frame.event()));
    }
    assert_eq!(told.first(), Some(&"step_started"));
    assert_eq!(told.last(), Some(&"trace_completed"));
    assert!(!stream.was_cut());
}

async fn post(story: &Story, key: &str, path: &str, body: &Value) -> Vec<u64> {
    let request = Request::post(path).header("content-type", "application/json").header("idempotency-key", key);
    let request = request.body(Bytes::from(body.to_string())).expect("a request");
    let answer = dispatch(&story.bench.studio, request, HostMarks::default()).await;
    let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
    let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    text.lines().filter_map(|line| line.strip_prefix("id: L")?.parse().ok()).collect()
}

/// Until each of so many nodes has said something.
async fn spoken(story: &Story, run: &str, nodes: usize) {
    let from = WithOrder { order: Order::Live, after: 0 };
    let stream = story.bench.studio.events(&story.bench.scope, run, from, Follow::Tail).await.expect("events");
    let (mut stream, mut spoke) = (stream.expect("a run at work"), HashSet::new());
    while spoke.len() < nodes {
        for frame in stream.next_batch().await.expect("more frames").iter().filter(|frame| frame.event() == "token") {
            let mut data = Vec::new();
            frame.write_data(&mut data);
            let data: Value = serde_json::from_slice(&data).expect("JSON");
            spoke.insert(data["node_id"].as_str().expect("a node").to_owned());
        }
    }
}

#[test]
fn an_answer_begins_where_the_run_rested_also_after_streams_were_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = |chunks: &[&str], delay: u64| {
        let script = json!({"scripts": {"m": {"replies": [{"chunks": chunks, "delay_ms": delay, "times": 0}]}}});
        json!({"runs": {"lease_seconds": 1}, "worker": {"in_process": false}, "providers": {"script": script}})
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (first, run) = runtime.block_on(async {
        // It is not over before it is cut, however slow the machine is.
        let story = Story::of(Bench::on_disk(settings(&["a "; 300], 200), folder.path()));
        let sketch = "start -> fork_1 -> join_1 -> stop; fork_1.x -> llm_1{provider: script, model: m, stream: true} -> join_1;
            fork_1.y -> llm_2{provider: script, model: m, stream: true} -> join_1; fork_1.z -> human_1 -> join_1";
        let workflow = story.workflow(sketch).await;
        let run = story.bench.start(&workflow, json!({"message": "hi"})).await.run.to_string();
        spoken(&story, &run, 2).await;
        (story, run)
    });
    // It ends without giving the run back, as a process that is killed.
    first.bench.studio.stop_runtime(Duration::ZERO);
    runtime.block_on(async {
        let story = Story::of(Bench::on_disk(settings(&["a ", "b ", "c "], 200), folder.path()));
        let patience = std::time::Instant::now();
        while story.bench.studio.take_over().await.expect("a studio") == 0 {
            assert!(patience.elapsed() < Duration::from_secs(60), "nobody takes it over");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        story.settle(&run).await;
        let rested = story.read(&run, WithOrder { order: Order::Live, after: 0 }, Follow::Tail).await;
        let last = rested.last().expect("frames").number();
        let path = format!("/studio/workflows/traces/{run}/resume/stream?order=live");
        let told = post(&story, "k", &path, &json!({"message": "Ada"})).await;
        let tail = story.read(&run, WithOrder { order: Order::Live, after: last }, Follow::Tail).await;
        let wanted: Vec<u64> = tail.iter().filter(|frame| frame.event != "run_terminal").map(EventFrame::number).collect();
        assert!(!wanted.is_empty());
        assert_eq!(told, wanted);
        assert_eq!(post(&story, "k", &path, &json!({"message": "Ada"})).await, wanted, "sent again");
    });
    drop(first);
}
