//! Owns small facts of a run used in several places: previews, user ids, agents of child runs.

use serde_json::Value;

use crate::model::Id;
use crate::model::agent::Definitions;
use crate::model::node::{AgentNode, Node};
use crate::model::run::Run;

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
pub(in crate::engine) fn agent_of(run: &Run, node: &str, definitions: &Definitions) -> (Id, String) {
    let reference = run.plan.find(node).and_then(|at| {
        if let Node::Agent(agent) = &run.plan.node(at).node { stored(agent).map(str::to_owned) } else { None }
    });
    let agent = reference.and_then(|reference| definitions.agent(&reference));
    agent.map_or_else(
        || (run.created.entity_id, node.to_owned()),
        |agent| (agent.id.unwrap_or(run.created.entity_id), agent.name.clone()),
    )
}

/// The stored agent that a node names; none when its definition is in the node.
pub(in crate::engine) fn stored(agent: &AgentNode) -> Option<&str> {
    if agent.is_inline() { None } else { agent.agent_id.as_deref() }
}
