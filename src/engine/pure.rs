//! Owns the nodes that need nothing from the world: what each writes and by which handle it leaves.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::model::event::{Change, Fault, FaultCode, PureOutcome};
use crate::model::node::{LoopNode, Node, OnMax, SetState, Stop};
use crate::model::plan::NodeIndex;
use crate::model::run::{Lane, Run};
use crate::model::template_text::System;

/// What a pure step is: how it ended, and of a loop its visit and bound.
pub(super) struct Pure {
    pub(super) outcome: PureOutcome,
    pub(super) visit: Option<u32>,
    pub(super) max_steps: Option<u32>,
}

/// Runs the node if it is pure; none when it needs the world.
pub(super) fn run(run: &Run, lane: &Lane, at: NodeIndex, system: &dyn Fn() -> System, default_max: u32) -> Option<Pure> {
    let plain = |outcome| Some(Pure { outcome, visit: None, max_steps: None });
    match &run.plan.node(at).node {
        Node::SetState(node) => plain(left("default", set_state(lane, node, system))),
        Node::Condition(test) => plain(match test.holds(&lane.state) {
            Ok(true) => left("true", Change::new()),
            Ok(false) => left("false", Change::new()),
            Err(fault) => PureOutcome::Failed(fault),
        }),
        Node::Loop(node) => Some(visit(lane, at, node, default_max)),
        Node::Join(node) => plain(left("default", joined(lane, &node.output_key))),
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

fn joined(lane: &Lane, output_key: &str) -> Change {
    let results = lane.joined.iter().flatten();
    let map: Map<String, Value> = results.map(|(branch, value)| (branch.to_string(), value.clone())).collect();
    one(output_key, Value::Object(map))
}

fn stop(lane: &Lane, node: &Stop, system: &dyn Fn() -> System) -> Change {
    if node.reply.source().is_empty() {
        return Change::new();
    }
    let text = node.reply.render(&lane.state, &system());
    if text.trim().is_empty() { Change::new() } else { one("reply", Value::String(text)) }
}

fn set_state(lane: &Lane, node: &SetState, system: &dyn Fn() -> System) -> Change {
    let value = match (&node.from_key, &node.template) {
        (Some(path), _) => lane.state.lookup(path).cloned().unwrap_or(Value::Null),
        (None, Some(template)) if template.paths().next().is_none() => Value::String(template.source().to_owned()),
        (None, Some(template)) => Value::String(template.render(&lane.state, &system())),
        (None, None) => node.value.clone(),
    };
    let mut parts = node.key.split('.');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    if rest.is_empty() {
        return one(first, value);
    }
    let mut whole = lane.state.get(first).map_or(Value::Null, |value| (**value).clone());
    write_nested(&mut whole, &rest, value);
    one(first, whole)
}

/// Writes a nested value; what is missing or no object on the way becomes one.
fn write_nested(into: &mut Value, path: &[&str], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *into = value;
        return;
    };
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    if let Value::Object(fields) = into {
        write_nested(fields.entry(*first).or_insert(Value::Null), rest, value);
    }
}
