//! Owns one measured piece of a run, independent of the receiving system, and a request that sends several.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::model::chat::Message;
use crate::model::event::{AskedWith, EntityKind};
use crate::model::trace_context::TraceContext;
use crate::model::usage::Usage;
use crate::model::{Id, Timestamp};

/// What is the same for all pieces of one attempt of a run.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct RunFacts {
    /// The run: the trace of its pieces.
    pub run: Id,
    /// From 1; each attempt has a root of its own.
    pub attempt: u32,
    /// When this attempt began.
    pub started: Timestamp,
    /// What it is a run of.
    pub entity: EntityKind,
    pub entity_id: Id,
    pub name: String,
    pub thread: Id,
    /// The user's id as the host gave it.
    pub user: Option<String>,
    pub tenant: Arc<str>,
    /// The span of the host that it was started in: the run belongs to its trace then, else the run is one itself.
    pub began_in: Option<Arc<TraceContext>>,
}

impl RunFacts {
    /// The trace that its pieces are in.
    pub fn trace(&self) -> u128 {
        self.began_in.as_ref().map_or_else(|| self.run.0.as_u128(), |span| span.trace)
    }
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// The run itself.
    Run,
    /// The step of an agent.
    Agent {
        /// A stored agent's id.
        id: Option<Id>,
        /// The child run.
        child: Option<Id>,
    },
    /// Any other step.
    Step {
        /// The node's type.
        kind: &'static str,
    },
    /// A model was asked.
    Chat,
    /// A tool ran.
    Tool,
    /// Texts became vectors.
    Embedding,
    /// A knowledge base was searched.
    Retrieval,
    /// Something was measured that took no time.
    Measured,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Well.
    Well,
    /// Badly.
    Failed {
        /// A code of the contract.
        code: String,
        /// For people.
        message: String,
    },
    /// It was cut short.
    Cut,
}

/// What was said in it; only there when content is wanted.
#[derive(Clone, Debug)]
pub enum Content {
    /// To a model, and its answer.
    Chat {
        /// What it was sent.
        sent: Vec<Message>,
        /// What it answered.
        answer: Option<Message>,
    },
    /// Anything else.
    Values {
        /// What went in.
        input: Option<Value>,
        /// What came out.
        output: Option<Value>,
    },
}

/// One measured piece of a run.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Piece {
    pub run: Arc<RunFacts>,
    /// Its id within the run.
    pub id: u64,
    /// The piece around it; none of the run itself.
    pub parent: Option<u64>,
    /// What was done.
    pub work: Work,
    /// What it was done with: a model, a tool, a node, an agent, a workflow.
    pub name: String,
    pub node: Option<Arc<str>>,
    /// When it began.
    pub started: Timestamp,
    pub ended: Timestamp,
    /// How it ended.
    pub end: End,
    /// What it took.
    pub usage: Option<Usage>,
    pub currency: Arc<str>,
    /// Of a model or an embedding.
    pub provider: Option<String>,
    /// The kind of that provider.
    pub kind: Option<String>,
    /// Of a model or an embedding.
    pub model: Option<String>,
    /// Its text was streamed.
    pub streams: bool,
    /// Why a model ended.
    pub finish: Option<String>,
    /// Of a tool: the call.
    pub call_id: Option<String>,
    /// Of a model: what the provider calls its answer.
    pub response_id: Option<String>,
    /// Of a model: the one that answered.
    pub response_model: Option<String>,
    /// Of a model: how long its first piece took.
    pub first_piece_ms: Option<u64>,
    /// Of the run: the execution time of this attempt.
    pub worked_ms: Option<u64>,
    /// Of a model: the settings that it was asked with.
    pub parameters: Option<Box<AskedWith>>,
    /// Of the run: the spans of the host that this attempt went on in.
    pub links: Vec<Arc<TraceContext>>,
    /// What else is known: names with text, numbers or switches.
    pub facts: Vec<(&'static str, Value)>,
    /// What was said.
    pub said: Option<Content>,
}

/// The id of a span: the half of its UUID that is unique.
pub fn span_id(id: Id) -> u64 {
    id.0.as_u64_pair().1
}

/// The id of the piece that is an attempt of a run.
pub fn root_id(run: Id, attempt: u32) -> u64 {
    let (high, low) = run.0.as_u64_pair();
    high.rotate_left(17) ^ low ^ u64::from(attempt).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The code of a tool that returned an error. The text of the error is content.
pub const TOOL_ERROR: &str = "tool_error";

/// What is sent of the words of a failure, in bytes.
const MOST_WORDS: usize = 8 << 10;

impl Piece {
    /// Why it failed: its code, and a text. The text of a tool is sent only to systems that receive content.
    pub fn failure(&self, content: bool) -> Option<(&str, &str)> {
        let End::Failed { code, message } = &self.end else { return None };
        // The words of such a failure are those of a tool.
        if !content && matches!(code.as_str(), "tool_failed" | "mcp_unavailable") {
            return Some((code, "it failed; its words are content, which is not sent"));
        }
        let said = match &self.said {
            Some(Content::Values { output: Some(Value::String(text)), .. }) if content && code == TOOL_ERROR => Some(text.as_str()),
            Some(Content::Chat { .. } | Content::Values { .. }) | None => None,
        };
        let words = said.unwrap_or(message);
        Some((code, &words[..words.floor_char_boundary(MOST_WORDS)]))
    }

    /// About how much memory it takes.
    pub fn size(&self) -> usize {
        let said = match &self.said {
            None => 0,
            Some(Content::Chat { sent, answer }) => sent.iter().chain(answer).map(message_size).sum(),
            Some(Content::Values { input, output }) => input.iter().chain(output).map(value_size).sum(),
        };
        let facts: usize = self.facts.iter().map(|(_, value)| 32 + value_size(value)).sum();
        let words = if let End::Failed { message, .. } = &self.end { message.len() } else { 0 };
        size_of::<Self>() + self.name.len() + facts + said + words
    }
}

fn message_size(message: &Message) -> usize {
    let calls: usize = message.tool_calls.iter().map(|call| call.name.len() + value_size(&call.arguments)).sum();
    size_of::<Message>() + message.content.len() + calls
}

fn value_size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 32,
        Value::String(text) => 32 + text.len(),
        Value::Array(items) => 32 + items.iter().map(value_size).sum::<usize>(),
        Value::Object(fields) => 32 + fields.iter().map(|(name, value)| 64 + name.len() + value_size(value)).sum::<usize>(),
    }
}

/// One request, and how many pieces it sends.
pub(super) struct Request {
    pub(super) body: Bytes,
    pub(super) pieces: u64,
}
