//! Owns the connections of a graph by index: control edges, binding edges, reachability.

use std::collections::HashMap;
use std::sync::Arc;

use super::graph::{DEFAULT_HANDLE, Graph, NodeKind};
use super::node::Node;

/// The edges of a graph by node. Edges at notes lead nowhere.
#[derive(Clone, Debug)]
pub(super) struct Wiring {
    places: HashMap<Arc<str>, usize>,
    ends: Vec<Option<(usize, usize)>>,
    leaving: Vec<Vec<(usize, usize)>>,
    entering: Vec<Vec<(usize, usize)>>,
    bound: Vec<Vec<(usize, usize)>>,
}

impl Wiring {
    pub(super) fn new(graph: &Graph) -> Self {
        let mut places = HashMap::with_capacity(graph.nodes.len());
        for (at, node) in graph.nodes.iter().enumerate().filter(|(_, node)| node.kind != NodeKind::Note) {
            places.entry(Arc::clone(&node.id)).or_insert(at);
        }
        let end = |id: &Arc<str>| places.get(id).copied();
        let ends: Vec<_> = graph.edges.iter().map(|edge| end(&edge.source).zip(end(&edge.target))).collect();
        let none = || vec![Vec::new(); graph.nodes.len()];
        let (mut leaving, mut entering, mut bound) = (none(), none(), none());
        for (n, (edge, ends)) in graph.edges.iter().zip(&ends).enumerate() {
            let Some((source, target)) = *ends else { continue };
            if edge.is_binding() {
                if !bound[target].iter().any(|(_, known)| *known == source) {
                    bound[target].push((n, source));
                }
            } else {
                leaving[source].push((n, target));
                entering[target].push((n, source));
            }
        }
        Self { places, ends, leaving, entering, bound }
    }

    /// How many nodes there are.
    pub(super) const fn len(&self) -> usize {
        self.leaving.len()
    }

    /// All nodes but notes, by id.
    pub(super) fn places(&self) -> impl Iterator<Item = (&Arc<str>, usize)> {
        self.places.iter().map(|(id, at)| (id, *at))
    }

    /// The place of a node.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// Source and target of an edge.
    pub(super) fn ends(&self, edge: usize) -> Option<(usize, usize)> {
        self.ends[edge]
    }

    /// The control edges that leave a node, with their targets.
    pub(super) fn leaving(&self, at: usize) -> impl Iterator<Item = (usize, usize)> {
        self.leaving[at].iter().copied()
    }

    /// The control edges that enter a node, with their sources.
    pub(super) fn entering(&self, at: usize) -> impl Iterator<Item = (usize, usize)> {
        self.entering[at].iter().copied()
    }

    /// The binding edges at an agent, with their sources, in the order of the edges; each source once.
    pub(super) fn bound(&self, agent: usize) -> impl Iterator<Item = (usize, usize)> {
        self.bound[agent].iter().copied()
    }

    /// The join that a fork is paired with: the target of its `default` edge, else the one that its data names.
    pub(super) fn join_of(&self, graph: &Graph, fork: usize) -> Option<usize> {
        let Node::Fork(data) = &graph.nodes[fork].node else { return None };
        let wired = self.leaving(fork).find(|(edge, _)| &*graph.edges[*edge].source_handle == DEFAULT_HANDLE);
        let join = wired.map(|(_, target)| target).or_else(|| self.find(data.join.as_deref()?))?;
        (graph.nodes[join].kind == NodeKind::Join).then_some(join)
    }

    /// Which nodes can be reached from some, those included, without passing a node that is `closed`.
    pub(super) fn reachable(&self, from: impl IntoIterator<Item = usize>, closed: impl Fn(usize) -> bool) -> Vec<bool> {
        self.spread(from, &self.leaving, closed)
    }

    /// From which nodes any of some can be reached, those included.
    pub(super) fn reaching(&self, to: impl IntoIterator<Item = usize>) -> Vec<bool> {
        self.spread(to, &self.entering, |_| false)
    }

    fn spread(
        &self,
        from: impl IntoIterator<Item = usize>,
        edges: &[Vec<(usize, usize)>],
        closed: impl Fn(usize) -> bool,
    ) -> Vec<bool> {
        let mut seen = vec![false; self.len()];
        let mut open: Vec<usize> = from.into_iter().filter(|at| !closed(*at)).collect();
        for at in &open {
            seen[*at] = true;
        }
        while let Some(at) = open.pop() {
            for (_, next) in &edges[at] {
                if !seen[*next] && !closed(*next) {
                    seen[*next] = true;
                    open.push(*next);
                }
            }
        }
        seen
    }

    /// The cycles over control edges among the nodes that are not `closed`, each by its first node in graph order.
    pub(super) fn cycles(&self, closed: impl Fn(usize) -> bool) -> Vec<usize> {
        cycles(self.len(), |at| self.leaving[at].iter().map(|(_, next)| *next), closed)
    }
}

/// The strongly connected parts with a cycle in them, each by its smallest member, in order.
pub(super) fn cycles<I: Iterator<Item = usize>>(
    count: usize,
    next: impl Fn(usize) -> I,
    closed: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let order = finishing_order(count, &next, &closed);
    let mut back = vec![Vec::new(); count];
    for at in (0..count).filter(|at| !closed(*at)) {
        next(at).filter(|to| !closed(*to)).for_each(|to| back[to].push(at));
    }
    let mut part = vec![false; count];
    let mut found = Vec::new();
    for root in order.into_iter().rev() {
        if part[root] {
            continue;
        }
        part[root] = true;
        let (mut members, mut smallest, mut at) = (vec![root], root, 0);
        while at < members.len() {
            for before in &back[members[at]] {
                if !part[*before] {
                    part[*before] = true;
                    members.push(*before);
                    smallest = smallest.min(*before);
                }
            }
            at += 1;
        }
        if members.len() > 1 || next(root).any(|to| to == root) {
            found.push(smallest);
        }
    }
    found.sort_unstable();
    found
}

/// All open nodes, each after those that it leads to.
fn finishing_order<I: Iterator<Item = usize>>(
    count: usize,
    next: &impl Fn(usize) -> I,
    closed: &impl Fn(usize) -> bool,
) -> Vec<usize> {
    let mut seen = vec![false; count];
    let mut order = Vec::with_capacity(count);
    for root in (0..count).filter(|at| !closed(*at)) {
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut path = vec![(root, next(root))];
        while let Some((at, rest)) = path.last_mut() {
            match rest.next() {
                Some(to) if !closed(to) && !std::mem::replace(&mut seen[to], true) => path.push((to, next(to))),
                Some(_) => {}
                None => {
                    order.push(*at);
                    path.pop();
                }
            }
        }
    }
    order
}
