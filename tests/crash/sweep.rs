//! A process is killed at every border of every write, and around everything that its tools do; whoever comes next finishes the run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use wfstudio::model::Id;
use wfstudio::studio::Options;

use crate::program::{Program, say};
use crate::record::record;
use crate::support::{Bench, answer_of, folder, graph, mark, marks, workflow_runs};

fn everything() -> Value {
    graph(
        &[
            ("start", "start", json!({})),
            ("set", "set_state", json!({"key": "order.note", "value": "{{input}}!"})),
            ("talk", "llm", json!({"provider": "script", "model": "talk", "stream": true, "output_key": "summary"})),
            ("fork", "fork", json!({"branches": ["left", "right"]})),
            ("left_note", "tool", json!({"tool_ref": "host:note", "output_key": "noted", "idempotent": true})),
            ("left_talk", "llm", json!({"provider": "script", "model": "talk", "stream": true, "output_key": "left_says"})),
            ("right_ask", "human", json!({"prompt": "What do you think?", "output_key": "opinion"})),
            ("right_set", "set_state", json!({"key": "heard", "value": "{{opinion}}"})),
            ("join", "join", json!({"output_key": "both"})),
            ("loop", "loop", json!({"max_steps": 2, "on_max": "exit"})),
            ("loop_pay", "tool", json!({"tool_ref": "host:pay", "output_key": "paid"})),
            ("tell", "agent", json!({
                "config_mode": "inline", "provider": "script", "model": "talk", "memory": "shared", "message": "much ".repeat(180), "output_key": "told",
            })),
            ("clerk", "agent", json!({
                "config_mode": "inline", "provider": "script", "model": "clerk", "tools": [{"ref": "host:refund"}], "message": "Refund it.",
                "memory": "shared", "context_window": 256, "summarization_enabled": true, "budget_tool_results": 1, "output_key": "clerk_says",
            })),
            ("ask", "human", json!({"prompt": "Anything else?", "output_key": "last_word"})),
            ("stop", "stop", json!({"reply": "{{clerk_says}} {{last_word}}"})),
        ],
        &[
            ("start", "set"), ("set", "talk"), ("talk", "fork"), ("fork.left", "left_note"), ("left_note", "left_talk"),
            ("left_talk", "join"), ("fork.right", "right_ask"), ("right_ask", "right_set"), ("right_set", "join"), ("fork", "join"),
            ("join", "loop"), ("loop.continue", "loop_pay"), ("loop_pay", "loop"), ("loop.exit", "tell"), ("tell", "clerk"), ("clerk", "ask"),
            ("ask", "stop"),
        ],
    )
}

/// Finishes what others left, says what became of it, then runs once more; dies at the given border.
pub async fn program(folder: &Path, given: &Value) {
    let at = given["kill_at"].as_u64().unwrap_or(0);
    let from_start = given["from_start"].as_bool().unwrap_or(false);
    let count = Arc::new(AtomicU64::new(if from_start { 0 } else { u64::MAX / 2 }));
    let counted = Arc::clone(&count);
    let tick = move || {
        if counted.fetch_add(1, Ordering::SeqCst) + 1 == at {
            let _this_process_ends_here = std::process::Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status();
            std::thread::sleep(Duration::from_secs(60));
        }
    };
    let tick = Arc::new(tick);
    let hook = Arc::clone(&tick);
    let options = Options { on_append: Some(Arc::new(move |_, _, _| hook())), ..Options::default() };
    let bench = Bench::open_with(folder, given["settings"].clone(), options, tick);
    bench.studio.take_over().await.expect("a studio");
    for run in workflow_runs(&bench).await {
        finish(&bench, &run).await;
    }
    verify(&bench, folder).await;
    let workflow = bench.workflow("everything", everything()).await;
    if !from_start {
        count.store(0, Ordering::SeqCst);
    }
    let queued = given["queued"].as_bool().unwrap_or(false);
    let run = bench.start(&workflow, json!({"message": "hi"}), queued).await.expect("a run").run;
    finish(&bench, &run).await;
    let borders = count.swap(u64::MAX / 2, Ordering::SeqCst);
    verify(&bench, folder).await;
    say(&format!("ran {borders}"));
}

/// Answers, decides and retries until the run is over.
pub async fn finish(bench: &Bench, run: &Id) {
    for _ in 0..60_000 {
        let row = bench.row(run).await;
        let pause = row.awaiting_pause.map(|pause| pause.to_string());
        match row.status.as_str() {
            "completed" => return,
            "awaiting_input" => {
                bench.resume(run, json!({"pause_id": pause, "message": "fine"})).await.expect("an answer");
            }
            "awaiting_tool_approval" => {
                bench.resume(run, json!({"pause_id": pause, "approval": "approve"})).await.expect("a decision");
            }
            "failed" => {
                bench.retry(run, json!({"in_doubt": decisions(bench, &row)})).await.expect("a retry");
            }
            "queued" => {
                bench.studio.world().work().await.expect("work");
            }
            "running" => tokio::time::sleep(Duration::from_millis(1)).await,
            other => panic!("the run is {other}"),
        }
    }
    panic!("the run does not end: {:?}", bench.row(run).await);
}

/// Whoever knows that the tool did its work says so; else it is made again.
fn decisions(bench: &Bench, row: &wfstudio::store::runs::RunRow) -> Vec<Value> {
    let error = row.error.clone().unwrap_or_default();
    let code = error["code"].as_str().unwrap_or_default();
    assert!(code == "in_doubt" || code == "worker_lost", "{error}");
    let lines = marks(&bench.effects);
    let decide = |call: &Value| {
        let (id, name) = (call["call_id"].as_str().expect("an id"), call["name"].as_str().expect("a name"));
        assert!(name == "pay" || name == "refund", "{name} may be repeated; it is never in doubt");
        let did = lines.iter().any(|line| line.contains(&format!(" {id} ")) && line.ends_with(&row.id.to_string()));
        let result = answer_of(name).to_string();
        if did { json!({"call_id": id, "action": "use", "result": result}) } else { json!({"call_id": id, "action": "rerun"}) }
    };
    error["calls"].as_array().map(|calls| calls.iter().map(decide).collect()).unwrap_or_default()
}

/// Says what became of every run that nobody has looked at yet.
async fn verify(bench: &Bench, folder: &Path) {
    let seen = folder.join("seen");
    let known = marks(&seen);
    for run in workflow_runs(bench).await {
        if !known.contains(&run.to_string()) {
            say(&record(bench, &run).await.to_string());
            mark(&seen, &run.to_string());
        }
    }
}

/// Kills at every border until a process lives through all of them, so many times over; how many died.
fn sweep(given: &Value, passes: u32) -> u64 {
    let folder = folder();
    let run = |kill_at: u64| {
        let mut given = given.clone();
        given["kill_at"] = kill_at.into();
        let mut program = Program::run("sweep", folder.path(), &given);
        let said: Vec<String> = std::iter::from_fn(|| program.next()).collect();
        let status = program.child.wait().expect("its end");
        let killed = std::os::unix::process::ExitStatusExt::signal(&status) == Some(9);
        assert!(killed || status.success(), "the process failed at border {kill_at} of {given}: {status}");
        (said, killed)
    };
    let (undisturbed, killed) = run(0);
    assert!(!killed);
    let expected: Value = serde_json::from_str(&undisturbed[0]).expect("a record");
    assert_eq!(expected["status"], "completed", "{expected}");
    let measured = expected["measured"].to_string();
    assert!(measured.contains("compaction") && measured.contains("tool_result"), "{measured}");
    let mut checked = 0;
    let mut check = |said: &[String], border: u64| {
        for record in said.iter().filter(|line| line.starts_with('{')) {
            let record: Value = serde_json::from_str(record).expect("a record");
            for (part, found) in record.as_object().expect("parts").iter().filter(|(_, found)| !found.is_null()) {
                assert_eq!(found, &expected[part], "{part} after the kills before border {border} of {given}");
            }
            checked += 1;
        }
    };
    let mut kills = 0;
    for _ in 0..passes {
        for kill_at in 1.. {
            let (said, killed) = run(kill_at);
            check(&said, kill_at);
            if !killed {
                break;
            }
            kills += 1;
        }
    }
    check(&run(0).0, 0);
    assert!(checked > passes);
    kills
}

#[test]
fn killed_at_every_border_of_a_run_that_a_request_drives() {
    assert_kills(&json!({}), 2);
}

#[test]
fn killed_at_every_border_of_a_run_that_a_worker_drives() {
    assert_kills(&json!({"queued": true}), 2);
}

#[test]
fn killed_at_every_border_of_recovering_and_running_again() {
    assert_kills(&json!({"from_start": true}), 2);
}

#[test]
fn killed_at_every_border_when_each_step_is_stored_before_the_next() {
    assert_kills(&json!({"settings": each_step()}), 1);
}

#[test]
fn killed_at_every_border_of_a_worker_when_each_step_is_stored_before_the_next() {
    assert_kills(&json!({"queued": true, "from_start": true, "settings": each_step()}), 1);
}

fn each_step() -> Value {
    json!({"database": {"durability": "step"}})
}

/// Entries that come close together may share a write, so the count differs a little from run to run.
fn assert_kills(given: &Value, passes: u32) {
    let kills = sweep(given, passes);
    assert!(kills >= u64::from(passes) * 35, "{kills} kills");
}
