//! A long run costs what it changes: ten thousand passes over a state of a megabyte, in bounded space and memory.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::engine::{Follow, From};

use crate::program::{Program, say};
use crate::support::{Bench, folder, graph};

const PASSES: u64 = 10_000;

fn counting() -> Value {
    graph(
        &[
            ("start", "start", json!({})), ("loop", "loop", json!({"max_steps": PASSES, "on_max": "exit"})),
            ("set", "set_state", json!({"key": "small", "value": "{{input}}"})), ("stop", "stop", json!({})),
        ],
        &[("start", "loop"), ("loop.continue", "set"), ("set", "loop"), ("loop.exit", "stop")],
    )
}

/// Runs the loop and follows it; says bytes on disk, bytes told, and the most memory that it had, in kilobytes.
pub async fn program(folder: &Path) {
    let bench = Bench::open(folder, json!({}));
    let large = "x".repeat(200 << 10);
    let body = json!({"message": "hi", "state": {"large": large}});
    let quintuple = json!({"key": "large", "value": "{{large}}".repeat(5)});
    let mut graph = counting();
    graph["nodes"][1]["data"]["state_key"] = "never".into();
    graph["nodes"].as_array_mut().expect("nodes").push(json!({"id": "grow", "type": "set_state", "position": {"x": 0, "y": 0}, "data": quintuple}));
    graph["edges"][0]["target"] = "grow".into();
    let into_loop = json!({"id": "e9", "source": "grow", "target": "loop", "sourceHandle": "default", "targetHandle": "default"});
    graph["edges"].as_array_mut().expect("edges").push(into_loop);
    let workflow = bench.workflow("counting", graph).await;
    let started = bench.start(&workflow, body, false).await.expect("a run");
    let from = From { after: started.after, ..From::default() };
    let stream = bench.studio.events(&bench.scope, &started.run.to_string(), from, Follow::Answer).await.expect("a stream");
    let mut stream = stream.expect("frames");
    let (mut told, mut data, mut passes) = (0, Vec::new(), 0);
    while let Some(batch) = stream.next_batch().await {
        for frame in batch {
            data.clear();
            frame.write_data(&mut data);
            told += data.len();
            passes += u64::from(frame.event() == "loop_iteration");
        }
    }
    assert_eq!(passes, PASSES + 1);
    bench.until(&started.run, "completed", Duration::from_secs(60)).await;
    bench.studio.shutdown(Duration::from_secs(5)).await;
    let size: u64 = ["studio.sqlite", "studio.sqlite-wal"].iter().filter_map(|name| std::fs::metadata(folder.join(name)).ok()).map(|file| file.len()).sum();
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let peak = peak.trim().trim_end_matches(" kB");
    say(&format!("{size} {told} {peak}"));
}

#[test]
fn a_long_run_over_a_large_state_costs_what_it_changes() {
    let folder = folder();
    let mut program = Program::run("grow", folder.path(), &json!({}));
    let said = program.next().expect("figures");
    let figures: Vec<u64> = said.split(' ').map(|figure| figure.parse().expect("a figure")).collect();
    assert!(program.child.wait().expect("its end").success());
    assert!(figures[0] < 20 << 20, "{} bytes on disk", figures[0]);
    assert!(figures[1] < 20 << 20, "{} bytes told", figures[1]);
    assert!(figures[2] < 160 << 10, "{} kB of memory", figures[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_grows_too_large_ends_the_run() {
    let folder = folder();
    let bench = Bench::open(folder.path(), json!({"limits": {"state_kb": 64}}));
    let doubling = graph(
        &[
            ("start", "start", json!({})), ("loop", "loop", json!({"max_steps": 100})),
            ("set", "set_state", json!({"key": "text", "value": "{{text}}{{text}}{{input}}"})), ("stop", "stop", json!({})),
        ],
        &[("start", "loop"), ("loop.continue", "set"), ("set", "loop"), ("loop.exit", "stop")],
    );
    let workflow = bench.workflow("doubling", doubling).await;
    let run = bench.start(&workflow, json!({"message": "hello"}), false).await.expect("a run").run;
    let row = bench.until(&run, "failed", Duration::from_secs(60)).await;
    assert_eq!(row.error.expect("an error")["code"], "state_too_large");
}
