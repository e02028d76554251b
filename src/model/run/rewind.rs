//! Owns going back to a completed step: what its lane and those above it were before it began.

use std::collections::{HashMap, HashSet};

use super::super::Id;
use super::super::event::{BackTo, BranchLink, LaneId};
use super::lane::{BranchState, Lane};
use super::Run;

/// Lanes as they were before the steps that a retry goes back to. Kept only for those: a run keeps no history otherwise.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    pub(super) wanted: HashSet<Id>,
    kept: HashMap<Id, Vec<Lane>>,
}

impl Marks {
    pub(super) fn has(&self, step: Id) -> bool {
        self.kept.contains_key(&step)
    }

    pub(super) fn chain(&self, step: Id) -> Option<&[Lane]> {
        self.kept.get(&step).map(Vec::as_slice)
    }

    pub(super) fn lane_of(&self, step: Id) -> Option<LaneId> {
        self.kept.get(&step).and_then(|chain| chain.first()).map(|lane| lane.id)
    }
}

impl Run {
    /// Keeps the lane as it is before a wanted step begins.
    pub(super) fn mark(&mut self, lane: LaneId, step: Id) {
        if !self.marks.wanted.contains(&step) || self.marks.has(step) {
            return;
        }
        if let Some(lane) = self.lanes.get(&lane) {
            self.marks.kept.insert(step, vec![lane.clone()]);
        }
    }

    /// A fork of this lane is about to close: marks inside of it keep the lane with the fork still open.
    pub(super) fn close_marks(&mut self, closing: LaneId) {
        let Some(lane) = self.lanes.get(&closing) else { return };
        if lane.fork().is_none() {
            return;
        }
        for chain in self.marks.kept.values_mut() {
            let inside = chain.last().and_then(|last| last.branch.as_ref()).is_some_and(|branch| branch.parent == closing);
            let same_fork = chain.last().and_then(|last| last.branch.as_ref()).map(|branch| branch.fork)
                == lane.step.as_ref().map(|step| step.id);
            if inside && same_fork {
                chain.push(lane.clone());
            }
        }
    }

    /// The lane of a marked step, and those above it whose fork has closed since, become what they were.
    pub(super) fn go_back_to(&mut self, step: Id) {
        let Some(chain) = self.marks.kept.get(&step).cloned() else { return };
        let mut below: Option<LaneId> = None;
        for mut lane in chain {
            self.drop_lanes_under(lane.id, below);
            if let (Some(child), Some(fork)) = (below, lane.step.as_deref_mut().and_then(|step| step.fork.as_deref_mut())) {
                let index = self.lanes.get(&child).and_then(|child| child.branch.as_ref()).map(|branch| branch.index);
                if let Some(place) = index.and_then(|index| fork.branches.get_mut(index)) {
                    *place = BranchState::Open(child);
                }
            }
            below = Some(lane.id);
            self.lanes.insert(lane.id, lane);
        }
        let reopened = below.and_then(|id| self.lanes.get(&id)).and_then(|lane| lane.branch.clone());
        let above = reopened.as_ref().and_then(|branch| self.lanes.get_mut(&branch.parent));
        if let (Some(branch), Some(fork)) =
            (&reopened, above.and_then(|lane| lane.step.as_deref_mut()).and_then(|step| step.fork.as_deref_mut()))
            && let (Some(place), Some(id)) = (fork.branches.get_mut(branch.index), below)
        {
            *place = BranchState::Open(id);
        }
        self.reply = None;
    }

    /// Where going back to a step leads; the run was folded towards it.
    #[must_use]
    pub fn way_back(&self, step: Id) -> Option<BackTo> {
        let chain = self.marks.chain(step)?;
        let lane = chain.first()?;
        let mut links = Vec::new();
        let mut at = lane.branch.clone();
        let mut number = lane.id;
        while let Some(branch) = at {
            links.push(BranchLink {
                lane: number,
                parent: branch.parent,
                index: branch.index,
                branch: branch.id.clone(),
                fork: branch.fork,
                fork_node: self.plan.node(branch.fork_node).id.clone(),
                branches: self.plan.branches(branch.fork_node).len(),
            });
            number = branch.parent;
            let kept = chain.iter().find(|lane| lane.id == number).or_else(|| self.lanes.get(&number));
            at = kept.and_then(|lane| lane.branch.clone());
        }
        links.reverse();
        Some(BackTo { lane: lane.id, at: self.created_at.0, chain: links })
    }

    /// Lanes of forks that the lane had opened are gone, but for the one that is put back.
    fn drop_lanes_under(&mut self, lane: LaneId, keep: Option<LaneId>) {
        let inside = |other: &&Lane| other.branch.as_ref().is_some_and(|branch| branch.parent == lane);
        let under: Vec<LaneId> =
            self.lanes.values().filter(inside).map(|other| other.id).filter(|id| Some(*id) != keep).collect();
        for other in under {
            self.drop_lanes_under(other, None);
            self.lanes.remove(&other);
        }
    }
}
