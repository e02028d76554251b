//! Owns the nodes without calls (start, stop, condition, loop, set_state, join, note): what each writes and by which handle it exits.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::config::Config;
use crate::model::event::{Change, Fault, FaultCode, PureOutcome};
use crate::model::node::{LoopNode, Node, OnMax, Stop};
use crate::model::plan::NodeIndex;
use crate::model::run::{Lane, Run};
use crate::model::state::State;
use crate::model::template_text::System;

/// What a pure step is: how it ended, and of a loop its visit and bound.
pub(in crate::engine) struct Pure {
    pub(in crate::engine) outcome: PureOutcome,
    pub(in crate::engine) visit: Option<u32>,
    pub(in crate::engine) max_steps: Option<u32>,
}

/// Runs the node if it is pure; none if it has calls.
pub(in crate::engine) fn run(run: &Run, lane: &Lane, at: NodeIndex, system: &dyn Fn() -> System, config: &Config) -> Option<Pure> {
    let plain = |outcome| Some(Pure { outcome, visit: None, max_steps: None });
    match &run.plan.node(at).node {
        Node::SetState(node) => plain(left("default", node.change(&lane.state, system))),
        Node::Condition(test) => plain(match test.holds(&lane.state) {
            Ok(true) => left("true", Change::new()),
            Ok(false) => left("false", Change::new()),
            Err(fault) => PureOutcome::Failed(fault),
        }),
        Node::Loop(node) => Some(visit(lane, at, node, config.loops.default_max_steps)),
        Node::Join(node) => plain(joined(lane, &node.output_key, config.limits.state_kb).map_or_else(PureOutcome::Failed, |change| left("default", change))),
        Node::Stop(node) => plain(left("default", stop(lane, node, system))),
        Node::Start | Node::Note => plain(left("default", Change::new())),
        Node::Agent(_) | Node::Llm(_) | Node::Rag(_) | Node::Tool(_) | Node::Mcp(_) | Node::Human(_) | Node::Fork(_) => None,
    }
}

fn left(handle: &'static str, change: Change) -> PureOutcome {
    PureOutcome::Left { handle: handle.into(), change }
}

fn one(key: &str, value: Value) -> Change {
    let mut change = Change::with_capacity(1);
    change.insert(key.into(), Arc::new(value));
    change
}

fn visit(lane: &Lane, at: NodeIndex, node: &LoopNode, default_max: u32) -> Pure {
    let max = node.max_steps.unwrap_or(default_max);
    let visit = lane.visit(at);
    let done = node.test.as_ref().map_or(Ok(false), |test| test.holds(&lane.state));
    let outcome = match done {
        Err(fault) => PureOutcome::Failed(fault),
        Ok(true) => left("exit", Change::new()),
        Ok(false) if visit <= max => left("continue", Change::new()),
        Ok(false) if node.on_max == OnMax::Exit => left("exit", Change::new()),
        Ok(false) => PureOutcome::Failed(Fault::new(
            FaultCode::MaxStepsExceeded,
            format!("Max loop iterations exceeded: the loop ran its body {max} times and its exit test never held"),
        )),
    };
    Pure { outcome, visit: Some(visit), max_steps: Some(max) }
}

/// What the branches gave, by their ids; it is measured before it is copied.
fn joined(lane: &Lane, output_key: &str, limit_kb: u64) -> Result<Change, Fault> {
    let results = || lane.joined.iter().flatten();
    State::has_room_for_copies(results().map(|(_, value)| value), limit_kb)?;
    let map: Map<String, Value> = results().map(|(branch, value)| (branch.to_string(), value.clone())).collect();
    Ok(one(output_key, Value::Object(map)))
}

fn stop(lane: &Lane, node: &Stop, system: &dyn Fn() -> System) -> Change {
    if node.reply.source().is_empty() {
        return Change::new();
    }
    let text = node.reply.render(&lane.state, &system());
    if text.trim().is_empty() { Change::new() } else { one("reply", Value::String(text)) }
}
