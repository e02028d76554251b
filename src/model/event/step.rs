//! Owns the entries of steps: begin, end, changes, pauses.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CallServer, Change, Fault, Handle, OpenQuestion};
use crate::model::Id;
use crate::model::chat::{Message, ToolCall};
use crate::model::memory::Summary;

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
    /// Of a loop node: the published bound of its visit.
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
        handle: Handle,
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
    pub handle: Handle,
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
    pub messages: Vec<Message>,
    /// Their ids in the thread.
    pub ids: Vec<Id>,
    /// The last assistant message, which readers receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_id: Option<Id>,
    /// A driver that lives as long as the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_memory: bool,
    /// Older messages have a summary from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
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
    /// Its key in the step, so that it is measured once.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
}

/// A lane waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Pause {
    pub id: Id,
    pub step: Id,
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
        /// Where the answer goes; with a question, what comes of its call.
        output_key: String,
        /// A tool asks, not the node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Box<OpenQuestion>>,
    },
    /// Decisions on tool calls.
    Approval {
        /// The calls, in model order.
        calls: Vec<ToolCall>,
        /// How many wait, for people.
        message: String,
        /// What the arguments of each tool must fit, when a person edits them.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        schemas: BTreeMap<String, Value>,
        /// The servers that the calls are for, by the calls' ids. Absent in logs of earlier versions.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        servers: BTreeMap<String, CallServer>,
        /// What each tool gets in any case, which no call names and nobody edits. Absent in logs of earlier versions.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        fixed: BTreeMap<String, Map<String, Value>>,
    },
}
