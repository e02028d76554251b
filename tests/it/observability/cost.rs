//! What telling costs: processor time of a run with and without, and the memory that waits at most. Run alone: it measures its process.

use std::io::Write as _;

use serde_json::{Value, json};

use super::closed;
use super::collector::{Collector, Manner};
use crate::support::story::Story;

const RUNS: u32 = 300;

/// Clock ticks of ten milliseconds that this process has used, user and system.
fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a process");
    let fields: Vec<&str> = stat.rsplit_once(") ").expect("a name").1.split(' ').collect();
    fields[11].parse::<u64>().expect("a count") + fields[12].parse::<u64>().expect("a count")
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
    line.split_whitespace().nth(1).expect("a size").parse().expect("a count")
}

/// Microseconds of processor time of a run of ten steps and one model call.
async fn run_cost(settings: Value) -> u64 {
    let story = Story::with(settings, json!([]));
    let steps: String = (0..9).map(|n| format!("set_{n}{{key: k{n}, value: v}} -> ")).collect();
    let workflow = story.workflow(&format!("start -> {steps}llm_1{{provider: script, model: echo}} -> stop")).await;
    let mut before = 0;
    for run in 0..RUNS + 20 {
        if run == 20 {
            before = ticks();
        }
        let started = story.bench.start(&workflow, json!({"message": "hi"})).await;
        story.bench.events_text(&started).await;
    }
    let used = ticks() - before;
    closed(&story).await;
    used * 10_000 / u64::from(RUNS)
}

#[tokio::test]
#[ignore = "it measures its process: run it alone"]
async fn telling_costs_little() {
    let collector = Collector::start(Manner::Takes).await;
    let told = |content: bool| json!({"observability": {"otlp": {"endpoint": collector.url(), "content": content}}});
    let mut lines = String::new();
    for _ in 0..3 {
        let (off, on, content) = (run_cost(json!({})).await, run_cost(told(false)).await, run_cost(told(true)).await);
        lines.push_str(&format!("µs of processor time a run: {off} off, {on} on, {content} with content\n"));
    }
    let hangs = Collector::start(Manner::Hangs).await;
    let (without, _) = grown(json!({})).await;
    let (with, counts) = grown(json!({"observability": {"otlp": {"endpoint": hangs.url(), "content": true}}})).await;
    lines.push_str(&format!("18,000 pieces of 10 KB: {without} KB more untold, {with} KB more to a collector that hangs: {counts}\n"));
    std::io::stderr().write_all(lines.as_bytes()).expect("written");
}

/// How much larger the process is after a run of many large pieces, and what became of them.
async fn grown(settings: Value) -> (u64, Value) {
    let story = Story::with(settings, json!([]));
    let workflow = story.workflow("start -> loop_1{max_steps: 9000, on_max: exit}; loop_1.exit -> stop; loop_1.continue -> set_1{key: k, value: \"{{big}}\"} -> loop_1").await;
    let before = resident_kb();
    let started = story.bench.start(&workflow, json!({"message": "hi", "state": {"big": "x".repeat(10_000)}})).await;
    story.bench.events_text(&started).await;
    let grown = resident_kb().saturating_sub(before);
    let counts = story.bench.studio.observability();
    story.bench.studio.shutdown(std::time::Duration::from_secs(2)).await;
    (grown, counts)
}
