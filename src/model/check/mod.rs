//! Owns the validation of a graph: its errors and warnings before a run.

mod agents;
mod data;
mod flow;
mod forks;
pub(super) mod handles;
mod issue;
mod known;
mod outputs;
mod references;
mod regions;
mod shape;
mod templates;
#[cfg(test)]
mod tests;
mod warnings;

use serde_json::Value;

pub use issue::{Issue, IssueCode, Severity};
pub use known::{GraphLimits, Known, KnownAgent, KnownServer, KnownTool};

use super::graph::{Graph, GraphNode, NodeKind};
use super::texts::Locale;
use super::wiring::Wiring;
use issue::{Report, Spot};
use regions::Region;

/// Everything that can be said of a graph: errors, then warnings, each in graph order.
pub fn check(graph: &Value, known: &dyn Known, limits: &GraphLimits) -> Vec<Issue> {
    let mut report = Report::new(limits.locale);
    if shape::check(graph, Some(limits), &mut report) {
        let subject = Subject::new(graph, known, limits);
        flow::check(&subject, &mut report);
        handles::check(&subject, &mut report);
        agents::check(&subject, &mut report);
        references::check(&subject, &mut report);
        forks::check(&subject, &mut report);
        outputs::check(&subject, &mut report);
        warnings::check(&subject, &mut report);
        templates::check(&subject, &mut report);
    }
    report.into_issues()
}

/// What keeps a graph from being understood at all, whatever is stored beside it and whatever the limits are.
pub fn shape(graph: &Value) -> Vec<Issue> {
    let mut report = Report::new(Locale::En);
    shape::check(graph, None, &mut report);
    report.into_issues()
}

/// What is checked: as much of the graph as is understood, and what is known beside it.
struct Subject<'c> {
    graph: Graph,
    wiring: Wiring,
    /// From the first start node; none without one.
    reachable: Option<Vec<bool>>,
    regions: Vec<Region>,
    known: &'c dyn Known,
    limits: &'c GraphLimits,
}

impl<'c> Subject<'c> {
    fn new(graph: &Value, known: &'c dyn Known, limits: &'c GraphLimits) -> Self {
        let graph = Graph::read(graph);
        let wiring = Wiring::new(&graph);
        let start = graph.nodes.iter().position(|node| node.kind == NodeKind::Start);
        let reachable = start.map(|start| wiring.reachable([start], |_| false));
        let regions = regions::all(&graph, &wiring, start);
        Self { graph, wiring, reachable, regions, known, limits }
    }

    /// All nodes but notes, with their places.
    fn nodes(&self) -> impl Iterator<Item = (usize, &GraphNode)> {
        self.graph.nodes.iter().enumerate().filter(|(_, node)| node.kind != NodeKind::Note)
    }

    /// Does it lend itself to an agent by a binding edge?
    fn is_binding(&self, at: usize) -> bool {
        let edges = self.graph.edges.iter().enumerate();
        edges.filter(|(_, edge)| edge.is_binding()).any(|(n, _)| self.wiring.ends(n).is_some_and(|(source, _)| source == at))
    }
}

impl GraphNode {
    fn spot(&self) -> Spot<'_> {
        Spot::node(&self.id)
    }
}
