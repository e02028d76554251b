//! Owns the entries of a run's log: everything that ever happened to a run, in the order in which it happened.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::chat::{Attachment, ToolCall};
use super::usage::Usage;
use super::{Id, Timestamp};

/// Number of an entry in its run's log, from 1.
pub type Seq = u64;
/// Number of a lane in its run: 0 is the root, each branch that starts gets the next.
pub type LaneId = u32;
/// SHA-256 in hex of a part that is stored once, beside the log.
pub type PartHash = Arc<str>;
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
    Created(Box<Created>),
    /// An owner goes to work on it: the first time, or after it waited in the queue.
    Began,
    /// A pause was answered.
    Resumed(Box<Resumed>),
    /// A person asked to try a failed run again.
    Retried(Box<Retried>),
    /// Another owner goes on with a run whose lease expired; the count of takeovers since a step completed.
    TakenOver {
        /// From 1.
        count: u32,
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
        /// Which prompt of the step: `agent`, or the path of a specialist.
        prompt: String,
        /// The parts, in order.
        parts: Vec<PartHash>,
    },
    /// A model asked for tools; told to readers at once.
    ToolsCalled {
        /// The step.
        step: Id,
        /// The calls in model order.
        calls: Vec<ToolCall>,
        /// The call whose specialist asks, in Tool Mode.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_call_id: Option<String>,
    },
    /// A call is about to be made: durable before it is.
    CallStarted(Box<CallStarted>),
    /// A call ended: never made again when it ended well.
    CallFinished(Box<CallFinished>),
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
        output: Map<String, Value>,
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
        /// The node that was at work.
        node: Option<Arc<str>>,
    },
}

/// Why a step or a run failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// A run code of the contract, such as `provider_timeout`.
    pub code: FaultCode,
    /// For people.
    pub message: String,
    /// With `structured_invalid`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validation_errors: Vec<String>,
    /// With `in_doubt`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<DoubtfulCall>,
}

impl Fault {
    /// A fault of a code with a message.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), validation_errors: Vec::new(), calls: Vec::new() }
    }
}

/// Codes of run failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the run codes of the contract")]
pub enum FaultCode {
    Cancelled,
    ContextOverflow,
    CredentialMissing,
    ExpressionError,
    InDoubt,
    Internal,
    KnowledgeBaseFailed,
    KnowledgeBaseMissing,
    MaxStepsExceeded,
    McpUnavailable,
    NestingLimit,
    NodeTimeout,
    ProviderAuth,
    ProviderBadRequest,
    ProviderContentFiltered,
    ProviderProtocol,
    ProviderRateLimited,
    ProviderTimeout,
    ProviderUnavailable,
    RunStepLimit,
    RunTimeout,
    StateTooLarge,
    StoreUnavailable,
    StructuredInvalid,
    ToolFailed,
    ToolLimit,
    ToolNotFound,
    WorkerLost,
}

impl FaultCode {
    /// The code as it is told.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::ContextOverflow => "context_overflow",
            Self::CredentialMissing => "credential_missing",
            Self::ExpressionError => "expression_error",
            Self::InDoubt => "in_doubt",
            Self::Internal => "internal",
            Self::KnowledgeBaseFailed => "knowledge_base_failed",
            Self::KnowledgeBaseMissing => "knowledge_base_missing",
            Self::MaxStepsExceeded => "max_steps_exceeded",
            Self::McpUnavailable => "mcp_unavailable",
            Self::NestingLimit => "nesting_limit",
            Self::NodeTimeout => "node_timeout",
            Self::ProviderAuth => "provider_auth",
            Self::ProviderBadRequest => "provider_bad_request",
            Self::ProviderContentFiltered => "provider_content_filtered",
            Self::ProviderProtocol => "provider_protocol",
            Self::ProviderRateLimited => "provider_rate_limited",
            Self::ProviderTimeout => "provider_timeout",
            Self::ProviderUnavailable => "provider_unavailable",
            Self::RunStepLimit => "run_step_limit",
            Self::RunTimeout => "run_timeout",
            Self::StateTooLarge => "state_too_large",
            Self::StoreUnavailable => "store_unavailable",
            Self::StructuredInvalid => "structured_invalid",
            Self::ToolFailed => "tool_failed",
            Self::ToolLimit => "tool_limit",
            Self::ToolNotFound => "tool_not_found",
            Self::WorkerLost => "worker_lost",
        }
    }
}

/// A tool call that was in flight when its process died.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DoubtfulCall {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// What it was given.
    pub arguments: Value,
    /// Where.
    pub node_id: String,
}

/// What a run is a run of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    /// A chat turn.
    Agent,
    /// A graph.
    Workflow,
}

impl EntityKind {
    /// As it is told.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Workflow => "workflow",
        }
    }
}

/// What a run needs to be driven: pinned when it is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// What it is a run of.
    pub entity: EntityKind,
    /// Its id.
    pub entity_id: Id,
    /// Its name at the time.
    pub entity_name: String,
    /// The workflow's revision; none for a draft or an agent.
    pub revision: Option<i64>,
    /// The graph, stored as a part. An agent's is made for it.
    pub graph: PartHash,
    /// The definitions, stored as a part (`model::agent::Definitions`).
    pub definitions: PartHash,
    /// The user's message.
    pub message: String,
    /// The initial state, as given.
    pub state: Map<String, Value>,
    /// Files sent along.
    #[serde(default)]
    pub attachments: Vec<Attachment>,
    /// The thread.
    pub thread: Id,
    /// Queued rather than streamed.
    #[serde(rename = "async")]
    pub queued: bool,
    /// The starting stream breaking cancels the run.
    #[serde(default)]
    pub cancel_on_disconnect: bool,
    /// What the host said of the user, opaque.
    #[serde(default)]
    pub user: Option<Value>,
    /// Of a chat turn: instead of the agent's instructions.
    #[serde(default)]
    pub instructions: Option<String>,
    /// Of a chat turn: appended to the instructions.
    #[serde(default)]
    pub context: Option<Value>,
    /// Of a chat turn: instead of the agent's parameters, key by key.
    #[serde(default)]
    pub parameters: Option<super::agent::Parameters>,
}

/// A pause was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    /// The pause.
    pub pause: Id,
    /// What the person said.
    pub answer: Answer,
    /// A worker goes on, not the request.
    #[serde(rename = "async")]
    pub queued: bool,
}

/// What a person said to a pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// To a human node.
    Human {
        /// The text.
        message: String,
        /// Replace the state's attachments when not empty.
        #[serde(default)]
        attachments: Vec<Attachment>,
    },
    /// To an approval: one decision for each pending call, in order.
    Approval {
        /// The decisions.
        decisions: Vec<Decision>,
    },
}

/// What a person decided on one tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The call.
    pub call_id: String,
    /// It may run.
    pub approved: bool,
    /// It runs with these instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The person's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A failed run is tried again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Retried {
    /// From this completed step instead of the failed one.
    #[serde(default)]
    pub from_step: Option<Id>,
    /// Merged into the state before the first step.
    #[serde(default)]
    pub state: Map<String, Value>,
    /// What to do with calls in doubt.
    #[serde(default)]
    pub in_doubt: Vec<DoubtAnswer>,
    /// A worker goes on, not the request.
    #[serde(default, rename = "async")]
    pub queued: bool,
    /// With `from_step`: where it goes back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<BackTo>,
}

/// Where a retry goes back to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackTo {
    /// The lane.
    pub lane: LaneId,
    /// When the run was made, for branches that are opened again.
    pub at: i64,
    /// The branches that it is in, outermost first.
    pub chain: Vec<BranchLink>,
}

/// A branch on the way to a lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the run's branch")]
pub struct BranchLink {
    pub lane: LaneId,
    pub parent: LaneId,
    pub index: usize,
    pub branch: Arc<str>,
    pub fork: Id,
    pub fork_node: Arc<str>,
    pub branches: usize,
}

/// What to do with a call whose outcome nobody knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DoubtAnswer {
    /// The call.
    pub call_id: String,
    /// What to do.
    pub action: DoubtAction,
    /// With `use`: what the tool answered.
    #[serde(default)]
    pub result: Option<String>,
}

/// What to do with a call whose outcome nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoubtAction {
    /// Make it again.
    Rerun,
    /// Tell the model that it was skipped.
    Skip,
    /// Take the given result.
    Use,
}

/// A step that needed nothing from the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepRan {
    /// The step.
    pub step: Id,
    /// Its node.
    pub node: Arc<str>,
    /// Inside a loop body or at a loop node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// From 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub attempt: u32,
    /// The step was entered before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
    /// Of a loop node: the bound that its visit was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// How it ended.
    pub outcome: PureOutcome,
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_one(attempt: &u32) -> bool {
    *attempt == 1
}

/// How a step that needed nothing from the world ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PureOutcome {
    /// It left by a handle.
    Left {
        /// The handle.
        handle: Arc<str>,
        /// What it wrote.
        #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
        change: Change,
    },
    /// It failed.
    Failed(Fault),
}

/// A step began, or was entered again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepStarted {
    /// The step.
    pub step: Id,
    /// Its node.
    pub node: Arc<str>,
    /// Inside a loop body or at a loop node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// From 1.
    pub attempt: u32,
    /// The step was entered before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
    /// The child run of a stored agent's step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_run: Option<Id>,
}

/// A step ended well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepCompleted {
    /// The step.
    pub step: Id,
    /// It left by this handle.
    pub handle: Arc<str>,
    /// What it wrote.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub change: Change,
    /// The error that `on_error: continue` swallowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Fault>,
    /// A stored result was used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checkpoint_hit: bool,
    /// The turn that the step adds to its memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Turn>,
    /// How many files the model was sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attachment_count: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// What one step adds to a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Which history.
    pub history: String,
    /// The messages: what was said to the model, and its answer.
    pub messages: Vec<super::chat::Message>,
    /// Their ids in the thread.
    pub ids: Vec<Id>,
    /// The last assistant message, which readers are told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_id: Option<Id>,
    /// A driver that lives as long as the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_memory: bool,
}

/// What kind of act a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// A model answers.
    Model,
    /// A tool runs.
    Tool,
    /// Texts become vectors.
    Embedding,
    /// A knowledge base is searched.
    Retrieval,
}

/// A call is about to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallStarted {
    /// The step.
    pub step: Id,
    /// Its key in the step: the same when the step is entered again.
    pub key: String,
    /// What it is.
    pub kind: CallKind,
    /// The span that it becomes.
    pub span: Id,
    /// Model: `chat` or `summarize`; tool: its name.
    pub name: String,
    /// Of a tool: the call's id, which the tool gets as its idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Of a tool: what it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// Making it twice does no harm.
    pub repeatable: bool,
    /// Its text is told while it comes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub streams: bool,
    /// Of a model or an embedding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Of a model or an embedding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What a model is sent, as parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt: Vec<PartHash>,
    /// Of a model: the node that asks; a specialist's differs from the step's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asker: Option<Arc<str>>,
}

/// A call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallFinished {
    /// The step.
    pub step: Id,
    /// Its key in the step.
    pub key: String,
    /// How it ended.
    pub outcome: CallOutcome,
    /// What it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How long it took.
    pub duration_ms: u64,
    /// Of a scripted model: which reply was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_index: Option<u64>,
    /// Of a structured answer: the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// Of a model: why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// Of a model: its message (`model::chat::Message`) as a part.
    Message(PartHash),
    /// Of a tool: what the model sees.
    Tool(ToolOutcome),
    /// Of an embedding or a retrieval: a value of the caller's.
    Value(Value),
    /// It failed; it may be made again.
    Failed(Fault),
}

/// What a tool call gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// What it was given.
    pub inputs: Value,
    /// The text that the model sees.
    pub result: String,
    /// It tells a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// It was rejected or skipped, and did not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// The call whose specialist made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<String>,
}

/// A measured piece that is no call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The step.
    pub step: Id,
    /// The span.
    pub span: Id,
    /// `memory` or `context`.
    pub kind: String,
    /// `history_compaction` or `context_truncation`.
    pub name: String,
    /// What was measured.
    pub output: Value,
}

/// A lane waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pause {
    /// Its id.
    pub id: Id,
    /// The step.
    pub step: Id,
    /// The node.
    pub node: Arc<str>,
    /// For what.
    pub reason: PauseReason,
}

/// What a pause waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseReason {
    /// An answer.
    Human {
        /// What the person is asked.
        prompt: String,
        /// Where the answer goes.
        output_key: String,
    },
    /// Decisions on tool calls.
    Approval {
        /// The calls, in model order.
        calls: Vec<ToolCall>,
        /// How many wait, for people.
        message: String,
        /// What the arguments of each tool must fit, when a person edits them.
        #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
        schemas: std::collections::BTreeMap<String, Value>,
    },
}
