//! Owns the tool calls in doubt: their outcome is unknown, and they must not be repeated.

use serde_json::Value;

use super::super::Id;
use super::super::event::DoubtfulCall;
use super::{Call, Run};

impl Run {
    /// Tool calls with an unknown outcome that are left where the run goes on from an earlier step.
    pub fn in_doubt_from(&self, step: Id) -> Vec<DoubtfulCall> {
        let mut run = self.clone();
        run.go_back_to(step);
        run.in_doubt()
    }

    /// Tool calls with an unknown outcome that must not be repeated.
    pub fn in_doubt(&self) -> Vec<DoubtfulCall> {
        let steps = self.lanes.values().filter_map(|lane| lane.step.as_ref());
        let mut found = Vec::new();
        for step in steps {
            for call in step.calls.values() {
                let Call::Open(call) = call else { continue };
                let id = call.call_id.clone().unwrap_or_default();
                if !call.repeatable && !step.doubts.contains_key(&id) {
                    found.push(DoubtfulCall {
                        call_id: id,
                        name: call.name.clone(),
                        arguments: call.arguments.clone().unwrap_or(Value::Null),
                        node_id: self.plan.node(step.node).id.to_string(),
                    });
                }
            }
        }
        found.sort_by(|left, right| left.call_id.cmp(&right.call_id));
        found
    }
}
