//! Owns what is stored beside a run's log so that runs, spans and messages can be found without reading logs.

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::journal::{Core, Journal};
use super::world::World;
use crate::model::Id;
use crate::model::event::{
    Answer, CallFinished, CallKind, CallOutcome, CallStarted, EntityKind, Entry, Event, Fault, Measured, PartHash, PauseReason,
    StepCompleted, Turn,
};
use crate::model::run::{BranchState, Call, Child, Run, Status};
use crate::store::checkpoints::CheckpointRow;
use crate::store::log::Append;
use crate::store::runs::{RunRow, RunUpdate};
use crate::store::threads::MessageRow;
use crate::store::usage::SpanRow;

/// Rows that go with the next entries.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) parts: Vec<(PartHash, Arc<str>)>,
    pub(super) spans: Vec<SpanRow>,
    pub(super) messages: Vec<MessageRow>,
    pub(super) summarized: Vec<Id>,
    pub(super) children: Vec<RunRow>,
    pub(super) checkpoints: Vec<CheckpointRow>,
    pub(super) files: Vec<Arc<str>>,
    pub(super) outbox: Vec<Value>,
}

impl Rows {
    pub(super) fn into(self, mut append: Append) -> Append {
        append.parts = self.parts;
        append.spans = self.spans;
        append.messages = self.messages;
        append.summarized = self.summarized;
        append.children = self.children;
        append.checkpoints = self.checkpoints;
        append.files = self.files;
        append.outbox = self.outbox;
        append
    }
}

/// SHA-256 in hex of a text.
pub(super) fn hash(text: &str) -> PartHash {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

/// Rows that need the run as it was before the entry.
pub(super) fn before(world: &World, core: &mut Core, entry: &Entry) {
    match &entry.event {
        Event::CallFinished(call) => call_span(world, core, entry, call),
        Event::Measured(measured) => measured_span(world, core, entry, measured),
        Event::StepCompleted(done) => turns(core, entry, done),
        Event::Paused(pause) => {
            if let PauseReason::Human { prompt, .. } = &pause.reason {
                shown(world, core, entry, "assistant", prompt, json!([]));
            }
        }
        Event::Resumed(resumed) => {
            if let Answer::Human { message, attachments } = &resumed.answer {
                shown(world, core, entry, "user", message, json!(attachments));
            }
        }
        Event::Completed { reply: Some(reply), .. } => shown(world, core, entry, "assistant", reply, json!([])),
        _without_rows => {}
    }
}

/// The child run that an entry changes.
pub(super) fn child_of(core: &Core, entry: &Entry) -> Option<Id> {
    let open = || core.run.lanes.get(&entry.lane)?.step.as_deref()?.child_run;
    match &entry.event {
        Event::StepStarted(started) => started.child_run,
        Event::StepCompleted(_) | Event::StepFailed { .. } | Event::Paused(_) => open(),
        _unchanged => None,
    }
}

/// Rows that need the run as it is after the entry.
pub(super) fn after(world: &World, core: &mut Core, entry: &Entry, child: Option<Id>, journal: &Journal) {
    let cut = matches!(entry.event, Event::Failed { .. } | Event::Cancelled { .. });
    let ended = |child: &Child| cut && child.finished_at == Some(entry.at);
    let touched: Vec<RunRow> = if cut {
        let children = core.run.children.iter().filter(|(_, child)| ended(child));
        children.map(|(id, child)| child_row(world, &core.run, *id, child, journal)).collect()
    } else {
        let child = child.and_then(|id| Some((id, core.run.children.get(&id)?)));
        child.map(|(id, child)| child_row(world, &core.run, id, child, journal)).into_iter().collect()
    };
    core.pending.append.children.extend(touched);
    if core.run.status.terminal() && world.config.usage.events.enabled {
        super::recorded::record(world, core, journal);
    }
}

/// What the run's row says.
pub(super) fn row(world: &World, run: &Run, journal: &Journal, released: bool) -> RunUpdate {
    let tenure = journal.tenure();
    let now = world.clock.now();
    let working = run.status == Status::Running && !released;
    let pauses = run.pauses();
    let earliest = pauses.first().map(|(_, pause)| pause);
    let lease = i64::try_from(world.config.runs.lease_seconds * 1000).unwrap_or(i64::MAX);
    RunUpdate {
        status: run.status.as_str(),
        started_at: run.started_at,
        finished_at: run.finished_at,
        working_ms: run.worked(now),
        waiting_ms: run.waiting_ms,
        rested_at: run.rested_at,
        awaiting_node: earliest.map(|pause| Arc::clone(&pause.node)).filter(|_| run.status.paused()),
        awaiting_pause: earliest.map(|pause| pause.id).filter(|_| run.status.paused()),
        error: run.failure.as_ref().map(|(fault, node)| error_json(fault, node.as_deref())),
        reply: run.reply.as_deref().map(Arc::from),
        fence: tenure.fence,
        owner: working.then(|| Arc::clone(&tenure.owner)),
        lease_until: (run.status == Status::Running)
            .then(|| crate::model::Timestamp(if released { 0 } else { now.0.saturating_add(lease) })),
        takeovers: run.takeovers,
        last_event_id: journal.last_told(),
        attempt: run.attempt,
        own: run.own,
        total: run.total(),
        mode: tenure.mode,
        queue: tenure.queue.clone(),
        available_at: None,
        tries: tenure.tries,
    }
}

/// `{code, message, node_id}` as runs show it.
pub(super) fn error_json(fault: &Fault, node: Option<&str>) -> Value {
    let mut error = json!({"code": fault.code.as_str(), "message": fault.message, "node_id": node});
    if !fault.calls.is_empty() {
        error["calls"] = json!(fault.calls);
    }
    if !fault.validation_errors.is_empty() {
        error["validation_errors"] = json!(fault.validation_errors);
    }
    error
}

fn call_span(world: &World, core: &mut Core, entry: &Entry, call: &CallFinished) {
    let Some(step) = core.run.lanes.get(&entry.lane).and_then(|lane| lane.step.as_deref()) else { return };
    let Some(Call::Open(open)) = step.calls.get(&call.key) else { return };
    let span = SpanRow {
        id: open.span,
        run: step.child_run.unwrap_or(core.run.id),
        parent_span: None,
        step: Some(step.id),
        node: Some(core.run.plan.node(step.node).id.to_string()),
        kind: kind_of(open),
        name: open.name.clone(),
        status: if call.outcome.ok() { "completed" } else { "failed" },
        provider: open.provider.clone(),
        model: open.model.clone(),
        usage: call.usage.unwrap_or_default(),
        metered: matches!(open.kind, CallKind::Model | CallKind::Embedding),
        started_at: crate::model::Timestamp(entry.at.0 - i64::try_from(call.duration_ms).unwrap_or(0)),
        finished_at: entry.at,
        error: match &call.outcome {
            CallOutcome::Failed(fault) => Some(error_json(fault, None)),
            CallOutcome::Message(_) | CallOutcome::Tool(_) | CallOutcome::Value(_) => None,
        },
        input: match open.kind {
            CallKind::Model => Some(json!({"parts": open.prompt})),
            CallKind::Tool => open.arguments.clone(),
            CallKind::Embedding | CallKind::Retrieval => None,
        },
        output: match &call.outcome {
            CallOutcome::Message(part) => Some(json!({"part": part})),
            CallOutcome::Tool(outcome) => Some(json!({"result": outcome.result, "is_error": outcome.is_error})),
            CallOutcome::Value(value) => Some(value.clone()),
            CallOutcome::Failed(_) => None,
        },
        hidden: !world.config.observability.native_tracing,
    };
    core.pending.append.spans.push(span);
}

const fn kind_of(call: &CallStarted) -> &'static str {
    match call.kind {
        CallKind::Model => "llm",
        CallKind::Tool => "tool",
        CallKind::Embedding => "embedding",
        CallKind::Retrieval => "rag",
    }
}

fn measured_span(world: &World, core: &mut Core, entry: &Entry, measured: &Measured) {
    if !world.config.observability.native_tracing {
        return;
    }
    let Some(step) = core.run.lanes.get(&entry.lane).and_then(|lane| lane.step.as_deref()) else { return };
    let span = SpanRow {
        id: measured.span,
        run: step.child_run.unwrap_or(core.run.id),
        parent_span: None,
        step: Some(step.id),
        node: Some(core.run.plan.node(step.node).id.to_string()),
        kind: if measured.kind == "memory" { "memory" } else { "context" },
        name: measured.name.clone(),
        status: "completed",
        provider: None,
        model: None,
        usage: crate::model::usage::Usage::default(),
        metered: false,
        started_at: entry.at,
        finished_at: entry.at,
        error: None,
        input: None,
        output: Some(measured.output.clone()),
        hidden: false,
    };
    core.pending.append.spans.push(span);
}

/// Turns that become part of stored histories with this entry: the root's own, and those of the fork that closes.
fn turns(core: &mut Core, entry: &Entry, done: &StepCompleted) {
    if entry.lane != 0 {
        return;
    }
    let fork = core.run.lanes.get(&0).and_then(|lane| lane.fork());
    let mut found: Vec<Turn> = Vec::new();
    for branch in fork.iter().flat_map(|fork| &fork.branches) {
        if let BranchState::Done(branch) = branch {
            found.extend(branch.turns.iter().cloned());
        }
    }
    found.extend(done.turn.clone());
    for turn in found.iter().filter(|turn| !turn.in_memory) {
        for (message, id) in turn.messages.iter().zip(&turn.ids) {
            core.pending.append.messages.push(said(*id, &core.run, turn, message, entry.at));
        }
    }
}

/// A message that people see in a workflow's thread; models do not.
fn shown(world: &World, core: &mut Core, entry: &Entry, role: &'static str, text: &str, attachments: Value) {
    if core.run.created.entity == EntityKind::Workflow {
        let row = MessageRow::shown(world.clock.id(), &core.run, role, text, attachments, entry.at);
        core.pending.append.messages.push(row);
    }
}

fn child_row(world: &World, run: &Run, id: Id, child: &Child, journal: &Journal) -> RunRow {
    let agent = super::names::agent_of(world, run, &child.node, journal);
    RunRow {
        id,
        tenant: Arc::clone(&journal.tenant),
        entity_type: EntityKind::Agent,
        entity_id: agent.0,
        entity_name: agent.1,
        revision: None,
        thread: run.created.thread,
        parent: Some(run.id),
        status: child.status.as_str().to_owned(),
        mode: journal.tenure().mode.to_owned(),
        user_id: run.created.user.as_ref().and_then(super::names::user_id),
        input_preview: super::names::preview(&run.created.message),
        input: None,
        graph: None,
        created_at: child.started_at,
        started_at: Some(child.started_at),
        finished_at: child.finished_at,
        working_ms: child.finished_at.map_or(0, |end| end.since(child.started_at)),
        waiting_ms: 0,
        rested_at: child.finished_at,
        awaiting_node: None,
        awaiting_pause: None,
        error: child.fault.as_ref().map(|fault| error_json(fault, Some(&child.node))),
        head: 0,
        fence: 0,
        owner: None,
        lease_until: None,
        takeovers: 0,
        last_event_id: 0,
        attempt: run.attempt,
        own: child.usage,
        total: child.usage,
        queue: None,
        available_at: None,
        tries: 0,
        cancel_requested: false,
        no: 0,
    }
}
