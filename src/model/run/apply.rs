//! Owns the effect of each entry on a run; synchronous and deterministic.

use std::sync::Arc;

use serde_json::Value;

use super::super::event::{
    Answer, CallFinished, CallKind, CallOutcome, CallStarted, Change, EntityKind, Entry, Event, LaneId, PauseReason,
    PureOutcome, StepCompleted, StepRan, StepStarted, ToolOutcome, Warning,
};
use super::super::chat::ToolCall;
use super::super::graph::NodeKind;
use super::super::node::Node;
use super::super::plan::{NodeIndex, Plan};
use super::super::Timestamp;
use super::lane::{BranchState, Call, Finished, OpenFork, OpenStep};
use super::working_time::WorkingTime;
use super::{Child, Run, Status};

impl Run {
    /// Takes the next entry.
    pub fn apply(&mut self, entry: &Entry) {
        self.head = entry.seq;
        match &entry.event {
            Event::Created(_) | Event::CheckpointHit { .. } => {}
            Event::Began => self.begin(entry.at),
            Event::Resumed(resumed) => self.resume(resumed, entry.at),
            Event::Retried(retried) => self.retry(retried, entry.at),
            Event::TakenOver { count, worked_ms } => self.taken_over(*count, *worked_ms, entry.at),
            Event::ClockJumped { ahead_ms } => {
                self.working.jumped(*ahead_ms);
                self.children_at_work(|child| child.working.jumped(*ahead_ms));
            }
            Event::Requeued { delay_ms, .. } => {
                self.children_at_work(|child| child.working.stop(entry.at));
                self.working.stop(entry.at);
                self.delay_ms = i64::try_from(*delay_ms).unwrap_or(0);
                self.status = Status::Queued;
                self.requeued += 1;
                self.clear_failures();
            }
            Event::StepRan(ran) => self.ran(entry.lane, ran, entry.at),
            Event::StepStarted(started) => self.started(entry.lane, started, entry.at),
            Event::StepCompleted(done) => self.completed(entry.lane, done, entry.at),
            Event::Rested { status } => self.rest(*status, entry.at),
            Event::Completed { output, reply } => {
                self.output = Some(Arc::clone(output));
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
            | Event::Measured(_)
            | Event::ModelFallback(_)
            | Event::ToolsCalled { .. }
            | Event::CallStarted(_)
            | Event::CallFinished(_)
            | Event::Paused(_) => self.apply_in_lane(entry),
        }
        self.working.seen(entry.at);
    }

    fn apply_in_lane(&mut self, entry: &Entry) {
        if let Event::BranchStarted { fork, parent, .. } = &entry.event {
            return self.branch_started(entry.lane, *fork, *parent);
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
        if let Some(calls) = calls_of(&entry.event) {
            self.call_ids.extend(calls.iter().map(|call| call.id.clone()));
        }
        let Some(step) = self.lanes.get_mut(&entry.lane).and_then(|lane| lane.step.as_deref_mut()) else { return };
        if let Event::StepFailed { fault, .. } = &entry.event {
            step.failed = true;
            step.fault = Some(fault.code);
            step.fallbacks.failed();
            if let Some(child) = step.child_run.and_then(|id| self.children.get_mut(&id)) {
                child.end(Status::Failed, entry.at);
                child.fault = Some(fault.clone());
            }
            return;
        }
        in_step(step, &entry.event);
        let Event::Paused(pause) = &entry.event else { return };
        step.paused_after = self.answered.len();
        if let Some(child) = step.child_run.and_then(|id| self.children.get_mut(&id)) {
            child.wait(paused_as(&pause.reason), entry.at);
        }
    }

    fn children_at_work(&mut self, mut each: impl FnMut(&mut Child)) {
        for step in self.lanes.values().filter_map(|lane| lane.step.as_deref()) {
            step.child_run.and_then(|id| self.children.get_mut(&id)).filter(|child| child.status == Status::Running).into_iter().for_each(&mut each);
        }
    }

    pub(super) fn begin(&mut self, at: Timestamp) {
        self.delay_ms = 0;
        self.status = Status::Running;
        self.started_at.get_or_insert(at);
        self.working.start(at);
    }

    fn taken_over(&mut self, count: u32, worked_ms: Option<u64>, at: Timestamp) {
        self.takeovers = count;
        // As of the run, what the former owner stored of a long step counts.
        let last = self.working.last();
        let more = worked_ms.unwrap_or(0).saturating_sub(self.working.until(last));
        let end = Timestamp(last.0.saturating_add(i64::try_from(more).unwrap_or(i64::MAX)));
        self.children_at_work(|child| child.working.stop(end));
        self.working.take_over(at, worked_ms);
        self.reenter();
    }

    fn rest(&mut self, status: Status, at: Timestamp) {
        self.working.stop(at);
        self.status = status;
        self.rested_at = Some(at);
    }

    fn end(&mut self, status: Status, at: Timestamp) {
        self.rest(status, at);
        self.finished_at = Some(at);
        let stays = |child: &Child| child.status.terminal() || (status == Status::Failed && child.status.paused());
        for child in self.children.values_mut().filter(|child| !stays(child)) {
            child.end(status, at);
        }
    }

    fn ran(&mut self, lane: LaneId, ran: &StepRan, at: Timestamp) {
        let plan = Arc::clone(&self.plan);
        let Some(node) = plan.find(&ran.node) else { return };
        if !ran.resumed {
            self.steps += 1;
        }
        self.mark(lane, ran.step);
        if matches!(ran.outcome, PureOutcome::Left { .. }) {
            self.mark_completed(ran.step);
        }
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
                paused_at: None,
                working: WorkingTime::default(),
                waiting_ms: 0,
                fault: None,
            });
            child.work(at);
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
        self.mark_completed(done.step);
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let Some(step) = lane.step.take() else { return };
        let chat = self.created.entity == EntityKind::Agent;
        self.takeovers = 0;
        lane.state.apply(&done.change);
        if let Some(child) = step.child_run.and_then(|id| self.children.get_mut(&id)) {
            child.end(if done.error.is_some() { Status::Failed } else { Status::Completed }, at);
            child.fault.clone_from(&done.error);
        }
        lane.turns.extend(done.turn.clone());
        if done.error.is_none()
            && let Some(text) = published(&plan, step.node, &done.change, chat)
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

    fn call_finished(&mut self, lane: LaneId, call: &CallFinished) {
        let Some(step) = self.lanes.get_mut(&lane).and_then(|lane| lane.step.as_deref_mut()) else { return };
        if let Some(usage) = &call.usage {
            step.usage.add(usage);
            match step.child_run.and_then(|id| self.children.get_mut(&id)) {
                Some(child) => child.usage.add(usage),
                None => self.own.add(usage),
            }
        }
        Warning::collect(&mut step.warnings, &call.warnings);
        let open = match step.calls.remove(&call.key) {
            Some(Call::Open(open)) => Some(open),
            Some(Call::Done(_)) | None => None,
        };
        let asker = open.as_ref().and_then(|open| open.asker.clone());
        if let (Some(asker), Some(index)) = (asker, call.reply_index) {
            self.scripted.entry(asker).or_default().replied(index);
        }
        if let (Some(open), CallOutcome::Tool(outcome)) = (open, &call.outcome)
            && stays_open(self.plan.node(step.node).kind, &open, outcome)
        {
            step.calls.insert(call.key.clone(), Call::Open(open));
            return;
        }
        if let CallOutcome::Asked(asked) = &call.outcome {
            step.said.remove(&call.key);
            step.asked.insert(call.key.clone(), asked.clone());
        }
        if !matches!(call.outcome, CallOutcome::Failed(_)) {
            step.fallbacks.answered(&call.key);
            let done = Finished {
                outcome: call.outcome.clone(),
                structured: call.structured.clone(),
                finish: call.finish.clone(),
                usage: call.usage,
                last_prompt: call.last_prompt,
            };
            step.calls.insert(call.key.clone(), Call::Done(Box::new(done)));
        }
    }
}

/// Tool calls that an entry names for the first time.
fn calls_of(event: &Event) -> Option<&[ToolCall]> {
    if let Event::ToolsCalled { calls, .. } = event {
        return Some(calls);
    }
    let Event::Paused(pause) = event else { return None };
    match &pause.reason {
        PauseReason::Approval { calls, .. } => Some(calls),
        PauseReason::Human { .. } => None,
    }
}

/// A call whose end nobody saw is not over: one that may be repeated is, under the same id, and of one of a tool or mcp node that may
/// not a person decides. The model of an agent is told instead that the result is unknown.
fn stays_open(kind: NodeKind, open: &CallStarted, outcome: &ToolOutcome) -> bool {
    let of_node = matches!(kind, NodeKind::Tool | NodeKind::Mcp);
    if of_node { outcome.abandoned || outcome.unanswered } else { outcome.abandoned && open.repeatable }
}

const fn paused_as(reason: &PauseReason) -> Status {
    match reason {
        PauseReason::Human { .. } => Status::AwaitingInput,
        PauseReason::Approval { .. } => Status::AwaitingToolApproval,
    }
}

/// The text that a publishing agent or llm step wrote.
fn published(plan: &Plan, node: NodeIndex, change: &Change, chat: bool) -> Option<String> {
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
    let value = change.get(&**key)?;
    // A chat sends a structured answer as text.
    let told = chat && !value.is_string();
    if told { Some(value.to_string()) } else { value.as_str().map(str::to_owned) }
}

/// Entries that concern only the step that is open in their lane.
fn in_step(step: &mut OpenStep, event: &Event) {
    if let Event::StepRetrying { attempt, .. } = event {
        step.attempt = *attempt;
        step.retries += 1;
        step.fallbacks.failed();
    } else if let Event::ModelFallback(turned) = event {
        step.fallbacks.turn(turned);
    } else if let Event::PromptBuilt { prompt, parts, covers, .. } = event {
        step.prompts.insert(prompt.clone(), parts.clone());
        step.covers.extend(covers);
    } else if let Event::Measured(measured) = event {
        step.measured.insert(measured.key.clone());
    } else if let Event::ToolsCalled { calls, parent_call_id, servers, .. } = event {
        step.servers.extend(servers.clone());
        step.announced.extend(calls.iter().map(|call| (call.id.clone(), parent_call_id.clone())));
    } else if let Event::CallStarted(call) = event {
        if let Some(id) = &call.call_id {
            step.doubts.remove(id);
        }
        if matches!(call.kind, CallKind::Model | CallKind::Embedding) && call.name != "summarize" {
            step.provider.clone_from(&call.provider);
            step.model.clone_from(&call.model);
        }
        step.calls.insert(call.key.clone(), Call::Open(Arc::clone(call)));
    } else if let Event::Paused(pause) = event {
        if let PauseReason::Approval { servers, .. } = &pause.reason {
            step.servers.extend(servers.clone());
        }
        step.gated.extend(calls_of(event).into_iter().flatten().map(|call| call.id.clone()));
        step.pause = Some(pause.clone());
    }
}
