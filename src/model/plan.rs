//! Owns the graph compiled for running: indexes instead of ids, and what follows what.

use std::collections::HashMap;
use std::sync::Arc;

use super::graph::{Graph, GraphNode, NodeKind};
use super::node::Node;
use super::wiring::Wiring;

/// A node's place in its graph.
pub type NodeIndex = u32;

/// A branch of a fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its id, the fork's handle.
    pub id: Arc<str>,
    /// Its first node, which may be the join itself; none when nothing is wired.
    pub first: Option<NodeIndex>,
}

/// A graph compiled once.
#[derive(Clone, Debug)]
pub struct Plan {
    graph: Arc<Graph>,
    places: HashMap<Arc<str>, NodeIndex>,
    entry: Option<NodeIndex>,
    exits: Box<[Box<[(Arc<str>, NodeIndex)]>]>,
    branches: Box<[Box<[Branch]>]>,
    joins: Box<[Option<NodeIndex>]>,
    bindings: Box<[Box<[NodeIndex]>]>,
    /// Of each loop node: the nodes from which it can be reached.
    towards: HashMap<NodeIndex, Box<[bool]>>,
}

impl Plan {
    /// Compiles a graph.
    #[must_use]
    pub fn new(graph: Arc<Graph>) -> Self {
        let wiring = Wiring::new(&graph);
        let all = || 0..wiring.len();
        let exits: Box<[_]> = all().map(|at| exits(&graph, &wiring, at)).collect();
        let branches = all().map(|at| branches(&graph, &wiring, at)).collect();
        let joins = all().map(|at| wiring.join_of(&graph, at).map(place)).collect();
        let bindings = all().map(|at| wiring.bound(at).map(|(_, source)| place(source)).collect()).collect();
        let loops = all().filter(|at| graph.nodes[*at].kind == NodeKind::Loop);
        let towards = loops.map(|at| (place(at), wiring.reaching([at]).into())).collect();
        let start = graph.nodes.iter().position(|node| node.kind == NodeKind::Start);
        let entry = start.and_then(|start| exits.get(start)?.iter().find(|(handle, _)| &**handle == "default").map(|(_, next)| *next));
        let places = wiring.places().map(|(id, at)| (Arc::clone(id), place(at))).collect();
        Self { graph, places, entry, exits, branches, joins, bindings, towards }
    }

    /// The graph itself.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The node at a place, which must be one of this plan.
    #[must_use]
    pub fn node(&self, at: NodeIndex) -> &GraphNode {
        &self.graph.nodes[at as usize]
    }

    /// The place of a node.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<NodeIndex> {
        self.places.get(id).copied()
    }

    /// The node that the start leads to.
    #[must_use]
    pub const fn entry(&self) -> Option<NodeIndex> {
        self.entry
    }

    /// The node that a handle leads to.
    #[must_use]
    pub fn next(&self, at: NodeIndex, handle: &str) -> Option<NodeIndex> {
        self.exits.get(at as usize)?.iter().find(|(name, _)| &**name == handle).map(|(_, next)| *next)
    }

    /// The branches of a fork, in declaration order.
    #[must_use]
    pub fn branches(&self, fork: NodeIndex) -> &[Branch] {
        self.branches.get(fork as usize).map_or(&[], |branches| branches)
    }

    /// The join that is paired with a fork.
    #[must_use]
    pub fn join_of(&self, fork: NodeIndex) -> Option<NodeIndex> {
        self.joins.get(fork as usize).copied().flatten()
    }

    /// Can a loop node be reached from a node over control edges? From itself it can.
    #[must_use]
    pub fn reaches_loop(&self, from: NodeIndex, loop_node: NodeIndex) -> bool {
        self.towards.get(&loop_node).is_some_and(|reaching| reaching.get(from as usize) == Some(&true))
    }

    /// The nodes that lend their tools to an agent, in the order of the edges.
    #[must_use]
    pub fn tool_bindings(&self, agent: NodeIndex) -> &[NodeIndex] {
        self.bindings.get(agent as usize).map_or(&[], |bindings| bindings)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a graph of 2³² nodes does not fit into memory")]
const fn place(at: usize) -> NodeIndex {
    at as NodeIndex
}

/// The first control edge of each handle.
fn exits(graph: &Graph, wiring: &Wiring, at: usize) -> Box<[(Arc<str>, NodeIndex)]> {
    let mut exits: Vec<(Arc<str>, NodeIndex)> = Vec::new();
    for (edge, next) in wiring.leaving(at) {
        let handle = &graph.edges[edge].source_handle;
        if graph.nodes[at].kind == NodeKind::Fork || !exits.iter().any(|(name, _)| name == handle) {
            exits.push((Arc::clone(handle), place(next)));
        }
    }
    exits.into()
}

fn branches(graph: &Graph, wiring: &Wiring, at: usize) -> Box<[Branch]> {
    let Node::Fork(fork) = &graph.nodes[at].node else { return Box::default() };
    let mut first: HashMap<&Arc<str>, NodeIndex> = HashMap::new();
    let mut order = Vec::new();
    for (edge, next) in wiring.leaving(at) {
        let handle = &graph.edges[edge].source_handle;
        if &**handle != "default" && !first.contains_key(handle) {
            first.insert(handle, place(next));
            order.push(handle);
        }
    }
    let declared = fork.branches.as_ref().map_or(order, |declared| declared.iter().collect());
    declared.into_iter().map(|id| Branch { id: Arc::clone(id), first: first.get(id).copied() }).collect()
}
