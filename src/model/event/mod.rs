//! Owns the entries of a run's log: everything that happened to the run, in order.

mod answer;
mod call;
mod created;
pub(crate) mod fallback;
mod fault;
mod question;
mod step;
pub(in crate::model) mod weight;
mod warning;

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use answer::{Answer, BackTo, BranchLink, Decision, DoubtAction, DoubtAnswer, Resumed, Retried};
pub use call::{AskedWith, CallFinished, CallKind, CallOutcome, CallServer, CallStarted, CostSource, OWN_MODEL, ToolOutcome};
pub use created::{Created, EntityKind};
pub use fallback::{ModelFallback, ModelName};
pub use fault::{DoubtfulCall, Fault, FaultCode};
pub use question::{Asked, OpenQuestion, Question, QuestionAnswer};
pub use step::{Measured, Pause, PauseReason, PureOutcome, StepCompleted, StepRan, StepStarted, Turn};
pub use warning::Warning;
pub(super) use weight::of_value as weight_of;

use super::chat::ToolCall;
use super::{Id, Timestamp};

/// Number of an entry in its run's log, from 1.
pub type Seq = u64;
/// Number of a lane in its run: 0 is the root, each branch that starts gets the next.
pub type LaneId = u32;
/// SHA-256 in hex of a part that is stored once, beside the log.
pub type PartHash = Arc<str>;
/// The name of an edge's end; those that nodes leave by are known to the program.
pub type Handle = std::borrow::Cow<'static, str>;
/// What a step did to the state: the top-level keys that it wrote, with their values.
pub type Change = IndexMap<Arc<str>, Arc<Value>>;

/// One entry of a run's log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its number.
    pub seq: Seq,
    /// When it was appended.
    pub at: Timestamp,
    /// The lane that it happened in.
    pub lane: LaneId,
    /// What happened.
    pub event: Event,
}

/// What happened to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The run was made; nothing ran yet.
    Created(Arc<Created>),
    /// An owner goes to work on it: the first time, or after it waited in the queue.
    Began,
    /// A pause was answered.
    Resumed(Box<Resumed>),
    /// A person asked to try a failed run again.
    Retried(Box<Retried>),
    /// Another owner goes on with a run that the former one gave back or lost.
    TakenOver {
        /// Owners that were lost one after another since a step completed; one that gave the run back is not counted.
        count: u32,
        /// Working time in milliseconds, as the former owner stored it last. Absent in logs of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worked_ms: Option<u64>,
    },
    /// The owner noticed that the wall clock went ahead of the time that passed while it drove the run.
    ClockJumped {
        /// By so many milliseconds, up to this entry.
        ahead_ms: i64,
    },
    /// A retryable failure of a queued run; it waits and goes on by itself.
    Requeued {
        /// Why.
        fault: Fault,
        /// How long it waits.
        delay_ms: u64,
    },
    /// A step that needs nothing from the world began and ended.
    StepRan(Box<StepRan>),
    /// A step began, or was entered again.
    StepStarted(Box<StepStarted>),
    /// An attempt failed; another follows.
    StepRetrying {
        /// The step.
        step: Id,
        /// The next attempt.
        attempt: u32,
        /// The wait before it.
        delay_ms: u64,
        /// Why the attempt failed.
        fault: Fault,
    },
    /// A step ended well.
    StepCompleted(Box<StepCompleted>),
    /// A step ended badly.
    StepFailed {
        /// The step.
        step: Id,
        /// Why.
        fault: Fault,
    },
    /// The conversation that a step's model calls begin with, as parts; made once, read back when the step is entered again.
    PromptBuilt {
        /// The step.
        step: Id,
        /// Which prompt of the step: `agent`, `summarize`, or the call that a specialist answers.
        prompt: String,
        /// The parts, in order.
        parts: Vec<PartHash>,
        /// Of the summariser's prompt: the messages that its answer will stand for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        covers: Vec<Id>,
    },
    /// A model requested tool calls; published at once.
    ToolsCalled {
        /// The step.
        step: Id,
        /// The calls in model order.
        calls: Vec<ToolCall>,
        /// The call whose specialist asks, in Tool Mode.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_call_id: Option<String>,
        /// The servers that the calls are for, by the calls' ids. Absent in logs of earlier versions.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        servers: BTreeMap<String, CallServer>,
    },
    /// A call is about to be made: durable before it is.
    CallStarted(Arc<CallStarted>),
    /// A call ended: never made again when it ended well.
    CallFinished(Box<CallFinished>),
    /// Another model is asked instead of one whose call failed.
    ModelFallback(Box<ModelFallback>),
    /// A stored node result was used instead of running.
    CheckpointHit {
        /// The step.
        step: Id,
        /// What the node read.
        input_hash: String,
    },
    /// A measured piece that is no call: memory compaction, context truncation.
    Measured(Box<Measured>),
    /// A branch began; the entry's lane is the branch's own.
    BranchStarted {
        /// The step of the fork.
        fork: Id,
        /// The branch.
        branch: Arc<str>,
        /// The lane that forked.
        parent: LaneId,
    },
    /// The branch of this lane reached its end.
    BranchEnded,
    /// The lane waits for a person.
    Paused(Box<Pause>),
    /// The run waits: every lane is paused, waiting or done.
    Rested {
        /// For what, by its earliest open pause.
        status: super::run::Status,
    },
    /// The run finished.
    Completed {
        /// The final state without internal keys.
        output: Arc<Map<String, Value>>,
        /// What the run answers.
        reply: Option<String>,
    },
    /// The run failed; it can be retried.
    Failed {
        /// Why.
        fault: Fault,
        /// Where, when it was in a step.
        node: Option<Arc<str>>,
    },
    /// The run was cancelled.
    Cancelled {
        /// The active node.
        node: Option<Arc<str>>,
    },
}
