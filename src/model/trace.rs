//! Owns a run as people read it: its steps and spans, made from its log.

mod span;
mod step;

use std::collections::HashMap;
use std::sync::Arc;

pub use span::Span;
pub use step::{Step, StepStatus};

use super::event::{Created, Entry, Event, LaneId, PauseReason, PureOutcome};
use super::graph::NodeKind;
use super::plan::Plan;
use super::run::Run;
use super::telling::{Telling, Told, Wire};
use super::{Id, Timestamp};

/// The steps and spans of a run.
#[derive(Debug, Default)]
pub struct Trace {
    /// In the order in which they are told.
    pub steps: Vec<Step>,
    /// In the order in which they began.
    pub spans: Vec<Span>,
    index: HashMap<Id, usize>,
    open_calls: HashMap<(Id, String), usize>,
}

impl Trace {
    /// Reads a whole log. With `snapshots`, each step keeps the state that it began with.
    #[must_use]
    pub fn read(id: Id, entries: &[Arc<Entry>], created: &Arc<Created>, plan: &Arc<Plan>, snapshots: bool) -> Self {
        let mut trace = Self::default();
        let Some(first) = entries.first() else { return trace };
        let mut run = Run::new(id, first, Arc::clone(created), Arc::clone(plan));
        let wire = Wire { value_bytes: 0, currency: "".into() };
        let mut telling = Telling::new(id, created, plan, wire, false);
        let mut order: Vec<Id> = Vec::new();
        let back = entries.iter().filter_map(|entry| match &entry.event {
            Event::Retried(retried) => retried.from_step,
            _other => None,
        });
        run.want(back);
        for entry in entries {
            trace.take(entry, &run, plan, snapshots);
            if entry.seq > first.seq {
                run.apply(entry);
            }
            telling.tell(&Told::Entry(Arc::clone(entry)));
            order.extend(telling.ordered.frames.drain(..).filter_map(|frame| frame.begins_step()));
            telling.live.frames.clear();
        }
        telling.flush_all();
        order.extend(telling.ordered.frames.drain(..).filter_map(|frame| frame.begins_step()));
        trace.arrange(&order);
        trace
    }

    fn arrange(&mut self, order: &[Id]) {
        let place: HashMap<Id, usize> = order.iter().enumerate().map(|(place, id)| (*id, place)).collect();
        self.steps.sort_by_key(|step| place.get(&step.id).copied().unwrap_or(usize::MAX));
        for (seq, step) in self.steps.iter_mut().enumerate() {
            step.seq = seq as u64 + 1;
        }
    }

    fn begin(&mut self, step: Step) {
        self.index.insert(step.id, self.steps.len());
        self.steps.push(step);
    }

    fn step(&mut self, id: Id) -> Option<&mut Step> {
        self.index.get(&id).copied().and_then(|at| self.steps.get_mut(at))
    }

    fn take(&mut self, entry: &Entry, run: &Run, plan: &Plan, snapshots: bool) {
        match &entry.event {
            Event::StepRan(ran) => self.ran(entry, ran, run, snapshots),
            Event::StepStarted(started) => {
                if started.resumed && self.index.contains_key(&started.step) {
                    if let Some(step) = self.step(started.step) {
                        step.enter(entry.at, started.attempt);
                    }
                } else {
                    let mut step = Step::new(started.step, &started.node, entry, run, plan, snapshots);
                    step.iteration = started.iteration;
                    step.attempt = started.attempt;
                    step.child_run = started.child_run;
                    self.begin(step);
                }
            }
            Event::StepRetrying { step, attempt, .. } => {
                if let Some(step) = self.step(*step) {
                    step.attempt = *attempt;
                }
            }
            Event::StepCompleted(done) => {
                if let Some(step) = self.step(done.step) {
                    step.complete(entry.at, done);
                }
            }
            Event::StepFailed { step, fault } => {
                if let Some(step) = self.step(*step) {
                    step.fail(entry.at, fault);
                }
            }
            Event::Paused(pause) => {
                if let Some(step) = self.step(pause.step) {
                    step.pause(entry.at);
                }
            }
            Event::CallStarted(call) => {
                let span = Span::begin(entry.at, call, self.node_of(call.step));
                self.open_calls.insert((call.step, call.key.clone()), self.spans.len());
                self.spans.push(span);
            }
            Event::CallFinished(call) => self.call_finished(entry, call),
            Event::Measured(measured) => self.spans.push(Span::measured(entry.at, measured, self.node_of(measured.step))),
            Event::CheckpointHit { step, .. } => {
                if let Some(step) = self.step(*step) {
                    step.checkpoint_hit = true;
                }
            }
            Event::Retried(retried) => {
                if let (Some(from), Some(back)) = (retried.from_step, &retried.back) {
                    self.supersede(from, back.lane, run);
                }
            }
            Event::Failed { fault, .. } => self.cut(entry.at, StepStatus::Failed, Some(fault)),
            Event::Cancelled { .. } => self.cut(entry.at, StepStatus::Cancelled, None),
            Event::Created(_)
            | Event::Began
            | Event::Resumed(_)
            | Event::TakenOver { .. }
            | Event::Requeued { .. }
            | Event::PromptBuilt { .. }
            | Event::ToolsCalled { .. }
            | Event::BranchStarted { .. }
            | Event::BranchEnded
            | Event::Rested { .. }
            | Event::Completed { .. } => {}
        }
    }

    fn node_of(&self, step: Id) -> Option<Arc<str>> {
        self.index.get(&step).and_then(|at| self.steps.get(*at)).map(|step| Arc::clone(&step.node))
    }

    fn ran(&mut self, entry: &Entry, ran: &super::event::StepRan, run: &Run, snapshots: bool) {
        if !self.index.contains_key(&ran.step) {
            let mut step = Step::new(ran.step, &ran.node, entry, run, &run.plan, snapshots);
            step.iteration = ran.iteration;
            if step.kind == Some(NodeKind::Loop)
                && let Some(visit) = ran.iteration
            {
                step.scope = step::visited(&step.scope, &ran.node, visit);
            }
            self.begin(step);
        }
        let Some(step) = self.step(ran.step) else { return };
        step.attempt = ran.attempt;
        step.enter(entry.at, ran.attempt);
        match &ran.outcome {
            PureOutcome::Left { handle, change } => step.leave(entry.at, handle, change),
            PureOutcome::Failed(fault) => step.fail(entry.at, fault),
        }
    }

    fn call_finished(&mut self, entry: &Entry, call: &super::event::CallFinished) {
        if let Some(usage) = &call.usage
            && let Some(step) = self.step(call.step)
        {
            step.usage.add(usage);
        }
        let Some(span) = self.open_calls.remove(&(call.step, call.key.clone())).and_then(|at| self.spans.get_mut(at)) else {
            return;
        };
        span.finish(entry.at, call);
        let (provider, model, summary) = (span.provider.clone(), span.model.clone(), span.name == "summarize");
        let rag = span.retrieved(call);
        if let Some(step) = self.step(call.step) {
            if provider.is_some() && !summary {
                (step.provider, step.model) = (provider, model);
            }
            step.rag = rag.or_else(|| step.rag.take());
        }
    }

    /// The step gone back to, and all later ones of its lane and of lanes under it.
    fn supersede(&mut self, from: Id, lane: LaneId, run: &Run) {
        let Some(at) = self.index.get(&from).copied() else { return };
        let path = run.lanes.get(&lane).map(|lane| lane.path().to_vec());
        let path = path.unwrap_or_else(|| self.steps[at].path.clone());
        for step in &mut self.steps[at..] {
            if step.path.starts_with(&path) {
                step.superseded = true;
            }
        }
    }

    /// Steps that were open when the run ended end with it; a fork that a branch failed in fails too.
    fn cut(&mut self, at: Timestamp, status: StepStatus, fault: Option<&super::event::Fault>) {
        for step in &mut self.steps {
            if matches!(step.status, StepStatus::Running | StepStatus::Paused) && !step.superseded {
                match fault {
                    Some(fault) if step.kind == Some(NodeKind::Fork) => step.fail(at, fault),
                    Some(_) if status == StepStatus::Failed => step.end(at, StepStatus::Cancelled),
                    Some(_) | None => step.end(at, status),
                }
            }
        }
        for span in &mut self.spans {
            span.cut(at);
        }
    }
}

/// The checkpoint that a paused run shows: where it waits, and with what state.
#[must_use]
pub fn checkpoint(run: &Run) -> Option<serde_json::Value> {
    if !run.status.paused() {
        return None;
    }
    let pauses = run.pauses();
    let (lane, pause) = pauses.first()?;
    let root = outermost(run, lane.id);
    let state = root.map_or(&lane.state, |(_, parent)| &parent.state);
    let mut shown = serde_json::json!({
        "state": state.to_json(false),
        "node_id": pause.node,
        "pause_id": pause.id,
        "interrupt": interrupt(run, pause.id),
    });
    match &pause.reason {
        PauseReason::Human { prompt, output_key } => {
            shown["prompt"] = prompt.as_str().into();
            shown["output_key"] = output_key.as_str().into();
        }
        PauseReason::Approval { calls, .. } => shown["pending_tools"] = super::telling::pending_tools(calls).into(),
    }
    if let (Some(branch), Some((_, parent))) = (&lane.branch, root) {
        shown["kind"] = "parallel".into();
        let fork = parent.fork();
        let done = fork.iter().flat_map(|fork| &fork.branches).filter_map(|branch| match branch {
            super::run::BranchState::Done(done) => Some((done.id.to_string(), done.value.clone())),
            super::run::BranchState::Waiting | super::run::BranchState::Open(_) => None,
        });
        let completed: serde_json::Map<_, _> = done.collect();
        let fork_node = parent.step.as_ref().map_or(branch.fork_node, |step| step.node);
        shown["parallel"] = serde_json::json!({
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
fn outermost(run: &Run, lane: LaneId) -> Option<(LaneId, &super::run::Lane)> {
    let mut at = run.lanes.get(&lane)?;
    let mut found = None;
    while let Some(branch) = &at.branch {
        let parent = run.lanes.get(&branch.parent)?;
        found = Some((branch.parent, parent));
        at = parent;
    }
    found
}

const fn reason(pause: &super::event::Pause) -> &'static str {
    match pause.reason {
        PauseReason::Human { .. } => "human",
        PauseReason::Approval { .. } => "tool_approval",
    }
}

/// Opaque: names the pause and the log that it belongs to.
fn interrupt(run: &Run, pause: Id) -> String {
    format!("1:{}:{}:{pause}", run.id, run.head)
}

/// All open pauses, as the trace lists them.
#[must_use]
pub fn pauses(run: &Run, entries: &[Arc<Entry>]) -> Vec<serde_json::Value> {
    if !run.status.paused() {
        return Vec::new();
    }
    let made = |pause: Id| {
        entries.iter().rev().find(|entry| matches!(&entry.event, Event::Paused(made) if made.id == pause)).map(|entry| entry.at)
    };
    let show = |(lane, pause): &(&super::run::Lane, &super::event::Pause)| {
        let mut shown = serde_json::json!({
            "pause_id": pause.id, "node_id": pause.node, "step_id": pause.step, "reason": reason(pause),
        });
        match &pause.reason {
            PauseReason::Human { prompt, output_key } => {
                shown["prompt"] = prompt.as_str().into();
                shown["output_key"] = output_key.as_str().into();
            }
            PauseReason::Approval { calls, message, .. } => {
                shown["message"] = message.as_str().into();
                shown["pending_tools"] = super::telling::pending_tools(calls).into();
            }
        }
        if let Some(branch) = &lane.branch {
            shown["fork_id"] = run.plan.node(branch.fork_node).id.as_ref().into();
            shown["branch_id"] = branch.id.as_ref().into();
            shown["branch_path"] = serde_json::json!(&*branch.path);
        }
        shown["created_at"] = made(pause.id).unwrap_or_default().rfc3339().into();
        shown
    };
    run.pauses().iter().map(show).collect()
}
