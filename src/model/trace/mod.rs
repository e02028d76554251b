//! Owns the trace of a run: its steps and spans, derived from its log.

mod paused;
mod span;
mod step;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

pub use paused::{checkpoint, pauses};
pub use span::Span;
use step::Moment;
pub use step::{Step, StepStatus};

use super::Id;
use super::event::{CallFinished, CallStarted, Created, Entry, Event, Fault, PureOutcome, StepRan, StepStarted, Warning};
use super::graph::NodeKind;
use super::plan::Plan;
use super::run::Run;
use super::telling::{Input, Telling, Wire};

/// The steps and spans of a run.
#[derive(Debug, Default)]
pub struct Trace {
    /// In the order in which they are published.
    pub steps: Vec<Step>,
    /// In the order in which they began.
    pub spans: Vec<Span>,
    index: HashMap<Id, usize>,
    /// Places of the steps of forks that may be open.
    open_forks: Vec<usize>,
    open_calls: HashMap<(Id, String), usize>,
    /// Tool calls of specialists, with the call that each specialist answers.
    parents: HashMap<(Id, String), String>,
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
        run.want(super::run::wanted_steps(entries));
        for entry in entries {
            trace.take(entry, &run, plan, snapshots);
            if entry.seq > first.seq {
                run.apply(entry);
            }
            telling.tell(&Input::Entry(Arc::clone(entry)));
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
        if step.kind == Some(NodeKind::Fork) {
            self.open_forks.push(self.steps.len());
        }
        self.index.insert(step.id, self.steps.len());
        self.steps.push(step);
    }

    fn step(&mut self, id: Id) -> Option<&mut Step> {
        self.index.get(&id).copied().and_then(|at| self.steps.get_mut(at))
    }

    fn take(&mut self, entry: &Entry, run: &Run, plan: &Plan, snapshots: bool) {
        let now = Moment { at: entry.at, worked_ms: run.worked(entry.at) };
        match &entry.event {
            Event::StepRan(ran) => self.ran(entry, now, ran, run, snapshots),
            Event::StepStarted(started) => {
                self.cut_calls(started.step, now);
                self.started(entry, now, started, run, plan, snapshots);
            }
            Event::StepRetrying { step, attempt, .. } => {
                self.cut_calls(*step, now);
                self.with(*step, |step| step.attempt = *attempt);
            }
            Event::StepCompleted(done) => {
                self.cut_calls(done.step, now);
                self.with(done.step, |step| step.complete(now, done));
            }
            Event::StepFailed { step, fault } => {
                self.cut_calls(*step, now);
                self.with(*step, |step| step.fail(now, fault));
            }
            Event::Paused(pause) => self.with(pause.step, |step| step.pause(now)),
            Event::ToolsCalled { step, calls, parent_call_id: Some(parent), .. } => {
                self.parents.extend(calls.iter().map(|call| ((*step, call.id.clone()), parent.clone())));
            }
            Event::CallStarted(call) => self.call_started(entry, call),
            Event::CallFinished(call) => self.call_finished(entry, call),
            Event::Measured(measured) => self.spans.push(Span::measured(entry.at, measured, self.node_of(measured.step))),
            Event::CheckpointHit { step, .. } => self.with(*step, |step| step.checkpoint_hit = true),
            Event::Retried(retried) => {
                if let Some(from) = retried.from_step {
                    self.supersede(from, run);
                }
                self.forks(StepStatus::Failed, |fork| fork.enter(now, fork.attempt));
            }
            Event::Rested { .. } => self.forks(StepStatus::Running, |fork| fork.pause(now)),
            Event::Resumed(_) => self.forks(StepStatus::Paused, |fork| fork.enter(now, fork.attempt)),
            Event::Failed { fault, .. } => self.fail(now, fault),
            Event::Cancelled { .. } => self.cancel(now),
            Event::Created(_)
            | Event::Began
            | Event::TakenOver { .. }
            | Event::ClockJumped { .. }
            | Event::Requeued { .. }
            | Event::PromptBuilt { .. }
            | Event::ModelFallback(_)
            | Event::ToolsCalled { parent_call_id: None, .. }
            | Event::BranchStarted { .. }
            | Event::BranchEnded
            | Event::Completed { .. } => {}
        }
    }

    fn with(&mut self, step: Id, change: impl FnOnce(&mut Step)) {
        if let Some(step) = self.step(step) {
            change(step);
        }
    }

    /// Changes the forks that stand so.
    fn forks(&mut self, status: StepStatus, change: impl Fn(&mut Step)) {
        let steps = &mut self.steps;
        self.open_forks.retain(|at| steps.get(*at).is_some_and(|fork| fork.status != StepStatus::Completed && !fork.superseded));
        for at in &self.open_forks {
            steps.get_mut(*at).filter(|fork| fork.status == status).into_iter().for_each(&change);
        }
    }

    fn started(&mut self, entry: &Entry, now: Moment, started: &StepStarted, run: &Run, plan: &Plan, snapshots: bool) {
        if started.resumed && self.index.contains_key(&started.step) {
            return self.with(started.step, |step| step.enter(now, started.attempt));
        }
        let mut step = Step::new(started.step, &started.node, entry, run, plan, snapshots);
        step.enter(now, started.attempt);
        step.iteration = started.iteration;
        step.child_run = started.child_run;
        self.begin(step);
    }

    fn node_of(&self, step: Id) -> Option<Arc<str>> {
        self.index.get(&step).and_then(|at| self.steps.get(*at)).map(|step| Arc::clone(&step.node))
    }

    fn ran(&mut self, entry: &Entry, now: Moment, ran: &StepRan, run: &Run, snapshots: bool) {
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
        step.enter(now, ran.attempt);
        match &ran.outcome {
            PureOutcome::Left { handle, change } => step.leave(now, handle, change),
            PureOutcome::Failed(fault) => step.fail(now, fault),
        }
    }

    fn call_started(&mut self, entry: &Entry, call: &CallStarted) {
        let asked = call.call_id.as_ref().and_then(|id| self.parents.get(&(call.step, id.clone())).cloned());
        let parent = call.within().map(str::to_owned).or(asked).and_then(|parent| self.open_calls.get(&(call.step, format!("tool:{parent}"))));
        let parent = parent.and_then(|at| self.spans.get(*at)).map(|span| span.id);
        let span = Span { parent, ..Span::begin(entry.at, call, self.node_of(call.step)) };
        self.open_calls.insert((call.step, call.key.clone()), self.spans.len());
        self.spans.push(span);
    }

    fn call_finished(&mut self, entry: &Entry, call: &CallFinished) {
        if let Some(usage) = &call.usage {
            self.with(call.step, |step| step.usage.add(usage));
        }
        let Some(span) = self.open_calls.remove(&(call.step, call.key.clone())).and_then(|at| self.spans.get_mut(at)) else {
            return;
        };
        span.finish(entry.at, call);
        let (provider, model, summary) = (span.provider.clone(), span.model.clone(), ["summarize", "rerank"].contains(&span.name.as_str()));
        let rag = span.retrieved(call);
        if let Some(step) = self.step(call.step) {
            if provider.is_some() && !summary {
                (step.provider, step.model) = (provider, model);
            }
            step.rag = rag.or_else(|| step.rag.take());
            if call.is_own_answer() && call.finish.is_some() {
                step.finish.clone_from(&call.finish);
            }
            let fresh: Vec<Warning> = call.warnings.iter().filter(|warning| !step.warnings.contains(warning)).cloned().collect();
            step.warnings.extend(fresh);
        }
    }

    /// Calls of a step that nobody will finish.
    fn cut_calls(&mut self, step: Id, now: Moment) {
        let spans = &mut self.spans;
        self.open_calls.retain(|(of, _), at| {
            if *of == step
                && let Some(span) = spans.get_mut(*at)
            {
                span.cut(now.at);
            }
            *of != step
        });
    }

    /// The step gone back to and those that came after it in its branch; forks that closed around it are open again.
    fn supersede(&mut self, from: Id, run: &Run) {
        let Some(at) = self.index.get(&from).copied() else { return };
        let reopened = run.reopened_for(from);
        let spot = self.steps[at].spot.clone();
        for step in self.steps[at..].iter_mut().filter(|step| spot.obsoletes(&step.spot, &reopened)) {
            step.superseded = true;
        }
        for fork in spot.forks_of(&reopened) {
            self.with(fork, Step::reopen);
            if let Some(at) = self.index.get(&fork).copied().filter(|at| !self.open_forks.contains(at)) {
                self.open_forks.push(at);
            }
        }
    }

    /// Steps that were active when the run failed are ended; the fork of a failed branch fails too. Waiting steps keep waiting.
    fn fail(&mut self, now: Moment, fault: &Fault) {
        for step in self.steps.iter_mut().filter(|step| step.status == StepStatus::Running && !step.superseded) {
            if step.kind == Some(NodeKind::Fork) { step.fail(now, fault) } else { step.end(now, StepStatus::Cancelled) }
        }
        self.spans.iter_mut().for_each(|span| span.cut(now.at));
    }

    fn cancel(&mut self, now: Moment) {
        let open = |step: &&mut Step| matches!(step.status, StepStatus::Running | StepStatus::Paused) && !step.superseded;
        self.steps.iter_mut().filter(open).for_each(|step| step.end(now, StepStatus::Cancelled));
        self.spans.iter_mut().for_each(|span| span.cut(now.at));
    }
}

/// Why an answer ended, and its warnings. Each is left out if it says nothing special.
fn add_ending(fields: &mut Map<String, Value>, finish: Option<&str>, warnings: &[Warning]) {
    fields.extend(finish.map(|finish| ("finish".to_owned(), finish.into())));
    if !warnings.is_empty() {
        fields.insert("warnings".to_owned(), json!(warnings));
    }
}
