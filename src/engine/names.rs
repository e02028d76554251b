//! Owns small facts that several places show of a run: previews, user ids, agents of child runs, template keys.

use std::sync::Arc;

use serde_json::Value;

use super::world::World;
use crate::model::Id;
use crate::model::agent::Definitions;
use crate::model::node::Node;
use crate::model::run::{Lane, Run};
use crate::model::template_text::System;

/// The first 120 characters of a message.
pub(crate) fn preview(message: &str) -> String {
    message.chars().take(120).collect()
}

/// The `id` of a user as the host gave it.
pub(crate) fn user_id(user: &Value) -> Option<String> {
    match user.get("id")? {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The stored agent that a node's child run is a run of.
pub(super) fn agent_of(run: &Run, node: &str, definitions: &Definitions) -> (Id, String) {
    let reference = run.plan.find(node).and_then(|at| match &run.plan.node(at).node {
        Node::Agent(agent) => agent.stored().map(str::to_owned),
        _other => None,
    });
    let agent = reference.and_then(|reference| definitions.agents.get(&reference));
    agent.map_or_else(
        || (run.created.entity_id, node.to_owned()),
        |agent| (agent.id.unwrap_or(run.created.entity_id), agent.name.clone()),
    )
}

/// The `__studio_*` keys of templates at this moment.
pub(super) fn system(run: &Run, lane: &Lane, world: &World) -> System {
    let own = |key: &str| lane.state.get(key).and_then(|value| value.as_str()).map(str::to_owned);
    let timezone = own("__studio_timezone").unwrap_or_else(|| world.config.timezone.clone());
    System {
        thread_id: run.created.thread.to_string(),
        now: world.clock.now().rfc3339_in(&timezone),
        timezone,
        locale: own("__studio_locale").unwrap_or_else(|| world.config.locale.clone()),
    }
}

impl Run {
    pub(super) fn system(&self, lane: &Lane, world: &World) -> System {
        system(self, lane, world)
    }
}

/// An owner's name: unique among engines.
pub(super) fn owner(id: Id) -> Arc<str> {
    format!("{}-{id}", std::process::id()).into()
}
