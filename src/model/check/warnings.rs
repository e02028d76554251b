//! Owns warnings about a graph that can be executed.

use super::super::graph::{GraphNode, NodeKind};
use super::super::node::{LoopNode, Node, OnMax};
use super::Subject;
use super::agents::{has_native_tool, is_approval_enabled, streams_approval};
use super::handles::source_handles;
use super::issue::{IssueCode, Report};

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    for (at, node) in subject.nodes() {
        reach(subject, at, node, report);
        node_alone(subject, at, node, report);
        checkpoint(subject, at, node, report);
    }
}

fn reach(subject: &Subject<'_>, at: usize, node: &GraphNode, report: &mut Report) {
    let Some(reachable) = &subject.reachable else { return };
    if !reachable[at] {
        if node.kind != NodeKind::Start && !subject.is_binding(at) {
            report.add(IssueCode::NodeUnreachable, "", node.spot(), &[("node", node.label())]);
        }
        return;
    }
    for handle in handles_taken(node) {
        let is_wired = subject.wiring.leaving(at).any(|(edge, _)| &*subject.graph.edges[edge].source_handle == *handle);
        if !is_wired {
            report.add(IssueCode::HandleUnconnected, "", node.spot(), &[("node", node.label()), ("handle", handle)]);
        }
    }
}

/// The handles by which a run that does not fail may leave a node.
fn handles_taken(node: &GraphNode) -> &'static [&'static str] {
    match &node.node {
        Node::Loop(data) if has_no_exit(data) => &["continue"],
        Node::Loop(_) | Node::Condition(_) => source_handles(node.kind),
        Node::Agent(agent) if agent.tool_mode => &[],
        Node::Start
        | Node::Agent(_)
        | Node::Llm(_)
        | Node::Rag(_)
        | Node::Tool(_)
        | Node::Mcp(_)
        | Node::Human(_)
        | Node::Join(_)
        | Node::SetState(_) => &["default"],
        Node::Stop(_) | Node::Fork(_) | Node::Note => &[],
    }
}

fn has_no_exit(data: &LoopNode) -> bool {
    data.test.is_none() && data.on_max == OnMax::Fail
}

fn node_alone(subject: &Subject<'_>, at: usize, node: &GraphNode, report: &mut Report) {
    let values = [("node", node.label())];
    match &node.node {
        Node::Rag(rag) if rag.knowledge_base_id.is_none() => {
            report.add(IssueCode::KnowledgeBaseMissing, "", node.spot().field("data.knowledge_base_id"), &values);
        }
        Node::Loop(data) if data.test.is_none() => report.add(IssueCode::LoopWithoutCondition, "", node.spot(), &values),
        Node::Agent(agent) => {
            let approval = is_approval_enabled(subject, at, agent);
            if agent.stream && (agent.structured || (approval && !streams_approval(subject, agent))) {
                report.add(IssueCode::StreamIgnored, "", node.spot().field("data.stream"), &values);
            }
            if approval && has_native_tool(subject, agent) {
                report.add(IssueCode::ApprovalProviderTool, "", node.spot(), &values);
            }
        }
        Node::Llm(llm) if llm.stream && llm.structured => {
            report.add(IssueCode::StreamIgnored, "", node.spot().field("data.stream"), &values);
        }
        Node::Tool(tool) if tool.common.retries.max > 0 && !tool.idempotent => {
            let known = tool.tool_ref.as_deref().and_then(|reference| subject.known.tool(reference));
            if !known.is_some_and(|known| known.idempotent) {
                report.add(IssueCode::RetryNotIdempotent, "", node.spot().field("data.retries.max"), &values);
            }
        }
        Node::Mcp(mcp) if mcp.common.retries.max > 0 && !mcp.idempotent => {
            report.add(IssueCode::RetryNotIdempotent, "", node.spot().field("data.retries.max"), &values);
        }
        Node::Rag(_)
        | Node::Loop(_)
        | Node::Llm(_)
        | Node::Tool(_)
        | Node::Mcp(_)
        | Node::Start
        | Node::Stop(_)
        | Node::Human(_)
        | Node::Fork(_)
        | Node::Join(_)
        | Node::SetState(_)
        | Node::Condition(_)
        | Node::Note => {}
    }
}

fn checkpoint(subject: &Subject<'_>, at: usize, node: &GraphNode, report: &mut Report) {
    let supported = matches!(node.kind, NodeKind::Agent | NodeKind::Llm | NodeKind::Rag | NodeKind::Tool);
    let data = subject.graph.data(at);
    if !supported && data.and_then(|data| data.get("checkpoint")).and_then(serde_json::Value::as_bool) == Some(true) {
        report.add(IssueCode::CheckpointUnsupported, "", node.spot().field("data.checkpoint"), &[("node", node.label())]);
    }
}
