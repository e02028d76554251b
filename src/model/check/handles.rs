//! Owns the check which handles may be connected.

use super::super::graph::{DEFAULT_HANDLE, Edge, GraphNode, NodeKind, TOOLSET_HANDLE};
use super::super::node::Node;
use super::Subject;
use super::issue::{IssueCode, Report, Spot};

/// The source handles of a node type. A fork has one for each branch besides; an agent in Tool Mode has `toolset` alone.
pub(in super::super) const fn source_handles(kind: NodeKind) -> &'static [&'static str] {
    match kind {
        NodeKind::Start | NodeKind::Human | NodeKind::Join | NodeKind::SetState | NodeKind::Fork => &["default"],
        NodeKind::Stop | NodeKind::Note => &[],
        NodeKind::Agent => &["default", "rejected", "error"],
        NodeKind::Llm | NodeKind::Rag | NodeKind::Tool | NodeKind::Mcp => &["default", "error"],
        NodeKind::Loop => &["continue", "exit"],
        NodeKind::Condition => &["true", "false"],
    }
}

/// Does control enter a node of a type?
pub(in super::super) const fn is_entered(kind: NodeKind) -> bool {
    match kind {
        NodeKind::Start | NodeKind::Note => false,
        NodeKind::Stop
        | NodeKind::Agent
        | NodeKind::Llm
        | NodeKind::Rag
        | NodeKind::Tool
        | NodeKind::Mcp
        | NodeKind::Human
        | NodeKind::Fork
        | NodeKind::Join
        | NodeKind::Loop
        | NodeKind::SetState
        | NodeKind::Condition => true,
    }
}

/// An agent in Tool Mode.
pub(super) fn is_specialist(node: &GraphNode) -> bool {
    matches!(&node.node, Node::Agent(agent) if agent.tool_mode)
}

fn is_inline_agent(node: &GraphNode) -> bool {
    matches!(&node.node, Node::Agent(agent) if agent.is_inline())
}

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    for edge in &subject.graph.edges {
        let of = |id: &str| {
            let found = subject.wiring.find(id).map(|at| &subject.graph.nodes[at]);
            found.or_else(|| subject.graph.nodes.iter().find(|node| &*node.id == id))
        };
        let (Some(source), Some(target)) = (of(&edge.source), of(&edge.target)) else { continue };
        if edge.is_binding() { binding(edge, source, target, report) } else { control(edge, source, target, report) }
    }
}

fn say(code: IssueCode, variant: &str, edge: &Edge, source: &GraphNode, target: &GraphNode, report: &mut Report) {
    let values = [
        ("source", source.label()),
        ("target", target.label()),
        ("source_handle", &*edge.source_handle),
        ("target_handle", &*edge.target_handle),
    ];
    report.add(code, variant, Spot::edge(&edge.id), &values);
}

fn binding(edge: &Edge, source: &GraphNode, target: &GraphNode, report: &mut Report) {
    if !is_inline_agent(target) {
        say(IssueCode::ToolsTargetNotInline, "", edge, source, target, report);
    }
    let by_toolset = &*edge.source_handle == TOOLSET_HANDLE;
    match source.kind {
        NodeKind::Tool | NodeKind::Mcp => {
            if &*edge.source_handle != DEFAULT_HANDLE {
                say(IssueCode::HandleIncompatible, "source", edge, source, target, report);
            }
        }
        NodeKind::Agent if is_specialist(source) => {
            if !by_toolset {
                say(IssueCode::HandleIncompatible, "source", edge, source, target, report);
            }
        }
        NodeKind::Agent if by_toolset => say(IssueCode::ToolsetWithoutToolMode, "", edge, source, target, report),
        NodeKind::Agent
        | NodeKind::Start
        | NodeKind::Stop
        | NodeKind::Llm
        | NodeKind::Rag
        | NodeKind::Human
        | NodeKind::Fork
        | NodeKind::Join
        | NodeKind::Loop
        | NodeKind::SetState
        | NodeKind::Condition
        | NodeKind::Note => say(IssueCode::ToolsSourceInvalid, "", edge, source, target, report),
    }
}

fn control(edge: &Edge, source: &GraphNode, target: &GraphNode, report: &mut Report) {
    let mut refuse = |code, variant| say(code, variant, edge, source, target, report);
    if &*edge.source_handle == TOOLSET_HANDLE && source.kind == NodeKind::Agent {
        let (code, variant) = if is_specialist(source) {
            (IssueCode::HandleIncompatible, "toolset")
        } else {
            (IssueCode::ToolsetWithoutToolMode, "")
        };
        return refuse(code, variant);
    }
    if is_specialist(source) || is_specialist(target) {
        return refuse(IssueCode::ToolModeControlEdge, "");
    }
    if source.kind != NodeKind::Fork && !source_handles(source.kind).contains(&&*edge.source_handle) {
        return refuse(IssueCode::HandleIncompatible, "source");
    }
    if !is_entered(target.kind) || &*edge.target_handle != DEFAULT_HANDLE {
        refuse(IssueCode::HandleIncompatible, "target");
    }
}
