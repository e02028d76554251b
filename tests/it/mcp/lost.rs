//! Tools that a server does not lend any more while a call of them waits: what a person said is for that server, and no other one gets it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::support::{graph, program, until};
use crate::support::Bench;

/// What the model calls, and what it says with the result.
fn script(tool: &str, arguments: Value) -> Value {
    json!({"replies": [{"tool_calls": [{"name": tool, "arguments": arguments}]}, {"text": "It said {{tool_result}}"}]})
}

fn calls_of(folder: &Path, server: &str) -> PathBuf {
    folder.join(format!("calls_{server}"))
}

fn calls(folder: &Path, server: &str) -> usize {
    std::fs::read_to_string(calls_of(folder, server)).unwrap_or_default().lines().count()
}

/// A studio whose servers `a` and `b` lend these tools; `a` asks for approval or does not.
fn bench(folder: &Path, (a, b): (&str, &str), approved: bool, script: Value) -> Bench {
    let server = |slug: &str, lends: &str, approved: bool| {
        let mut server = program("modern", json!({"LENDS": lends, "CALLS": calls_of(folder, slug)}));
        server["require_approval"] = json!(approved);
        server
    };
    let servers = json!({"a": server("a", a, approved), "b": server("b", b, false)});
    Bench::on_disk(json!({"mcp": {"servers": servers}, "providers": {"script": {"scripts": {"m": script}}}}), folder)
}

fn agent(tools: Value) -> Value {
    let data = json!({"config_mode": "inline", "provider": "script", "model": "m", "tools": tools});
    graph(vec![("a", "agent", data)], &["start > a", "a > stop"])
}

fn both() -> Value {
    agent(json!([{"ref": "mcp:a"}, {"ref": "mcp:b"}]))
}

/// A run that waits, in a studio that is closed then.
async fn waits(first: Bench, event: &str) -> (String, Value) {
    let workflow = first.workflow(both()).await;
    let started = first.start(&workflow, json!({"message": "go"})).await;
    let told = first.events_text(&started).await;
    assert!(told.contains(event), "{told}");
    let run = started.run.to_string();
    let trace = first.trace(&run).await["trace"].clone();
    first.studio.shutdown(Duration::from_secs(2)).await;
    (run, trace)
}

async fn answered(next: &Bench, run: &str, answer: Value) -> String {
    let resumed = next.resume(run, answer).await.expect("resumed");
    next.events_text(&resumed).await
}

/// The trace of a run that another studio took over, once it rests.
async fn rested(next: &Bench, run: &str) -> Value {
    for _ in 0..6000 {
        let trace = next.trace(run).await["trace"].clone();
        if trace["status"] != "running" {
            return trace;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the run did not come to rest");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_for_the_server_that_was_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let sum = || script("add", json!({"a": 1, "b": 2}));
    let (run, trace) = waits(bench(folder.path(), ("add,heard", "fail"), true, sum()), "tool_approval_required").await;
    for shown in [&trace["pauses"][0]["pending_tools"][0], &trace["checkpoint"]["pending_tools"][0]] {
        assert_eq!((&shown["name"], &shown["server"]), (&json!("add"), &json!("a")), "{trace}");
    }
    let next = bench(folder.path(), ("heard", "add"), true, sum());
    let told = answered(&next, &run, json!({"approval": "approve"})).await;
    assert_eq!((calls(folder.path(), "a"), calls(folder.path(), "b")), (0, 0), "{told}");
    assert!(told.contains("The MCP server `a` does not offer its tool `add` any more: the call did not run."), "{told}");
    assert!(told.contains("the person's approval was for that server") && told.contains("trace_completed"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_runs_at_its_server_under_the_name_that_its_tool_has_now() {
    let folder = tempfile::tempdir().expect("a folder");
    let sum = || script("add", json!({"a": 1, "b": 2}));
    let (run, _) = waits(bench(folder.path(), ("add,heard", "fail"), true, sum()), "tool_approval_required").await;
    let next = bench(folder.path(), ("add,heard", "add"), true, sum());
    let told = answered(&next, &run, json!({"approval": "approve"})).await;
    assert_eq!((calls(folder.path(), "a"), calls(folder.path(), "b")), (1, 0), "{told}");
    assert!(told.contains(r#""result":"{\"sum\":3}""#), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_declined_does_not_run_where_nobody_has_to_be_asked_any_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let sum = || script("add", json!({"a": 1, "b": 2}));
    let (run, _) = waits(bench(folder.path(), ("add,heard", "fail"), true, sum()), "tool_approval_required").await;
    let next = bench(folder.path(), ("add,heard", "fail"), false, sum());
    let told = answered(&next, &run, json!({"approval": "reject", "message": "too much"})).await;
    assert_eq!(calls(folder.path(), "a"), 0, "{told}");
    assert!(told.contains("The person declined this call; it did not run."), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_goes_to_the_server_that_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let asks = || script("ask", json!({}));
    let (run, trace) = waits(bench(folder.path(), ("ask,heard", "fail"), false, asks()), "human_input_required").await;
    assert_eq!(trace["pauses"][0]["question"]["server"], "a", "{trace}");
    let next = bench(folder.path(), ("heard", "ask"), false, asks());
    let told = answered(&next, &run, json!({"message": "accept"})).await;
    assert_eq!((calls(folder.path(), "a"), calls(folder.path(), "b")), (1, 0), "{told}");
    assert!(told.contains("what a person answered to its question was sent to nobody"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_may_be_made_twice_is_made_again_at_its_server_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("called");
    let once = || script("once", json!({ "file": file }));
    let first = bench(folder.path(), ("once,heard", "fail"), false, once());
    let tools = json!([{"ref": "mcp:a", "idempotent": true}, {"ref": "mcp:b", "idempotent": true}]);
    let workflow = first.workflow(agent(tools)).await;
    let run = first.start(&workflow, json!({"message": "go"})).await.run.to_string();
    until("the call", || file.exists()).await;
    first.studio.shutdown(Duration::from_secs(2)).await;
    drop(first);
    let next = bench(folder.path(), ("heard", "once"), false, once());
    next.studio.take_over().await.expect("a studio");
    let trace = rested(&next, &run).await;
    assert_eq!((calls(folder.path(), "a"), calls(folder.path(), "b")), (1, 0), "{trace}");
    let said = "the call was begun there, it is not known whether it ran, and it was not made again";
    assert!(trace["status"] == "completed" && trace["output"].to_string().contains(said), "{trace}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_decided_of_a_call_in_doubt_holds_where_its_server_lends_the_tool_no_more() {
    for (action, said) in [("use", "It said what it gave"), ("skip", "It said The call was skipped"), ("rerun", "it was not made again")] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("called");
        let once = || script("once", json!({ "file": file }));
        let first = bench(folder.path(), ("once,heard", "fail"), false, once());
        let workflow = first.workflow(both()).await;
        let run = first.start(&workflow, json!({"message": "go"})).await.run.to_string();
        until("the call", || file.exists()).await;
        first.studio.shutdown(Duration::from_secs(2)).await;
        drop(first);
        let next = bench(folder.path(), ("heard", "once"), false, once());
        next.studio.take_over().await.expect("a studio");
        let trace = rested(&next, &run).await;
        let asked = &trace["error"]["calls"][0];
        assert_eq!(asked["name"], "once", "{trace}");
        let mut word = json!({"call_id": asked["call_id"], "action": action});
        if action == "use" {
            word["result"] = json!("what it gave");
        }
        let retried = next.retry(&run, json!({ "in_doubt": [word] })).await.expect("a retry");
        let told = next.events_text(&retried).await;
        assert!(told.contains(said), "{action}: {told}");
        assert_eq!((calls(folder.path(), "a"), calls(folder.path(), "b")), (1, 0), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_server_takes_the_name_that_the_tool_of_another_one_is_given() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = bench(folder.path(), ("add,b__add", "add"), false, script("b__add", json!({"a": 1, "b": 2})));
    let workflow = bench.workflow(both()).await;
    let started = bench.start(&workflow, json!({"message": "go"})).await;
    let told = bench.events_text(&started).await;
    assert_eq!((calls(folder.path(), "a"), calls(folder.path(), "b")), (0, 1), "{told}");
    assert!(told.contains(r#""result":"{\"sum\":3}""#), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_made_is_not_asked_about_where_its_tool_needs_approval_now() {
    let folder = tempfile::tempdir().expect("a folder");
    let calls_of_both = || {
        json!({"replies": [{"tool_calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]}, {"tool_calls": [{"name": "ask", "arguments": {}}]},
            {"text": "It said {{tool_result}}"}]})
    };
    let (run, _) = waits(bench(folder.path(), ("add", "ask"), false, calls_of_both()), "human_input_required").await;
    let next = bench(folder.path(), ("add", "ask"), true, calls_of_both());
    let told = answered(&next, &run, json!({"message": "accept"})).await;
    assert!(!told.contains("tool_approval_required") && told.contains("trace_completed"), "{told}");
    assert_eq!((calls(folder.path(), "a"), calls(folder.path(), "b")), (1, 2), "{told}");
}
