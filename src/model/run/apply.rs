//! Owns how each entry changes a run. Nothing asynchronous, nothing unpredictable happens here.

use std::sync::Arc;

use serde_json::Value;

use super::super::event::{
    Answer, CallFinished, CallKind, CallOutcome, CallStarted, Entry, Event, LaneId, PauseReason, PureOutcome, Resumed,
    Retried, StepCompleted, StepRan, StepStarted,
};
use super::super::graph::NodeKind;
use super::super::node::Node;
use super::super::plan::NodeIndex;
use super::super::{Id, Timestamp};
use super::lane::{At, Branch, BranchDone, BranchState, Call, Finished, Lane, OpenFork, OpenStep};
use super::{Child, Refusal, Run, Status};

impl Run {
    /// Whether an entry may follow.
    ///
    /// # Errors
    /// Says why it may not.
    pub fn accepts(&self, lane: LaneId, event: &Event) -> Result<(), Refusal> {
        let ok = |holds: bool, why: &'static str| if holds { Ok(()) } else { Err(Refusal(why)) };
        let running = self.status == Status::Running;
        match event {
            Event::Created(_) => Err(Refusal("it was created before")),
            Event::Began => ok(matches!(self.status, Status::Queued | Status::Running), "it is at rest"),
            Event::Resumed(resumed) => {
                ok(self.status.paused(), "it is not paused")?;
                ok(self.pauses().iter().any(|(_, pause)| pause.id == resumed.pause), "that pause is not open")
            }
            Event::Retried(_) => ok(self.status == Status::Failed, "it has not failed"),
            Event::Cancelled { .. } => ok(!self.status.terminal(), "it is over"),
            Event::TakenOver { .. }
            | Event::Requeued { .. }
            | Event::Failed { .. }
            | Event::Completed { .. }
            | Event::Rested { .. } => ok(running, "it is not running"),
            Event::StepRan(_) | Event::StepStarted(_) => {
                ok(running, "it is not running")?;
                ok(matches!(self.lane(lane)?.at, At::Node(_)), "the lane is done")
            }
            Event::BranchStarted { branch, parent, .. } => {
                ok(running && lane == self.next_lane, "the branch has another number")?;
                let open = self.lane(*parent)?.fork().ok_or(Refusal("no fork is open"))?;
                ok(open.branches.iter().any(|state| matches!(state, BranchState::Waiting)), branch_begun(branch))
            }
            Event::BranchEnded => ok(running && lane != 0 && self.lane(lane)?.at == At::End, "the branch goes on"),
            Event::StepRetrying { step, .. }
            | Event::StepFailed { step, .. }
            | Event::PromptBuilt { step, .. }
            | Event::ToolsCalled { step, .. }
            | Event::CheckpointHit { step, .. } => self.accepts_in(lane, *step),
            Event::StepCompleted(done) => self.accepts_in(lane, done.step),
            Event::CallStarted(call) => self.accepts_in(lane, call.step),
            Event::CallFinished(call) => self.accepts_in(lane, call.step),
            Event::Measured(measured) => self.accepts_in(lane, measured.step),
            Event::Paused(pause) => self.accepts_in(lane, pause.step),
        }
    }

    fn accepts_in(&self, lane: LaneId, step: Id) -> Result<(), Refusal> {
        let open = self.lane(lane)?.step.as_ref().is_some_and(|open| open.id == step && open.pause.is_none());
        if self.status == Status::Running && open { Ok(()) } else { Err(Refusal("that step is not open")) }
    }

    fn lane(&self, lane: LaneId) -> Result<&Lane, Refusal> {
        self.lanes.get(&lane).ok_or(Refusal("there is no such lane"))
    }

    /// Takes the next entry.
    pub fn apply(&mut self, entry: &Entry) {
        self.head = entry.seq;
        match &entry.event {
            Event::Created(_) | Event::Measured(_) | Event::CheckpointHit { .. } => {}
            Event::Began => self.begin(entry.at),
            Event::Resumed(resumed) => self.resume(resumed, entry.at),
            Event::Retried(retried) => self.retry(retried, entry.at),
            Event::TakenOver { count } => {
                self.takeovers = *count;
                self.reenter();
            }
            Event::Requeued { delay_ms, .. } => {
                self.stop_clock(entry.at);
                self.delay_ms = i64::try_from(*delay_ms).unwrap_or(0);
                self.status = Status::Queued;
                self.clear_failures();
            }
            Event::StepRan(ran) => self.ran(entry.lane, ran, entry.at),
            Event::StepStarted(started) => self.started(entry.lane, started, entry.at),
            Event::StepCompleted(done) => self.completed(entry.lane, done, entry.at),
            Event::Rested { status } => self.rest(*status, entry.at),
            Event::Completed { output, reply } => {
                self.output = Some(Arc::new(output.clone()));
                self.reply.clone_from(reply);
                self.end(Status::Completed, entry.at);
            }
            Event::Failed { fault, node } => {
                self.failure = Some((fault.clone(), node.clone()));
                self.end(Status::Failed, entry.at);
            }
            Event::Cancelled { .. } => {
                if self.status.paused() {
                    self.waiting_ms += self.rested_at.map_or(0, |since| entry.at.since(since));
                }
                self.end(Status::Cancelled, entry.at);
            }
            Event::BranchStarted { .. }
            | Event::BranchEnded
            | Event::StepRetrying { .. }
            | Event::StepFailed { .. }
            | Event::PromptBuilt { .. }
            | Event::ToolsCalled { .. }
            | Event::CallStarted(_)
            | Event::CallFinished(_)
            | Event::Paused(_) => self.apply_in_lane(entry),
        }
    }

    fn apply_in_lane(&mut self, entry: &Entry) {
        if let Event::BranchStarted { fork, parent, .. } = &entry.event {
            return self.branch_started(entry.lane, *fork, *parent, entry.at);
        }
        if matches!(entry.event, Event::BranchEnded) {
            return self.branch_ended(entry.lane);
        }
        if let Event::CallFinished(call) = &entry.event {
            return self.call_finished(entry.lane, call);
        }
        if let Event::CallStarted(call) = &entry.event {
            self.count_scripted(call);
        }
        if let Event::ToolsCalled { calls, .. } = &entry.event {
            self.call_ids.extend(calls.iter().map(|call| call.id.clone()));
        }
        let Some(step) = self.lanes.get_mut(&entry.lane).and_then(|lane| lane.step.as_deref_mut()) else { return };
        if let Event::StepFailed { fault, .. } = &entry.event {
            step.failed = true;
            if let Some(child) = step.child_run.and_then(|id| self.children.get_mut(&id)) {
                child.status = Status::Failed;
                child.finished_at = Some(entry.at);
                child.fault = Some(fault.clone());
            }
            return;
        }
        in_step(step, &entry.event);
        if let (Event::Paused(pause), Some(child)) = (&entry.event, step.child_run.and_then(|id| self.children.get_mut(&id)))
        {
            child.status = paused_as(&pause.reason);
        }
    }

    fn begin(&mut self, at: Timestamp) {
        self.delay_ms = 0;
        self.status = Status::Running;
        self.started_at.get_or_insert(at);
        self.working_since = Some(at);
    }

    fn stop_clock(&mut self, at: Timestamp) {
        self.working_ms = self.worked(at);
        self.working_since = None;
    }

    fn rest(&mut self, status: Status, at: Timestamp) {
        self.stop_clock(at);
        self.status = status;
        self.rested_at = Some(at);
    }

    fn end(&mut self, status: Status, at: Timestamp) {
        self.rest(status, at);
        self.finished_at = Some(at);
        for child in self.children.values_mut().filter(|child| !child.status.terminal()) {
            child.status = status;
            child.finished_at = Some(at);
        }
    }

    fn go_on(&mut self, queued: bool, at: Timestamp) {
        self.rested_at = None;
        self.finished_at = None;
        self.delay_ms = 0;
        if queued { self.status = Status::Queued } else { self.begin(at) }
    }

    fn resume(&mut self, resumed: &Resumed, at: Timestamp) {
        self.waiting_ms += self.rested_at.map_or(0, |since| at.since(since));
        self.go_on(resumed.queued, at);
        self.takeovers = 0;
        let lane = self.lanes.values_mut().find(|lane| lane.pause().is_some_and(|pause| pause.id == resumed.pause));
        let Some(step) = lane.and_then(|lane| lane.step.as_deref_mut()) else { return };
        step.reenter = true;
        if let Some(child) = step.child_run.and_then(|id| self.children.get_mut(&id)) {
            child.status = Status::Running;
        }
        if let Some(pause) = step.pause.take() {
            self.answered.insert(pause.id, pause.node.clone());
        }
        match &resumed.answer {
            Answer::Human { .. } => step.answer = Some(resumed.answer.clone()),
            Answer::Approval { decisions } => {
                step.last_gated = decisions.iter().map(|decision| decision.call_id.clone()).collect();
                step.decisions.extend(decisions.iter().map(|decision| (decision.call_id.clone(), decision.clone())));
            }
        }
    }

    fn retry(&mut self, retried: &Retried, at: Timestamp) {
        self.attempt += 1;
        self.takeovers = 0;
        self.failure = None;
        self.go_on(retried.queued, at);
        self.clear_failures();
        if let Some(step) = retried.from_step {
            self.go_back_to(step);
        }
        for step in self.lanes.values_mut().filter_map(|lane| lane.step.as_deref_mut()) {
            step.doubts.extend(retried.in_doubt.iter().map(|answer| (answer.call_id.clone(), answer.clone())));
        }
        if retried.state.is_empty() {
            return;
        }
        let into = self.first_to_run(retried.from_step);
        if let Some(lane) = into.and_then(|lane| self.lanes.get_mut(&lane)) {
            for (key, value) in &retried.state {
                lane.state.set(key.as_str().into(), Arc::new(value.clone()));
            }
        }
    }

    /// The lane that a retry begins in: the one gone back to, else the first that failed, else the root.
    fn first_to_run(&self, from_step: Option<Id>) -> Option<LaneId> {
        if let Some(lane) = from_step.and_then(|step| self.marks.lane_of(step)) {
            return Some(lane);
        }
        let mut open: Vec<_> =
            self.lanes.values().filter(|lane| lane.step.as_ref().is_some_and(|step| step.reenter && step.fork.is_none())).collect();
        open.sort_by(|left, right| left.order().cmp(right.order()));
        Some(open.first().map_or(0, |lane| lane.id))
    }

    /// Failed steps are entered again with the next attempt, interrupted ones with the same.
    fn clear_failures(&mut self) {
        for step in self.lanes.values_mut().filter_map(|lane| lane.step.as_deref_mut()) {
            if step.failed {
                step.failed = false;
                step.attempt += 1;
            }
            if step.fork.is_none() && step.pause.is_none() {
                step.reenter = true;
            }
        }
    }

    fn reenter(&mut self) {
        for step in self.lanes.values_mut().filter_map(|lane| lane.step.as_deref_mut()) {
            if step.fork.is_none() && step.pause.is_none() {
                step.reenter = true;
            }
        }
    }

    fn ran(&mut self, lane: LaneId, ran: &StepRan, at: Timestamp) {
        let plan = Arc::clone(&self.plan);
        let Some(node) = plan.find(&ran.node) else { return };
        if !ran.resumed {
            self.steps += 1;
        }
        self.mark(lane, ran.step);
        let Some(lane) = self.lanes.get_mut(&lane) else { return };
        match &ran.outcome {
            PureOutcome::Failed(_) => {
                let started = StepStarted {
                    step: ran.step,
                    node: Arc::clone(&ran.node),
                    iteration: ran.iteration,
                    attempt: ran.attempt,
                    resumed: ran.resumed,
                    child_run: None,
                };
                let mut step = OpenStep::new(&started, node, at);
                step.failed = true;
                lane.step = Some(Box::new(step));
            }
            PureOutcome::Left { handle, change } => {
                lane.step = None;
                lane.joined = None;
                lane.state.apply(change);
                let kind = plan.node(node).kind;
                if kind == NodeKind::Loop {
                    lane.iterate(node);
                    if &**handle == "exit" {
                        lane.exit(node);
                    }
                }
                if kind == NodeKind::Stop
                    && let Some(Value::String(text)) = change.get("reply").map(|value| &**value)
                {
                    self.reply = Some(text.clone());
                }
                lane.leave(&plan, node, handle);
                self.takeovers = 0;
            }
        }
    }

    fn started(&mut self, lane: LaneId, started: &StepStarted, at: Timestamp) {
        let plan = Arc::clone(&self.plan);
        let Some(node) = plan.find(&started.node) else { return };
        if let Some(id) = started.child_run {
            let child = self.children.entry(id).or_insert_with(|| Child {
                node: Arc::clone(&started.node),
                usage: super::super::usage::Usage::default(),
                status: Status::Running,
                started_at: at,
                finished_at: None,
                fault: None,
            });
            (child.status, child.finished_at, child.fault) = (Status::Running, None, None);
        }
        if started.resumed
            && let Some(open) = self.lanes.get_mut(&lane).and_then(|lane| lane.step.as_deref_mut())
        {
            open.reenter = false;
            open.attempt = started.attempt;
            return;
        }
        self.steps += 1;
        self.mark(lane, started.step);
        let mut step = OpenStep::new(started, node, at);
        if plan.node(node).kind == NodeKind::Fork {
            let branches = plan.branches(node).iter().map(|_| BranchState::Waiting).collect();
            step.fork = Some(Box::new(OpenFork { branches }));
        }
        if let Some(lane) = self.lanes.get_mut(&lane) {
            lane.step = Some(Box::new(step));
        }
    }

    fn completed(&mut self, id: LaneId, done: &StepCompleted, at: Timestamp) {
        let plan = Arc::clone(&self.plan);
        self.close_marks(id);
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let Some(step) = lane.step.take() else { return };
        self.takeovers = 0;
        lane.state.apply(&done.change);
        if let Some(child) = step.child_run.and_then(|id| self.children.get_mut(&id)) {
            child.status = if done.error.is_some() { Status::Failed } else { Status::Completed };
            child.finished_at = Some(at);
            child.fault.clone_from(&done.error);
        }
        lane.turns.extend(done.turn.clone());
        if done.error.is_none()
            && let Some(text) = published(&plan, step.node, &done.change)
        {
            lane.reply = Some(text);
        }
        let kind = plan.node(step.node).kind;
        if let (NodeKind::Human, Some(Answer::Human { attachments, .. })) = (kind, &step.answer)
            && !attachments.is_empty()
        {
            lane.state.set("attachments".into(), Arc::new(serde_json::json!(attachments)));
        }
        let Some(fork) = step.fork else {
            lane.leave(&plan, step.node, &done.handle);
            return self.keep_turns(id);
        };
        let mut joined = Vec::with_capacity(fork.branches.len());
        for branch in fork.branches {
            let BranchState::Done(branch) = branch else { continue };
            lane.turns.extend(branch.turns);
            if branch.reply.is_some() {
                lane.reply = branch.reply;
            }
            joined.push((branch.id, branch.value));
        }
        lane.joined = Some(joined);
        lane.go(&plan, plan.join_of(step.node));
        self.keep_turns(id);
    }

    /// Turns of the root are part of stored histories; those that live as long as the run stay here.
    fn keep_turns(&mut self, id: LaneId) {
        if id == 0
            && let Some(root) = self.lanes.get_mut(&0)
        {
            self.memory.extend(root.turns.drain(..).filter(|turn| turn.in_memory));
        }
    }

    fn branch_started(&mut self, id: LaneId, fork: Id, parent: LaneId, at: Timestamp) {
        let plan = Arc::clone(&self.plan);
        self.next_lane = id + 1;
        let Some(above) = self.lanes.get_mut(&parent) else { return };
        let scope = above.scope(&plan);
        let (iteration, state, path, order) =
            (above.iteration(None), above.state.clone(), above.path().to_vec(), above.order().to_vec());
        let Some((node, open)) = above.step.as_deref_mut().and_then(|step| Some((step.node, step.fork.as_deref_mut()?)))
        else {
            return;
        };
        let Some(index) = open.branches.iter().position(|state| matches!(state, BranchState::Waiting)) else { return };
        open.branches[index] = BranchState::Open(id);
        let branch = &plan.branches(node)[index];
        let separator = if scope.is_empty() { "" } else { "/" };
        let branch_of = Branch {
            parent,
            fork,
            fork_node: node,
            index,
            id: Arc::clone(&branch.id),
            path: path.into_iter().chain([Arc::clone(&branch.id)]).collect(),
            order: order.into_iter().chain([index]).collect(),
            start: state.clone(),
            scope: format!("{scope}{separator}{}:{}", plan.node(node).id, branch.id).into(),
            iteration,
            join: plan.join_of(node),
            started_at: at,
        };
        let mut lane = Lane::root(state, At::End);
        lane.id = id;
        lane.branch = Some(branch_of);
        lane.go(&plan, branch.first);
        self.lanes.insert(id, lane);
    }

    fn branch_ended(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.remove(&id) else { return };
        let value = lane.result();
        let Some(branch) = lane.branch else { return };
        let done = BranchDone { id: Arc::clone(&branch.id), value, turns: lane.turns, reply: lane.reply };
        let open = self.lanes.get_mut(&branch.parent).and_then(|above| above.step.as_deref_mut()?.fork.as_deref_mut());
        if let Some(place) = open.and_then(|open| open.branches.get_mut(branch.index)) {
            *place = BranchState::Done(Box::new(done));
        }
    }

    fn call_finished(&mut self, lane: LaneId, call: &CallFinished) {
        let Some(step) = self.lanes.get_mut(&lane).and_then(|lane| lane.step.as_deref_mut()) else { return };
        if let Some(usage) = &call.usage {
            step.usage.add(usage);
            match step.child_run.and_then(|id| self.children.get_mut(&id)) {
                Some(child) => child.usage.add(usage),
                None => self.own.add(usage),
            }
        }
        let asker = match step.calls.remove(&call.key) {
            Some(Call::Open(open)) => open.asker,
            Some(Call::Done(_)) | None => None,
        };
        if let (Some(asker), Some(index)) = (asker, call.reply_index) {
            self.scripted.entry(asker).or_default().replies.push(index);
        }
        if !matches!(call.outcome, CallOutcome::Failed(_)) {
            let done = Finished {
                outcome: call.outcome.clone(),
                structured: call.structured.clone(),
                finish: call.finish.clone(),
            };
            step.calls.insert(call.key.clone(), Call::Done(Box::new(done)));
        }
    }

    fn count_scripted(&mut self, call: &CallStarted) {
        if let (CallKind::Model, Some(asker)) = (call.kind, &call.asker) {
            self.scripted.entry(Arc::clone(asker)).or_default().calls += 1;
        }
    }
}

const fn branch_begun(_branch: &str) -> &'static str {
    "every branch has begun"
}

const fn paused_as(reason: &PauseReason) -> Status {
    match reason {
        PauseReason::Human { .. } => Status::AwaitingInput,
        PauseReason::Approval { .. } => Status::AwaitingToolApproval,
    }
}

/// The text that a publishing agent or llm step wrote.
fn published(plan: &super::super::plan::Plan, node: NodeIndex, change: &super::super::event::Change) -> Option<String> {
    let key = match &plan.node(node).node {
        Node::Agent(agent) if agent.publish_reply => &agent.output_key,
        Node::Llm(llm) if llm.publish_reply => &llm.output_key,
        Node::Agent(_)
        | Node::Llm(_)
        | Node::Start
        | Node::Stop(_)
        | Node::Rag(_)
        | Node::Tool(_)
        | Node::Mcp(_)
        | Node::Human(_)
        | Node::Fork(_)
        | Node::Join(_)
        | Node::Loop(_)
        | Node::SetState(_)
        | Node::Condition(_)
        | Node::Note => return None,
    };
    change.get(&**key).and_then(|value| value.as_str()).map(str::to_owned)
}

/// Entries that concern only the step that is open in their lane.
fn in_step(step: &mut OpenStep, event: &Event) {
    if let Event::StepRetrying { attempt, .. } = event {
        step.attempt = *attempt;
    } else if let Event::PromptBuilt { prompt, parts, .. } = event {
        step.prompts.insert(prompt.clone(), parts.clone());
    } else if let Event::ToolsCalled { calls, .. } = event {
        step.announced.extend(calls.iter().map(|call| call.id.clone()));
    } else if let Event::CallStarted(call) = event {
        if let Some(id) = &call.call_id {
            step.doubts.remove(id);
        }
        if matches!(call.kind, CallKind::Model | CallKind::Embedding) && call.name != "summarize" {
            step.provider.clone_from(&call.provider);
            step.model.clone_from(&call.model);
        }
        step.calls.insert(call.key.clone(), Call::Open(call.clone()));
    } else if let Event::Paused(pause) = event {
        step.pause = Some(pause.clone());
    }
}
