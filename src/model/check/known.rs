//! Owns the inputs of validation besides the graph: stored definitions and limits.

use serde_json::Value;

use super::super::texts::Locale;

/// A stored agent, as far as graphs care.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownAgent {
    /// Its own flag: a person approves all its calls.
    pub require_tool_approval: bool,
    /// It has a tool whose calls a person approves, whatever its flag says.
    pub gated_tool: bool,
    /// Its text is streamed although a person approves calls.
    pub stream_approval: bool,
    /// It has an output schema of its own.
    pub schema: bool,
    /// It uses a tool that runs at the provider.
    pub provider_native: bool,
}

/// A tool reference that leads somewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownTool {
    /// The names that models see; none when only the far end knows them.
    pub names: Vec<String>,
    /// A person approves its calls.
    pub require_approval: bool,
    /// Calling it twice does no harm.
    pub idempotent: bool,
    /// It runs at the provider.
    pub provider_native: bool,
}

/// An MCP server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownServer {
    /// A person approves its calls.
    pub require_approval: bool,
}

/// What exists beside the graph. Names are ids or slugs.
pub trait Known {
    /// A stored agent.
    fn agent(&self, name: &str) -> Option<KnownAgent>;
    /// What a tool reference leads to: `host:`, `tool:`, `toolkit:<key>`, `toolkit:<key>/<tool>`, `mcp:`, `provider:`.
    fn tool(&self, reference: &str) -> Option<KnownTool>;
    /// An MCP server.
    fn mcp_server(&self, name: &str) -> Option<KnownServer>;
    /// Is there such a knowledge base?
    fn knowledge_base(&self, name: &str) -> bool;
    /// A registered output schema.
    fn schema(&self, name: &str) -> Option<Value>;
    /// The keys that the workflow's state schema names.
    fn state_keys(&self) -> Vec<String>;
}

/// The limits of a graph, and the language of what is said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct GraphLimits {
    /// KiB of its JSON.
    pub kb: u64,
    pub nodes: usize,
    pub edges: usize,
    pub fork_branches: usize,
    /// The highest bound of a loop.
    pub loop_max_steps: u64,
    /// The bound of a loop that says none.
    pub loop_default_steps: u64,
    /// The language.
    pub locale: Locale,
}

impl Default for GraphLimits {
    fn default() -> Self {
        Self {
            kb: 1024,
            nodes: 500,
            edges: 2000,
            fork_branches: 256,
            loop_max_steps: 10_000,
            loop_default_steps: 10,
            locale: Locale::En,
        }
    }
}
