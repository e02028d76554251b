//! Owns the data of each node type as typed fields.

mod fields;
pub mod keys;
mod read;
pub mod rerank;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

pub(super) use fields::{is_output_key, without_nulls};

use super::agent::{MemoryConfig, OnLength, OnToolLimit, Parameters, ToolRef};
use super::arguments::Arguments;
use super::condition::Test;
use super::event::Change;
use super::fallback::Fallback;
use super::path::{KeyPath, Path};
use super::state::State;
use super::template_text::{System, Template};

/// A node by its type.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are the node types of the contract")]
pub enum Node {
    Start,
    Stop(Stop),
    Agent(Box<AgentNode>),
    Llm(Box<LlmNode>),
    Rag(Box<RagNode>),
    Tool(Box<ToolNode>),
    Mcp(Box<McpNode>),
    Human(Human),
    Fork(Fork),
    Join(Join),
    Loop(LoopNode),
    SetState(SetState),
    Condition(Test),
    Note,
}

/// What agent, llm, rag, tool and mcp nodes have in common.
#[derive(Clone, Debug, Default)]
pub struct Common {
    /// The whole node, per attempt.
    pub timeout_ms: Option<u64>,
    /// Further attempts after a failure.
    pub retries: Retries,
    /// What a failure does.
    pub on_error: OnError,
}

/// Further attempts after a failure; the wait doubles each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// How many.
    pub max: u32,
    /// The first wait.
    pub backoff_ms: u64,
}

impl Default for Retries {
    fn default() -> Self {
        Self { max: 0, backoff_ms: 1000 }
    }
}

/// What a failure does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Fails the run.
    #[default]
    Fail,
    /// `{error: text}` goes to the output key and the run goes on.
    Continue,
}

/// Ends the run.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// What the run answers, when it is not blank.
    pub reply: Template,
}

/// Where an agent's definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigMode {
    /// Stored.
    Existing,
    /// In the node.
    Inline,
}

/// Which history an agent reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// Its own in the thread.
    #[default]
    Own,
    /// That of the workflow in the thread.
    Shared,
    /// None.
    None,
}

/// How a specialist shows itself to its supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolExposure {
    /// The tool's name.
    pub slug: String,
    /// What it does.
    pub description: String,
    /// What its `input` is.
    pub input_description: String,
}

/// The active agent, stored or inline.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are the data keys of the contract")]
pub struct AgentNode {
    pub common: Common,
    pub config_mode: Option<ConfigMode>,
    pub agent_id: Option<String>,
    pub agent_ref: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub credential: Option<String>,
    pub instructions: Template,
    pub parameters: Parameters,
    pub fallbacks: Vec<Fallback>,
    pub tools: Vec<ToolRef>,
    pub message: Template,
    pub output_key: Arc<str>,
    /// Where the list of files goes that the model made; none: nowhere.
    pub files_key: Option<Arc<str>>,
    pub stream: bool,
    pub publish_reply: bool,
    pub structured: bool,
    pub schema: Option<Value>,
    pub output_schema: Option<String>,
    /// None: the agent's own.
    pub require_tool_approval: Option<bool>,
    pub checkpoint: bool,
    /// None: the agent's own, else 10.
    pub tool_max_runs: Option<u32>,
    pub parallel_tool_calls: Option<bool>,
    /// None: the agent's own, else it is kept.
    pub on_length: Option<OnLength>,
    /// None: the agent's own, else it answers.
    pub on_tool_limit: Option<OnToolLimit>,
    /// None: the agent's own, else false.
    pub stream_approval: Option<bool>,
    pub vision: bool,
    pub memory: Memory,
    /// Each key that is none: the agent's own.
    pub memory_config: MemoryConfig,
    pub tool_mode: bool,
    pub tool_exposure: Option<ToolExposure>,
}

impl AgentNode {
    /// Is its definition in the node?
    pub fn is_inline(&self) -> bool {
        self.config_mode.map_or(self.agent_id.is_none() && self.agent_ref.is_none(), |mode| mode == ConfigMode::Inline)
    }
}

/// One model call.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are the data keys of the contract")]
pub struct LlmNode {
    pub common: Common,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub credential: Option<String>,
    pub parameters: Parameters,
    pub fallbacks: Vec<Fallback>,
    pub prompt: Template,
    pub instructions: Template,
    pub output_key: Arc<str>,
    /// Where the list of files goes that the model made; none: nowhere.
    pub files_key: Option<Arc<str>>,
    pub on_length: OnLength,
    pub stream: bool,
    pub publish_reply: bool,
    pub structured: bool,
    pub schema: Option<Value>,
    pub output_schema: Option<String>,
    pub vision: bool,
    pub checkpoint: bool,
    pub budget_rag: Option<u64>,
    pub budget_state: Option<u64>,
}

/// What a missing knowledge base does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    /// Fails the node.
    #[default]
    Fail,
    /// Gives an empty result.
    Empty,
}

/// A search in a knowledge base.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are the data keys of the contract")]
pub struct RagNode {
    pub common: Common,
    pub knowledge_base_id: Option<String>,
    pub on_missing: OnMissing,
    pub query: Template,
    pub top_k: Option<u32>,
    pub threshold: Option<f64>,
    pub mode: Option<String>,
    /// None: the base's own. So with the filter.
    pub rerank: Option<serde_json::Map<String, Value>>,
    pub filter: Option<Arguments>,
    pub output_key: Arc<str>,
    pub checkpoint: bool,
}

/// One tool call.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are the data keys of the contract")]
pub struct ToolNode {
    pub common: Common,
    pub tool_ref: Option<String>,
    pub parameters: Arguments,
    pub config: serde_json::Map<String, Value>,
    pub output_key: Arc<str>,
    pub idempotent: bool,
    /// As a tool of an agent: offered also where most must be searched for.
    pub always: bool,
    pub checkpoint: bool,
}

/// One call of a tool of an MCP server.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are the data keys of the contract")]
pub struct McpNode {
    pub common: Common,
    pub mcp_server: Option<String>,
    pub tool_name: Option<String>,
    pub parameters: Arguments,
    pub output_key: Arc<str>,
    pub idempotent: bool,
    /// As of a tool node.
    pub always: bool,
}

/// Waits for a person.
#[derive(Clone, Debug)]
pub struct Human {
    /// What the person is asked; blank: a text in the studio's language.
    pub prompt: Template,
    /// Where the answer goes.
    pub output_key: Arc<str>,
}

/// Begins branches.
#[derive(Clone, Debug, Default)]
pub struct Fork {
    /// Their order; none: the order of the edges.
    pub branches: Option<Vec<Arc<str>>>,
    /// The join, when no `default` edge says it.
    pub join: Option<String>,
}

/// Ends branches.
#[derive(Clone, Debug)]
pub struct Join {
    /// Where the results go.
    pub output_key: Arc<str>,
}

/// What a loop does at its bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMax {
    /// Fails the run.
    #[default]
    Fail,
    /// Leaves by `exit`.
    Exit,
}

/// Repeats its body.
#[derive(Clone, Debug, Default)]
pub struct LoopNode {
    /// Leaves when it holds.
    pub test: Option<Test>,
    /// None: the configured bound.
    pub max_steps: Option<u32>,
    /// What it does at its bound.
    pub on_max: OnMax,
}

/// Writes the state.
#[derive(Clone, Debug)]
pub struct SetState {
    /// Where.
    pub key: KeyPath,
    /// What.
    pub value: Assigned,
}

/// What a `set_state` node writes.
#[derive(Clone, Debug)]
pub enum Assigned {
    /// A value as it is.
    Literal(Arc<Value>),
    /// Text with placeholders.
    Text(Template),
    /// A copy of what is there; null when nothing is.
    From(Path),
}

impl SetState {
    /// The key that it writes, with its whole new value.
    pub fn write(&self, state: &State, system: impl FnOnce() -> System) -> (Arc<str>, Arc<Value>) {
        let value = match &self.value {
            Assigned::Literal(value) => Arc::clone(value),
            Assigned::Text(template) => Arc::new(Value::String(template.render(state, &system()))),
            Assigned::From(path) if path.is_key() => state.get(path.root()).cloned().unwrap_or_default(),
            Assigned::From(path) => Arc::new(state.lookup(path).cloned().unwrap_or(Value::Null)),
        };
        let root = Arc::clone(self.key.root());
        let whole = self.key.written(state.get(&root), value);
        (root, whole)
    }

    /// As `write`, as a change.
    pub fn change(&self, state: &State, system: impl FnOnce() -> System) -> Change {
        Change::from_iter([self.write(state, system)])
    }
}

impl Node {
    /// The part that agent, llm, rag, tool and mcp nodes have in common.
    pub const fn common(&self) -> Option<&Common> {
        match self {
            Self::Agent(node) => Some(&node.common),
            Self::Llm(node) => Some(&node.common),
            Self::Rag(node) => Some(&node.common),
            Self::Tool(node) => Some(&node.common),
            Self::Mcp(node) => Some(&node.common),
            Self::Start
            | Self::Stop(_)
            | Self::Human(_)
            | Self::Fork(_)
            | Self::Join(_)
            | Self::Loop(_)
            | Self::SetState(_)
            | Self::Condition(_)
            | Self::Note => None,
        }
    }

    /// The state key that the files go to which its model makes.
    pub const fn files_key(&self) -> Option<&Arc<str>> {
        match self {
            Self::Agent(node) => node.files_key.as_ref(),
            Self::Llm(node) => node.files_key.as_ref(),
            Self::Start
            | Self::Stop(_)
            | Self::Rag(_)
            | Self::Tool(_)
            | Self::Mcp(_)
            | Self::Human(_)
            | Self::Fork(_)
            | Self::Join(_)
            | Self::Loop(_)
            | Self::SetState(_)
            | Self::Condition(_)
            | Self::Note => None,
        }
    }

    /// The state key that it writes its result to.
    pub const fn output_key(&self) -> Option<&Arc<str>> {
        match self {
            Self::Agent(node) => Some(&node.output_key),
            Self::Llm(node) => Some(&node.output_key),
            Self::Rag(node) => Some(&node.output_key),
            Self::Tool(node) => Some(&node.output_key),
            Self::Mcp(node) => Some(&node.output_key),
            Self::Human(node) => Some(&node.output_key),
            Self::Join(node) => Some(&node.output_key),
            Self::SetState(node) => Some(node.key.root()),
            Self::Start | Self::Stop(_) | Self::Fork(_) | Self::Loop(_) | Self::Condition(_) | Self::Note => None,
        }
    }

    /// May its result be stored and used again?
    pub const fn has_checkpoint(&self) -> bool {
        match self {
            Self::Agent(node) => node.checkpoint,
            Self::Llm(node) => node.checkpoint,
            Self::Rag(node) => node.checkpoint,
            Self::Tool(node) => node.checkpoint,
            Self::Start
            | Self::Stop(_)
            | Self::Mcp(_)
            | Self::Human(_)
            | Self::Fork(_)
            | Self::Join(_)
            | Self::Loop(_)
            | Self::SetState(_)
            | Self::Condition(_)
            | Self::Note => false,
        }
    }

    /// Its templates, each with its field, such as `data.message`.
    pub fn templates(&self) -> Vec<(String, &Template)> {
        read::templates(self)
    }
}
