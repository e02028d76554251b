//! Owns the order of frames of concurrent branches: one branch after another, as declared.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::super::event::{BackTo, BranchLink, CallFinished, CallKind, CallStarted, Entry, LaneId, StepStarted, Warning};
use super::super::plan::NodeIndex;
use super::super::usage::Usage;
use super::super::{Id, Timestamp};
use super::Telling;
use super::frame::{Frame, Place, StepFacts};
use super::tool_results::ToolResults;

/// The held frames of a lane.
#[derive(Debug)]
pub(super) enum Item {
    Frame(Frame),
    /// The frames of a fork's branches come here.
    Fork,
    /// Numbers without a frame.
    Skip(u64),
}

/// A lane during encoding.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) place: Arc<Place>,
    pub(super) node: NodeIndex,
    above: Option<LaneId>,
    order: Vec<usize>,
    open: bool,
    settled: bool,
    waiting: VecDeque<Item>,
    forks: VecDeque<Fork>,
    step: Option<Step>,
    pub(super) tool_results: ToolResults,
    /// How long the run had worked when it began.
    began_ms: u64,
}

/// A fork of a lane; the lane may have closed it and opened the next one before the frames of the first are published.
#[derive(Debug)]
struct Fork {
    step: Id,
    children: Vec<Option<LaneId>>,
    current: usize,
    closed: bool,
}

#[derive(Debug)]
struct Step {
    id: Id,
    facts: StepFacts,
    /// How long the run had worked when it was entered; none while it waits.
    entered_ms: Option<u64>,
    calls: HashMap<String, (CallKind, bool)>,
    /// Published sources.
    sources: HashSet<String>,
}

/// The data of an ended call that the encoder needs.
#[derive(Debug, Default)]
pub(super) struct EndedCall {
    pub(super) kind: Option<CallKind>,
    pub(super) streamed: bool,
    /// Places of its sources that are new in its step.
    pub(super) sources: Vec<usize>,
}

impl StepFacts {
    /// Why a model's answer ended, and what people should know of it.
    fn hear(&mut self, call: &CallFinished) {
        if call.is_own_answer() && call.finish.is_some() {
            self.finish.clone_from(&call.finish);
        }
        Warning::collect(&mut self.warnings, &call.warnings);
    }
}

impl Lane {
    pub(super) fn root(place: Arc<Place>) -> Self {
        Self::new(place, None, Vec::new(), 0, true)
    }

    fn new(place: Arc<Place>, above: Option<LaneId>, order: Vec<usize>, began_ms: u64, open: bool) -> Self {
        Self {
            place,
            node: 0,
            above,
            order,
            open,
            settled: false,
            waiting: VecDeque::new(),
            forks: VecDeque::new(),
            step: None,
            tool_results: ToolResults::default(),
            began_ms,
        }
    }

    pub(super) fn iteration(&self) -> Option<u32> {
        self.step.as_ref().and_then(|step| step.facts.iteration)
    }

    pub(super) fn unsettle(&mut self) {
        self.settled = false;
    }

    pub(super) fn begin_step(&mut self, started: &StepStarted, node: NodeIndex, worked_ms: u64, branches: usize) {
        self.node = node;
        if let Some(step) = self.step.as_mut().filter(|step| started.resumed && step.id == started.step) {
            let before = step.entered_ms.replace(worked_ms);
            step.facts.worked_ms += before.map_or(0, |since| worked_ms.saturating_sub(since));
            return;
        }
        self.tool_results.clear();
        let facts = StepFacts { iteration: started.iteration, ..StepFacts::default() };
        self.step = Some(Step { id: started.step, facts, entered_ms: Some(worked_ms), calls: HashMap::new(), sources: HashSet::new() });
        if branches > 0 {
            self.forks.push_back(Fork { step: started.step, children: vec![None; branches], current: 0, closed: false });
        }
    }

    pub(super) fn wait(&mut self, worked_ms: u64) {
        self.stop_clock(worked_ms);
        self.settled = true;
    }

    fn stop_clock(&mut self, worked_ms: u64) {
        if let Some(step) = &mut self.step {
            step.facts.worked_ms += step.entered_ms.take().map_or(0, |since| worked_ms.saturating_sub(since));
        }
    }

    /// The run ended while a step of this lane was active. A fork only waits for its branches and continues with the run.
    pub(super) fn interrupt(&mut self, worked_ms: u64) {
        if self.forks.is_empty() {
            self.stop_clock(worked_ms);
        }
    }

    /// The step's figures, and whether it was a fork.
    pub(super) fn end_step(&mut self, worked_ms: u64) -> (StepFacts, bool) {
        self.wait(worked_ms);
        self.settled = false;
        let (facts, id) = self.step.take().map(|step| (step.facts, Some(step.id))).unwrap_or_default();
        self.tool_results.clear();
        let forked = self.forks.back().is_some_and(|fork| Some(fork.step) == id);
        (facts, forked)
    }

    pub(super) fn fail_step(&mut self, worked_ms: u64) -> StepFacts {
        self.wait(worked_ms);
        self.settled = false;
        self.step.as_ref().map(|step| step.facts.clone()).unwrap_or_default()
    }

    pub(super) fn call_started(&mut self, call: &CallStarted) {
        let Some(step) = &mut self.step else { return };
        step.calls.insert(call.key.clone(), (call.kind, call.streams));
        if matches!(call.kind, CallKind::Model | CallKind::Embedding) && call.name != "summarize" {
            step.facts.provider.clone_from(&call.provider);
            step.facts.model.clone_from(&call.model);
        }
    }

    pub(super) fn call_finished(&mut self, call: &CallFinished) -> EndedCall {
        let Some(step) = &mut self.step else { return EndedCall::default() };
        if let Some(usage) = &call.usage {
            step.facts.usage.get_or_insert_with(Usage::default).add(usage);
        }
        step.facts.hear(call);
        let own = call.sources.iter().enumerate().filter(|_| call.is_own_answer());
        let sources = own.filter(|(_, source)| step.sources.insert(source.source_id.clone())).map(|(at, _)| at).collect();
        let (kind, streamed) = step.calls.remove(&call.key).unzip();
        EndedCall { kind, streamed: streamed.unwrap_or(false), sources }
    }

    /// A streaming call that will never finish.
    pub(super) fn cut_stream(&mut self) -> bool {
        let Some(step) = &mut self.step else { return false };
        let before = step.calls.len();
        step.calls.retain(|_, (_, streams)| !*streams);
        step.calls.len() != before
    }
}

impl Telling {
    pub(super) fn order(&self, lane: LaneId) -> &[usize] {
        self.lanes.get(&lane).map_or(&[], |lane| &lane.order)
    }

    pub(super) fn queue(&mut self, id: LaneId, item: Item) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        if lane.open && lane.waiting.is_empty() {
            match item {
                Item::Frame(frame) => return self.ordered.push(frame),
                Item::Skip(count) => {
                    self.ordered.last += count;
                    return;
                }
                Item::Fork => lane.waiting.push_back(Item::Fork),
            }
        } else {
            lane.waiting.push_back(item);
        }
        if lane.open {
            self.pump(id);
        }
    }

    pub(super) fn skip(&mut self, lane: LaneId, count: u64) {
        self.queue(lane, Item::Skip(count));
    }

    /// Publishes the available frames of the current lane.
    fn pump(&mut self, id: LaneId) {
        loop {
            let Some(lane) = self.lanes.get_mut(&id) else { return };
            match lane.waiting.front() {
                None => return,
                Some(Item::Fork) => {
                    if !self.pump_fork(id) {
                        return;
                    }
                }
                Some(Item::Frame(_) | Item::Skip(_)) => match lane.waiting.pop_front() {
                    Some(Item::Frame(frame)) => self.ordered.push(frame),
                    Some(Item::Skip(count)) => self.ordered.last += count,
                    Some(Item::Fork) | None => {}
                },
            }
        }
    }

    /// Publishes branches in turn; true if the fork is closed and all its frames are published.
    fn pump_fork(&mut self, id: LaneId) -> bool {
        loop {
            let Some(lane) = self.lanes.get_mut(&id) else { return false };
            let Some(fork) = lane.forks.front() else {
                lane.waiting.pop_front();
                return true;
            };
            let Some(child) = fork.children.get(fork.current) else {
                if fork.closed {
                    self.forget_fork(id);
                    return true;
                }
                return false;
            };
            let Some(child) = *child else { return false };
            if let Some(lane) = self.lanes.get_mut(&child) {
                lane.open = true;
            }
            self.pump(child);
            if !self.is_published(child) {
                return false;
            }
            if let Some(lane) = self.lanes.get_mut(&child) {
                lane.open = false;
            }
            if let Some(fork) = self.lanes.get_mut(&id).and_then(|lane| lane.forks.front_mut()) {
                fork.current += 1;
            }
        }
    }

    fn forget_fork(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        lane.waiting.pop_front();
        for child in lane.forks.pop_front().into_iter().flat_map(|fork| fork.children).flatten() {
            self.lanes.remove(&child);
        }
    }

    /// All frames of a lane in this stretch are published.
    fn is_published(&self, id: LaneId) -> bool {
        let Some(lane) = self.lanes.get(&id) else { return true };
        match (lane.waiting.front(), lane.forks.front()) {
            (None, _) => lane.settled,
            (Some(Item::Fork), Some(fork)) if lane.waiting.len() == 1 => {
                !fork.closed && fork.current >= fork.children.len() && self.waits(id)
            }
            (Some(_), _) => false,
        }
    }

    /// A lane comes to a stop in this stretch: the next branch has its turn.
    pub(super) fn settle(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        lane.settled = true;
        if lane.open {
            self.pump(0);
        }
    }

    /// Whether an open pause is in a lane or under it.
    fn waits(&self, id: LaneId) -> bool {
        self.open.iter().any(|(lane, _)| self.is_under(*lane, id))
    }

    pub(super) fn branch_started(&mut self, entry: &Arc<Entry>, fork: Id, branch: &Arc<str>, parent: LaneId) {
        let Some(above) = self.lanes.get_mut(&parent) else { return };
        let Some(open) = above.forks.iter_mut().rev().find(|open| open.step == fork) else { return };
        let Some(index) = open.children.iter().position(Option::is_none) else { return };
        open.children[index] = Some(entry.lane);
        let began_ms = self.worked(entry.at);
        self.add_branch(entry.lane, parent, index, branch, fork, began_ms);
        self.pump(0);
        self.say_body(entry.lane, super::Body::BranchStarted);
    }

    fn add_branch(&mut self, id: LaneId, parent: LaneId, index: usize, branch: &Arc<str>, fork: Id, began_ms: u64) {
        let Some(above) = self.lanes.get(&parent) else { return };
        let path: Vec<Arc<str>> = above.place.path.iter().cloned().chain([Arc::clone(branch)]).collect();
        let order: Vec<usize> = above.order.iter().copied().chain([index]).collect();
        let facts = Arc::clone(&self.facts);
        let place = Place { facts, branch: Some(Arc::clone(branch)), path, fork: Some((fork, above.node)) };
        self.lanes.insert(id, Box::new(Lane::new(Arc::new(place), Some(parent), order, began_ms, false)));
    }

    pub(super) fn branch_ended(&mut self, entry: &Arc<Entry>) {
        let Some(lane) = self.lanes.get(&entry.lane) else { return };
        let duration_ms = self.worked(entry.at).saturating_sub(lane.began_ms);
        self.say_body(entry.lane, super::Body::BranchEnded { duration_ms });
        self.settle(entry.lane);
    }

    /// The fork's step ended: what follows in its lane comes after all branches.
    pub(super) fn close_fork(&mut self, id: LaneId) {
        if let Some(fork) = self.lanes.get_mut(&id).and_then(|lane| lane.forks.back_mut()) {
            fork.closed = true;
        }
        self.pump(0);
    }

    /// Work goes on after a rest: branches that go on have their turn again.
    pub(super) fn reopen_forks(&mut self) {
        let ids: Vec<LaneId> = self.lanes.keys().copied().collect();
        for id in ids {
            let Some(children) = self.lanes.get(&id).and_then(|lane| lane.forks.front()).map(|fork| fork.children.clone())
            else {
                continue;
            };
            let first = children.iter().position(|child| child.is_none_or(|child| !self.quiet(child)));
            for child in children.iter().flatten() {
                if let Some(lane) = self.lanes.get_mut(child) {
                    lane.open = false;
                }
            }
            if let Some(fork) = self.lanes.get_mut(&id).and_then(|lane| lane.forks.front_mut()) {
                fork.current = first.unwrap_or(children.len());
            }
        }
        self.pump(0);
    }

    /// A lane without further frames before the next answer.
    fn quiet(&self, id: LaneId) -> bool {
        let Some(lane) = self.lanes.get(&id) else { return true };
        match lane.forks.front() {
            Some(fork) if !fork.closed => fork.children.iter().all(|child| child.is_some_and(|child| self.quiet(child))),
            Some(_) | None => lane.settled,
        }
    }

    /// Publishes all held frames, branch by branch, because the run has paused or ended.
    pub(super) fn flush(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let waiting = std::mem::take(&mut lane.waiting);
        for item in waiting {
            match item {
                Item::Frame(frame) => self.ordered.push(frame),
                Item::Skip(count) => self.ordered.last += count,
                Item::Fork => self.flush_fork(id),
            }
        }
    }

    fn flush_fork(&mut self, id: LaneId) {
        let Some(fork) = self.lanes.get_mut(&id).and_then(|lane| lane.forks.pop_front()) else { return };
        for child in fork.children.iter().flatten() {
            self.flush(*child);
        }
        if fork.closed {
            for child in fork.children.iter().flatten() {
                self.lanes.remove(child);
            }
        } else if let Some(lane) = self.lanes.get_mut(&id) {
            lane.forks.push_front(fork);
            lane.waiting.push_back(Item::Fork);
        }
    }

    /// Whether a lane is another one or under it.
    pub(super) fn is_under(&self, lane: LaneId, other: LaneId) -> bool {
        let above = |lane: &LaneId| self.lanes.get(lane).and_then(|lane| lane.above);
        std::iter::successors(Some(lane), above).any(|lane| lane == other)
    }

    /// A retry goes back to a step: its lane starts from there, closed forks around it are open again.
    pub(super) fn go_back(&mut self, back: &BackTo, at: Timestamp) {
        for link in &back.chain {
            let known = self.lanes.get(&link.parent).is_some_and(|lane| lane.forks.iter().any(|fork| fork.step == link.fork));
            if !known {
                // The lane had gone on behind its fork; what waits there is obsolete.
                self.forget_pauses(link.parent);
                self.reopen_fork(link, at);
            }
            if let Some(above) = self.lanes.get_mut(&link.parent) {
                above.settled = false;
            }
        }
        self.forget_pauses(back.lane);
        if let Some(lane) = self.lanes.get_mut(&back.lane) {
            lane.forks.clear();
            lane.waiting.clear();
            lane.step = None;
            lane.settled = false;
        }
        self.reopen_forks();
    }

    /// Pauses in a lane and under it are not open any more.
    fn forget_pauses(&mut self, lane: LaneId) {
        let open = std::mem::take(&mut self.open);
        self.open = open.into_iter().filter(|(other, _)| !self.is_under(*other, lane)).collect();
    }

    fn reopen_fork(&mut self, link: &BranchLink, at: Timestamp) {
        let worked_ms = self.worked(at);
        let node = self.facts.plan.find(&link.fork_node).unwrap_or_default();
        let Some(above) = self.lanes.get_mut(&link.parent) else { return };
        let mut children = vec![Some(LaneId::MAX); link.branches];
        if let Some(place) = children.get_mut(link.index) {
            *place = Some(link.lane);
        }
        above.node = node;
        above.forks = VecDeque::from([Fork { step: link.fork, children, current: 0, closed: false }]);
        above.waiting = VecDeque::from([Item::Fork]);
        let facts = StepFacts { iteration: link.iteration, ..StepFacts::default() };
        above.step = Some(Step { id: link.fork, facts, entered_ms: Some(worked_ms), calls: HashMap::new(), sources: HashSet::new() });
        self.add_branch(link.lane, link.parent, link.index, &link.branch, link.fork, worked_ms);
    }
}
