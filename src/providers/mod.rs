//! Owns the interface to model providers: one request, deltas while they arrive, one reply.

mod amazon_event_stream;
pub mod anthropic;
pub mod bedrock;
pub mod cohere;
pub mod demo;
pub mod echo;
mod files;
mod fitting;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod gemini;
pub mod hash;
pub mod host;
pub mod http_client;
pub mod instruct;
pub mod limits;
#[cfg(test)]
mod mock;
pub mod ollama;
pub mod openai;
mod opening;
mod own;
pub mod prompt_cache_key;
pub mod refusal;
pub mod registry;
mod reply;
pub mod rerank;
pub mod responses;
mod schema_subset;
pub mod script;
mod sources;
pub mod sse;
pub mod strict;
mod thoughts;
pub mod trust;
mod vectors;
pub mod vertex;
pub mod wire;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::model::agent::{CacheTtl, Parameters, ToolChoice};
use crate::model::chat::{Message, Tokens};
use crate::model::event::{Fault, FaultCode, Warning};
use crate::model::parts::NewFile;
use crate::model::registry::{self as registry_of_models, Facts};
use crate::model::trace_context::TraceContext;
use crate::model::usage::Picos;
use crate::model::state::{MAX_DEPTH, is_too_deep};

pub use rerank::{Ranking, RerankRequest};

/// A tool as it is offered to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOffer {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

/// A tool that runs at the provider.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeTool {
    /// Its type: the provider's own word, or `web_search`, `code_interpreter`, which most have under some name.
    pub kind: String,
    /// What the reference says of it; goes along as it is.
    pub config: Map<String, Value>,
}

impl NativeTool {
    /// The form of most families: an object with a type and its settings, which take precedence.
    fn typed(&self, kind: &str) -> Map<String, Value> {
        let mut tool = Map::from_iter([("type".to_owned(), Value::from(kind))]);
        tool.extend(self.config.clone());
        tool
    }
}

impl From<&str> for NativeTool {
    fn from(kind: &str) -> Self {
        Self { kind: kind.to_owned(), config: Map::new() }
    }
}

/// A file's bytes, resolved for the provider.
#[derive(Clone, Debug)]
pub struct Media {
    /// The storage key in the message's attachment.
    pub storage_key: String,
    /// Such as `image/png`.
    pub mime_type: String,
    /// Its name.
    pub name: Option<String>,
    /// Its bytes.
    pub bytes: bytes::Bytes,
    /// The model does not accept such files: it receives a note.
    pub refused: bool,
}

/// One model call.
#[derive(Clone, Debug)]
pub struct ChatRequest {
    /// The model's name.
    pub model: String,
    /// System prompt, history and new messages; system messages come first.
    pub messages: Vec<Message>,
    /// The bytes of the messages' attachments that are sent.
    pub media: Vec<Media>,
    /// Tools that the model may call.
    pub tools: Vec<ToolOffer>,
    /// Tools that run at the provider (`provider:<type>`).
    pub native_tools: Vec<NativeTool>,
    /// Whether and which tools it calls; none = the provider's default.
    pub tool_choice: Option<ToolChoice>,
    /// Several calls in one turn; none = the provider's default.
    pub parallel_tool_calls: Option<bool>,
    /// Settings.
    pub parameters: Parameters,
    /// The answer must fit this JSON Schema.
    pub schema: Option<Value>,
    /// The answer is requested as a stream, even without a reader.
    pub stream: bool,
    /// There is a reader of the streamed text.
    pub live: bool,
    /// Who asks: what `script` replies match on.
    pub asker: Asker,
    /// `secret:NAME` of the agent or node, instead of the provider's.
    pub credential: Option<String>,
    /// The places up to which the provider is to keep the prompt are marked, for so long.
    pub cache: Option<CacheTtl>,
    /// Requests with the same key begin alike.
    pub cache_key: Option<String>,
    /// What is known of the model, when it was looked up.
    pub facts: Option<Arc<Facts>>,
}

impl ChatRequest {
    /// A request of messages alone.
    #[must_use]
    pub fn new(model: impl Into<String>, messages: Vec<Message>) -> Self {
        Self {
            model: model.into(),
            messages,
            media: Vec::new(),
            tools: Vec::new(),
            native_tools: Vec::new(),
            tool_choice: None,
            parallel_tool_calls: None,
            parameters: Parameters::default(),
            schema: None,
            stream: false,
            live: false,
            asker: Asker::default(),
            credential: None,
            cache: None,
            cache_key: None,
            facts: None,
        }
    }

    /// What is known of the model behind a kind of provider.
    pub fn facts(&self, kind: &str) -> Arc<Facts> {
        self.facts.clone().unwrap_or_else(|| registry_of_models::find(kind, &self.model).facts)
    }
}

/// Who makes a model call.
#[derive(Clone, Debug, Default)]
pub struct Asker {
    /// The node; none for a summariser call.
    pub node_id: Option<String>,
    /// The slug of the stored agent.
    pub agent: Option<String>,
    /// Calls made before by this node in this run, over all passes.
    pub calls_before: u64,
    /// Uses of each scripted reply by this node in this run, in order of those calls (indexes into `replies`).
    pub replies_used: Vec<u64>,
    /// The run, for hosts that provide models.
    pub run: String,
    /// The tenant.
    pub tenant: String,
    /// The span that the call is made in.
    pub trace: Option<Arc<TraceContext>>,
}

/// A piece of a streamed answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta {
    /// Text for readers.
    Text(String),
    /// What the model thinks.
    Reasoning(String),
    /// The last report of what the call took so far: what counts if it is cut short.
    Spent(Tokens),
    /// How long the call waited for room before it was made.
    Waited(std::time::Duration),
    /// There is room, and nothing to wait for: the call is made.
    Made,
}

/// What takes the pieces of a streamed answer. Called on the provider's task, must not block.
pub type Deltas<'a> = &'a (dyn Fn(Delta) + Send + Sync);

/// A whole answer.
#[derive(Clone, Debug)]
pub struct ChatReply {
    /// The assistant's message with text, tool calls and the provider's own blocks.
    pub message: Message,
    /// Pictures and sounds that the model made; the provider's own blocks name them by their place here.
    pub files: Vec<NewFile>,
    /// The structured answer, when a schema was given and the provider speaks it natively.
    pub structured: Option<Value>,
    /// Token counts; none when the provider reported none.
    pub tokens: Option<Tokens>,
    /// Of an answer that took several requests, whose tokens are added up: those that the last request was sent.
    pub last_prompt: Option<u64>,
    /// What the provider calls the answer, and the model that gave it.
    pub named: Named,
    /// What it costs in dollars, when the provider said so.
    pub cost: Option<Picos>,
    /// Why it ended.
    pub finish: Finish,
    /// What people should know of the request or the answer.
    pub warnings: Vec<Warning>,
    /// `script`: the index of the reply that was used, kept in the log.
    pub reply_index: Option<u64>,
}

impl ChatReply {
    /// The answer without what is nested too deeply to be stored: calls with such arguments cannot be made.
    #[must_use]
    pub fn storable(mut self) -> Self {
        for call in self.message.tool_calls.iter_mut().filter(|call| is_too_deep(&call.arguments)) {
            call.arguments = Value::Object(serde_json::Map::new());
            call.invalid = Some(format!("the arguments are nested deeper than {MAX_DEPTH} levels"));
        }
        self.message.blocks.take_if(|blocks| is_too_deep(&blocks.value));
        self.structured.take_if(|value| is_too_deep(value));
        self
    }
}

/// What a provider calls an answer and the model that gave it: texts of its own, of limited length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The answer.
    pub id: Option<String>,
    /// The model.
    pub model: Option<String>,
}

impl Named {
    /// Letters that are kept.
    const LONGEST: usize = 200;

    /// Takes what a frame says; what was said first stays.
    fn take(&mut self, id: Option<&Value>, model: Option<&Value>) {
        for (kept, said) in [(&mut self.id, id), (&mut self.model, model)] {
            if kept.is_none() {
                let said = said.and_then(Value::as_str).filter(|said| !said.is_empty());
                *kept = said.map(|said| said.chars().filter(|letter| !letter.is_control()).take(Self::LONGEST).collect());
            }
        }
    }
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Finish {
    /// It was complete.
    #[default]
    Stop,
    /// It asks for tools.
    ToolCalls,
    /// It ran into its token limit.
    Length,
    /// A filter stopped it.
    ContentFilter,
    /// For a reason of the provider's own.
    Other,
}

impl Finish {
    /// As it is reported.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Other => "other",
        }
    }

    /// The value with this name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "stop" => Self::Stop,
            "tool_calls" => Self::ToolCalls,
            "length" => Self::Length,
            "content_filter" => Self::ContentFilter,
            _ => Self::Other,
        }
    }
}

/// A provider's failure.
#[derive(Clone, Debug)]
pub struct ProviderFailure {
    /// The run code and the text.
    pub fault: Fault,
    /// Tokens that were reported before it failed.
    pub tokens: Option<Tokens>,
    /// What it costs in dollars, when the provider said so.
    pub cost: Option<Picos>,
    /// An answer was begun or waited for: the provider may have taken tokens that it did not report.
    pub cut: bool,
    /// Of a scripted model: which reply was used.
    pub reply_index: Option<u64>,
}

impl ProviderFailure {
    /// A failure without a usage report.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self::from(Fault::new(code, message))
    }

    /// An answer was begun: some of it may be told, and it may have to be paid.
    pub const fn is_of_an_answer(&self) -> bool {
        self.cut || self.tokens.is_some()
    }

    /// The failure of an answer that was begun or waited for.
    pub fn cut(code: FaultCode, message: impl Into<String>) -> Self {
        Self { cut: true, ..Self::new(code, message) }
    }
}

impl From<Fault> for ProviderFailure {
    fn from(fault: Fault) -> Self {
        Self { fault, tokens: None, cost: None, cut: false, reply_index: None }
    }
}

/// Is called when there is room for a call and it is made: before that it takes nothing.
pub type Made<'a> = &'a (dyn Fn() + Send + Sync);

/// Texts become vectors.
#[derive(Clone, Debug)]
pub struct EmbedRequest {
    /// The model's name.
    pub model: String,
    /// The texts.
    pub texts: Vec<String>,
    /// Queries and documents are embedded differently by some models.
    pub query: bool,
    /// Wanted length of the vectors.
    pub dimensions: Option<u32>,
    /// The tenant.
    pub tenant: String,
    /// The span that the call is made in.
    pub trace: Option<Arc<TraceContext>>,
}

/// The vectors, in the order of the texts.
#[derive(Clone, Debug)]
pub struct Embeddings {
    /// One for each text.
    pub vectors: Vec<Vec<f32>>,
    /// Token counts; none when the provider reported none.
    pub tokens: Option<Tokens>,
}

/// A model provider. Dropping a returned future aborts the request.
pub trait Provider: Send + Sync {
    /// Makes one model call.
    fn chat<'a>(&'a self, request: &'a ChatRequest, deltas: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>>;

    /// Embeds texts.
    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>>;

    /// Puts texts in order.
    fn rerank<'a>(&'a self, _: &'a RerankRequest) -> BoxFuture<'a, Result<Ranking, ProviderFailure>> {
        let text = "this provider has no rerankers; choose one of `cohere`, `voyage`, `jina`, or of kind `openai-compatible` or `host`";
        Box::pin(async move { Err(ProviderFailure::new(FaultCode::ProviderBadRequest, text)) })
    }
}
