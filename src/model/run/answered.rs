//! Owns the continuation of a run after an answer to a pause or a retry.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::graph::NodeKind;
use super::super::{Id, Timestamp};
use super::super::event::{Answer, FaultCode, LaneId, OWN_MODEL, Resumed, Retried};
use super::lane::{Call, Lane, OpenStep};
use super::{Run, Status};

impl Run {
    fn go_on(&mut self, queued: bool, at: Timestamp) {
        self.rested_at = None;
        self.finished_at = None;
        self.delay_ms = 0;
        if queued { self.status = Status::Queued } else { self.begin(at) }
    }

    pub(super) fn resume(&mut self, resumed: &Resumed, at: Timestamp) {
        self.waiting_ms += self.rested_at.map_or(0, |since| at.since(since));
        self.go_on(resumed.queued, at);
        self.takeovers = 0;
        self.link(resumed.trace.as_ref());
        let lane = self.lanes.values_mut().find(|lane| lane.pause().is_some_and(|pause| pause.id == resumed.pause));
        let Some(step) = lane.and_then(|lane| lane.step.as_deref_mut()) else { return };
        step.reenter = true;
        if let Some(child) = step.child_run.and_then(|id| self.children.get_mut(&id)) {
            child.go_on(at);
            child.status = Status::Running;
        }
        if let Some(pause) = step.pause.take() {
            self.answered.insert(pause.id, pause.node.clone());
        }
        match &resumed.answer {
            Answer::Human { .. } => step.answer = Some(resumed.answer.clone()),
            Answer::Approval { decisions } => {
                step.decisions.extend(decisions.iter().map(|decision| (decision.call_id.clone(), decision.clone())));
            }
            Answer::Question { said, .. } => {
                step.said.entry(said.call.clone()).or_default().insert(said.key.clone(), said.answer.clone());
            }
        }
    }

    pub(super) fn retry(&mut self, retried: &Retried, at: Timestamp) {
        self.attempt += 1;
        self.tried_at = Some(at);
        self.takeovers = 0;
        self.failure = None;
        self.steps = 0;
        self.spent_ms = self.worked(at);
        self.go_on(retried.queued, at);
        self.links.clear();
        self.link(retried.trace.as_ref());
        let into = retried.from_step.map_or_else(|| self.first_to_run(), |step| self.lane_of_mark(step));
        self.forget_last_answers();
        self.clear_failures();
        if let Some(step) = retried.from_step {
            self.go_back_to(step);
            self.cut_left_children(at);
        }
        for step in self.lanes.values_mut().filter_map(|lane| lane.step.as_deref_mut()) {
            step.doubts.extend(retried.in_doubt.iter().map(|answer| (answer.call_id.clone(), answer.clone())));
        }
        if !retried.state.is_empty()
            && let Some(lane) = self.lanes.get_mut(&into)
        {
            let plan = &self.plan;
            if let Some(step) = lane.step.as_deref_mut().filter(|step| plan.node(step.node).kind == NodeKind::Rag) {
                // What was found or measured for the question of before says nothing of the one of now.
                step.calls.retain(|_, call| !matches!(call, Call::Done(_)));
            }
            merge(lane, &retried.state);
        }
    }

    /// The lane that a retry begins in: the first with a failed step, else the first that can go on.
    fn first_to_run(&self) -> LaneId {
        let failed = |lane: &Lane| lane.step.as_ref().is_some_and(|step| step.failed);
        let lanes = self.lanes.values().filter(|lane| lane.can_go_on());
        let first = lanes.min_by(|left, right| (!failed(left), left.order()).cmp(&(!failed(right), right.order())));
        first.map_or(0, |lane| lane.id)
    }

    /// Child runs that waited for a person in an obsolete step have ended, because they cannot be answered.
    fn cut_left_children(&mut self, at: Timestamp) {
        let kept: HashSet<Id> = self.lanes.values().filter_map(|lane| lane.step.as_ref()?.child_run).collect();
        for (_, child) in self.children.iter_mut().filter(|(id, child)| !child.status.terminal() && !kept.contains(id)) {
            child.end(Status::Cancelled, at);
        }
    }

    /// A step that failed because of what its model answered last would fail again with the same answer: the model is asked again.
    fn forget_last_answers(&mut self) {
        for step in self.lanes.values_mut().filter_map(|lane| lane.step.as_deref_mut()).filter(|step| step.failed) {
            if matches!(step.fault, Some(FaultCode::StructuredInvalid | FaultCode::ToolLimit))
                && let Some(last) = last_model_call(step)
            {
                step.calls.remove(&last);
            }
        }
    }

    /// Failed steps are entered again with the next attempt, interrupted ones with the same. Calls with an unknown outcome stay in doubt.
    pub(super) fn clear_failures(&mut self) {
        for step in self.lanes.values_mut().filter_map(|lane| lane.step.as_deref_mut()) {
            let failed = std::mem::replace(&mut step.failed, false);
            step.attempt += u32::from(failed);
            step.retries = 0;
        }
        self.reenter();
    }

    pub(super) fn reenter(&mut self) {
        for step in self.lanes.values_mut().filter_map(|lane| lane.step.as_deref_mut()) {
            if step.fork.is_none() && step.pause.is_none() {
                step.reenter = true;
            }
        }
    }
}

/// The key of the last call of the step's own model that was answered.
fn last_model_call(step: &OpenStep) -> Option<String> {
    let number = |key: &str| key.strip_prefix(OWN_MODEL)?.parse::<u32>().ok();
    let answered = step.calls.iter().filter(|(_, call)| matches!(call, Call::Done(_)));
    let (_, last) = answered.filter_map(|(key, _)| Some((number(key)?, key))).max()?;
    Some(last.clone())
}

/// A retry's state is there as if it always had been: no branch counts it as its own work.
fn merge(lane: &mut Lane, state: &serde_json::Map<String, serde_json::Value>) {
    for (key, value) in state {
        let (key, value) = (Arc::<str>::from(key.as_str()), Arc::new(value.clone()));
        if let Some(branch) = &mut lane.branch {
            branch.start.set(Arc::clone(&key), Arc::clone(&value));
        }
        lane.state.set(key, value);
    }
    let untouched = |step: &OpenStep| !step.calls.values().any(|call| matches!(call, Call::Done(_)));
    if let Some(step) = lane.step.as_deref_mut().filter(|step| untouched(step)) {
        step.prompts.clear();
    }
}
