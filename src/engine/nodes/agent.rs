//! Owns the agent node.

use crate::engine::agent;
use crate::engine::drive::context::{StepContext, StepResult};
use crate::model::node::AgentNode;

/// Runs the node.
///
/// # Errors
/// What the provider, the store or a limit says.
pub async fn run(context: &StepContext, node: &AgentNode) -> StepResult {
    agent::run(context, node).await
}
