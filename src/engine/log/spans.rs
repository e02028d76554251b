//! Owns the spans of a run for other systems: steps and calls as they end, and the run at its end.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::log::journal::{Core, Journal};
use crate::engine::log::masking::Masking;
use crate::engine::runs::names;
use crate::engine::world::World;
use crate::model::agent::Definitions;
use crate::model::chat::Message;
use crate::model::event::{
    CallFinished, CallKind, CallOutcome, CallStarted, Entry, Event, Fault, FaultCode, LaneId, Measured, PureOutcome, StepCompleted, StepRan,
};
use crate::model::graph::NodeKind;
use crate::model::run::{Call, OpenStep, Run};
use crate::model::trace_context::TraceContext;
use crate::model::{Id, Timestamp};
use crate::observe::{Content, End, Piece, RunFacts, TOOL_ERROR, Work, root_id, span_id};
use crate::store::runs::RunRow;
use crate::sync::Mutex;

/// The open pieces of a run. Empty if no collector is configured.
#[derive(Default)]
pub(in crate::engine) struct Watch(Mutex<Watched>);

#[derive(Default)]
struct Watched {
    facts: Option<Arc<RunFacts>>,
    begun: HashMap<Id, Timestamp>,
    said: HashMap<Id, Content>,
    /// Pieces of a run that is not stored yet.
    early: Vec<Piece>,
}

impl Watch {
    /// What a model was sent, until its call ends.
    pub(in crate::engine) fn hear(&self, span: Id, sent: Vec<Message>, answer: Option<Message>) {
        self.0.lock().said.insert(span, Content::Chat { sent, answer });
    }

    /// The run is stored: others may know of it.
    pub(in crate::engine) fn begun(&self, world: &World) {
        let mut watched = self.0.lock();
        std::mem::take(&mut watched.early).into_iter().for_each(|piece| world.observer.take(piece));
    }
}

/// Sends the pieces that an entry ends; the run is in the state before the entry.
pub(in crate::engine) fn tell(world: &World, core: &Core, entry: &Entry, journal: &Journal) {
    if world.observer.watches() {
        let stored = world.keeps_nothing() || journal.is_begun();
        let context = RunContext { tenant: &journal.tenant, watch: journal.watch(), masking: journal.masking(), stored, definitions: None };
        SpanWriter { world, run: &core.run, context, lane: entry.lane, at: entry.at }.tell(entry);
    }
}

/// The same for an entry of a run that no process executes; it is sent once the entry is stored ([`Watch::begun`]).
pub(in crate::engine) fn tell_resting(world: &World, run: &Run, entry: &Entry, tenant: &Arc<str>, watch: &Watch, definitions: &Definitions) {
    if world.observer.watches() {
        let context = RunContext { tenant, watch, masking: &Masking::of(world, run), stored: false, definitions: Some(definitions) };
        SpanWriter { world, run, context, lane: entry.lane, at: entry.at }.tell(entry);
    }
}

/// The end of a run whose log cannot be read: as far as its row knows it, in the trace of the host's span that it was started in.
pub(in crate::engine) fn tell_unread(world: &World, row: &RunRow, host: Option<Arc<TraceContext>>, fault: Option<&Fault>, at: Timestamp) {
    let facts = RunFacts {
        run: row.id,
        attempt: row.attempt,
        started: row.started_at.unwrap_or(row.created_at),
        entity: row.entity_type,
        entity_id: row.entity_id,
        name: row.entity_name.clone(),
        thread: row.thread,
        user: row.user_id.clone(),
        tenant: Arc::clone(&row.tenant),
        began_in: host,
    };
    let parent = facts.began_in.as_ref().map(|host| host.span);
    let mut piece = blank(world, Arc::new(facts), (root_id(row.id, row.attempt), parent), Work::Run, row.entity_name.clone(), at);
    piece.started = piece.run.started;
    piece.end = fault.map_or(End::Cut, failed);
    (piece.usage, piece.worked_ms) = (Some(row.total), Some(row.working_ms));
    piece.facts.extend(row.revision.map(|revision| ("studio.workflow.revision", json!(revision))));
    piece.facts.push(("studio.waiting_ms", json!(row.waiting_ms)));
    world.observer.take(piece);
}

fn blank(world: &World, run: Arc<RunFacts>, (id, parent): (u64, Option<u64>), work: Work, name: String, at: Timestamp) -> Piece {
    Piece {
        run,
        id,
        parent,
        work,
        name,
        node: None,
        started: at,
        ended: at,
        end: End::Well,
        usage: None,
        currency: world.config.usage.currency.as_str().into(),
        provider: None,
        kind: None,
        model: None,
        streams: false,
        finish: None,
        call_id: None,
        response_id: None,
        response_model: None,
        first_piece_ms: None,
        worked_ms: None,
        parameters: None,
        links: Vec::new(),
        facts: Vec::new(),
        said: None,
    }
}

fn failed(fault: &Fault) -> End {
    End::Failed { code: fault.code.as_str().into(), message: fault.message.clone() }
}

/// Whose run it is, and what is remembered of it.
struct RunContext<'a> {
    tenant: &'a Arc<str>,
    watch: &'a Watch,
    masking: &'a Masking,
    /// Others may know of it.
    stored: bool,
    /// Those of a run that is not driven here.
    definitions: Option<&'a Definitions>,
}

/// One entry of a run, and what its spans need.
struct SpanWriter<'a> {
    world: &'a World,
    run: &'a Run,
    context: RunContext<'a>,
    lane: LaneId,
    at: Timestamp,
}

impl SpanWriter<'_> {
    fn tell(&self, entry: &Entry) {
        match &entry.event {
            Event::StepRan(ran) => self.ran(ran),
            Event::StepStarted(_) | Event::StepRetrying { .. } | Event::StepFailed { .. } => self.cut_calls(self.open()),
            Event::StepCompleted(done) => self.completed(done),
            Event::CallStarted(call) => drop(self.context.watch.0.lock().begun.insert(call.span, entry.at)),
            Event::CallFinished(call) => self.call(call),
            Event::Measured(measured) => self.measured(measured),
            Event::Completed { output, reply } => self.over(End::Well, None, Some(((**output).clone().into(), reply.clone()))),
            Event::Failed { fault, node } => self.over(failed(fault), node.as_deref(), None),
            Event::Cancelled { .. } => self.over(End::Cut, None, None),
            Event::Created(_)
            | Event::Began
            | Event::Resumed(_)
            | Event::Retried(_)
            | Event::TakenOver { .. }
            | Event::ClockJumped { .. }
            | Event::Requeued { .. }
            | Event::PromptBuilt { .. }
            | Event::ToolsCalled { .. }
            | Event::ModelFallback(_)
            | Event::CheckpointHit { .. }
            | Event::BranchStarted { .. }
            | Event::BranchEnded
            | Event::Paused(_)
            | Event::Rested { .. } => {}
        }
    }

    fn open(&self) -> Option<&OpenStep> {
        self.run.lanes.get(&self.lane)?.step.as_deref()
    }

    fn take(&self, mut piece: Piece) {
        self.context.masking.mask(|masks| {
            match &mut piece.said {
                None => {}
                Some(Content::Chat { sent, answer }) => sent.iter_mut().chain(answer).for_each(|message| masks.message(message)),
                Some(Content::Values { input, output }) => input.iter_mut().chain(output).for_each(|value| masks.value(value)),
            }
            if let End::Failed { message, .. } = &mut piece.end {
                masks.text(message);
            }
        });
        let mut watched = self.context.watch.0.lock();
        if self.context.stored {
            self.world.observer.take(piece);
        } else {
            watched.early.push(piece);
        }
    }

    fn facts(&self) -> Arc<RunFacts> {
        let mut watched = self.context.watch.0.lock();
        Arc::clone(watched.facts.get_or_insert_with(|| {
            let (run, created) = (self.run, &self.run.created);
            Arc::new(RunFacts {
                run: run.id,
                attempt: run.attempt,
                started: run.tried_at.or(run.started_at).unwrap_or(run.created_at),
                entity: created.entity,
                entity_id: created.entity_id,
                name: created.entity_name.clone(),
                thread: created.thread,
                user: created.user.as_ref().and_then(names::user_id),
                tenant: Arc::clone(self.context.tenant),
                began_in: created.trace.clone(),
            })
        }))
    }

    /// A step as others know it: it has another id in each attempt of its run.
    fn step_id(&self, step: Id) -> u64 {
        span_id(step) ^ u64::from(self.run.attempt - 1)
    }

    fn piece(&self, id: u64, parent: Option<u64>, work: Work, name: String) -> Piece {
        blank(self.world, self.facts(), (id, parent), work, name, self.at)
    }

    /// A step belongs to the fork that its branch is of, else to the run.
    fn step(&self, lane: LaneId, id: Id, node: &Arc<str>) -> Piece {
        let lane = self.run.lanes.get(&lane);
        let branch = lane.and_then(|lane| lane.branch.as_ref());
        let parent = branch.map_or_else(|| root_id(self.run.id, self.run.attempt), |branch| self.step_id(branch.fork));
        let found = self.run.plan.find(node).map(|at| self.run.plan.node(at));
        let kind = found.map(|node| node.kind);
        let name = found.and_then(|node| node.title.clone()).unwrap_or_else(|| node.to_string());
        let (work, name) = match kind {
            Some(NodeKind::Agent) => self.agent(node, name),
            Some(kind) => (Work::Step { kind: kind.as_str() }, name),
            None => (Work::Step { kind: "" }, name),
        };
        let mut piece = self.piece(self.step_id(id), Some(parent), work, name);
        piece.facts.push(("studio.step.id", json!(id)));
        if let Some(branch) = branch {
            piece.facts.push(("studio.branch.id", json!(&*branch.id)));
        }
        piece.node = Some(Arc::clone(node));
        piece
    }

    fn agent(&self, node: &str, title: String) -> (Work, String) {
        let pinned = if self.context.definitions.is_none() { self.world.pinned(self.run.id).unwrap_or_default() } else { Arc::default() };
        let (id, name) = names::agent_of(self.run, node, self.context.definitions.unwrap_or(&pinned));
        let stored = id != self.run.created.entity_id;
        let work = Work::Agent { id: stored.then_some(id), child: None };
        (work, if stored { name } else { title })
    }

    fn ran(&self, ran: &StepRan) {
        // A failed step is sent when its run ends.
        let PureOutcome::Left { handle, change } = &ran.outcome else { return };
        let mut piece = self.step(self.lane, ran.step, &ran.node);
        piece.facts.push(("studio.handle", json!(handle)));
        piece.facts.extend(ran.iteration.map(|iteration| ("studio.iteration", json!(iteration))));
        piece.said = self.wanted(|| Content::Values { input: None, output: Some(json!(change)) });
        self.take(piece);
    }

    fn open_step(&self, lane: LaneId, step: &OpenStep) -> Piece {
        let node = Arc::clone(&self.run.plan.node(step.node).id);
        let mut piece = self.step(lane, step.id, &node);
        if let Work::Agent { child, .. } = &mut piece.work {
            *child = step.child_run;
        }
        // Pieces that an earlier attempt sent are not sent again.
        piece.started = self.run.tried_at.map_or(step.started_at, |tried| tried.max(step.started_at));
        piece.facts.push(("studio.step.attempt", json!(step.attempt)));
        piece.facts.extend(step.iteration.map(|iteration| ("studio.iteration", json!(iteration))));
        if matches!(piece.work, Work::Agent { .. }) {
            (piece.provider, piece.model) = (step.provider.clone(), step.model.clone());
            piece.kind = step.provider.as_deref().map(|provider| self.world.providers.kind(provider).to_owned());
        }
        piece
    }

    fn completed(&self, done: &StepCompleted) {
        let Some(step) = self.open() else { return };
        self.cut_calls(Some(step));
        let mut piece = self.open_step(self.lane, step);
        piece.facts.push(("studio.handle", json!(done.handle)));
        if done.checkpoint_hit {
            piece.facts.push(("studio.checkpoint_hit", json!(true)));
        }
        if let Some(fault) = &done.error {
            piece.end = failed(fault);
        }
        piece.said = self.wanted(|| Content::Values { input: None, output: Some(json!(done.change)) });
        self.take(piece);
    }

    fn wanted(&self, said: impl FnOnce() -> Content) -> Option<Content> {
        self.world.observer.wants_content().then(said)
    }

    /// The piece of a call: under the tool call that a specialist answers, else under its step.
    fn call_piece(&self, step: &OpenStep, open: &CallStarted, asked_by: Option<&str>) -> Piece {
        let around = open.within().or(asked_by).and_then(|call| match step.calls.get(&format!("tool:{call}")) {
            Some(Call::Open(tool)) => Some(span_id(tool.span)),
            Some(Call::Done(_)) | None => None,
        });
        let (work, name) = match open.kind {
            CallKind::Model => (Work::Chat, open.model.clone()),
            CallKind::Tool => (Work::Tool, None),
            CallKind::Embedding => (Work::Embedding, open.model.clone()),
            CallKind::Retrieval => (Work::Retrieval, None),
            CallKind::Rerank => (Work::Retrieval, open.model.clone()),
        };
        let name = name.unwrap_or_else(|| open.name.clone());
        let mut piece = self.piece(span_id(open.span), Some(around.unwrap_or_else(|| self.step_id(step.id))), work, name);
        let node = Arc::clone(&self.run.plan.node(step.node).id);
        piece.node = Some(open.asker.clone().unwrap_or(node));
        piece.provider.clone_from(&open.provider);
        piece.kind = open.provider.as_deref().map(|provider| self.world.providers.kind(provider).to_owned());
        piece.model.clone_from(&open.model);
        piece.streams = open.streams;
        piece.call_id.clone_from(&open.call_id);
        piece.parameters.clone_from(&open.parameters);
        if open.name == "summarize" {
            piece.facts.push(("studio.purpose", json!("summarize")));
        }
        piece
    }

    fn call(&self, call: &CallFinished) {
        let Some(step) = self.open() else { return };
        let Some(Call::Open(open)) = step.calls.get(&call.key) else { return };
        let asked_by = match &call.outcome {
            CallOutcome::Tool(outcome) => outcome.parent_call_id.as_deref(),
            CallOutcome::Message(_) | CallOutcome::Asked(_) | CallOutcome::Value(_) | CallOutcome::Failed(_) => None,
        };
        let mut piece = self.call_piece(step, open, asked_by);
        piece.started = Timestamp(self.at.0 - i64::try_from(call.duration_ms).unwrap_or(0));
        piece.usage = call.usage;
        piece.facts.extend(call.waited_ms.map(|waited| ("studio.waited_ms", json!(waited))));
        piece.facts.extend(call.cost_source.map(|source| ("studio.usage.cost_source", json!(source))));
        piece.finish.clone_from(&call.finish);
        piece.response_id.clone_from(&call.response_id);
        piece.response_model.clone_from(&call.response_model);
        piece.first_piece_ms = call.first_piece_ms;
        let heard = {
            let mut watched = self.context.watch.0.lock();
            watched.begun.remove(&open.span);
            watched.said.remove(&open.span)
        };
        piece.said = heard.or_else(|| self.values(open, &call.outcome));
        match &call.outcome {
            CallOutcome::Failed(fault) if fault.code == FaultCode::Cancelled => piece.end = End::Cut,
            CallOutcome::Failed(fault) => piece.end = failed(fault),
            CallOutcome::Tool(outcome) if outcome.abandoned => piece.end = End::Cut,
            CallOutcome::Tool(outcome) if outcome.is_error => {
                piece.end = End::Failed { code: TOOL_ERROR.into(), message: "the tool told an error".into() };
            }
            CallOutcome::Value(value) if open.kind == CallKind::Retrieval => {
                let known = [("studio.retrieval.chunk_count", "chunk_count"), ("studio.retrieval.top_score", "top_score")];
                piece.facts.extend(known.into_iter().filter_map(|(name, key)| Some((name, value.get(key)?.clone()))));
            }
            CallOutcome::Value(value) => {
                piece.facts.extend(value.get("dimensions").map(|count| ("gen_ai.embeddings.dimension.count", count.clone())));
            }
            CallOutcome::Message(_) | CallOutcome::Tool(_) | CallOutcome::Asked(_) => {}
        }
        self.take(piece);
    }

    fn values(&self, open: &CallStarted, outcome: &CallOutcome) -> Option<Content> {
        self.wanted(|| {
            let output = match outcome {
                CallOutcome::Tool(outcome) => Some(Value::String(outcome.result.clone())),
                CallOutcome::Value(value) if open.kind == CallKind::Retrieval => Some(value.clone()),
                CallOutcome::Message(_) | CallOutcome::Asked(_) | CallOutcome::Value(_) | CallOutcome::Failed(_) => None,
            };
            Content::Values { input: open.arguments.clone(), output }
        })
    }

    /// Calls that will never finish.
    fn cut_calls(&self, step: Option<&OpenStep>) {
        for (step, call) in step.into_iter().flat_map(|step| step.calls.values().map(move |call| (step, call))) {
            let Call::Open(open) = call else { continue };
            let begun = self.context.watch.0.lock().begun.remove(&open.span);
            let Some(begun) = begun else { continue };
            let mut piece = self.call_piece(step, open, None);
            (piece.started, piece.end) = (begun, End::Cut);
            self.take(piece);
        }
    }

    fn measured(&self, measured: &Measured) {
        let Some(step) = self.open() else { return };
        let mut piece = self.piece(span_id(measured.span), Some(self.step_id(step.id)), Work::Measured, measured.name.clone());
        piece.node = Some(Arc::clone(&self.run.plan.node(step.node).id));
        let known = [
            ("studio.kind", "kind"),
            ("studio.field", "field"),
            ("studio.tool", "tool"),
            ("studio.tokens_before", "tokens_before"),
            ("studio.tokens_after", "tokens_after"),
            ("studio.strategy", "strategy"),
            ("studio.mode", "mode"),
            ("studio.trimmed_count", "trimmed_count"),
            ("studio.messages_summarized", "messages_summarized"),
        ];
        let found = known.into_iter().filter_map(|(name, key)| Some((name, measured.output.get(key)?.clone())));
        piece.facts.extend(found.filter(|(_, value)| !value.is_null()));
        self.take(piece);
    }

    /// The run is over: its open steps first, then itself.
    fn over(&self, end: End, node: Option<&str>, gave: Option<(Value, Option<String>)>) {
        for (id, lane) in &self.run.lanes {
            let Some(step) = lane.step.as_deref() else { continue };
            self.cut_calls(Some(step));
            let mut piece = self.open_step(*id, step);
            let named = node.is_some() && piece.node.as_deref() == node;
            piece.end = match &end {
                End::Failed { .. } if named || step.fork.is_some() => end.clone(),
                End::Failed { .. } if step.failed => End::Failed { code: "failed".into(), message: "the step failed, too".into() },
                End::Failed { .. } | End::Cut | End::Well => End::Cut,
            };
            self.take(piece);
        }
        let run = self.run;
        let parent = run.created.trace.as_ref().map(|host| host.span);
        let mut piece = self.piece(root_id(run.id, run.attempt), parent, Work::Run, run.created.entity_name.clone());
        piece.links.clone_from(&run.links);
        piece.worked_ms = Some(run.worked(self.at).saturating_sub(run.spent_ms));
        piece.started = piece.run.started;
        piece.end = end;
        piece.usage = Some(run.total());
        piece.facts.extend(run.created.revision.map(|revision| ("studio.workflow.revision", json!(revision))));
        piece.facts.push(("studio.waiting_ms", json!(run.waiting_ms)));
        piece.said = self.wanted(|| {
            let output = gave.map(|(output, reply)| reply.map_or(output, Value::String));
            Content::Values { input: Some(json!(run.created.message)), output }
        });
        self.take(piece);
    }
}
