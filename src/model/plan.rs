//! Owns the graph compiled for execution: indexes instead of ids, and the successors of each node.

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

/// Where the handles of a node lead to.
type Exits = Box<[(Arc<str>, NodeIndex)]>;

/// A graph compiled once.
#[derive(Clone, Debug)]
pub struct Plan {
    graph: Arc<Graph>,
    places: HashMap<Arc<str>, NodeIndex>,
    entry: Option<NodeIndex>,
    exits: Box<[Exits]>,
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
        let entry =
            start.and_then(|start| exits.get(start)?.iter().find(|(handle, _)| &**handle == "default").map(|(_, next)| *next));
        let places = wiring.places().map(|(id, at)| (Arc::clone(id), place(at))).collect();
        Self { graph, places, entry, exits, branches, joins, bindings, towards }
    }

    /// The graph itself.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The node at a place, which must be one of this plan.
    pub fn node(&self, at: NodeIndex) -> &GraphNode {
        &self.graph.nodes[at as usize]
    }

    /// The place of a node.
    pub fn find(&self, id: &str) -> Option<NodeIndex> {
        self.places.get(id).copied()
    }

    /// The node that the start leads to.
    pub const fn entry(&self) -> Option<NodeIndex> {
        self.entry
    }

    /// The node that a handle leads to.
    pub fn next(&self, at: NodeIndex, handle: &str) -> Option<NodeIndex> {
        self.exits.get(at as usize)?.iter().find(|(name, _)| &**name == handle).map(|(_, next)| *next)
    }

    /// The branches of a fork, in declaration order.
    pub fn branches(&self, fork: NodeIndex) -> &[Branch] {
        self.branches.get(fork as usize).map_or(&[], |branches| branches)
    }

    /// The join that is paired with a fork.
    pub fn join_of(&self, fork: NodeIndex) -> Option<NodeIndex> {
        self.joins.get(fork as usize).copied().flatten()
    }

    /// Can a loop node be reached from a node over control edges? From itself it can.
    pub fn reaches_loop(&self, from: NodeIndex, loop_node: NodeIndex) -> bool {
        self.towards.get(&loop_node).is_some_and(|reaching| reaching.get(from as usize) == Some(&true))
    }

    /// The nodes that lend their tools to an agent, in the order of the edges.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::sketch;

    fn plan(text: &str) -> Plan {
        Plan::new(Arc::new(Graph::parse(&sketch::graph(text).unwrap()).unwrap()))
    }

    fn id(plan: &Plan, at: Option<NodeIndex>) -> Option<&str> {
        at.map(|at| &*plan.node(at).id)
    }

    #[test]
    fn control_follows_handles() {
        let plan = plan("start -> condition; condition.true -> stop; condition.false -> set_1{key: a} -> stop");
        let condition = plan.find("condition").unwrap();
        assert_eq!(id(&plan, plan.entry()), Some("condition"));
        assert_eq!(id(&plan, plan.next(condition, "true")), Some("stop"));
        assert_eq!(id(&plan, plan.next(condition, "false")), Some("set_1"));
        assert_eq!(plan.next(condition, "default"), None);
        assert_eq!(plan.find("gone"), None);
    }

    #[test]
    fn branches_come_in_the_order_that_is_declared() {
        let text =
            |data: &str| format!("start -> fork{{{data}}} -> join -> stop; fork.b -> set_1{{key: a}} -> join; fork.a -> join");
        let of = |text: &str| {
            let plan = plan(text);
            let fork = plan.find("fork").unwrap();
            let branches =
                plan.branches(fork).iter().map(|branch| (branch.id.to_string(), id(&plan, branch.first).map(str::to_owned)));
            (branches.collect::<Vec<_>>(), id(&plan, plan.join_of(fork)).map(str::to_owned))
        };
        let pair = |id: &str, first: &str| (id.to_owned(), Some(first.to_owned()));
        assert_eq!(of(&text("")), (vec![pair("b", "set_1"), pair("a", "join")], Some("join".into())));
        assert_eq!(of(&text("branches: [a, b]")).0, [pair("a", "join"), pair("b", "set_1")]);
        assert_eq!(of(&text("branches: [c]")).0, [("c".to_owned(), None)]);
        let named = plan("start -> fork{join: end}; fork.a -> end:join -> stop");
        assert_eq!(id(&named, named.join_of(named.find("fork").unwrap())), Some("end"));
    }

    #[test]
    fn a_loop_is_reached_from_its_body_and_from_before() {
        let plan = plan(
            "start -> set_0{key: a} -> loop_1; loop_1.continue -> set_1{key: a} -> loop_2; loop_2.continue -> set_2{key: a} -> loop_2; \
             loop_2.exit -> loop_1; loop_1.exit -> set_3{key: a} -> stop",
        );
        let reaches = |from: &str, to: &str| plan.reaches_loop(plan.find(from).unwrap(), plan.find(to).unwrap());
        for (from, first, second) in [
            ("set_0", true, true),
            ("set_1", true, true),
            ("set_2", true, true),
            ("loop_1", true, true),
            ("set_3", false, false),
            ("stop", false, false),
        ] {
            assert_eq!((reaches(from, "loop_1"), reaches(from, "loop_2")), (first, second), "{from}");
        }
        assert!(!reaches("set_1", "set_1"));
    }

    #[test]
    fn bindings_carry_no_control() {
        let plan =
            plan("start -> agent_1{provider: p, model: m} -> stop; tool_1 => agent_1; mcp_1 => agent_1; tool_1 => agent_1");
        let bound: Vec<_> = plan.tool_bindings(plan.find("agent_1").unwrap()).iter().map(|at| &*plan.node(*at).id).collect();
        assert_eq!(bound, ["tool_1", "mcp_1"]);
        assert_eq!(plan.next(plan.find("tool_1").unwrap(), "default"), None);
    }
}
