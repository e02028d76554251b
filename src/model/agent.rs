//! Owns stored agents, tools and MCP servers, as far as a run needs them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fallback::Fallback;

/// A reference to a tool in an agent's `tools`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolRef {
    /// `host:<name>`, `tool:<id or slug>`, `toolkit:<key>`, `mcp:<slug>`, `provider:<type>`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Per-use configuration.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// Only these tools of a toolkit or server; absent = all.
    #[serde(default)]
    pub only: Option<Vec<String>>,
    /// Not these.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Overrides what the tool says of itself.
    #[serde(default)]
    pub require_approval: Option<bool>,
    /// Overrides what the tool says of itself.
    #[serde(default)]
    pub idempotent: Option<bool>,
    /// Offered to the model also where it has to search for most tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
}

/// Settings that go to the model with each call; absent ones are the provider's defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// 0 to 2.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// 0 to 1.
    #[serde(default)]
    pub top_p: Option<f64>,
    /// At least 1.
    #[serde(default)]
    pub max_tokens: Option<u64>,
    /// Such as `low`, `high`.
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    /// Texts that end the answer.
    #[serde(default)]
    pub stop: Option<Vec<String>>,
    /// How long the beginning of a prompt is kept where the request marks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_ttl: Option<CacheTtl>,
    /// Whether and which tools are called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Further members of the request, by the kind or the id of the provider that takes them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub provider_options: Map<String, Value>,
    /// Whether people see the reasoning that the model reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show_reasoning: Option<ShowReasoning>,
}

/// Whether and which tools a model calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// None.
    None,
    /// At least one.
    Required,
    /// This one.
    Tool(String),
}

impl ToolChoice {
    /// The values that are words.
    pub const WORDS: [&'static str; 3] = ["auto", "none", "required"];

    /// It holds for the first call of a step alone: a model that is made to call tools would never answer.
    pub const fn is_for_the_first_call(&self) -> bool {
        matches!(self, Self::Required | Self::Tool(_))
    }
}

/// Members of requests that the studio sets, by every family's name.
pub const OWN_MEMBERS: [&str; 10] =
    ["model", "messages", "contents", "input", "tools", "system", "stream", "instructions", "systemInstruction", "system_instruction"];

/// What is wrong with the options of providers: its path below them; none when they can be sent.
pub fn refused_option(options: &Map<String, Value>) -> Option<String> {
    options.iter().find_map(|(provider, members)| {
        let Some(members) = members.as_object() else { return Some(provider.clone()) };
        let own = members.keys().find(|name| OWN_MEMBERS.contains(&name.as_str()))?;
        Some(format!("{provider}.{own}"))
    })
}

impl Parameters {
    /// What the model thinks is asked for and shown.
    pub fn shows_reasoning(&self) -> bool {
        self.show_reasoning != Some(ShowReasoning::None)
    }
}

/// Whether people see what a model thinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShowReasoning {
    /// Where the model gives it.
    #[default]
    Auto,
    /// Never.
    None,
}

impl ShowReasoning {
    /// The values, as they are written.
    pub const NAMES: [&'static str; 2] = ["auto", "none"];
}

impl Parameters {
    /// These where they say something, else others.
    #[must_use]
    pub fn over(&self, others: &Self) -> Self {
        Self {
            temperature: self.temperature.or(others.temperature),
            top_p: self.top_p.or(others.top_p),
            max_tokens: self.max_tokens.or(others.max_tokens),
            reasoning_effort: self.reasoning_effort.clone().or_else(|| others.reasoning_effort.clone()),
            stop: self.stop.clone().or_else(|| others.stop.clone()),
            cache_ttl: self.cache_ttl.or(others.cache_ttl),
            tool_choice: self.tool_choice.clone().or_else(|| others.tool_choice.clone()),
            provider_options: if self.provider_options.is_empty() { others.provider_options.clone() } else { self.provider_options.clone() },
            show_reasoning: self.show_reasoning.or(others.show_reasoning),
        }
    }
}

/// How long the beginning of a prompt is kept at the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheTtl {
    /// Five minutes after it was last read.
    #[default]
    #[serde(rename = "5m")]
    Minutes,
    /// An hour.
    #[serde(rename = "1h")]
    Hour,
}

impl CacheTtl {
    /// The values, as they are written.
    pub const NAMES: [&'static str; 2] = ["5m", "1h"];
}

/// How much of a conversation is kept and sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryConfig {
    /// Tokens.
    #[serde(default)]
    pub context_window: Option<u64>,
    /// `database` or `in_memory`.
    #[serde(default)]
    pub driver: Option<String>,
    /// Older turns are summarised instead of left out.
    #[serde(default)]
    pub summarization_enabled: Option<bool>,
    /// Share of the window at which that begins.
    #[serde(default)]
    pub summarization_threshold: Option<f64>,
    /// Tokens that retrieved text may take in a prompt.
    #[serde(default)]
    pub budget_rag: Option<u64>,
    /// Tokens that one tool result may take.
    #[serde(default)]
    pub budget_tool_results: Option<u64>,
    /// Tokens that one state value may take.
    #[serde(default)]
    pub budget_state: Option<u64>,
    /// What becomes of a conversation that grows too long while a turn goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside_turn: Option<InsideTurn>,
}

/// What becomes of a conversation that grows too long while a turn goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsideTurn {
    /// Older results of tools are taken out, then what is older is summarised.
    #[default]
    Auto,
    /// It is sent as it is.
    Off,
}

impl InsideTurn {
    /// The values, as they are written.
    pub const NAMES: [&'static str; 2] = ["auto", "off"];
}

/// What becomes of a step whose model wants tools in more turns than it may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnToolLimit {
    /// The model is asked to answer with what it knows.
    #[default]
    Answer,
    /// It fails.
    Fail,
}

impl OnToolLimit {
    /// The values, as they are written.
    pub const NAMES: [&'static str; 2] = ["answer", "fail"];
}

/// An agent as it was when a run began, stored or inline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the agent resource")]
pub struct Agent {
    /// Absent for an inline agent.
    #[serde(default)]
    pub id: Option<super::Id>,
    #[serde(default)]
    pub slug: Option<String>,
    #[serde(default)]
    pub name: String,
    pub provider: String,
    pub model: String,
    #[serde(default)]
    pub credential: Option<String>,
    #[serde(default)]
    pub instructions: String,
    #[serde(default)]
    pub tools: Vec<ToolRef>,
    #[serde(default)]
    pub require_tool_approval: bool,
    #[serde(default = "ten")]
    pub tool_max_runs: u32,
    #[serde(default)]
    pub parallel_tool_calls: Option<bool>,
    #[serde(default)]
    pub on_length: OnLength,
    #[serde(default)]
    pub on_tool_limit: OnToolLimit,
    #[serde(default)]
    pub stream_approval: bool,
    #[serde(default)]
    pub parameters: Parameters,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<Fallback>,
    #[serde(default)]
    pub output_schema: Option<String>,
    #[serde(default)]
    pub schema: Option<Value>,
    #[serde(default)]
    pub memory_config: Option<MemoryConfig>,
}

/// What becomes of an answer that was cut at its token limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLength {
    /// It is used, with a warning.
    #[default]
    Keep,
    /// It fails the step.
    Fail,
}

const fn ten() -> u32 {
    10
}

/// The definitions that a run uses, pinned when it starts so that later edits do not reach it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Definitions {
    /// By id, and again by slug.
    #[serde(default)]
    pub agents: std::collections::BTreeMap<String, Agent>,
    /// Stored tools, as their resource JSON, by id and by slug.
    #[serde(default)]
    pub tools: std::collections::BTreeMap<String, Value>,
    /// MCP servers, as their resource JSON, by id and by slug.
    #[serde(default)]
    pub mcp_servers: std::collections::BTreeMap<String, Value>,
    /// Output schemas by name.
    #[serde(default)]
    pub schemas: std::collections::BTreeMap<String, Value>,
}

impl Definitions {
    /// The agent of an id or slug; ids in any case.
    pub fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.get(&name.to_ascii_lowercase())
    }

    /// The stored tool of an id or slug; ids in any case.
    pub fn tool(&self, name: &str) -> Option<&Value> {
        self.tools.get(&name.to_ascii_lowercase())
    }

    /// The MCP server of an id or slug; ids in any case.
    pub fn mcp_server(&self, name: &str) -> Option<&Value> {
        self.mcp_servers.get(&name.to_ascii_lowercase())
    }
}
