//! Owns the checks of agents: their definition, tools, and agents as tools of others.

use std::collections::HashSet;

use super::super::agent::{ToolChoice, ToolRef};
use super::super::graph::GraphNode;
use super::super::node::{AgentNode, ConfigMode, McpNode, Node};
use super::super::wiring;
use super::Subject;
use super::issue::{IssueCode, Report};
use super::known::KnownTool;

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    for (at, node) in subject.nodes() {
        let Node::Agent(agent) = &node.node else { continue };
        config(subject, node, agent, report);
        if agent.is_inline() {
            names(subject, at, node, agent, report);
        }
        if agent.tool_mode {
            exposure(node, agent, report);
            if is_approval_enabled(subject, at, agent) {
                report.add(IssueCode::ToolModeApproval, "", node.spot(), &[("node", node.label())]);
            }
        }
    }
    for at in specialist_cycles(subject) {
        let node = &subject.graph.nodes[at];
        report.add(IssueCode::ToolModeCycle, "", node.spot(), &[("node", node.label())]);
    }
}

fn config(subject: &Subject<'_>, node: &GraphNode, agent: &AgentNode, report: &mut Report) {
    let values = [("node", node.label())];
    if let Some(reference) = agent.agent_ref.as_deref().filter(|_| agent.config_mode != Some(ConfigMode::Inline)) {
        let values = [("node", node.label()), ("agent", reference)];
        report.add(IssueCode::AgentUnknown, "reference", node.spot().field("data.agent_ref"), &values);
    }
    if agent.is_inline() {
        let field = match (&agent.provider, &agent.model) {
            (Some(_), Some(_)) => return,
            (Some(_), None) => "data.model",
            (None, Some(_)) => "data.provider",
            (None, None) if agent.config_mode == Some(ConfigMode::Inline) => "data.provider",
            (None, None) => "data.agent_id",
        };
        return report.add(IssueCode::AgentConfig, "", node.spot().field(field), &values);
    }
    match &agent.agent_id {
        None if agent.agent_ref.is_some() => {}
        None => report.add(IssueCode::AgentConfig, "", node.spot().field("data.agent_id"), &values),
        Some(id) if subject.known.agent(id).is_none() => {
            report.add(IssueCode::AgentUnknown, "", node.spot().field("data.agent_id"), &[("node", node.label()), ("agent", id)]);
        }
        Some(_) => {}
    }
}

fn exposure(node: &GraphNode, agent: &AgentNode, report: &mut Report) {
    let (slug, description) =
        agent.tool_exposure.as_ref().map_or(("", ""), |tool| (tool.slug.as_str(), tool.description.as_str()));
    let values = [("node", node.label()), ("slug", slug)];
    if !is_tool_name(slug) {
        report.add(IssueCode::ToolModeSlug, "", node.spot().field("data.tool_exposure.slug"), &values);
    }
    if description.trim().is_empty() {
        report.add(IssueCode::ToolModeSlug, "description", node.spot().field("data.tool_exposure.description"), &values);
    }
}

/// A name that providers accept for a tool.
fn is_tool_name(slug: &str) -> bool {
    (1..=64).contains(&slug.len())
        && slug.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && slug.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Tools that a model would see under one name. Those of MCP servers get a prefix where they clash.
fn names(subject: &Subject<'_>, at: usize, node: &GraphNode, agent: &AgentNode, report: &mut Report) {
    let mut seen = HashSet::new();
    let mut told = HashSet::new();
    let offered = agent.tools.iter().flat_map(|tool| offered(subject, tool));
    let bound = subject.wiring.bound(at).flat_map(|(_, source)| bound(subject, source));
    for name in offered.chain(bound) {
        if !seen.insert(name.clone()) && told.insert(name.clone()) {
            report.add(IssueCode::ToolNameDuplicate, "", node.spot(), &[("node", node.label()), ("tool", &name)]);
        }
    }
    if let Some(ToolChoice::Tool(name)) = &agent.parameters.tool_choice
        && !is_among(name, &seen)
    {
        let expected = report.phrase("expected.tool_choice", &[]);
        let field = "parameters.tool_choice";
        let values = [("node", node.label()), ("field", field), ("expected", &*expected)];
        report.add(IssueCode::NodeDataInvalid, "", node.spot().field("data.parameters.tool_choice"), &values);
    }
}

/// A name of a tool is known, or may be: what a server has is only known when it is asked, and a clash gives its tools a prefix.
fn is_among(name: &str, seen: &HashSet<String>) -> bool {
    seen.iter().any(|known| match known.strip_prefix("mcp:").map(|known| known.split_once('/')) {
        None => known == name,
        Some(tool) => tool.is_none_or(|(_, tool)| name.ends_with(tool)),
    })
}

fn offered(subject: &Subject<'_>, tool: &ToolRef) -> Vec<String> {
    let known = subject.known.tool(&tool.reference).filter(|known| !known.provider_native).unwrap_or_default();
    let only = tool.only.as_deref().unwrap_or_default();
    let wanted = |name: &String| (only.is_empty() || only.contains(name)) && !tool.exclude.contains(name);
    let names = known.names.into_iter().filter(wanted);
    if !tool.reference.starts_with("mcp:") {
        return names.collect();
    }
    // The same tool of a server twice; the server as a whole as long as its tools are not known.
    let mut names: Vec<String> = names.map(|name| format!("{}/{name}", tool.reference)).collect();
    if names.is_empty() {
        names.push(tool.reference.clone());
    }
    names
}

fn bound(subject: &Subject<'_>, source: usize) -> Vec<String> {
    match &subject.graph.nodes[source].node {
        Node::Tool(tool) => {
            tool.tool_ref.as_deref().and_then(|reference| subject.known.tool(reference)).unwrap_or_default().names
        }
        Node::Agent(agent) if agent.tool_mode => {
            agent.tool_exposure.iter().map(|tool| tool.slug.clone()).filter(|slug| is_tool_name(slug)).collect()
        }
        Node::Mcp(mcp) => server_tool(mcp).into_iter().collect(),
        Node::Agent(_)
        | Node::Start
        | Node::Stop(_)
        | Node::Llm(_)
        | Node::Rag(_)
        | Node::Human(_)
        | Node::Fork(_)
        | Node::Join(_)
        | Node::Loop(_)
        | Node::SetState(_)
        | Node::Condition(_)
        | Node::Note => Vec::new(),
    }
}

fn server_tool(mcp: &McpNode) -> Option<String> {
    let server = mcp.mcp_server.as_deref()?;
    Some(mcp.tool_name.as_ref().map_or_else(|| format!("mcp:{server}"), |tool| format!("mcp:{server}/{tool}")))
}

/// May any call of the agent wait for a person?
pub(super) fn is_approval_enabled(subject: &Subject<'_>, at: usize, agent: &AgentNode) -> bool {
    let stored =
        agent.agent_id.as_deref().filter(|_| !agent.is_inline()).and_then(|id| subject.known.agent(id)).unwrap_or_default();
    agent.require_tool_approval.unwrap_or(stored.require_tool_approval)
        || stored.gated_tool
        || (agent.is_inline() && (agent.tools.iter().any(|tool| is_gated(subject, tool)) || is_bound_gated(subject, at)))
}

/// Its text is streamed although approval is enabled.
pub(super) fn streams_approval(subject: &Subject<'_>, agent: &AgentNode) -> bool {
    let stored = || agent.agent_id.as_deref().filter(|_| !agent.is_inline()).and_then(|id| subject.known.agent(id)).unwrap_or_default();
    agent.stream_approval.unwrap_or_else(|| stored().stream_approval)
}

fn is_gated(subject: &Subject<'_>, tool: &ToolRef) -> bool {
    let known = subject.known.tool(&tool.reference).unwrap_or_default();
    (known.require_approval || tool.require_approval == Some(true)) && !known.provider_native
}

fn is_bound_gated(subject: &Subject<'_>, at: usize) -> bool {
    subject.wiring.bound(at).any(|(_, source)| match &subject.graph.nodes[source].node {
        Node::Tool(tool) => {
            tool.tool_ref.as_deref().and_then(|reference| subject.known.tool(reference)).is_some_and(|tool| tool.require_approval)
        }
        Node::Mcp(mcp) => mcp
            .mcp_server
            .as_deref()
            .and_then(|name| subject.known.mcp_server(name))
            .is_some_and(|server| server.require_approval),
        Node::Start
        | Node::Stop(_)
        | Node::Agent(_)
        | Node::Llm(_)
        | Node::Rag(_)
        | Node::Human(_)
        | Node::Fork(_)
        | Node::Join(_)
        | Node::Loop(_)
        | Node::SetState(_)
        | Node::Condition(_)
        | Node::Note => false,
    })
}

/// Does a tool run at the provider, where nobody can stop it?
pub(super) fn has_native_tool(subject: &Subject<'_>, agent: &AgentNode) -> bool {
    let is_native = |tool: &KnownTool| tool.provider_native;
    if agent.is_inline() {
        let mut tools = agent.tools.iter();
        return tools.any(|tool| {
            tool.reference.starts_with("provider:") || subject.known.tool(&tool.reference).as_ref().is_some_and(is_native)
        });
    }
    agent.agent_id.as_deref().and_then(|id| subject.known.agent(id)).is_some_and(|agent| agent.provider_native)
}

fn specialist_cycles(subject: &Subject<'_>) -> Vec<usize> {
    let is_agent = |at: usize| matches!(&subject.graph.nodes[at].node, Node::Agent(_));
    let specialists = |at: usize| subject.wiring.bound(at).map(|(_, source)| source).filter(move |source| is_agent(*source));
    wiring::cycles(subject.wiring.len(), specialists, |at| !is_agent(at))
}
