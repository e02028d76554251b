//! Readers of a run: far behind, gone, and in a burst of text.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wfstudio::engine::{Follow, From};
use wfstudio::studio::Started;

use crate::support::story::Story;
use crate::support::{Bench, Transcript};

/// A streaming model that says so many pieces at once.
fn pieces(count: usize) -> Value {
    json!({"providers": {"script": {"scripts": {"m": {"replies": [{"times": 0, "chunks": vec!["x"; count]}]}}}}})
}

async fn rest(stream: &mut wfstudio::engine::EventStream, out: &mut Transcript) {
    while let Some(batch) = stream.next_batch().await {
        for frame in batch {
            let (mut id, mut data) = (Vec::new(), Vec::new());
            frame.write_id(&mut id);
            frame.write_data(&mut data);
            out.add(&String::from_utf8_lossy(&id), frame.event(), &data);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tail_that_is_far_behind_tells_text_where_it_was_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = json!({"m": {"replies": [{"times": 0, "chunks": vec!["x"; 50]}]}});
    let settings = json!({"providers": {"script": {"scripts": script}}, "worker": {"in_process": false}});
    let story = Story::of(Bench::on_disk(settings.clone(), folder.path()));
    let sketch = "start -> tool_1{tool_ref: \"host:slow\", parameters: {ms: 1500}} -> loop_1{max_steps: 2600, on_max: exit}; loop_1.continue -> set_1{key: a, value: 1} -> loop_1; loop_1.exit -> fork_1 -> join_1 -> stop
        fork_1.a -> llm_1{provider: script, model: m, prompt: hi, stream: true} -> join_1; fork_1.b -> set_2{key: b, value: 1} -> join_1";
    let workflow = story.workflow(sketch).await;
    let started: Started = story.bench.start(&workflow, json!({"message": "hi"})).await;
    let run = started.run.to_string();
    story.calls(1).await;
    let afar = Bench::on_disk(settings, folder.path());
    let mut behind = afar.studio.events(&afar.scope, &run, From::default(), Follow::Tail).await.expect("events").expect("a stream");
    assert!(behind.next_batch().await.is_some());
    story.settle(&run).await;
    let mut told = Transcript::default();
    rest(&mut behind, &mut told).await;
    let mut whole = Transcript::default();
    let mut again = afar.studio.events(&afar.scope, &run, From::default(), Follow::Tail).await.expect("events").expect("a stream");
    again.next_batch().await.expect("frames");
    rest(&mut again, &mut whole).await;
    let ids = |text: &str| text.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
    let (told, whole) = (ids(&told.text), ids(&whole.text));
    let from = whole.len() - told.len().min(whole.len());
    assert_eq!(told.iter().filter(|line| line.ends_with(" token")).count(), 50);
    assert_eq!(told[told.len().saturating_sub(100)..], whole[from.max(whole.len() - told.len().min(100))..]);
}

#[tokio::test]
async fn a_reader_that_is_gone_does_not_slow_a_run_that_nobody_stores() {
    let mut settings = pieces(6000);
    crate::support::merge(&mut settings, json!({"database": {"durability": "none"}}));
    let story = Story::of(Bench::new(settings));
    let tools: Vec<String> = (1..=4).map(|n| format!("tool_{n}{{tool_ref: \"host:look\"}}")).collect();
    let workflow = story.workflow(&format!("start -> llm_1{{provider: script, model: m, prompt: hi, stream: true}} -> {} -> stop", tools.join(" -> "))).await;
    // A busy machine makes any one of them slow, but not each of five; a reader that is gone must not be waited for as one that stands still, for 5 s.
    let mut tries = 0;
    let mut ways = vec![true, false];
    while let Some(stays) = ways.pop() {
        let before = story.hands.calls().len();
        let began = Instant::now();
        let started = story.bench.start(&workflow, json!({"message": "hi"})).await;
        let run = started.run.to_string();
        let mut stream = story.bench.studio.events(&story.bench.scope, &run, From::default(), Follow::Answer).await.expect("events").expect("a stream");
        assert!(stream.next_batch().await.is_some());
        let kept = stays.then_some(stream);
        story.calls(before + 4).await;
        let (took, most) = (began.elapsed(), if stays { Duration::from_secs(9) } else { Duration::from_secs(4) });
        drop(kept);
        story.settle(&run).await;
        tries += 1;
        if took >= most {
            assert!(tries < 5, "{took:?} with a reader that {}", if stays { "stands still" } else { "is gone" });
            ways.push(stays);
        } else {
            tries = 0;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_text_reaches_a_reader_that_reads() {
    for count in [20_000, 100_000] {
        let bench = Bench::new(pieces(count));
        let workflow = bench.workflow(wfstudio::model::sketch::graph("start -> llm_1{provider: script, model: m, prompt: hi, stream: true} -> stop").expect("a sketch")).await;
        let started = bench.start(&workflow, json!({"message": "hi"})).await;
        let from = From { after: started.after, ..From::default() };
        let stream = bench.studio.events(&bench.scope, &started.run.to_string(), from, Follow::Answer).await.expect("events").expect("a stream");
        let mut stream = stream.cut_when_behind();
        let (mut text, mut last) = (String::new(), "");
        while let Some(batch) = stream.next_batch().await {
            for frame in batch {
                last = frame.event();
                if last == "token" {
                    let mut data = Vec::new();
                    frame.write_data(&mut data);
                    let data: Value = serde_json::from_slice(&data).expect("JSON");
                    text.push_str(data["delta"].as_str().expect("a text"));
                }
            }
        }
        assert!(!stream.was_cut(), "after {} characters", text.len());
        assert_eq!((last, text.len()), ("trace_completed", count));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_falls_behind_is_cut_and_told_so() {
    let mut settings = pieces(50_000);
    crate::support::merge(&mut settings, json!({"limits": {"stream_buffer_kb": 64}}));
    let bench = Bench::new(settings);
    let workflow = bench.workflow(wfstudio::model::sketch::graph("start -> llm_1{provider: script, model: m, prompt: hi, stream: true} -> stop").expect("a sketch")).await;
    let started = bench.start(&workflow, json!({"message": "hi"})).await;
    let stream = bench.studio.events(&bench.scope, &started.run.to_string(), From::default(), Follow::Answer).await.expect("events").expect("a stream");
    let mut stream = stream.cut_when_behind();
    assert!(stream.next_batch().await.is_some() && !stream.was_cut());
    bench.events_text(&started).await;
    while stream.next_batch().await.is_some() {}
    assert!(stream.was_cut());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_is_larger_than_what_is_kept_reaches_a_reader_that_reads() {
    let story = Story::of(Bench::new(json!({"limits": {"stream_buffer_kb": 64}})));
    let workflow = story.workflow("start -> tool_1{tool_ref: \"host:slow\", parameters: {ms: 300}} -> stop").await;
    let started = story.bench.start(&workflow, json!({"message": "hi", "state": {"big": "x".repeat(200_000)}})).await;
    let stream = story.bench.studio.events(&story.bench.scope, &started.run.to_string(), From::default(), Follow::Answer).await.expect("events").expect("a stream");
    let (mut stream, mut last) = (stream.cut_when_behind(), "");
    while let Some(batch) = stream.next_batch().await {
        last = batch.last().map_or(last, |frame| frame.event());
    }
    assert_eq!((last, stream.was_cut()), ("trace_completed", false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_writes_large_values_waits_for_the_disk() {
    let heads = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&heads);
    let hook = move |boundary, _, head| {
        if boundary == wfstudio::engine::Boundary::Before {
            seen.lock().expect("a lock").push(head);
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    let mut bench = Bench::new(json!({}));
    let options = wfstudio::studio::Options { on_append: Some(std::sync::Arc::new(hook)), ..Default::default() };
    bench.studio = wfstudio::studio::Studio::open_with(crate::support::config(json!({}), ":memory:"), options).expect("a studio");
    let sketch = "start -> loop_1{max_steps: 300, on_max: exit}; loop_1.continue -> set_1{key: a, value: \"{{big}}\"} -> loop_1; loop_1.exit -> stop";
    let workflow = bench.workflow(wfstudio::model::sketch::graph(sketch).expect("a sketch")).await;
    let started = bench.start(&workflow, json!({"message": "hi", "state": {"big": "x".repeat(200_000)}})).await;
    bench.events_text(&started).await;
    let heads = heads.lock().expect("a lock");
    let most = heads.windows(2).map(|pair| pair[1] - pair[0]).max().expect("writes");
    assert!(most < 130, "{heads:?}");
}

#[tokio::test]
async fn a_tail_of_a_child_run_tells_its_parent_and_ends_with_it() {
    let story = Story::plain();
    let agent = story.bench.agent(json!({"name": "Echo", "provider": "script", "model": "echo"})).await;
    let sketch = format!("start -> agent_1{{agent_id: \"{agent}\"}} -> tool_1{{tool_ref: \"host:slow\", parameters: {{ms: 300}}}} -> stop");
    let workflow = story.workflow(&sketch).await;
    let run = story.bench.start(&workflow, json!({"message": "hi"})).await.run.to_string();
    story.calls(1).await;
    let child = story.trace(&run).await["children"][0]["id"].as_str().expect("a child run").to_owned();
    let told = tokio::time::timeout(std::time::Duration::from_secs(60), story.read(&child, From::default(), Follow::Tail)).await;
    let told = told.expect("the end of the tail");
    assert_eq!(told, story.read(&run, From::default(), Follow::Tail).await);
    assert_eq!(told, story.read(&child, From::default(), Follow::Tail).await, "at rest");
}
