//! Owns the trace of a paused run: its checkpoint and all open pauses.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::Id;
use super::super::event::{Entry, Event, LaneId, OpenQuestion, Pause, PauseReason};
use super::super::run::{BranchState, Lane, Run};
use super::super::telling::pending_tools;

/// The checkpoint that a paused run shows: where it waits, and with what state.
pub fn checkpoint(run: &Run) -> Option<Value> {
    if !run.status.paused() {
        return None;
    }
    let pauses = run.pauses();
    let (lane, pause) = pauses.first()?;
    let root = outermost(run, lane.id);
    let state = root.map_or(&lane.state, |(_, parent)| &parent.state);
    let mut shown = json!({
        "state": state.to_json(false),
        "node_id": pause.node,
        "pause_id": pause.id,
        "interrupt": interrupt(run, pause.id),
    });
    match &pause.reason {
        PauseReason::Human { prompt, output_key, question } => human(&mut shown, prompt, output_key, question.as_deref()),
        PauseReason::Approval { calls, servers, fixed, .. } => shown["pending_tools"] = pending_tools(calls, servers, fixed).into(),
    }
    if let (Some(branch), Some((_, parent))) = (&lane.branch, root) {
        shown["kind"] = "parallel".into();
        let fork = parent.fork();
        let done = fork.iter().flat_map(|fork| &fork.branches).filter_map(|branch| match branch {
            BranchState::Done(done) => Some((done.id.to_string(), done.value.clone())),
            BranchState::Waiting | BranchState::Open(_) => None,
        });
        let completed: Map<_, _> = done.collect();
        let fork_node = parent.step.as_ref().map_or(branch.fork_node, |step| step.node);
        shown["parallel"] = json!({
            "fork_id": run.plan.node(fork_node).id,
            "join_id": run.plan.join_of(fork_node).map(|join| Arc::clone(&run.plan.node(join).id)),
            "pending_branch": branch.path.first(),
            "branch_path": &*branch.path,
            "pending_node": pause.node,
            "reason": reason(pause),
            "pending_state": lane.state.to_json(false),
            "completed": completed,
        });
    }
    Some(shown)
}

/// The lane that opened the outermost fork around a lane, and that fork's branch.
fn outermost(run: &Run, lane: LaneId) -> Option<(LaneId, &Lane)> {
    let mut at = &**run.lanes.get(&lane)?;
    let mut found = None;
    while let Some(branch) = &at.branch {
        let parent = &**run.lanes.get(&branch.parent)?;
        found = Some((branch.parent, parent));
        at = parent;
    }
    found
}

const fn reason(pause: &Pause) -> &'static str {
    match pause.reason {
        PauseReason::Human { .. } => "human",
        PauseReason::Approval { .. } => "tool_approval",
    }
}

fn human(shown: &mut Value, prompt: &str, output_key: &str, question: Option<&OpenQuestion>) {
    shown["prompt"] = prompt.into();
    shown["output_key"] = output_key.into();
    if let Some(question) = question {
        shown["question"] = question.shown();
    }
}

/// Opaque: names the pause and the log that it belongs to.
fn interrupt(run: &Run, pause: Id) -> String {
    format!("1:{}:{}:{pause}", run.id, run.head)
}

/// All open pauses, as the trace lists them.
pub fn pauses(run: &Run, entries: &[Arc<Entry>]) -> Vec<Value> {
    if !run.status.paused() {
        return Vec::new();
    }
    let made = |pause: Id| {
        entries.iter().rev().find(|entry| matches!(&entry.event, Event::Paused(made) if made.id == pause)).map(|entry| entry.at)
    };
    let show = |(lane, pause): &(&Lane, &Pause)| {
        let mut shown = json!({
            "pause_id": pause.id, "node_id": pause.node, "step_id": pause.step, "reason": reason(pause),
        });
        match &pause.reason {
            PauseReason::Human { prompt, output_key, question } => human(&mut shown, prompt, output_key, question.as_deref()),
            PauseReason::Approval { calls, message, servers, fixed, .. } => {
                shown["message"] = message.as_str().into();
                shown["pending_tools"] = pending_tools(calls, servers, fixed).into();
            }
        }
        if let Some(branch) = &lane.branch {
            shown["fork_id"] = run.plan.node(branch.fork_node).id.as_ref().into();
            shown["branch_id"] = branch.id.as_ref().into();
            shown["branch_path"] = json!(&*branch.path);
        }
        shown["created_at"] = made(pause.id).unwrap_or_default().rfc3339().into();
        shown
    };
    run.pauses().iter().map(show).collect()
}
