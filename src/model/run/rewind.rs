//! Owns the way back to a completed step: the state of its lane and of the lanes above before it began.

use std::collections::HashSet;

use super::super::Id;
use super::super::event::{BackTo, BranchLink, LaneId};
use super::lane::{BranchState, Lane};
use super::Run;

/// Lanes as they were before the steps that a retry goes back to. Kept only for those: a run keeps no history otherwise.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    wanted: HashSet<Id>,
    /// In the order in which the steps began.
    kept: Vec<Mark>,
}

/// One step that a retry may go back to.
#[derive(Clone, Debug)]
struct Mark {
    step: Id,
    spot: Spot,
    /// It ended well.
    completed: bool,
    /// Turns that lived as long as the run when it began.
    memory: usize,
    /// Its lane before it began, then the lanes above whose forks have closed since, as they were just before.
    chain: Vec<Lane>,
}

/// Which lane a step began in, and which forks that lane was inside of.
#[derive(Clone, Debug, Default)]
pub struct Spot {
    lane: LaneId,
    /// The lanes above with their forks, innermost first.
    above: Vec<(LaneId, Id)>,
}

impl Spot {
    /// Whether going back to a step here makes a later step there obsolete. `reopened` are the lanes whose closed forks open again.
    pub fn obsoletes(&self, later: &Self, reopened: &[LaneId]) -> bool {
        later.lane == self.lane
            || reopened.contains(&later.lane)
            || later.above.iter().any(|(lane, fork)| *lane == self.lane || (reopened.contains(lane) && !self.is_in(*fork)))
    }

    /// Whether it is inside of a fork.
    pub(super) fn is_in(&self, fork: Id) -> bool {
        self.above.iter().any(|(_, own)| *own == fork)
    }

    /// The forks around it that those lanes had opened.
    pub fn forks_of(&self, lanes: &[LaneId]) -> impl Iterator<Item = Id> {
        self.above.iter().filter(|(lane, _)| lanes.contains(lane)).map(|(_, fork)| *fork)
    }
}

impl Marks {
    pub(super) fn want(&mut self, steps: impl Iterator<Item = Id>) {
        self.wanted.extend(steps);
    }

    fn at(&self, step: Id) -> Option<usize> {
        self.kept.iter().position(|mark| mark.step == step)
    }

    fn get(&self, step: Id) -> Option<&Mark> {
        self.kept.iter().find(|mark| mark.step == step)
    }
}

impl Run {
    /// Keeps the lane as it is before a wanted step begins.
    pub(super) fn mark(&mut self, lane: LaneId, step: Id) {
        if !self.marks.wanted.contains(&step) || self.marks.at(step).is_some() {
            return;
        }
        let spot = self.spot(lane);
        if let Some(lane) = self.lanes.get(&lane) {
            let memory = self.memory.len();
            self.marks.kept.push(Mark { step, spot, completed: false, memory, chain: vec![(**lane).clone()] });
        }
    }

    /// Where a step of a lane begins.
    pub fn spot(&self, lane: LaneId) -> Spot {
        let mut above = Vec::new();
        let mut at = self.lanes.get(&lane);
        while let Some(branch) = at.and_then(|lane| lane.branch.as_ref()) {
            above.push((branch.parent, branch.fork));
            at = self.lanes.get(&branch.parent);
        }
        Spot { lane, above }
    }

    /// The lanes whose closed forks open again when a retry goes back to a marked step.
    pub fn reopened_for(&self, step: Id) -> Vec<LaneId> {
        self.marks.get(step).iter().flat_map(|mark| mark.chain.iter().skip(1)).map(|lane| lane.id).collect()
    }

    pub(super) fn mark_completed(&mut self, step: Id) {
        if let Some(mark) = self.marks.kept.iter_mut().find(|mark| mark.step == step) {
            mark.completed = true;
        }
    }

    /// A fork of this lane is about to close: marks inside of it keep the lane with the fork still open.
    pub(super) fn close_marks(&mut self, closing: LaneId) {
        let Some(lane) = self.lanes.get(&closing) else { return };
        if lane.fork().is_none() {
            return;
        }
        let fork = lane.step.as_ref().map(|step| step.id);
        for mark in &mut self.marks.kept {
            let branch = mark.chain.last().and_then(|last| last.branch.as_ref());
            if branch.is_some_and(|branch| branch.parent == closing && Some(branch.fork) == fork) {
                mark.chain.push((**lane).clone());
            }
        }
    }

    /// The lane that a marked step began in.
    pub(super) fn lane_of_mark(&self, step: Id) -> LaneId {
        self.marks.get(step).and_then(|mark| mark.chain.first()).map_or(0, |lane| lane.id)
    }

    /// The lane of a marked step, and those above it whose fork has closed since, become what they were.
    pub(super) fn go_back_to(&mut self, step: Id) {
        let Some((chain, memory)) = self.marks.get(step).map(|mark| (mark.chain.clone(), mark.memory)) else { return };
        self.memory.truncate(memory);
        let mut below: Option<LaneId> = None;
        for lane in chain {
            let id = lane.id;
            self.drop_lanes_under(id, below);
            self.lanes.insert(id, Box::new(lane));
            if let Some(child) = below {
                self.open_branch(child);
            }
            below = Some(id);
        }
        if let Some(outermost) = below {
            self.open_branch(outermost);
        }
        let spot = self.marks.get(step).map(|mark| mark.spot.clone());
        self.forget_marks(step);
        if let Some(spot) = spot {
            self.follow_reopened(&spot);
        }
        self.reply = None;
    }

    /// The forks around a spot are open again: other marks inside of them keep the lanes above as they are when these forks close the next time.
    fn follow_reopened(&mut self, spot: &Spot) {
        let open = |lane: &Lane| spot.above.iter().any(|(above, fork)| *above == lane.id && lane.step.as_ref().is_some_and(|step| step.id == *fork));
        for mark in &mut self.marks.kept {
            if let Some(place) = mark.chain.iter().skip(1).position(open) {
                mark.chain.truncate(place + 1);
            }
        }
    }

    /// The fork that a lane is a branch of waits for it again.
    fn open_branch(&mut self, lane: LaneId) {
        let Some(branch) = self.lanes.get(&lane).and_then(|lane| lane.branch.clone()) else { return };
        let above = self.lanes.get_mut(&branch.parent).and_then(|above| above.step.as_deref_mut()?.fork.as_deref_mut());
        if let Some(place) = above.and_then(|fork| fork.branches.get_mut(branch.index)) {
            *place = BranchState::Open(lane);
        }
    }

    /// The step and later ones in its branch are obsolete: no retry can return to them.
    fn forget_marks(&mut self, step: Id) {
        let (Some(at), reopened) = (self.marks.at(step), self.reopened_for(step)) else { return };
        let spot = self.marks.kept[at].spot.clone();
        let mut place = 0;
        self.marks.kept.retain(|mark| {
            place += 1;
            place <= at || (mark.step != step && !spot.obsoletes(&mark.spot, &reopened))
        });
    }

    /// Where going back to a completed step leads; the run was folded towards it.
    pub fn way_back(&self, step: Id) -> Option<BackTo> {
        let chain = &self.marks.get(step).filter(|mark| mark.completed)?.chain;
        let lane = chain.first()?;
        let mut links = Vec::new();
        let mut at = lane.branch.clone();
        let mut number = lane.id;
        while let Some(branch) = at {
            let above = chain.iter().find(|lane| lane.id == branch.parent).or_else(|| self.lanes.get(&branch.parent).map(Box::as_ref));
            links.push(BranchLink {
                lane: number,
                parent: branch.parent,
                index: branch.index,
                branch: branch.id.clone(),
                fork: branch.fork,
                fork_node: self.plan.node(branch.fork_node).id.clone(),
                branches: self.plan.branches(branch.fork_node).len(),
                iteration: above.and_then(|lane| lane.step.as_ref()).and_then(|step| step.iteration),
            });
            number = branch.parent;
            at = above.and_then(|lane| lane.branch.clone());
        }
        links.reverse();
        Some(BackTo { lane: lane.id, chain: links })
    }

    /// Lanes of forks that the lane had opened are gone, but for the one that is put back.
    fn drop_lanes_under(&mut self, lane: LaneId, keep: Option<LaneId>) {
        let inside = |other: &Lane| other.branch.as_ref().is_some_and(|branch| branch.parent == lane);
        let under = self.lanes.values().filter(|other| inside(other) && Some(other.id) != keep);
        let under: Vec<LaneId> = under.map(|other| other.id).collect();
        for other in under {
            self.drop_lanes_under(other, None);
            self.lanes.remove(&other);
        }
    }
}
