//! Owns the check that the tools, servers and knowledge bases of a graph exist.

use super::super::graph::GraphNode;
use super::super::node::{AgentNode, McpNode, Node, RagNode, ToolNode};
use super::Subject;
use super::issue::{IssueCode, Report};

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    for (at, node) in subject.nodes() {
        match &node.node {
            Node::Agent(agent) if agent.is_inline() => offered(subject, node, agent, report),
            Node::Tool(tool) => called(subject, node, tool, report),
            Node::Mcp(mcp) => server(subject, at, node, mcp, report),
            Node::Rag(rag) => base(subject, node, rag, report),
            Node::Agent(_)
            | Node::Start
            | Node::Stop(_)
            | Node::Llm(_)
            | Node::Human(_)
            | Node::Fork(_)
            | Node::Join(_)
            | Node::Loop(_)
            | Node::SetState(_)
            | Node::Condition(_)
            | Node::Note => {}
        }
    }
}

fn offered(subject: &Subject<'_>, node: &GraphNode, agent: &AgentNode, report: &mut Report) {
    for (n, tool) in agent.tools.iter().enumerate() {
        if subject.known.tool(&tool.reference).is_none() {
            let field = format!("data.tools.{n}.ref");
            let values = [("node", node.label()), ("tool", tool.reference.as_str())];
            report.add(IssueCode::ToolRefUnknown, "", node.spot().field(&field), &values);
        }
    }
}

fn called(subject: &Subject<'_>, node: &GraphNode, tool: &ToolNode, report: &mut Report) {
    let spot = node.spot().field("data.tool_ref");
    let Some(reference) = tool.tool_ref.as_deref() else {
        return report.add(IssueCode::ToolRefUnknown, "missing", spot, &[("node", node.label())]);
    };
    if !is_callable(reference) || subject.known.tool(reference).is_none() {
        report.add(IssueCode::ToolRefUnknown, "", spot, &[("node", node.label()), ("tool", reference)]);
    }
}

/// A tool node names one tool.
fn is_callable(reference: &str) -> bool {
    match reference.split_once(':') {
        Some(("host" | "tool", name)) => !name.is_empty(),
        Some(("toolkit", name)) => name.split_once('/').is_some_and(|(key, tool)| !key.is_empty() && !tool.is_empty()),
        Some(_) | None => false,
    }
}

fn server(subject: &Subject<'_>, at: usize, node: &GraphNode, mcp: &McpNode, report: &mut Report) {
    let spot = node.spot().field("data.mcp_server");
    match mcp.mcp_server.as_deref() {
        None => report.add(IssueCode::McpUnknown, "missing", spot, &[("node", node.label())]),
        Some(name) if subject.known.mcp_server(name).is_none() => {
            report.add(IssueCode::McpUnknown, "", spot, &[("node", node.label()), ("server", name)]);
        }
        Some(_) => {}
    }
    if mcp.tool_name.is_none() && subject.wiring.entering(at).next().is_some() {
        report.add(IssueCode::McpUnknown, "tool", node.spot().field("data.tool_name"), &[("node", node.label())]);
    }
}

fn base(subject: &Subject<'_>, node: &GraphNode, rag: &RagNode, report: &mut Report) {
    if let Some(name) = rag.knowledge_base_id.as_deref().filter(|name| !subject.known.knowledge_base(name)) {
        let values = [("node", node.label()), ("base", name)];
        report.add(IssueCode::KnowledgeBaseUnknown, "", node.spot().field("data.knowledge_base_id"), &values);
    }
}
