//! Owns the first entry of a run: the definitions and settings that stay fixed for its lifetime.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::PartHash;
use crate::model::Id;
use crate::model::agent::Parameters;
use crate::model::chat::Attachment;
use crate::model::trace_context::TraceContext;

named! {
    /// What a run is a run of.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum EntityKind {
        /// A chat turn.
        Agent = "agent",
        /// A graph.
        Workflow = "workflow",
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
    pub parameters: Option<Parameters>,
    /// Of a chat turn: the run whose turn on the thread it replaces, as soon as it has one itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Id>,
    /// The span of the host that it was started in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<TraceContext>>,
}
