//! Owns lanes of forks: opening, joining and closing them.

use std::sync::Arc;

use serde_json::Value;

use super::super::event::LaneId;
use super::super::state::{State, is_internal};
use super::super::Id;
use super::Run;
use super::lane::{At, Branch, BranchDone, BranchState, Lane};

impl Run {
    /// The fork step of a lane whose branches have all ended, so that they can be joined.
    pub(crate) fn fork_to_join(&self, parent: LaneId) -> Option<Id> {
        let step = self.lanes.get(&parent)?.step.as_deref()?;
        let fork = step.fork.as_deref()?;
        fork.branches.iter().all(|branch| matches!(branch, BranchState::Done(_))).then_some(step.id)
    }

    /// Whether the branches of a fork that have not begun wait for an answer: inside of it, something has paused since the last one.
    pub(crate) fn holds_back(&self, fork: Id) -> bool {
        let answers = self.answered.len();
        let waits = |lane: &Lane| lane.step.as_deref().is_some_and(|step| step.pause.is_some() && step.paused_after == answers);
        self.lanes.values().any(|lane| waits(lane) && self.spot(lane.id).is_in(fork))
    }

    pub(super) fn branch_started(&mut self, id: LaneId, fork: Id, parent: LaneId) {
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
        };
        let mut lane = Lane::root(state, At::End);
        lane.id = id;
        lane.branch = Some(branch_of);
        lane.go(&plan, branch.first);
        self.lanes.insert(id, Box::new(lane));
    }

    pub(super) fn branch_ended(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.remove(&id).map(|lane| *lane) else { return };
        let Some(branch) = lane.branch else { return };
        let value = branch_result(&lane.state, &branch.start);
        let done = BranchDone { id: Arc::clone(&branch.id), value, turns: lane.turns, reply: lane.reply };
        let open = self.lanes.get_mut(&branch.parent).and_then(|above| above.step.as_deref_mut()?.fork.as_deref_mut());
        if let Some(place) = open.and_then(|open| open.branches.get_mut(branch.index)) {
            *place = BranchState::Done(Box::new(done));
        }
    }
}

/// What a branch that began with `start` gives to the join: the value of its one changed key, else an object of all changed keys.
fn branch_result(end: &State, start: &State) -> Value {
    let mut changed = end.diff_from(start);
    changed.retain(|key, _| !is_internal(key) && !matches!(&**key, "input" | "attachments"));
    if changed.len() == 1
        && let Some((_, value)) = changed.pop()
    {
        return Arc::unwrap_or_clone(value);
    }
    Value::Object(changed.into_iter().map(|(key, value)| (key.to_string(), Arc::unwrap_or_clone(value))).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_branch_gives_its_one_value_or_all_of_them() {
        let start = State::from_json(json!({"input": "x", "a": 1}).as_object().cloned().unwrap_or_default());
        for (writes, result) in [
            (json!({"b": [1]}), json!([1])),
            (json!({"b": 1, "a": 2, "input": "y", "attachments": [], "__k": 1}), json!({"a": 2, "b": 1})),
            (json!({"a": 1, "input": "y"}), json!({})),
        ] {
            let mut end = start.clone();
            for (key, value) in writes.as_object().unwrap() {
                end.set(key.as_str().into(), Arc::new(value.clone()));
            }
            assert_eq!(branch_result(&end, &start), result);
        }
    }
}
