//! Owns the entries for what people send to a paused or failed run: answers, retries, decisions on calls in doubt.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{LaneId, QuestionAnswer};
use crate::model::Id;
use crate::model::chat::Attachment;
use crate::model::trace_context::TraceContext;

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
    /// The span of the host that it was answered in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<TraceContext>>,
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
    /// To a question that a tool asked.
    Question {
        /// The text that the person wrote.
        message: String,
        /// What it says to the question.
        said: QuestionAnswer,
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
    /// The span of the host that it was tried again in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<TraceContext>>,
}

/// Where a retry goes back to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackTo {
    /// The lane.
    pub lane: LaneId,
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
    /// Of the fork's step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
}

/// The decision about a call with an unknown outcome.
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

/// The decision about a call with an unknown outcome.
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
