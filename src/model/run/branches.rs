//! Owns lanes of forks: opening, joining and closing them.

use std::sync::Arc;

use super::super::event::LaneId;
use super::super::{Id, Timestamp};
use super::Run;
use super::lane::{At, Branch, BranchDone, BranchState, Lane};

impl Run {
    /// The fork step of a lane whose branches have all ended, so that they can be joined.
    pub(crate) fn fork_to_join(&self, parent: LaneId) -> Option<Id> {
        let step = self.lanes.get(&parent)?.step.as_deref()?;
        let fork = step.fork.as_deref()?;
        fork.branches.iter().all(|branch| matches!(branch, BranchState::Done(_))).then_some(step.id)
    }

    pub(super) fn branch_started(&mut self, id: LaneId, fork: Id, parent: LaneId, at: Timestamp) {
        let plan = Arc::clone(&self.plan);
        self.next_lane = id + 1;
        let Some(above) = self.lanes.get_mut(&parent) else { return };
        let scope = above.scope(&plan);
        let (iteration, state, path, order) =
            (above.iteration(None), above.state.clone(), above.path().to_vec(), above.order().to_vec());
        let Some((node, open)) = above.step.as_deref_mut().and_then(|step| Some((step.node, step.fork.as_deref_mut()?)))
        else {
            return;
        };
        let Some(index) = open.branches.iter().position(|state| matches!(state, BranchState::Waiting)) else { return };
        open.branches[index] = BranchState::Open(id);
        let branch = &plan.branches(node)[index];
        let separator = if scope.is_empty() { "" } else { "/" };
        let branch_of = Branch {
            parent,
            fork,
            fork_node: node,
            index,
            id: Arc::clone(&branch.id),
            path: path.into_iter().chain([Arc::clone(&branch.id)]).collect(),
            order: order.into_iter().chain([index]).collect(),
            start: state.clone(),
            scope: format!("{scope}{separator}{}:{}", plan.node(node).id, branch.id).into(),
            iteration,
            join: plan.join_of(node),
            started_at: at,
        };
        let mut lane = Lane::root(state, At::End);
        lane.id = id;
        lane.branch = Some(branch_of);
        lane.go(&plan, branch.first);
        self.lanes.insert(id, Box::new(lane));
    }

    pub(super) fn branch_ended(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.remove(&id).map(|lane| *lane) else { return };
        let value = lane.result();
        let Some(branch) = lane.branch else { return };
        let done = BranchDone { id: Arc::clone(&branch.id), value, turns: lane.turns, reply: lane.reply };
        let open = self.lanes.get_mut(&branch.parent).and_then(|above| above.step.as_deref_mut()?.fork.as_deref_mut());
        if let Some(place) = open.and_then(|open| open.branches.get_mut(branch.index)) {
            *place = BranchState::Done(Box::new(done));
        }
    }
}
