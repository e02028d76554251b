//! Owns the entries of calls, before and after: everything that costs money or has side effects.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Asked, Fault, FaultCode, PartHash, Warning};
use crate::model::Id;
use crate::model::agent::Parameters;
use crate::model::parts::{File, Source};
use crate::model::usage::Usage;

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
    /// What was found is put in order.
    Rerank,
}

/// How the keys of calls of a step's own model begin; their number follows.
pub const OWN_MODEL: &str = "model:";

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
    /// Its text is streamed.
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
    /// Of a model: what its request has beside what the studio sets, by provider.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub options: serde_json::Map<String, Value>,
    /// Of a model: the settings that it is asked with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Box<AskedWith>>,
    /// Of a model: the node that asks; a specialist's differs from the step's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asker: Option<Arc<str>>,
}

impl CallStarted {
    /// The tool call that it is made for, as its key says: a specialist's model call, the embedding of a search.
    pub fn within(&self) -> Option<&str> {
        let specialist = ["/model:", "/summarize:"].iter().find_map(|mark| Some(self.key.rsplit_once(mark)?.0));
        specialist.or_else(|| self.key.strip_suffix("/embed")?.strip_prefix("tool:"))
    }
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
    /// Of a model that was asked several times for one answer: the tokens that it was sent last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_prompt: Option<u64>,
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
    /// Of a model: what people should know of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Of a model: who said what it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_source: Option<CostSource>,
    /// Of a model: how long it waited for room at its provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    /// Of a model: the sources of its answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Of a model: the files that it made, stored with this entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// Of a model: what its provider calls the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Of a model: the one that answered, as its provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// Of a model: how long its first piece of text or reasoning took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_piece_ms: Option<u64>,
}

impl CallFinished {
    /// A call that ended so, with nothing else to say of it.
    #[must_use]
    pub fn new(step: Id, key: &str, outcome: CallOutcome, usage: Option<Usage>, duration_ms: u64) -> Self {
        Self {
            step,
            key: key.to_owned(),
            outcome,
            usage,
            last_prompt: None,
            duration_ms,
            reply_index: None,
            structured: None,
            finish: None,
            warnings: Vec::new(),
            cost_source: None,
            waited_ms: None,
            sources: Vec::new(),
            files: Vec::new(),
            response_id: None,
            response_model: None,
            first_piece_ms: None,
        }
    }
}

/// The settings of a request to a model, as far as it has any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AskedWith {
    /// 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The most tokens of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Such as `low`, `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Vec<String>>,
}

impl AskedWith {
    /// The settings of a request; none when it leaves all to the provider.
    #[must_use]
    pub fn of(parameters: &Parameters) -> Option<Box<Self>> {
        let Parameters { temperature, top_p, max_tokens, reasoning_effort, stop, .. } = parameters;
        let any = temperature.is_some() || top_p.is_some() || max_tokens.is_some() || reasoning_effort.is_some() || stop.is_some();
        any.then(|| {
            let (reasoning_effort, stop) = (reasoning_effort.clone(), stop.clone());
            Box::new(Self { temperature: *temperature, top_p: *top_p, max_tokens: *max_tokens, reasoning_effort, stop })
        })
    }
}

/// Who said what a call costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// The provider, with its answer.
    Provider,
    /// The table of prices.
    Table,
    /// None.
    None,
}

impl CallFinished {
    /// It is a call of the step's own agent or model, not of a specialist or a summariser.
    pub fn is_own_answer(&self) -> bool {
        self.key.starts_with("model:")
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// Of a model: its message (`model::chat::Message`) as a part.
    Message(PartHash),
    /// Of a tool: what the model sees.
    Tool(ToolOutcome),
    /// Of a tool: it asks people first, and is called again with what they say.
    Asked(Asked),
    /// Of an embedding or a retrieval: a value of the caller's.
    Value(Value),
    /// It failed; it may be made again.
    Failed(Fault),
}

/// The tool of a server that a call is for, as it was found when the call was first announced. The call is made there or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallServer {
    /// The id of the server's definition, which no other server of that slug has.
    pub id: String,
    /// Its slug, for people.
    pub slug: String,
    /// The tool's name there, which models may be shown differently.
    pub tool: String,
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
    /// It is a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// It was rejected or skipped, and did not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// The run ended before it did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub abandoned: bool,
    /// Its result is not known: no answer came in time, the connection broke before one, or the tool ran and its answer could not be taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswered: bool,
    /// Nothing was done, for a reason that is not the tool's: no server was reached, a secret is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<FaultCode>,
    /// The call whose specialist made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call_id: Option<String>,
    /// The files that came with its result, stored with this entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// Names of tools that a search of the studio found. They are part of the configuration, and are not masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<String>,
}

impl CallFinished {
    /// The files that are stored with it.
    pub fn made(&self) -> &[File] {
        if let CallOutcome::Tool(outcome) = &self.outcome { &outcome.files } else { &self.files }
    }
}

impl CallOutcome {
    /// Whether it ended well.
    pub const fn ok(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}
