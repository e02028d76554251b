//! Owns the branch of each node, and edges that cross the border of a branch.

use std::sync::Arc;

use super::super::graph::{DEFAULT_HANDLE, Graph, NodeKind};
use super::super::wiring::Wiring;

/// A fork with its branches.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) fork: usize,
    pub(super) join: Option<usize>,
    /// The handles that branches are wired to, in the order of the edges.
    pub(super) handles: Vec<Arc<str>>,
    /// Of each handle: the first handle that leads to the same node. Branches that begin there together are one.
    twins: Vec<usize>,
    /// Of each node: the branch that it belongs to.
    owner: Vec<Option<usize>>,
    /// Edges that leave a branch other than into the join, or enter one other than from the fork.
    pub(super) escapes: Vec<usize>,
    /// A branch goes back to a loop that the fork is in.
    pub(super) crosses_loop: bool,
}

impl Region {
    /// The branch that a node belongs to.
    pub(super) fn branch_of(&self, at: usize) -> Option<usize> {
        self.owner[at]
    }
}

/// The regions of all forks, in graph order.
pub(super) fn all(graph: &Graph, wiring: &Wiring, start: Option<usize>) -> Vec<Region> {
    let forks: Vec<usize> = (0..wiring.len()).filter(|at| graph.nodes[*at].kind == NodeKind::Fork).collect();
    let joins: Vec<Option<usize>> = forks.iter().map(|fork| wiring.join_of(graph, *fork)).collect();
    let region = |(fork, join): (&usize, &Option<usize>)| {
        let is_shared = join.is_some() && joins.iter().filter(|other| *other == join).count() > 1;
        Walk::new(graph, wiring, start, *fork, *join).region(is_shared)
    };
    forks.iter().zip(&joins).map(region).collect()
}

struct Walk<'g> {
    graph: &'g Graph,
    wiring: &'g Wiring,
    /// Reached without passing the fork.
    outside: Vec<bool>,
    /// Reached from the join without passing the fork.
    after: Vec<bool>,
    region: Region,
}

impl<'g> Walk<'g> {
    fn new(graph: &'g Graph, wiring: &'g Wiring, start: Option<usize>, fork: usize, join: Option<usize>) -> Self {
        let outside = wiring.reachable(start, |at| at == fork);
        let after =
            wiring.reachable(join.into_iter().flat_map(|join| wiring.leaving(join).map(|(_, next)| next)), |at| at == fork);
        let owner = vec![None; wiring.len()];
        let region = Region { fork, join, handles: Vec::new(), twins: Vec::new(), owner, escapes: Vec::new(), crosses_loop: false };
        Self { graph, wiring, outside, after, region }
    }

    fn region(mut self, is_join_shared: bool) -> Region {
        let mut firsts: Vec<usize> = Vec::new();
        for (edge, first) in self.wiring.leaving(self.region.fork) {
            let handle = &self.graph.edges[edge].source_handle;
            if &**handle == DEFAULT_HANDLE {
                continue;
            }
            let known = self.region.handles.iter().position(|known| known == handle);
            let branch = known.unwrap_or_else(|| {
                self.region.handles.push(Arc::clone(handle));
                firsts.push(first);
                let twin = firsts.iter().position(|other| *other == first);
                self.region.twins.extend(twin);
                self.region.handles.len() - 1
            });
            self.branch(self.region.twins[branch], edge, first);
        }
        if self.region.join.is_some() {
            self.entries(is_join_shared);
            self.region.escapes.sort_unstable();
            self.region.escapes.dedup();
        } else {
            self.region.escapes.clear();
        }
        self.region
    }

    fn branch(&mut self, branch: usize, edge: usize, first: usize) {
        let mut open = vec![(edge, first)];
        while let Some((edge, at)) = open.pop() {
            if self.takes(branch, edge, at) && !self.outside[at] {
                open.extend(self.wiring.leaving(at));
            }
        }
    }

    /// Does the branch go on at a node that it has not been at?
    fn takes(&mut self, branch: usize, edge: usize, at: usize) -> bool {
        if Some(at) == self.region.join {
            return false;
        }
        let kind = self.graph.nodes[at].kind;
        if self.outside[at] && kind == NodeKind::Loop {
            self.region.crosses_loop = true;
            return false;
        }
        let leaves =
            at == self.region.fork || kind == NodeKind::Stop || self.after[at] || (self.outside[at] && kind == NodeKind::Join);
        let owner = self.region.owner[at];
        if leaves || owner.is_some_and(|owner| owner != branch) {
            self.region.escapes.push(edge);
            return false;
        }
        self.region.owner[at] = Some(branch);
        owner.is_none()
    }

    /// Edges into a branch from outside it, and into a join of its own from outside all branches.
    fn entries(&mut self, is_join_shared: bool) {
        let region = &mut self.region;
        for at in 0..region.owner.len() {
            let is_join = region.join == Some(at);
            if region.owner[at].is_none() && (!is_join || is_join_shared) {
                continue;
            }
            for (edge, from) in self.wiring.entering(at) {
                let allowed = if from == region.fork {
                    let handle = &self.graph.edges[edge].source_handle;
                    let branch = region.handles.iter().position(|known| known == handle);
                    is_join || branch.map(|branch| region.twins[branch]) == region.owner[at]
                } else if is_join {
                    region.owner[from].is_some()
                } else {
                    region.owner[from] == region.owner[at]
                };
                if !allowed {
                    region.escapes.push(edge);
                }
            }
        }
    }
}
