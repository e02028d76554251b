//! Owns the check of the control flow: one start, a stop, a path between them, cycles only through loops.

use super::super::graph::NodeKind;
use super::super::node::Node;
use super::Subject;
use super::issue::{IssueCode, Report, Spot};

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    ends(subject, report);
    handles_taken_twice(subject, report);
    cycles(subject, report);
    loops(subject, report);
}

fn ends(subject: &Subject<'_>, report: &mut Report) {
    let of = |kind: NodeKind| subject.nodes().filter(move |(_, node)| node.kind == kind);
    let mut starts = of(NodeKind::Start);
    let Some((first, start)) = starts.next() else {
        report.add(IssueCode::StartCount, "none", Spot::default(), &[]);
        return stops(subject, report);
    };
    let mut single = true;
    for (_, extra) in starts {
        single = false;
        report.add(IssueCode::StartCount, "extra", extra.spot(), &[("node", extra.label())]);
    }
    stops(subject, report);
    let reachable = subject.wiring.reachable([first], |_| false);
    let mut stops = of(NodeKind::Stop).peekable();
    if single && stops.peek().is_some() && !stops.any(|(at, _)| reachable[at]) {
        report.add(IssueCode::PathMissing, "", start.spot(), &[("node", start.label())]);
    }
}

fn stops(subject: &Subject<'_>, report: &mut Report) {
    if !subject.nodes().any(|(_, node)| node.kind == NodeKind::Stop) {
        report.add(IssueCode::StopMissing, "", Spot::default(), &[]);
    }
}

fn handles_taken_twice(subject: &Subject<'_>, report: &mut Report) {
    let mut taken = std::collections::HashSet::new();
    for (n, edge) in subject.graph.edges.iter().enumerate().filter(|(_, edge)| !edge.is_binding()) {
        let Some((source, _)) = subject.wiring.ends(n) else { continue };
        if !taken.insert((source, &edge.source_handle)) {
            let node = &subject.graph.nodes[source];
            let values = [("node", node.label()), ("handle", &*edge.source_handle)];
            report.add(IssueCode::HandleMultipleEdges, "", Spot::edge(&edge.id), &values);
        }
    }
}

fn cycles(subject: &Subject<'_>, report: &mut Report) {
    for at in subject.wiring.cycles(|at| subject.graph.nodes[at].kind == NodeKind::Loop) {
        let node = &subject.graph.nodes[at];
        report.add(IssueCode::CycleWithoutLoop, "", node.spot(), &[("node", node.label())]);
    }
}

fn loops(subject: &Subject<'_>, report: &mut Report) {
    let max = subject.limits.loop_max_steps.to_string();
    for (_, node) in subject.nodes() {
        let Node::Loop(data) = &node.node else { continue };
        if data.max_steps.is_some_and(|bound| bound == 0 || u64::from(bound) > subject.limits.loop_max_steps) {
            report.add(
                IssueCode::LoopMaxSteps,
                "",
                node.spot().field("data.max_steps"),
                &[("node", node.label()), ("limit", &max)],
            );
        }
    }
}
