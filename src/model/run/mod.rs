//! Owns a run: the fold of its log, and the only definition of its status, state, lanes and pauses.

mod accept;
mod answered;
mod apply;
mod branches;
mod current_model;
mod in_doubt;
mod lane;
mod rewind;
mod script_counters;
pub mod working_time;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use lane::{At, Branch, BranchDone, BranchState, Call, Finished, Frame, Lane, OpenFork, OpenStep};
pub use rewind::Spot;
pub use script_counters::Scripted;

use super::event::{Created, Entry, Event, Fault, LaneId, Pause, PauseReason, Seq};
use super::plan::Plan;
use super::state::State;
use super::trace_context::TraceContext;
use super::usage::Usage;
use super::{Id, Timestamp};
use working_time::WorkingTime;

/// Spans of the host that are remembered of one attempt.
const MOST_LINKS: usize = 32;

named! {
    /// Where a run stands.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Status {
        /// Waits for a worker.
        Queued = "queued",
        /// It has an owner.
        Running = "running",
        /// Waits at a human node.
        AwaitingInput = "awaiting_input",
        /// Waits before an approval-gated tool.
        AwaitingToolApproval = "awaiting_tool_approval",
        /// Finished.
        Completed = "completed",
        /// Ended by an error; can be retried.
        Failed = "failed",
        /// Ended by a cancel request.
        Cancelled = "cancelled",
    }
}

impl Status {
    /// It has no owner and needs an action to continue.
    pub const fn at_rest(self) -> bool {
        match self {
            Self::Queued | Self::Running => false,
            Self::AwaitingInput | Self::AwaitingToolApproval | Self::Completed | Self::Failed | Self::Cancelled => true,
        }
    }

    /// It waits for a person.
    pub const fn paused(self) -> bool {
        matches!(self, Self::AwaitingInput | Self::AwaitingToolApproval)
    }

    /// It is over.
    pub const fn terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// Why a log entry cannot follow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run cannot take this entry: {0}")]
pub struct Refusal(pub &'static str);

/// A run: what its log says.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its id.
    pub id: Id,
    /// How it was made.
    pub created: Arc<Created>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its graph.
    pub plan: Arc<Plan>,
    /// Where it stands.
    pub status: Status,
    /// Its last entry.
    pub head: Seq,
    /// Its lanes; the root is 0.
    pub lanes: BTreeMap<LaneId, Box<Lane>>,
    /// The next lane's number.
    pub next_lane: LaneId,
    /// When it first began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// When it last paused or ended.
    pub rested_at: Option<Timestamp>,
    /// Execution time.
    pub working: WorkingTime,
    /// Time that it waited for people.
    pub waiting_ms: u64,
    /// What its own calls took.
    pub own: Usage,
    /// What its children's calls took.
    pub children: BTreeMap<Id, Child>,
    /// Why it failed, and where.
    pub failure: Option<(Fault, Option<Arc<str>>)>,
    /// What it gave.
    pub output: Option<Arc<serde_json::Map<String, Value>>>,
    /// What it answered.
    pub reply: Option<String>,
    /// Steps begun since it was made or last tried again.
    pub steps: u64,
    /// Execution time before the last retry.
    pub spent_ms: u64,
    /// From 1; a retry is the next.
    pub attempt: u32,
    /// When it was last tried again.
    pub tried_at: Option<Timestamp>,
    /// Takeovers since a step completed.
    pub takeovers: u32,
    /// Answered pauses, with the node that they were at.
    pub answered: HashMap<Id, Arc<str>>,
    /// Replies that scripted models used, by asking node.
    pub scripted: HashMap<Arc<str>, Scripted>,
    /// Ids of all tool calls so far, those that wait for a person included.
    pub call_ids: HashSet<String>,
    /// How often the queue tried it again.
    pub requeued: u32,
    /// How long it waits in the queue before it goes on.
    pub delay_ms: i64,
    /// Turns of histories that live as long as the run.
    pub memory: Vec<super::event::Turn>,
    /// The spans of the host that this attempt went on in, the newest last.
    pub links: Vec<Arc<TraceContext>>,
    /// The approximate size of its log in bytes, as its owner counts it.
    pub weight: u64,
    marks: rewind::Marks,
}

/// A child run: the step of a stored agent.
#[derive(Clone, Debug)]
pub struct Child {
    /// The agent's node.
    pub node: Arc<str>,
    /// What its calls took.
    pub usage: Usage,
    /// How it stands.
    pub status: Status,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// When it began to wait for a person.
    pub paused_at: Option<Timestamp>,
    /// Execution time, without the waiting for people.
    pub working: WorkingTime,
    /// Time that it waited for people.
    pub waiting_ms: u64,
    /// Why it failed.
    pub fault: Option<Fault>,
}

impl Child {
    /// Its step begins, or is entered again.
    fn work(&mut self, at: Timestamp) {
        self.go_on(at);
        self.working.start(at);
        (self.status, self.finished_at, self.fault) = (Status::Running, None, None);
    }

    /// It waits for a person.
    fn wait(&mut self, status: Status, at: Timestamp) {
        self.working.stop(at);
        (self.status, self.paused_at) = (status, Some(at));
    }

    /// The person answered.
    fn go_on(&mut self, at: Timestamp) {
        self.waiting_ms += self.paused_at.take().map_or(0, |since| at.since(since));
    }

    fn end(&mut self, status: Status, at: Timestamp) {
        self.go_on(at);
        self.working.stop(at);
        (self.status, self.finished_at) = (status, Some(at));
    }
}

impl Run {
    /// The run that a creating entry makes.
    #[must_use]
    pub fn new(id: Id, entry: &Entry, created: Arc<Created>, plan: Arc<Plan>) -> Self {
        let mut state = State::from_json(created.state.clone());
        state.set("input".into(), Arc::new(Value::String(created.message.clone())));
        if !created.attachments.is_empty() {
            state.set("attachments".into(), Arc::new(serde_json::json!(created.attachments)));
        }
        let at = plan.entry().map_or(At::End, At::Node);
        let mut lanes = BTreeMap::new();
        lanes.insert(0, Box::new(Lane::root(state, at)));
        Self {
            id,
            created,
            created_at: entry.at,
            plan,
            status: Status::Queued,
            head: entry.seq,
            lanes,
            next_lane: 1,
            started_at: None,
            finished_at: None,
            rested_at: None,
            working: WorkingTime::default(),
            waiting_ms: 0,
            own: Usage::default(),
            children: BTreeMap::new(),
            failure: None,
            output: None,
            reply: None,
            steps: 0,
            spent_ms: 0,
            attempt: 1,
            tried_at: None,
            takeovers: 0,
            answered: HashMap::new(),
            scripted: HashMap::new(),
            call_ids: HashSet::new(),
            requeued: 0,
            delay_ms: 0,
            memory: Vec::new(),
            links: Vec::new(),
            weight: 0,
            marks: rewind::Marks::default(),
        }
    }

    /// The span of the host that it was started or last gone on in.
    pub fn host_span(&self) -> Option<&Arc<TraceContext>> {
        self.links.last().or(self.created.trace.as_ref())
    }

    /// This attempt goes on in a span of the host; the oldest of very many is forgotten.
    fn link(&mut self, span: Option<&Arc<TraceContext>>) {
        let Some(span) = span else { return };
        if self.links.len() == MOST_LINKS {
            self.links.remove(0);
        }
        self.links.push(Arc::clone(span));
    }

    /// Folds a whole log. `plan` makes the graph's plan of what the first entry says.
    ///
    /// # Errors
    /// When an entry cannot follow those before it.
    pub fn fold(id: Id, log: &[Arc<Entry>], plan: Arc<Plan>) -> Result<Self, Refusal> {
        Self::fold_towards(id, log, plan, None)
    }

    /// Folds a whole log, ready to go back to a step.
    ///
    /// # Errors
    /// When an entry cannot follow those before it.
    pub fn fold_towards(id: Id, log: &[Arc<Entry>], plan: Arc<Plan>, step: Option<Id>) -> Result<Self, Refusal> {
        let Some((first, rest)) = log.split_first() else { return Err(Refusal("the log is empty")) };
        let Event::Created(created) = &first.event else { return Err(Refusal("it does not begin with its creation")) };
        let mut run = Self::new(id, first, Arc::clone(created), plan);
        run.marks.want(wanted_steps(rest).chain(step));
        for entry in rest {
            run.accepts(entry.lane, &entry.event)?;
            run.apply(entry);
        }
        Ok(run)
    }

    /// All open pauses, earliest first: declaration order of branches, outermost fork first.
    pub fn pauses(&self) -> Vec<(&Lane, &Pause)> {
        let mut open: Vec<_> = self.lanes.values().filter_map(|lane| Some((&**lane, lane.pause()?))).collect();
        open.sort_by(|left, right| left.0.order().cmp(right.0.order()));
        open
    }

    /// A branch of it can go on.
    pub fn has_work(&self) -> bool {
        self.lanes.values().any(|lane| lane.can_go_on())
    }

    /// The status of the earliest open pause.
    pub fn paused_status(&self) -> Option<Status> {
        self.pauses().first().map(|(_, pause)| match pause.reason {
            PauseReason::Human { .. } => Status::AwaitingInput,
            PauseReason::Approval { .. } => Status::AwaitingToolApproval,
        })
    }

    /// What it took with its children.
    pub fn total(&self) -> Usage {
        let mut total = self.own;
        for child in self.children.values() {
            total.add(&child.usage);
        }
        total
    }

    /// Execution time up to now.
    pub fn worked(&self, now: Timestamp) -> u64 {
        self.working.until(now)
    }

    /// The text that the run answers: a stop node's, else the last published.
    pub fn answer(&self) -> Option<String> {
        self.reply.clone().or_else(|| self.lanes.get(&0)?.reply.clone())
    }

    /// Whether a turn that begins with this message is held here: it lives as long as the run, or is not part of a stored history yet.
    pub fn holds_turn(&self, message: Id) -> bool {
        let begins = |turn: &super::event::Turn| turn.ids.first() == Some(&message);
        let ended = |lane: &Lane| {
            lane.fork().is_some_and(|fork| {
                fork.branches.iter().any(|branch| matches!(branch, BranchState::Done(done) if done.turns.iter().any(begins)))
            })
        };
        self.memory.iter().any(begins) || self.lanes.values().any(|lane| lane.turns.iter().any(begins) || ended(lane))
    }
}

/// Steps that retries of a log go back to.
pub(super) fn wanted_steps(log: &[Arc<Entry>]) -> impl Iterator<Item = Id> + '_ {
    log.iter().filter_map(|entry| if let Event::Retried(retried) = &entry.event { retried.from_step } else { None })
}

impl Run {
    /// Steps that later entries go back to.
    pub(super) fn want(&mut self, steps: impl Iterator<Item = Id>) {
        self.marks.want(steps);
    }
}
