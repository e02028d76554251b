//! Owns the encoding of a log as frames, in the order of branches and in live order, with their numbers.
//! It is a pure function: a live stream and a later one give the same frames.

mod chat;
mod encode;
mod frame;
mod json;
mod lanes;
#[cfg(test)]
mod tests;
mod tool_results;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use frame::{Body, Facts, Place, StepFacts, pause_of};
pub use frame::{EVENTS, Frame, Wire, pending_tools};
use lanes::Lane;

use super::event::{CallKind, CallOutcome, Created, EntityKind, Entry, Event, LaneId, Resumed, Seq};
use super::graph::NodeKind;
use super::plan::Plan;
use super::run::Status;
use super::usage::Usage;
use super::run::working_time::WorkingTime;
use super::{Id, Timestamp};

/// Unused numbers for tokens that were published but lost in a crash.
pub const LOST_TOKENS: u64 = 10_000;

/// An item to encode: an entry, or tokens between entries.
#[derive(Clone, Debug)]
pub enum Input {
    /// An entry of the log.
    Entry(Arc<Entry>),
    /// Tokens of a step.
    Tokens(Arc<Tokens>),
}

/// Text pieces of a streaming step. Expired ones keep their count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// Their row's place among the run's.
    pub n: u64,
    /// The last entry before them.
    pub after: Seq,
    /// Their lane.
    pub lane: LaneId,
    /// Their step.
    pub step: Id,
    /// The text is meant for the chat user.
    pub publish_reply: bool,
    /// It is what the model thinks, and no part of its answer.
    pub thought: bool,
    /// How many there were.
    pub count: u64,
    /// Their texts; fewer than `count` once they expired.
    pub deltas: Vec<Arc<str>>,
}

/// Frames of one order.
#[derive(Debug, Default)]
pub struct Sink {
    /// Frames given, to be taken by the caller.
    pub frames: Vec<Frame>,
    /// The last number used.
    pub last: u64,
}

impl Sink {
    fn push(&mut self, mut frame: Frame) {
        self.last += 1;
        frame.n = self.last;
        self.frames.push(frame);
    }
}

/// The encoder of one run's frames.
#[derive(Debug)]
pub struct Telling {
    facts: Arc<Facts>,
    lanes: BTreeMap<LaneId, Box<Lane>>,
    /// In the order of branches.
    pub ordered: Sink,
    /// As they happen.
    pub live: Sink,
    live_wanted: bool,
    reply_id: Option<Id>,
    /// What was measured of the step that ended last.
    last: Option<Arc<StepFacts>>,
    started_at: Option<Timestamp>,
    total: Usage,
    working: WorkingTime,
    status: Status,
    streaming: u32,
    open: Vec<(LaneId, Arc<Entry>)>,
}

impl Telling {
    /// An encoder before the first entry. Without `live`, it keeps frames in the order of branches only.
    #[must_use]
    pub fn new(run: Id, created: &Arc<Created>, plan: &Arc<Plan>, wire: Wire, live: bool) -> Self {
        let facts = Arc::new(Facts { run: run.to_string(), created: Arc::clone(created), plan: Arc::clone(plan), wire });
        let mut lanes = BTreeMap::new();
        lanes.insert(0, Box::new(Lane::root(Arc::new(Place::root(Arc::clone(&facts))))));
        Self {
            facts,
            lanes,
            ordered: Sink::default(),
            live: Sink::default(),
            live_wanted: live,
            reply_id: None,
            last: None,
            started_at: None,
            total: Usage::default(),
            working: WorkingTime::default(),
            status: Status::Queued,
            streaming: 0,
            open: Vec::new(),
        }
    }

    /// The position of the run according to its published frames.
    pub const fn status(&self) -> Status {
        self.status
    }

    /// From now on frames are kept as they happen, too.
    pub const fn want_live(&mut self) {
        self.live_wanted = true;
    }

    /// Encodes the next item.
    pub fn tell(&mut self, input: &Input) {
        match input {
            Input::Entry(entry) => {
                self.tell_entry(entry);
                self.working.seen(entry.at);
            }
            Input::Tokens(tokens) => self.tell_tokens(tokens),
        }
    }

    /// Publishes all held frames: nothing more is coming.
    pub fn flush_all(&mut self) {
        self.flush(0);
    }

    fn chat(&self) -> bool {
        self.facts.created.entity == EntityKind::Agent
    }

    fn tell_tokens(&mut self, tokens: &Arc<Tokens>) {
        let Some(lane) = self.lanes.get(&tokens.lane) else { return };
        let (place, node) = (Arc::clone(&lane.place), lane.node);
        for delta in &tokens.deltas {
            let body = Body::Token { tokens: Arc::clone(tokens), delta: Arc::clone(delta) };
            self.say(tokens.lane, Frame { n: 0, live: false, place: Arc::clone(&place), node, body });
        }
        let expired = tokens.count.saturating_sub(tokens.deltas.len() as u64);
        if expired > 0 {
            self.live.last += expired;
            self.skip(tokens.lane, expired);
        }
    }

    /// Gives a frame to both orders.
    fn say(&mut self, lane: LaneId, frame: Frame) {
        self.happen(&frame);
        self.queue(lane, lanes::Item::Frame(frame));
    }

    fn frame(&self, lane: LaneId, body: Body) -> Frame {
        let nowhere = || (Arc::new(Place::root(Arc::clone(&self.facts))), 0);
        let (place, node) = self.lanes.get(&lane).map_or_else(nowhere, |lane| (Arc::clone(&lane.place), lane.node));
        Frame { n: 0, live: false, place, node, body }.light()
    }

    fn say_body(&mut self, lane: LaneId, body: Body) {
        let frame = self.frame(lane, body);
        self.say(lane, frame);
    }

    fn tell_entry(&mut self, entry: &Arc<Entry>) {
        let id = entry.lane;
        match &entry.event {
            Event::Created(_) => self.say_body(0, Body::Thread),
            Event::Began => self.begin(entry),
            Event::Resumed(resumed) => self.resumed(entry, resumed),
            Event::Retried(retried) => {
                self.new_leg(entry.at, retried.queued);
                match &retried.back {
                    Some(back) => self.go_back(back, entry.at),
                    None => self.reopen_forks(),
                }
            }
            Event::TakenOver { worked_ms, .. } => self.taken_over(entry.at, *worked_ms),
            Event::ClockJumped { ahead_ms } => self.working.jumped(*ahead_ms),
            Event::Requeued { .. } => {
                self.working.stop(entry.at);
                self.status = Status::Queued;
            }
            Event::StepRan(ran) => self.ran(entry, &ran.node),
            Event::StepStarted(started) => self.started(entry, started),
            Event::StepRetrying { .. } => self.say_unless_chat(entry, Body::Retrying(Arc::clone(entry))),
            Event::StepCompleted(_) => self.completed(entry),
            Event::StepFailed { .. } => self.failed_step(entry),
            Event::ToolsCalled { calls, .. } => {
                if let Some(lane) = self.lanes.get_mut(&id) {
                    lane.tool_results.announce(&entry.event);
                }
                for index in 0..calls.len() {
                    self.say_body(id, Body::ToolCall { entry: Arc::clone(entry), index });
                }
            }
            Event::CallStarted(call) => {
                if call.streams {
                    self.streaming += 1;
                }
                if let Some(lane) = self.lanes.get_mut(&id) {
                    lane.call_started(call);
                }
            }
            Event::CallFinished(_) => self.call_finished(entry),
            Event::CheckpointHit { .. } => {
                let iteration = self.lanes.get(&id).and_then(|lane| lane.iteration());
                self.say_unless_chat(entry, Body::Hit { entry: Arc::clone(entry), iteration });
            }
            Event::ModelFallback(_) => self.say_body(id, Body::Fallback(Arc::clone(entry))),
            Event::PromptBuilt { .. } | Event::Measured(_) => {}
            Event::BranchStarted { fork, branch, parent } => self.branch_started(entry, *fork, branch, *parent),
            Event::BranchEnded => self.branch_ended(entry),
            Event::Paused(_) => self.paused(entry),
            Event::Rested { status } => self.rested(*status, entry.at),
            Event::Completed { .. } => {
                self.finish(entry, Status::Completed);
            }
            Event::Failed { .. } => self.finish(entry, Status::Failed),
            Event::Cancelled { .. } => self.finish(entry, Status::Cancelled),
        }
    }

    fn say_unless_chat(&mut self, entry: &Arc<Entry>, body: Body) {
        if !self.chat() {
            self.say_body(entry.lane, body);
        }
    }

    fn begin(&mut self, entry: &Arc<Entry>) {
        self.new_leg(entry.at, false);
        if self.started_at.is_none() {
            self.started_at = Some(entry.at);
            self.say_unless_chat(entry, Body::TraceStarted { at: entry.at });
        }
    }

    /// How long the run had worked by then.
    fn worked(&self, at: Timestamp) -> u64 {
        self.working.until(at)
    }

    fn new_leg(&mut self, at: Timestamp, queued: bool) {
        self.status = if queued { Status::Queued } else { Status::Running };
        if queued { self.working.stop(at) } else { self.working.start(at) }
    }

    fn resumed(&mut self, entry: &Arc<Entry>, resumed: &Resumed) {
        self.new_leg(entry.at, resumed.queued);
        let Some(at) = self.open.iter().position(|(_, paused)| pause_of(paused).is_some_and(|pause| pause.id == resumed.pause))
        else {
            return;
        };
        let (lane, paused) = self.open.remove(at);
        if let Some(lane) = self.lanes.get_mut(&lane) {
            lane.unsettle();
        }
        self.reopen_forks();
        if matches!(resumed.answer, super::event::Answer::Approval { .. }) {
            self.say_body(lane, Body::Resolved { entry: Arc::clone(entry), paused });
        }
    }

    fn taken_over(&mut self, at: Timestamp, worked_ms: Option<u64>) {
        self.working.take_over(at, worked_ms);
        if self.streaming == 0 {
            return;
        }
        self.streaming = 0;
        self.live.last += LOST_TOKENS;
        let mut cut: Vec<LaneId> = self.lanes.iter_mut().filter_map(|(id, lane)| lane.cut_stream().then_some(*id)).collect();
        cut.sort_unstable();
        for lane in cut {
            self.skip(lane, LOST_TOKENS);
        }
    }

    fn ran(&mut self, entry: &Arc<Entry>, node: &Arc<str>) {
        let Some(node) = self.facts.plan.find(node) else { return };
        if let Some(lane) = self.lanes.get_mut(&entry.lane) {
            lane.node = node;
        }
        if self.chat() {
            return;
        }
        self.say_body(entry.lane, Body::RanStarted(Arc::clone(entry)));
        if self.facts.plan.node(node).kind == NodeKind::Loop {
            self.say_body(entry.lane, Body::LoopIteration(Arc::clone(entry)));
        }
        self.say_body(entry.lane, Body::RanEnded(Arc::clone(entry)));
    }

    fn started(&mut self, entry: &Arc<Entry>, started: &super::event::StepStarted) {
        let Some(node) = self.facts.plan.find(&started.node) else { return };
        let fork = self.facts.plan.node(node).kind == NodeKind::Fork;
        let branches = if fork { self.facts.plan.branches(node).len() } else { 0 };
        let worked_ms = self.worked(entry.at);
        if let Some(lane) = self.lanes.get_mut(&entry.lane) {
            lane.begin_step(started, node, worked_ms, branches);
        }
        self.say_unless_chat(entry, Body::Started(Arc::clone(entry)));
        if fork {
            self.queue(entry.lane, lanes::Item::Fork);
        }
    }

    fn completed(&mut self, entry: &Arc<Entry>) {
        let worked_ms = self.worked(entry.at);
        let Some(lane) = self.lanes.get_mut(&entry.lane) else { return };
        let (step, forked) = lane.end_step(worked_ms);
        if let Event::StepCompleted(done) = &entry.event
            && let Some(turn) = &done.turn
        {
            self.reply_id = turn.reply_id.or(self.reply_id);
        }
        let step = Arc::new(step);
        if self.chat() {
            self.last = Some(step);
            return;
        }
        if forked {
            self.close_fork(entry.lane);
        }
        self.say_body(entry.lane, Body::Completed { entry: Arc::clone(entry), step });
    }

    fn failed_step(&mut self, entry: &Arc<Entry>) {
        let worked_ms = self.worked(entry.at);
        let Some(lane) = self.lanes.get_mut(&entry.lane) else { return };
        let step = lane.fail_step(worked_ms);
        if !self.chat() {
            self.say_body(entry.lane, Body::StepFailed { entry: Arc::clone(entry), step: Arc::new(step) });
        }
    }

    fn call_finished(&mut self, entry: &Arc<Entry>) {
        let Event::CallFinished(call) = &entry.event else { return };
        if let Some(usage) = &call.usage {
            self.total.add(usage);
        }
        let Some(lane) = self.lanes.get_mut(&entry.lane) else { return };
        let ended = lane.call_finished(call);
        for index in ended.sources {
            self.say_body(entry.lane, Body::Source { entry: Arc::clone(entry), index });
        }
        for index in 0..if call.is_own_answer() { call.files.len() } else { 0 } {
            self.say_body(entry.lane, Body::File { entry: Arc::clone(entry), index });
        }
        if ended.streamed {
            self.streaming = self.streaming.saturating_sub(1);
        }
        if let CallOutcome::Tool(outcome) = &call.outcome {
            for result in self.lanes.get_mut(&entry.lane).map(|lane| lane.tool_results.ready(&outcome.call_id, entry)).unwrap_or_default() {
                self.say_body(entry.lane, Body::ToolResult(result));
            }
        } else if ended.kind == Some(CallKind::Retrieval) && matches!(call.outcome, CallOutcome::Value(_)) {
            self.say_unless_chat(entry, Body::RagQuery(Arc::clone(entry)));
        }
    }

    fn paused(&mut self, entry: &Arc<Entry>) {
        let worked_ms = self.worked(entry.at);
        let Some(lane) = self.lanes.get_mut(&entry.lane) else { return };
        lane.wait(worked_ms);
        self.open.push((entry.lane, Arc::clone(entry)));
        self.settle(entry.lane);
    }

    fn rested(&mut self, status: Status, at: Timestamp) {
        self.working.stop(at);
        self.status = status;
        self.flush(0);
        let mut open = self.open.clone();
        open.sort_by(|left, right| self.order(left.0).cmp(self.order(right.0)));
        for (lane, entry) in open {
            for body in pause_bodies(&entry) {
                let frame = self.frame(lane, body);
                self.say_now(frame);
            }
        }
        self.terminal(None);
    }

    fn finish(&mut self, entry: &Arc<Entry>, status: Status) {
        self.working.stop(entry.at);
        self.status = status;
        self.flush(0);
        let worked_ms = self.worked(entry.at);
        self.lanes.values_mut().for_each(|lane| lane.interrupt(worked_ms));
        // Pauses of a failed run stay open: a retry that pauses sends them.
        if status != Status::Failed {
            self.open.clear();
        }
        let duration_ms = self.started_at.map_or(0, |started| entry.at.since(started));
        let body = Body::Ended { entry: Arc::clone(entry), total: Arc::new(self.total), duration_ms, reply_id: self.reply_id, last: self.last.clone() };
        self.say_at_root(body);
        self.terminal(Some(entry));
    }

    fn terminal(&mut self, entry: Option<&Arc<Entry>>) {
        let body = Body::Terminal { entry: entry.cloned(), status: self.status };
        self.say_at_root(body);
    }

    fn say_at_root(&mut self, body: Body) {
        let frame = self.frame(0, body);
        self.say_now(frame);
    }

    /// Gives a frame to both orders that waits for no branch.
    fn say_now(&mut self, frame: Frame) {
        self.happen(&frame);
        self.ordered.push(frame);
    }

    fn happen(&mut self, frame: &Frame) {
        if self.live_wanted {
            self.live.push(Frame { live: true, ..frame.clone() });
        } else {
            self.live.last += 1;
        }
    }
}

fn pause_bodies(entry: &Arc<Entry>) -> Vec<Body> {
    let asked = Body::Asked(Arc::clone(entry));
    if entry.lane == 0 { vec![asked] } else { vec![Body::Interrupt(Arc::clone(entry)), asked] }
}
