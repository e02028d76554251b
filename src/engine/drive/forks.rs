//! Owns forks while a run is driven: which branch starts next, what its end or its pause means, when the fork closes.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Drive, DrivePass};
use crate::model::Id;
use crate::model::event::{Event, LaneId, StepCompleted};
use crate::model::run::{BranchState, Run};

impl Drive {
    /// Starts waiting branches of an open fork as far as concurrency and pauses allow; closes the fork when all ended.
    pub(super) fn fill_fork(&self, ready: &mut VecDeque<LaneId>, parent: LaneId) {
        let most = usize::try_from(self.world.config.parallel.concurrency.max(1)).unwrap_or(8);
        while let Some((fork, branch, lane)) = self.journal.with(|run| next_branch(run, parent, most)) {
            if self.journal.emit(lane, Event::BranchStarted { fork, branch, parent }).is_err() {
                return;
            }
            ready.push_back(lane);
        }
        let closing = self.journal.with(|run| run.fork_to_join(parent));
        if let Some(step) = closing {
            let done = StepCompleted {
                step,
                handle: "default".into(),
                change: crate::model::event::Change::new(),
                error: None,
                checkpoint_hit: false,
                turn: None,
                attachment_count: 0,
            };
            if self.journal.emit(parent, Event::StepCompleted(Box::new(done))).is_ok() {
                ready.push_back(parent);
            }
        }
    }

    pub(super) fn lane_ended(&self, pass: &mut DrivePass, lane: LaneId) {
        if lane == 0 {
            return;
        }
        let parent = self.journal.with(|run| run.lanes.get(&lane)?.branch.as_ref().map(|branch| branch.parent));
        if let Some(parent) = parent
            && self.journal.emit(lane, Event::BranchEnded).is_ok()
        {
            self.fill_fork(&mut pass.ready, parent);
        }
    }
}

/// The next branch to start under a lane's open fork, with the lane number that it gets.
fn next_branch(run: &Run, parent: LaneId, most: usize) -> Option<(Id, Arc<str>, LaneId)> {
    let lane = run.lanes.get(&parent)?;
    let step = lane.step.as_deref()?;
    let fork = step.fork.as_deref()?;
    let active = fork.branches.iter().filter(|branch| match branch {
        BranchState::Open(lane) => !waits(run, *lane),
        BranchState::Waiting | BranchState::Done(_) => false,
    });
    if active.count() >= most || run.holds_back(step.id) {
        return None;
    }
    let index = fork.branches.iter().position(|branch| matches!(branch, BranchState::Waiting))?;
    Some((step.id, Arc::clone(&run.plan.branches(step.node)[index].id), run.next_lane))
}

/// Whether a lane stands still because it, or a branch under it, waits for a person.
fn waits(run: &Run, lane: LaneId) -> bool {
    let Some(lane) = run.lanes.get(&lane) else { return false };
    if lane.pause().is_some() {
        return true;
    }
    let Some(fork) = lane.fork() else { return false };
    let mut any = false;
    for branch in &fork.branches {
        match branch {
            BranchState::Open(child) if waits(run, *child) => any = true,
            BranchState::Open(_) => return false,
            BranchState::Waiting | BranchState::Done(_) => {}
        }
    }
    any
}
