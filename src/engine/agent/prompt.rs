//! Owns the conversation that a step begins with: system prompt, history, user message.

use super::binding::ToolTable;
use super::memory::{self, History};
use super::profile::Profile;
use super::{media, words};
use crate::engine::context::StepContext;
use crate::model::chat::{Message, Role};
use crate::model::event::Fault;
use crate::model::node::AgentNode;
use crate::model::template_text::Template;

/// The conversation of an agent's step.
pub(super) async fn of_agent(
    context: &StepContext,
    node: &AgentNode,
    profile: &Profile,
    tools: &ToolTable<'_>,
    history: Option<&History>,
) -> Result<Vec<Message>, Fault> {
    let user = user_message(context, &node.message, node.vision, profile);
    let turns = match history {
        Some(history) => context.history(&history.name, history.in_memory).await?,
        None => Vec::new(),
    };
    memory::fit(context, profile, tools, turns, user).await
}

/// The user message of a node: its template, else the run's input; the run's files when the model may see them.
pub(in crate::engine) fn user_message(context: &StepContext, template: &Template, vision: bool, profile: &Profile) -> Message {
    let (state, system) = (context.state(), context.system());
    let text = memory::render(template, context, profile);
    let input = || state.get("input").and_then(|input| input.as_str().map(str::to_owned)).unwrap_or_default();
    let text = if text.trim().is_empty() { input() } else { text };
    let attachments = if vision { media::attachments(state.get("attachments").map(|value| &**value)) } else { Vec::new() };
    let only_files = text.trim().is_empty() && !attachments.is_empty();
    let text = if only_files { words::look_at_files(&system.locale) } else { text };
    Message { attachments, ..Message::text(Role::User, text) }
}

/// The system message; none when there is nothing to say.
pub(in crate::engine) fn system_message(profile: &Profile) -> Option<Message> {
    (!profile.instructions.trim().is_empty()).then(|| Message::text(Role::System, profile.instructions.as_str()))
}
