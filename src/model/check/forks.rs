//! Owns the check that forks and joins are paired and that branches stay between them.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::graph::{DEFAULT_HANDLE, GraphNode, NodeKind};
use super::super::node::Node;
use super::Subject;
use super::issue::{IssueCode, Report, Spot};
use super::regions::Region;

/// Forks within forks.
const MAX_NESTING: usize = 4;

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    let mut escapes = HashSet::new();
    for region in &subject.regions {
        let node = &subject.graph.nodes[region.fork];
        let values = [("node", node.label())];
        if region.join.is_none() {
            report.add(IssueCode::ForkWithoutJoin, "", node.spot(), &values);
        }
        let count = branches(subject, region, node, report);
        if count == 1 {
            report.add(IssueCode::ForkSingleBranch, "", node.spot(), &values);
        }
        nesting(subject, region, node, report);
        escapes.extend(&region.escapes);
    }
    let mut escapes: Vec<usize> = escapes.into_iter().collect();
    escapes.sort_unstable();
    for edge in escapes {
        escape(subject, edge, report);
    }
    joins(subject, report);
}

fn escape(subject: &Subject<'_>, edge: usize, report: &mut Report) {
    let Some((source, target)) = subject.wiring.ends(edge) else { return };
    let label = |at: usize| subject.graph.nodes[at].label();
    let values = [("source", label(source)), ("target", label(target))];
    report.add(IssueCode::ForkBranchEscapes, "", Spot::edge(&subject.graph.edges[edge].id), &values);
}

/// Checks the branches; says how many there are.
fn branches(subject: &Subject<'_>, region: &Region, node: &GraphNode, report: &mut Report) -> usize {
    let Node::Fork(fork) = &node.node else { return 0 };
    let wired = &region.handles;
    let Some(declared) = &fork.branches else {
        if wired.is_empty() {
            report.add(IssueCode::ForkWithoutBranch, "", node.spot(), &[("node", node.label())]);
        }
        for handle in wired.iter().filter(|handle| !is_branch_id(handle)) {
            invalid(subject, node, "id", handle, None, report);
        }
        return too_many(subject, wired.len(), node, report);
    };
    let mut seen = HashSet::new();
    for (n, id) in declared.iter().enumerate() {
        let field = format!("data.branches.{n}");
        if !is_branch_id(id) {
            invalid(subject, node, "id", id, Some(&field), report);
        } else if !seen.insert(id) {
            invalid(subject, node, "duplicate", id, Some(&field), report);
        } else if !wired.contains(id) {
            invalid(subject, node, "unwired", id, Some(&field), report);
        }
    }
    for id in wired.iter().filter(|id| !declared.contains(id)) {
        invalid(subject, node, "undeclared", id, Some("data.branches"), report);
    }
    too_many(subject, declared.len(), node, report)
}

fn invalid(subject: &Subject<'_>, node: &GraphNode, variant: &str, branch: &Arc<str>, field: Option<&str>, report: &mut Report) {
    let edge =
        subject.graph.edges.iter().find(|edge| edge.source == node.id && edge.source_handle == *branch && !edge.is_binding());
    let spot = Spot { node: Some(&node.id), edge: edge.map(|edge| edge.id.as_str()), field };
    report.add(IssueCode::ForkBranchInvalid, variant, spot, &[("node", node.label()), ("branch", branch)]);
}

fn too_many(subject: &Subject<'_>, count: usize, node: &GraphNode, report: &mut Report) -> usize {
    let limit = subject.limits.fork_branches;
    if count > limit {
        let (count, limit) = (count.to_string(), limit.to_string());
        let values = [("node", node.label()), ("count", count.as_str()), ("limit", &limit)];
        report.add(IssueCode::ForkBranchInvalid, "many", node.spot().field("data.branches"), &values);
    }
    count
}

fn is_branch_id(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id != DEFAULT_HANDLE
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

fn nesting(subject: &Subject<'_>, region: &Region, node: &GraphNode, report: &mut Report) {
    let around =
        subject.regions.iter().filter(|outer| outer.fork != region.fork && outer.branch_of(region.fork).is_some()).count();
    if around >= MAX_NESTING {
        let limit = MAX_NESTING.to_string();
        report.add(IssueCode::ForkNesting, "", node.spot(), &[("node", node.label()), ("limit", &limit)]);
    }
    if region.crosses_loop {
        report.add(IssueCode::ForkNesting, "loop", node.spot(), &[("node", node.label())]);
    }
}

fn joins(subject: &Subject<'_>, report: &mut Report) {
    for (at, node) in subject.nodes().filter(|(_, node)| node.kind == NodeKind::Join) {
        let forks = subject.regions.iter().filter(|region| region.join == Some(at)).count();
        let code = match forks {
            0 => IssueCode::JoinWithoutFork,
            1 => continue,
            _ => IssueCode::JoinShared,
        };
        report.add(code, "", node.spot(), &[("node", node.label())]);
    }
}
