//! Owns the rows next to a run's log by which runs, spans and messages are found without reading logs.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::engine::log::journal::{Core, Journal, Ownership};
use crate::engine::log::thread_messages;
use crate::engine::world::World;
use crate::model::agent::Definitions;
use crate::model::event::{CallFinished, CallKind, EntityKind, Entry, Event, Fault, PartHash};
use crate::model::hex::hex;
use crate::model::run::{Call, Child, Lane, Run, Status};
use crate::model::{Id, Timestamp};
use crate::store::files::attachments::KeptFile;
use crate::store::log::Append;
use crate::store::log::checkpoints::CheckpointRow;
use crate::store::runs::{RunRow, RunUpdate};
use crate::store::threads::MessageRow;
use crate::store::usage::SpanRow;

/// Rows that go with the next entries.
#[derive(Default)]
pub(in crate::engine) struct Rows {
    pub(in crate::engine) parts: Vec<(PartHash, Arc<str>)>,
    pub(in crate::engine) spans: Vec<SpanRow>,
    pub(in crate::engine) messages: Vec<MessageRow>,
    pub(in crate::engine) replaced: Option<Id>,
    pub(in crate::engine) children: Vec<RunRow>,
    pub(in crate::engine) checkpoints: Vec<CheckpointRow>,
    pub(in crate::engine) kept: Vec<KeptFile>,
    pub(in crate::engine) files: Vec<Arc<str>>,
    pub(in crate::engine) outbox: Vec<Value>,
}

impl Rows {
    pub(in crate::engine) fn into(self, mut append: Append) -> Append {
        append.parts = self.parts;
        append.spans = self.spans;
        append.messages = self.messages;
        append.replaced = self.replaced;
        append.children = self.children;
        append.checkpoints = self.checkpoints;
        append.kept = self.kept;
        append.files = self.files;
        append.outbox = self.outbox;
        append
    }
}

/// SHA-256 in hex of a text.
pub(crate) fn hash(text: &str) -> PartHash {
    hex(&Sha256::digest(text.as_bytes())).into()
}

/// Rows that need the run as it was before the entry.
pub(in crate::engine) fn before(world: &World, core: &mut Core, entry: &Entry) {
    thread_messages::before(world, core, entry);
    if let Event::CallFinished(call) = &entry.event {
        core.pending.append.files.extend(call.made().iter().map(|file| Arc::from(file.storage_key.as_str())));
        call_span(world, core, entry, call);
    }
}

/// The child run that an entry changes.
pub(in crate::engine) fn child_of(core: &Core, entry: &Entry) -> Option<Id> {
    let open = || core.run.lanes.get(&entry.lane)?.step.as_deref()?.child_run;
    if let Event::StepStarted(started) = &entry.event {
        return started.child_run;
    }
    matches!(entry.event, Event::StepCompleted(_) | Event::StepFailed { .. } | Event::Paused(_)).then(open).flatten()
}

/// Rows that need the run as it is after the entry.
pub(in crate::engine) fn after(world: &World, core: &mut Core, entry: &Entry, child: Option<Id>, journal: &Journal) {
    let cut = matches!(entry.event, Event::Failed { .. } | Event::Cancelled { .. });
    let ended = |child: &Child| child.finished_at == Some(entry.at);
    let touched: Vec<RunRow> = if cut {
        let children = core.run.children.iter().filter(|(_, child)| ended(child));
        children.map(|(id, child)| journal_child(world, &core.run, *id, child, journal)).collect()
    } else {
        let child = child.and_then(|id| Some((id, core.run.children.get(&id)?)));
        child.map(|(id, child)| journal_child(world, &core.run, id, child, journal)).into_iter().collect()
    };
    core.pending.append.children.extend(touched);
    if child.is_some() || core.run.status.terminal() {
        let ended = if cut { crate::engine::log::recorded::cut(&core.run, entry.at) } else { child.into_iter().collect() };
        let definitions = world.pinned(journal.run).unwrap_or_default();
        let events = crate::engine::log::recorded::recorded(world, &core.run, &journal.tenant, &definitions, &ended);
        core.pending.append.outbox.extend(events);
    }
}

/// What the run's row says.
pub(in crate::engine) fn row(world: &World, run: &Run, journal: &Journal, released: bool, now: Timestamp) -> RunUpdate {
    let mut row = row_of(world, run, journal.ownership(), journal.last_ordered_number(), now);
    if released {
        row.owner = None;
        row.lease_until = row.lease_until.map(|_| Timestamp(0));
    }
    row
}

/// What the row of a run says that somebody works on, or that rests.
pub(in crate::engine) fn row_of(world: &World, run: &Run, ownership: &Ownership, last_event_id: u64, now: Timestamp) -> RunUpdate {
    let working = run.status == Status::Running;
    let pauses = if run.status.paused() { run.pauses() } else { Vec::new() };
    let earliest = pauses.first().map(|(_, pause)| pause);
    RunUpdate {
        status: run.status.as_str(),
        started_at: run.started_at,
        finished_at: run.finished_at,
        working_ms: run.worked(now),
        waiting_ms: run.waiting_ms,
        rested_at: run.rested_at,
        awaiting_node: earliest.map(|pause| Arc::clone(&pause.node)),
        awaiting_pause: earliest.map(|pause| pause.id),
        error: run.failure.as_ref().map(|(fault, node)| error_json(fault, node.as_deref())),
        reply: run.reply.as_deref().filter(|_| run.status == Status::Completed).map(Arc::from),
        fence: ownership.fence,
        owner: working.then(|| Arc::clone(&ownership.owner)),
        lease_until: if working { crate::engine::leases::lease(world) } else { None },
        takeovers: run.takeovers,
        last_event_id,
        attempt: run.attempt,
        own: run.own,
        total: run.total(),
        mode: ownership.mode,
        queue: ownership.queue.clone(),
        available_at: (run.status == Status::Queued).then(|| Timestamp(world.common_time().0.saturating_add(run.delay_ms))),
        tries: ownership.tries,
    }
}

/// Child runs that are over: no answer, retry or cancel changes them.
pub(in crate::engine) fn ended_children(run: &Run) -> HashSet<Id> {
    run.children.iter().filter(|(_, child)| child.status.terminal()).map(|(id, _)| *id).collect()
}

/// The rows of the children that were not over before, as they are now.
pub(in crate::engine) fn children(run: &Run, before: &HashSet<Id>, tenant: &Arc<str>, ownership: &Ownership, definitions: &Definitions) -> Vec<RunRow> {
    let changed = run.children.iter().filter(|(id, _)| !before.contains(id));
    changed.map(|(id, child)| child_row(run, *id, child, tenant, ownership, definitions)).collect()
}

/// `{code, message, node_id}` as runs show it.
pub(in crate::engine) fn error_json(fault: &Fault, node: Option<&str>) -> Value {
    let mut error = json!({"code": fault.code.as_str(), "message": fault.message, "node_id": node});
    if !fault.calls.is_empty() {
        error["calls"] = json!(fault.calls);
    }
    error
}

/// The record of a metered call that ended.
fn call_span(world: &World, core: &mut Core, entry: &Entry, call: &CallFinished) {
    let Some(step) = core.run.lanes.get(&entry.lane).and_then(|lane| lane.step.as_deref()) else { return };
    let Some(Call::Open(open)) = step.calls.get(&call.key) else { return };
    let kind = match open.kind {
        CallKind::Model => "llm",
        CallKind::Embedding => "embedding",
        CallKind::Rerank => "rag",
        CallKind::Tool | CallKind::Retrieval => return,
    };
    let Some(usage) = call.usage else { return };
    let span = SpanRow {
        id: open.span,
        run: step.child_run.unwrap_or(core.run.id),
        kind,
        provider: open.provider.clone().unwrap_or_default(),
        model: open.model.clone().unwrap_or_default(),
        started_at: Timestamp(entry.at.0 - i64::try_from(call.duration_ms).unwrap_or(0)),
        traced: world.config.observability.native_tracing,
        usage,
    };
    core.pending.append.spans.push(span);
}

fn journal_child(world: &World, run: &Run, id: Id, child: &Child, journal: &Journal) -> RunRow {
    let definitions = world.pinned(journal.run).unwrap_or_default();
    child_row(run, id, child, &journal.tenant, journal.ownership(), &definitions)
}

fn child_row(run: &Run, id: Id, child: &Child, tenant: &Arc<str>, ownership: &Ownership, definitions: &Definitions) -> RunRow {
    let agent = crate::engine::runs::names::agent_of(run, &child.node, definitions);
    let of_child = |lane: &Lane| lane.step.as_ref().is_some_and(|step| step.child_run == Some(id));
    let pause = child.paused_at.and_then(|_| run.lanes.values().find(|lane| of_child(lane))?.pause());
    RunRow {
        id,
        tenant: Arc::clone(tenant),
        entity_type: EntityKind::Agent,
        entity_id: agent.0,
        entity_name: agent.1,
        revision: None,
        thread: run.created.thread,
        parent: Some(run.id),
        status: child.status.as_str().to_owned(),
        mode: ownership.mode.to_owned(),
        user_id: run.created.user.as_ref().and_then(crate::engine::runs::names::user_id),
        input_preview: crate::engine::runs::names::preview(&run.created.message),
        graph: None,
        created_at: child.started_at,
        started_at: Some(child.started_at),
        finished_at: child.finished_at,
        working_ms: child.working.over(),
        waiting_ms: child.waiting_ms,
        rested_at: child.finished_at.or(child.paused_at),
        awaiting_node: pause.map(|pause| pause.node.to_string()),
        awaiting_pause: pause.map(|pause| pause.id),
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
