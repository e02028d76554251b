//! Owns one lane of a run: its position, state, loops and open step.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::super::event::{
    Answer, Asked, CallOutcome, CallServer, CallStarted, Decision, DoubtAnswer, FaultCode, LaneId, PartHash, Pause, StepStarted, Turn, Warning,
};
use super::super::plan::{NodeIndex, Plan};
use super::super::state::State;
use super::super::usage::Usage;
use super::super::{Id, Timestamp};
use super::current_model::Fallbacks;

/// A line of execution: the root, or one branch of a fork.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Its number.
    pub id: LaneId,
    /// None for the root.
    pub branch: Option<Branch>,
    /// The workflow's state as this lane sees it.
    pub state: State,
    /// Where it is.
    pub at: At,
    /// Loops that it is inside of, outermost first.
    pub frames: Vec<Frame>,
    /// The step that began and has not ended.
    pub step: Option<Box<OpenStep>>,
    /// Turns that are not yet part of a stored history.
    pub turns: Vec<Turn>,
    /// The text that the last publishing step wrote.
    pub reply: Option<String>,
    /// Results of the fork that just closed, for its join.
    pub joined: Option<Vec<(Arc<str>, Value)>>,
}

/// Where a lane of a fork belongs.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The lane that forked.
    pub parent: LaneId,
    /// Its fork step.
    pub fork: Id,
    /// The fork's node.
    pub fork_node: NodeIndex,
    /// Its place in declaration order.
    pub index: usize,
    /// Its id.
    pub id: Arc<str>,
    /// Ids of the branches from the outermost fork inwards.
    pub path: Arc<[Arc<str>]>,
    /// Places of the same branches.
    pub order: Arc<[usize]>,
    /// The state that it began with.
    pub start: State,
    /// The scope that it began in: `loop_1#2/fork_1:b`.
    pub scope: Arc<str>,
    /// The iteration that it began in.
    pub iteration: Option<u32>,
    /// The join that ends it.
    pub join: Option<NodeIndex>,
}

/// Where a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// At a node that runs next, or that its open step is of.
    Node(NodeIndex),
    /// Done.
    End,
}

/// A loop that a lane is inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The loop node.
    pub node: NodeIndex,
    /// Its visits since it was entered.
    pub count: u32,
}

/// A step that began and has not ended.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct OpenStep {
    pub id: Id,
    pub node: NodeIndex,
    /// From 1.
    pub attempt: u32,
    /// How often it was tried again by itself since it began or a retry entered it.
    pub retries: u32,
    /// As published.
    pub iteration: Option<u32>,
    /// The child run of a stored agent.
    pub child_run: Option<Id>,
    /// When it first began.
    pub started_at: Timestamp,
    /// It must be published again before it continues.
    pub reenter: bool,
    /// It failed; the run did too, or is about to.
    pub failed: bool,
    /// Why it failed last.
    pub fault: Option<FaultCode>,
    /// Calls by key.
    pub calls: HashMap<String, Call>,
    /// Published tool calls, and for each the call whose specialist made it.
    pub announced: HashMap<String, Option<String>>,
    /// The servers that its tool calls are for, by the calls' ids.
    pub servers: HashMap<String, CallServer>,
    /// Prompts by name.
    pub prompts: HashMap<String, Vec<PartHash>>,
    /// Messages that a summary made in this step stands for.
    pub covers: Vec<Id>,
    /// Keys of what was measured.
    pub measured: HashSet<String>,
    /// What it waits for.
    pub pause: Option<Box<Pause>>,
    /// How many answers the run had when that began.
    pub paused_after: usize,
    /// Answers to its tool calls.
    pub decisions: HashMap<String, Decision>,
    /// Calls that its pauses asked about: they are the step's own before they are announced.
    pub gated: HashSet<String>,
    /// The answer to its human pause.
    pub answer: Option<Answer>,
    /// What its calls asked people, by key.
    pub asked: HashMap<String, Asked>,
    /// What people said to that, by the call's key and the question's.
    pub said: HashMap<String, BTreeMap<String, Value>>,
    /// Answers to calls in doubt.
    pub doubts: HashMap<String, DoubtAnswer>,
    /// What its calls took.
    pub usage: Usage,
    /// What people should know of its calls; each once.
    pub warnings: Vec<Warning>,
    /// Of its last model call.
    pub provider: Option<String>,
    /// Of its last model call.
    pub model: Option<String>,
    /// Who is asked instead of its first models.
    pub fallbacks: Fallbacks,
    pub fork: Option<Box<OpenFork>>,
}

/// A call of an open step.
#[derive(Clone, Debug)]
pub enum Call {
    /// Begun; its outcome is not known.
    Open(Arc<CallStarted>),
    /// Ended well.
    Done(Box<Finished>),
}

/// A call that ended well.
#[derive(Clone, Debug)]
pub struct Finished {
    /// What it gave.
    pub outcome: CallOutcome,
    /// Of a structured model answer.
    pub structured: Option<Value>,
    /// Of a model.
    pub finish: Option<String>,
    /// What it took.
    pub usage: Option<Usage>,
    /// Of a model that was asked several times for one answer: the tokens that it was sent last.
    pub last_prompt: Option<u64>,
}

/// The branches of a fork that is open.
#[derive(Clone, Debug)]
pub struct OpenFork {
    /// In declaration order.
    pub branches: Vec<BranchState>,
}

/// How far a branch is.
#[derive(Clone, Debug)]
pub enum BranchState {
    /// Not begun.
    Waiting,
    /// Begun.
    Open(LaneId),
    /// Ended.
    Done(Box<BranchDone>),
}

/// What a branch left behind.
#[derive(Clone, Debug)]
pub struct BranchDone {
    /// Its id.
    pub id: Arc<str>,
    /// Its result.
    pub value: Value,
    /// Its turns.
    pub turns: Vec<Turn>,
    /// Its last published text.
    pub reply: Option<String>,
}

impl OpenStep {
    /// The tool call of that id is this step's.
    pub fn has_call(&self, call_id: &str) -> bool {
        self.announced.contains_key(call_id) || self.gated.contains(call_id)
    }

    pub(super) fn new(started: &StepStarted, node: NodeIndex, at: Timestamp) -> Self {
        Self {
            id: started.step,
            node,
            attempt: started.attempt,
            retries: 0,
            iteration: started.iteration,
            child_run: started.child_run,
            started_at: at,
            reenter: false,
            failed: false,
            fault: None,
            calls: HashMap::new(),
            announced: HashMap::new(),
            servers: HashMap::new(),
            prompts: HashMap::new(),
            covers: Vec::new(),
            measured: HashSet::new(),
            pause: None,
            paused_after: 0,
            decisions: HashMap::new(),
            gated: HashSet::new(),
            answer: None,
            asked: HashMap::new(),
            said: HashMap::new(),
            doubts: HashMap::new(),
            usage: Usage::default(),
            warnings: Vec::new(),
            provider: None,
            model: None,
            fallbacks: Fallbacks::default(),
            fork: None,
        }
    }
}

impl Lane {
    /// The root lane at its first node.
    #[must_use]
    pub fn root(state: State, at: At) -> Self {
        Self { id: 0, branch: None, state, at, frames: Vec::new(), step: None, turns: Vec::new(), reply: None, joined: None }
    }

    /// The count that a visit of a loop node has.
    pub fn visit(&self, node: NodeIndex) -> u32 {
        self.frames.iter().find(|frame| frame.node == node).map_or(1, |frame| frame.count + 1)
    }

    /// Enters or iterates a loop: frames opened after it are dropped.
    pub(super) fn iterate(&mut self, node: NodeIndex) {
        match self.frames.iter().position(|frame| frame.node == node) {
            Some(place) => {
                self.frames.truncate(place + 1);
                self.frames[place].count += 1;
            }
            None => self.frames.push(Frame { node, count: 1 }),
        }
    }

    /// Leaves a loop for good.
    pub(super) fn exit(&mut self, node: NodeIndex) {
        self.frames.retain(|frame| frame.node != node);
    }

    /// Goes on to the node that a handle leads to, or ends; loops out of reach are left.
    pub(super) fn leave(&mut self, plan: &Plan, node: NodeIndex, handle: &str) {
        self.go(plan, plan.next(node, handle));
    }

    pub(super) fn go(&mut self, plan: &Plan, next: Option<NodeIndex>) {
        let join = self.branch.as_ref().and_then(|branch| branch.join);
        self.at = match next {
            Some(next) if Some(next) != join => At::Node(next),
            Some(_) | None => At::End,
        };
        if let At::Node(next) = self.at
            && !self.frames.is_empty()
        {
            self.frames.retain(|frame| frame.node == next || plan.reaches_loop(next, frame.node));
        }
    }

    /// The iteration in the events of a step at a node; a loop node's own visit counts.
    pub fn iteration(&self, visit: Option<u32>) -> Option<u32> {
        visit
            .or_else(|| self.frames.last().map(|frame| frame.count))
            .or_else(|| self.branch.as_ref().and_then(|branch| branch.iteration))
    }

    /// The scope of a step: `loop_1#2/fork_1:b`; empty at top level.
    pub fn scope(&self, plan: &Plan) -> String {
        let mut scope = self.branch.as_ref().map(|branch| branch.scope.to_string()).unwrap_or_default();
        for frame in &self.frames {
            if !scope.is_empty() {
                scope.push('/');
            }
            scope.push_str(&plan.node(frame.node).id);
            scope.push('#');
            scope.push_str(&frame.count.to_string());
        }
        scope
    }

    /// Ids of its branches from the outermost fork inwards.
    pub fn path(&self) -> &[Arc<str>] {
        self.branch.as_ref().map_or(&[], |branch| &branch.path)
    }

    /// Positions of its branches in declaration order, by which lanes are sorted.
    pub fn order(&self) -> &[usize] {
        self.branch.as_ref().map_or(&[], |branch| &branch.order)
    }

    /// The open pause of this lane.
    pub fn pause(&self) -> Option<&Pause> {
        self.step.as_ref().and_then(|step| step.pause.as_deref())
    }

    /// It is at a node and waits for nobody: neither for a person nor for the branches of a fork.
    pub fn can_go_on(&self) -> bool {
        matches!(self.at, At::Node(_)) && self.pause().is_none() && self.fork().is_none()
    }

    /// The open fork of this lane.
    pub fn fork(&self) -> Option<&OpenFork> {
        self.step.as_ref().and_then(|step| step.fork.as_deref())
    }
}
