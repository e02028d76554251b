//! Owns validation. Stand-in.
#![expect(missing_docs, reason = "a stand-in")]
use serde_json::Value;
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity { Error, Warning }
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Issue { pub code: String, pub severity: Severity, pub message: String, pub node_id: Option<String>, pub edge_id: Option<String>, pub field: Option<String> }
pub enum Locale { En, PtBr }
pub struct GraphLimits { pub kb: u64, pub nodes: usize, pub edges: usize, pub fork_branches: usize, pub loop_max_steps: u64, pub loop_default_steps: u64, pub locale: Locale }
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownAgent { pub require_tool_approval: bool, pub gated_tool: bool, pub schema: bool, pub provider_native: bool }
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownTool { pub names: Vec<String>, pub require_approval: bool, pub idempotent: bool, pub provider_native: bool }
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownServer { pub require_approval: bool }
pub trait Known {
    fn agent(&self, name: &str) -> Option<KnownAgent>;
    fn tool(&self, reference: &str) -> Option<KnownTool>;
    fn mcp_server(&self, name: &str) -> Option<KnownServer>;
    fn knowledge_base(&self, name: &str) -> bool;
    fn schema(&self, name: &str) -> Option<Value>;
    fn state_keys(&self) -> Vec<String>;
}
pub fn check(graph: &Value, known: &dyn Known, _: &GraphLimits) -> Vec<Issue> {
    let mut out = Vec::new();
    let issue = |code: &str, severity, node: &str| Issue { code: code.into(), severity, message: format!("{code} at {node}"), node_id: Some(node.into()), edge_id: None, field: None };
    for node in graph["nodes"].as_array().into_iter().flatten() {
        let id = node["id"].as_str().unwrap_or("");
        if let Some(agent) = node["data"]["agent_id"].as_str() && known.agent(agent).is_none() { out.push(issue("agent_unknown", Severity::Error, id)); }
        if node["type"] == "rag" && node["data"]["knowledge_base_id"].is_null() { out.push(issue("knowledge_base_missing", Severity::Warning, id)); }
    }
    if !graph["nodes"].as_array().is_some_and(|nodes| nodes.iter().any(|node| node["type"] == "stop")) { out.push(issue("stop_missing", Severity::Error, "")); }
    out
}
