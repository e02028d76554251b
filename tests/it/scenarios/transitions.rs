//! The table of transitions: every trigger in every status.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::story::Story;

const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

/// A story with a run in that status.
async fn in_status(status: &str) -> (Story, String) {
    let pays = json!([{"times": 0, "tool_calls": [{"name": "pay", "arguments": {"sum": 1}}]}]);
    let queue = json!({"async_runs_enabled": true, "worker": {"in_process": false}, "timeouts": {"cancel_grace_ms": 20}});
    let story = Story::with(queue, pays);
    let sketch = match status {
        "running" => "start -> tool_1{tool_ref: \"host:stuck\"} -> stop",
        "awaiting_input" | "cancelled" => "start -> human_1{prompt: \"Who?\"} -> stop",
        "awaiting_tool_approval" => "start -> agent_1{provider: script, model: m, tools: [{ref: \"host:pay\"}]} -> stop",
        "failed" => "start -> tool_1{tool_ref: \"host:fail\"} -> stop",
        _ => "start -> stop",
    };
    if status == "none" {
        return (story, NOBODY.to_owned());
    }
    if status == "queued" {
        let run = story.queue(sketch).await;
        return (story, run);
    }
    let run = started(&story, sketch, status).await;
    if status == "cancelled" {
        story.cancel(&run).await;
    }
    (story, run)
}

async fn started(story: &Story, sketch: &str, status: &str) -> String {
    if status != "running" {
        return story.run(sketch).await.id;
    }
    let workflow = story.workflow(sketch).await;
    let started = story.bench.start(&workflow, json!({"message": "hi"})).await;
    story.calls(1).await;
    started.run.to_string()
}

const STATUSES: [&str; 8] = ["none", "queued", "running", "awaiting_input", "awaiting_tool_approval", "completed", "failed", "cancelled"];

#[tokio::test]
async fn every_trigger_in_every_status() {
    let actions: [(&str, &str, Value); 9] = [
        ("resume", "human", json!({"message": "x"})),
        ("resume", "approval", json!({"approval": "approve"})),
        ("resume", "other node", json!({"node_id": "elsewhere", "message": "x"})),
        ("retry", "", json!({})),
        ("queue resume", "human", json!({"message": "x"})),
        ("queue resume", "approval", json!({"approval": "approve"})),
        ("queue retry", "", json!({})),
        ("cancel", "", json!({})),
        ("delete", "", json!({})),
    ];
    let mut table = String::new();
    for (what, kind, body) in &actions {
        for status in STATUSES {
            let (story, run) = in_status(status).await;
            let line = attempt(&story, &run, what, body.clone()).await;
            table.push_str(&format!("{what} {kind} | {status} | {line}\n"));
        }
    }
    expect![[r#"
        resume human | none | 404 not_found: there is no run `01890000-0000-7000-8000-000000000000` {"resource":"run","id":"i1"}
        resume human | queued | 409 invalid_state: the run is queued; only a paused run can be resumed {"run_status":"queued"}
        resume human | running | 409 invalid_state: the run is running; only a paused run can be resumed {"run_status":"running"}
        resume human | awaiting_input | running
        resume human | awaiting_tool_approval | 422 wrong_answer_kind: the run waits for a decision, `approval` approve or reject, on: pay {"expected":"tool_approval"}
        resume human | completed | 409 invalid_state: the run is completed; only a paused run can be resumed {"run_status":"completed"}
        resume human | failed | 409 invalid_state: the run is failed; only a paused run can be resumed {"run_status":"failed"}
        resume human | cancelled | 409 invalid_state: the run was cancelled; it cannot go on {"run_status":"cancelled"}
        resume approval | none | 404 not_found: there is no run `01890000-0000-7000-8000-000000000000` {"resource":"run","id":"i1"}
        resume approval | queued | 409 invalid_state: the run is queued; only a paused run can be resumed {"run_status":"queued"}
        resume approval | running | 409 invalid_state: the run is running; only a paused run can be resumed {"run_status":"running"}
        resume approval | awaiting_input | 422 wrong_answer_kind: the run waits for an answer, as `message`, to: Who? {"expected":"human"}
        resume approval | awaiting_tool_approval | running
        resume approval | completed | 409 invalid_state: the run is completed; only a paused run can be resumed {"run_status":"completed"}
        resume approval | failed | 409 invalid_state: the run is failed; only a paused run can be resumed {"run_status":"failed"}
        resume approval | cancelled | 409 invalid_state: the run was cancelled; it cannot go on {"run_status":"cancelled"}
        resume other node | none | 404 not_found: there is no run `01890000-0000-7000-8000-000000000000` {"resource":"run","id":"i1"}
        resume other node | queued | 409 invalid_state: the run is queued; only a paused run can be resumed {"run_status":"queued"}
        resume other node | running | 409 invalid_state: the run is running; only a paused run can be resumed {"run_status":"running"}
        resume other node | awaiting_input | 409 pause_not_pending: there is no such open pause in this run; nothing was changed {"run_status":"awaiting_input","pauses":[{"pause_id":"p1","node_id":"human_1"}]}
        resume other node | awaiting_tool_approval | 409 pause_not_pending: there is no such open pause in this run; nothing was changed {"run_status":"awaiting_tool_approval","pauses":[{"pause_id":"p1","node_id":"agent_1"}]}
        resume other node | completed | 409 invalid_state: the run is completed; only a paused run can be resumed {"run_status":"completed"}
        resume other node | failed | 409 invalid_state: the run is failed; only a paused run can be resumed {"run_status":"failed"}
        resume other node | cancelled | 409 invalid_state: the run was cancelled; it cannot go on {"run_status":"cancelled"}
        retry  | none | 404 not_found: there is no run `01890000-0000-7000-8000-000000000000` {"resource":"run","id":"i1"}
        retry  | queued | 409 invalid_state: the run is queued; only a failed run can be retried {"run_status":"queued"}
        retry  | running | 409 invalid_state: the run is running; only a failed run can be retried {"run_status":"running"}
        retry  | awaiting_input | 409 invalid_state: the run is awaiting_input; only a failed run can be retried {"run_status":"awaiting_input"}
        retry  | awaiting_tool_approval | 409 invalid_state: the run is awaiting_tool_approval; only a failed run can be retried {"run_status":"awaiting_tool_approval"}
        retry  | completed | 409 invalid_state: the run is completed; only a failed run can be retried {"run_status":"completed"}
        retry  | failed | running
        retry  | cancelled | 409 invalid_state: the run is cancelled; only a failed run can be retried {"run_status":"cancelled"}
        queue resume human | none | 404 not_found: there is no run `01890000-0000-7000-8000-000000000000` {"resource":"run","id":"i1"}
        queue resume human | queued | 409 invalid_state: the run is queued; only a paused run can be resumed {"run_status":"queued"}
        queue resume human | running | 409 invalid_state: the run is running; only a paused run can be resumed {"run_status":"running"}
        queue resume human | awaiting_input | queued
        queue resume human | awaiting_tool_approval | 422 wrong_answer_kind: the run waits for a decision, `approval` approve or reject, on: pay {"expected":"tool_approval"}
        queue resume human | completed | 409 invalid_state: the run is completed; only a paused run can be resumed {"run_status":"completed"}
        queue resume human | failed | 409 invalid_state: the run is failed; only a paused run can be resumed {"run_status":"failed"}
        queue resume human | cancelled | 409 invalid_state: the run was cancelled; it cannot go on {"run_status":"cancelled"}
        queue resume approval | none | 404 not_found: there is no run `01890000-0000-7000-8000-000000000000` {"resource":"run","id":"i1"}
        queue resume approval | queued | 409 invalid_state: the run is queued; only a paused run can be resumed {"run_status":"queued"}
        queue resume approval | running | 409 invalid_state: the run is running; only a paused run can be resumed {"run_status":"running"}
        queue resume approval | awaiting_input | 422 wrong_answer_kind: the run waits for an answer, as `message`, to: Who? {"expected":"human"}
        queue resume approval | awaiting_tool_approval | queued
        queue resume approval | completed | 409 invalid_state: the run is completed; only a paused run can be resumed {"run_status":"completed"}
        queue resume approval | failed | 409 invalid_state: the run is failed; only a paused run can be resumed {"run_status":"failed"}
        queue resume approval | cancelled | 409 invalid_state: the run was cancelled; it cannot go on {"run_status":"cancelled"}
        queue retry  | none | 404 not_found: there is no run `01890000-0000-7000-8000-000000000000` {"resource":"run","id":"i1"}
        queue retry  | queued | 409 invalid_state: the run is queued; only a failed run can be retried {"run_status":"queued"}
        queue retry  | running | 409 invalid_state: the run is running; only a failed run can be retried {"run_status":"running"}
        queue retry  | awaiting_input | 409 invalid_state: the run is awaiting_input; only a failed run can be retried {"run_status":"awaiting_input"}
        queue retry  | awaiting_tool_approval | 409 invalid_state: the run is awaiting_tool_approval; only a failed run can be retried {"run_status":"awaiting_tool_approval"}
        queue retry  | completed | 409 invalid_state: the run is completed; only a failed run can be retried {"run_status":"completed"}
        queue retry  | failed | queued
        queue retry  | cancelled | 409 invalid_state: the run is cancelled; only a failed run can be retried {"run_status":"cancelled"}
        cancel  | none | 404 not_found: there is no run `01890000-0000-7000-8000-000000000000` {"resource":"run","id":"i1"}
        cancel  | queued | cancelled
        cancel  | running | cancelled
        cancel  | awaiting_input | cancelled
        cancel  | awaiting_tool_approval | cancelled
        cancel  | completed | 409 invalid_state: the run is completed; it cannot be cancelled {"run_status":"completed"}
        cancel  | failed | 409 invalid_state: the run is failed; it cannot be cancelled {"run_status":"failed"}
        cancel  | cancelled | cancelled
        delete  | none | 404 not_found: there is no run `01890000-0000-7000-8000-000000000000` {"resource":"run","id":"i1"}
        delete  | queued | 409 invalid_state: the run is queued; cancel it first {"run_status":"queued"}
        delete  | running | 409 invalid_state: the run is running; cancel it first {"run_status":"running"}
        delete  | awaiting_input | 409 invalid_state: the run is awaiting_input; cancel it first {"run_status":"awaiting_input"}
        delete  | awaiting_tool_approval | 409 invalid_state: the run is awaiting_tool_approval; cancel it first {"run_status":"awaiting_tool_approval"}
        delete  | completed | deleted
        delete  | failed | deleted
        delete  | cancelled | deleted
    "#]].assert_eq(&table);
}

async fn attempt(story: &Story, run: &str, what: &str, body: Value) -> String {
    let bench = &story.bench;
    let done = match what {
        "resume" => bench.resume(run, body.clone()).await.map(|started| started.status.as_str()),
        "retry" => bench.retry(run, body.clone()).await.map(|started| started.status.as_str()),
        "queue resume" => bench.queue_resume(run, body.clone()).await.map(|started| started.status.as_str()),
        "queue retry" => bench.queue_retry(run, body.clone()).await.map(|started| started.status.as_str()),
        "cancel" => bench.studio.cancel(&bench.scope, run).await.map(|(_, status)| status.as_str()),
        _ => bench.studio.delete_run(&bench.scope, run).await.map(|()| "deleted"),
    };
    match done {
        Ok(status) => status.to_owned(),
        Err(_) => story.refused(run, what, body).await,
    }
}

#[tokio::test]
async fn an_answered_pause_is_not_answered_again() {
    let mut table = String::new();
    let after = [
        ("running", "tool_2{tool_ref: \"host:stuck\"} -> stop"),
        ("awaiting_input", "human_2 -> stop"),
        ("awaiting_tool_approval", "agent_2{provider: script, model: m, tools: [{ref: \"host:pay\"}]} -> stop"),
        ("completed", "stop"),
        ("failed", "tool_2{tool_ref: \"host:fail\"} -> stop"),
        ("cancelled", "human_2 -> stop"),
    ];
    for (status, rest) in after {
        let story = Story::with(json!({"timeouts": {"cancel_grace_ms": 20}}), json!([{"tool_calls": [{"name": "pay", "arguments": {"sum": 1}}]}]));
        let run = story.run(&format!("start -> human_1 -> {rest}")).await.id;
        let pause = story.id("p1");
        let started = story.bench.resume(&run, json!({"message": "x"})).await.unwrap();
        match status {
            "running" => story.calls(1).await,
            "cancelled" => {
                story.events_text(&started).await;
                story.cancel(&run).await;
            }
            _ => drop(story.events_text(&started).await),
        }
        for body in [json!({"node_id": "human_1", "message": "y"}), json!({"pause_id": pause, "message": "y"}), json!({"pause_id": pause, "node_id": "stop", "message": "y"})] {
            let line = format!("{status} | {body} | {}\n", story.refused(&run, "resume", body.clone()).await);
            table.push_str(&line.replace(&pause, "p1"));
        }
    }
    expect![[r#"
        running | {"node_id":"human_1","message":"y"} | 409 already_resumed: that pause was answered already; nothing was changed {"run_status":"running"}
        running | {"pause_id":"p1","message":"y"} | 409 already_resumed: that pause was answered already; nothing was changed {"run_status":"running"}
        running | {"pause_id":"p1","node_id":"stop","message":"y"} | 409 pause_not_pending: there is no such open pause in this run; nothing was changed {"run_status":"running","pauses":[]}
        awaiting_input | {"node_id":"human_1","message":"y"} | 409 already_resumed: that pause was answered already; nothing was changed {"run_status":"awaiting_input"}
        awaiting_input | {"pause_id":"p1","message":"y"} | 409 already_resumed: that pause was answered already; nothing was changed {"run_status":"awaiting_input"}
        awaiting_input | {"pause_id":"p1","node_id":"stop","message":"y"} | 409 pause_not_pending: there is no such open pause in this run; nothing was changed {"run_status":"awaiting_input","pauses":[{"pause_id":"p2","node_id":"human_2"}]}
        awaiting_tool_approval | {"node_id":"human_1","message":"y"} | 409 already_resumed: that pause was answered already; nothing was changed {"run_status":"awaiting_tool_approval"}
        awaiting_tool_approval | {"pause_id":"p1","message":"y"} | 409 already_resumed: that pause was answered already; nothing was changed {"run_status":"awaiting_tool_approval"}
        awaiting_tool_approval | {"pause_id":"p1","node_id":"stop","message":"y"} | 409 pause_not_pending: there is no such open pause in this run; nothing was changed {"run_status":"awaiting_tool_approval","pauses":[{"pause_id":"p2","node_id":"agent_2"}]}
        completed | {"node_id":"human_1","message":"y"} | 409 already_resumed: that pause was answered already; nothing was changed {"run_status":"completed"}
        completed | {"pause_id":"p1","message":"y"} | 409 already_resumed: that pause was answered already; nothing was changed {"run_status":"completed"}
        completed | {"pause_id":"p1","node_id":"stop","message":"y"} | 409 pause_not_pending: there is no such open pause in this run; nothing was changed {"run_status":"completed","pauses":[]}
        failed | {"node_id":"human_1","message":"y"} | 409 already_resumed: that pause was answered already; nothing was changed {"run_status":"failed"}
        failed | {"pause_id":"p1","message":"y"} | 409 already_resumed: that pause was answered already; nothing was changed {"run_status":"failed"}
        failed | {"pause_id":"p1","node_id":"stop","message":"y"} | 409 pause_not_pending: there is no such open pause in this run; nothing was changed {"run_status":"failed","pauses":[]}
        cancelled | {"node_id":"human_1","message":"y"} | 409 invalid_state: the run was cancelled; it cannot go on {"run_status":"cancelled"}
        cancelled | {"pause_id":"p1","message":"y"} | 409 invalid_state: the run was cancelled; it cannot go on {"run_status":"cancelled"}
        cancelled | {"pause_id":"p1","node_id":"stop","message":"y"} | 409 invalid_state: the run was cancelled; it cannot go on {"run_status":"cancelled"}
    "#]].assert_eq(&table);
}

#[tokio::test]
async fn an_answer_must_fit_its_pause() {
    let mut table = String::new();
    let bodies = [
        json!({}),
        json!({"message": ""}),
        json!({"approval": "approve", "message": "x"}),
        json!({"decisions": [{"call_id": "c", "approval": "approve"}]}),
        json!({"approval": "perhaps"}),
        json!({"pause_id": NOBODY, "approval": "approve"}),
        json!({"node_id": "elsewhere", "message": "x"}),
    ];
    for status in ["awaiting_input", "awaiting_tool_approval"] {
        for body in &bodies {
            let (story, run) = in_status(status).await;
            let line = attempt(&story, &run, "resume", body.clone()).await;
            table.push_str(&format!("{status} | {body} | {line}\n"));
        }
    }
    expect![[r#"
        awaiting_input | {} | 422 validation_failed: message is required {"errors":{"message":["message is required"]}}
        awaiting_input | {"message":""} | 422 validation_failed: message is required {"errors":{"message":["message is required"]}}
        awaiting_input | {"approval":"approve","message":"x"} | 422 wrong_answer_kind: the run waits for an answer, as `message`, to: Who? {"expected":"human"}
        awaiting_input | {"decisions":[{"call_id":"c","approval":"approve"}]} | 422 wrong_answer_kind: the run waits for an answer, as `message`, to: Who? {"expected":"human"}
        awaiting_input | {"approval":"perhaps"} | 422 validation_failed: approval must be one of approve, reject {"errors":{"approval":["approval must be one of approve, reject"]}}
        awaiting_input | {"pause_id":"01890000-0000-7000-8000-000000000000","approval":"approve"} | 409 pause_not_pending: there is no such open pause in this run; nothing was changed {"run_status":"awaiting_input","pauses":[{"pause_id":"p1","node_id":"human_1"}]}
        awaiting_input | {"node_id":"elsewhere","message":"x"} | 409 pause_not_pending: there is no such open pause in this run; nothing was changed {"run_status":"awaiting_input","pauses":[{"pause_id":"p1","node_id":"human_1"}]}
        awaiting_tool_approval | {} | 422 wrong_answer_kind: the run waits for a decision, `approval` approve or reject, on: pay {"expected":"tool_approval"}
        awaiting_tool_approval | {"message":""} | 422 wrong_answer_kind: the run waits for a decision, `approval` approve or reject, on: pay {"expected":"tool_approval"}
        awaiting_tool_approval | {"approval":"approve","message":"x"} | running
        awaiting_tool_approval | {"decisions":[{"call_id":"c","approval":"approve"}]} | 422 validation_failed: `c` does not wait for approval {"errors":{"decisions.0.call_id":["`c` does not wait for approval"]}}
        awaiting_tool_approval | {"approval":"perhaps"} | 422 validation_failed: approval must be one of approve, reject {"errors":{"approval":["approval must be one of approve, reject"]}}
        awaiting_tool_approval | {"pause_id":"01890000-0000-7000-8000-000000000000","approval":"approve"} | 409 pause_not_pending: there is no such open pause in this run; nothing was changed {"run_status":"awaiting_tool_approval","pauses":[{"pause_id":"p1","node_id":"agent_1"}]}
        awaiting_tool_approval | {"node_id":"elsewhere","message":"x"} | 409 pause_not_pending: there is no such open pause in this run; nothing was changed {"run_status":"awaiting_tool_approval","pauses":[{"pause_id":"p1","node_id":"agent_1"}]}
    "#]].assert_eq(&table);
}

#[tokio::test]
async fn of_two_answers_at_once_one_wins() {
    let story = Story::plain();
    let run = story.run("start -> human_1 -> stop").await.id;
    let (one, two) = tokio::join!(story.bench.resume(&run, json!({"node_id": "human_1", "message": "1"})), story.bench.resume(&run, json!({"node_id": "human_1", "message": "2"})));
    let (won, lost) = if one.is_ok() { (one, two) } else { (two, one) };
    assert_eq!(lost.expect_err("one loses").kind, wfstudio::Kind::AlreadyResumed);
    let told = story.events_text(&won.expect("one wins")).await;
    assert!(told.contains("trace_completed"), "{told}");
}

#[tokio::test]
async fn without_workers_nothing_is_queued() {
    let story = Story::plain();
    let run = story.run("start -> human_1 -> stop").await.id;
    let bench = &story.bench;
    let request = wfstudio::studio::runs::requests::ResumeRequest::parse(&json!({"message": "x"})).unwrap();
    let refused = bench.studio.resume(&bench.scope, &run, request, true).await.expect_err("async is off");
    assert_eq!((refused.kind.status(), refused.kind.code()), (501, "async_disabled"));
}
