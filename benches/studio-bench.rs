//! Owns the workloads of `docs/measurements.md`: each through the crate and through the C functions, one JSON line a result.
//!
//! `studio-bench W1|W2|W3|W4|W5 none|sqlite-normal|sqlite|sqlite-step|postgres <size> <reps>` (`PGURL` names the server) · `W6pause <db> <n>` · `W6resume <db> <i>` · `W7build <db> <n> [words of an answer]` ·
//! `W7metered <db> <n> [of] [in a transaction]` · `W7query <db> <reps> [question]` · `W8` · `W9 [vectors.npy queries.npy]` · `W10 sqlite|sqlite-normal|postgres <n>`; `--door c` goes through C.

mod door;
mod graphs;
mod knowledge;
mod measure;
mod models;
mod queued;
mod stored;

use std::path::PathBuf;

use serde_json::json;

use door::Door;
use measure::{Sample, emit};

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let through_c = arguments.iter().position(|argument| argument == "--door").map(|at| {
        let door = arguments.get(at + 1).cloned().unwrap_or_default();
        arguments.drain(at..(at + 2).min(arguments.len()));
        door == "c"
    });
    let through_c = through_c.unwrap_or(false);
    let text = |at: usize| arguments.get(at).map_or("", String::as_str);
    let number = |at: usize, usual: u64| text(at).parse().unwrap_or(usual);
    match text(0) {
        "W1" => steps("W1", text(1), number(2, 100), number(3, 5), through_c),
        "W2" => steps("W2", text(1), number(2, 1_000), number(3, 5), through_c),
        "W3" => steps("W3", text(1), number(2, 10), number(3, 5), through_c),
        "W4" => models::stream(text(1), number(2, 1_000), number(3, 5)),
        "W5" => models::at_once(text(1), number(2, 100), number(3, 3)),
        "W6pause" => pause(text(1), number(2, 10_000), through_c),
        "W6resume" => resume(text(1), number(2, 0), through_c),
        "W7build" => stored::build(text(1), number(2, 10_000), number(3, 0)),
        "W7metered" => stored::metered(text(1), number(2, 10_000), number(3, 1_000_000), number(4, 1)),
        "W7query" => stored::query(text(1), number(2, 100), arguments.get(3).map(String::as_str)),
        "W8" => once(through_c),
        "W10" => queued::finish(text(1), number(2, 5_000)),
        "W9" => knowledge::nearest(text(1), text(2), &folder(), through_c),
        other => {
            eprintln!("there is no workload `{other}`; see the head of benches/studio-bench.rs");
            std::process::exit(2);
        }
    }
}

fn folder() -> PathBuf {
    std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from)
}

/// A workload of pure steps: one warm-up, then so many repetitions.
fn steps(workload: &str, variant: &str, size: u64, reps: u64, through_c: bool) {
    let database = folder().join(format!("bench-{workload}-{variant}-{size}-{}.sqlite", std::process::id()));
    measure::remove(&database);
    let (graph, units) = match workload {
        "W1" => (graphs::linear(size), size),
        "W2" => (graphs::looping(size), size),
        _fork => (graphs::forked(size), size * 5),
    };
    let door = Door::open(through_c, &settings(variant, &database));
    let workflow = door.workflow(&graph);
    let message = "m".repeat(1024);
    let state: serde_json::Map<_, _> = (0..10).map(|n| (format!("k{n}"), json!(0))).collect();
    let body = json!({"message": message, "state": state});
    let events = door.run(&workflow, &body);
    assert!(events as u64 >= units * 2, "{events} events for {units} units");
    let grown = measure::status("VmHWM:");
    let mut samples = Vec::new();
    for _ in 0..reps {
        let sample = Sample::start();
        let told = door.run(&workflow, &body);
        samples.push(sample.stop());
        assert_eq!(told, events);
    }
    let growth = measure::status("VmHWM:").saturating_sub(grown);
    door.close();
    let bytes = measure::size(&database);
    let per_step = bytes as f64 / ((reps + 1) * units) as f64;
    let extra = json!({"events": events, "growth_kb": growth, "db_bytes_per_unit": per_step, "door": if through_c { "c" } else { "rust" }});
    emit(workload, variant, size, units, &samples, extra);
    measure::remove(&database);
}

fn settings(variant: &str, database: &std::path::Path) -> serde_json::Value {
    let (synchronous, durability) = match variant {
        "none" => ("normal", "none"),
        "sqlite-normal" => ("normal", "effect"),
        "sqlite-step" => ("full", "step"),
        _full => ("full", "effect"),
    };
    let mut place = json!({"path": database, "synchronous": synchronous, "durability": durability});
    if variant == "postgres" {
        place = json!({"url": std::env::var("PGURL").expect("PGURL names the server")});
    }
    json!({
        "environment": "local",
        "database": place,
        "limits": {"loop_max_steps": 1_000_000, "fork_branches": 1000, "graph_nodes": 2000, "stream_buffer_kb": 1024},
        "loop": {"global_max_steps": 10_000_000},
        "worker": {"in_process": false},
    })
}

/// Pauses `n` runs at a human node, one after another.
fn pause(database: &str, n: u64, through_c: bool) {
    let path = PathBuf::from(database);
    measure::remove(&path);
    let door = Door::open(through_c, &settings("sqlite-normal", &path));
    let workflow = door.workflow(&graphs::human());
    let sample = Sample::start();
    let mut runs = Vec::new();
    for _ in 0..n {
        runs.push(door.start(&workflow, &json!({"message": "m".repeat(1024)})));
    }
    let sample = sample.stop();
    let resident = measure::status("VmRSS:");
    door.close();
    let list: String = runs.iter().map(|run| format!("{run}\n")).collect();
    std::fs::write(path.with_extension("runs"), list).expect("the list of runs is written");
    let bytes = measure::size(&path) / n.max(1);
    emit("W6pause", "sqlite-normal", n, n, &[sample], json!({"db_bytes_per_unit": bytes, "rss_kb_after": resident}));
}

/// Resumes one of them in this fresh process.
fn resume(database: &str, i: u64, through_c: bool) {
    let path = PathBuf::from(database);
    let runs = std::fs::read_to_string(path.with_extension("runs")).expect("W6pause ran before");
    let run = runs.lines().nth(usize::try_from(i).unwrap_or(0)).expect("there are so many runs");
    let sample = Sample::start();
    let door = Door::open(through_c, &settings("sqlite-normal", &path));
    let events = door.resume(run, &json!({"message": "go on"}));
    assert!(events >= 3, "{events} events");
    door.close();
    emit("W6resume", "sqlite-normal", 1, 1, &[sample.stop()], json!({"process_cpu_ms": measure::cpu_ms()}));
}

/// A fresh database, one durable run, the end.
fn once(through_c: bool) {
    let database = folder().join(format!("bench-W8-{}.sqlite", std::process::id()));
    measure::remove(&database);
    let sample = Sample::start();
    let door = Door::open(through_c, &settings("sqlite", &database));
    let workflow = door.workflow(&graphs::linear(1));
    let events = door.run(&workflow, &json!({"message": "hi"}));
    assert!(events >= 4, "{events} events");
    door.close();
    emit("W8", "sqlite", 1, 1, &[sample.stop()], json!({"process_cpu_ms": measure::cpu_ms()}));
    measure::remove(&database);
}
