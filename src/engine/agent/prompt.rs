//! Owns the first prompt of a step: system prompt, history, user message.

use super::binding::ToolTable;
use super::memory::{self, History};
use super::profile::Profile;
use super::{media, words};
use crate::engine::calls::Prompt;
use crate::engine::drive::context::StepContext;
use crate::model::agent::MemoryConfig;
use crate::model::truncation::{Cut, Source, cut_retrieved, within};
use crate::model::chat::{Message, Role};
use crate::model::event::Fault;
use crate::model::node::{AgentNode, LlmNode, Node};
use crate::model::path::Path;
use crate::model::template_text::{Template, is_system};

/// The conversation of an agent's step.
pub(super) async fn of_agent(
    context: &StepContext,
    node: &AgentNode,
    profile: &Profile,
    tools: &ToolTable<'_>,
    history: Option<&History>,
) -> Result<Prompt, Fault> {
    let mut cuts = profile.cuts.clone();
    let user = user_message(context, &node.message, node.vision, profile, &mut cuts);
    let messages = memory::fit(context, profile, tools, history, user).await?;
    Ok(Prompt { messages, cuts, covers: Vec::new() })
}

/// The conversation of an llm node: no history.
pub(in crate::engine) fn of_llm(context: &StepContext, node: &LlmNode, profile: &Profile) -> Prompt {
    let mut cuts = profile.cuts.clone();
    let user = user_message(context, &node.prompt, node.vision, profile, &mut cuts);
    Prompt { messages: system_message(profile).into_iter().chain([user]).collect(), cuts, covers: Vec::new() }
}

/// The conversation of a specialist: what it is asked, no history.
pub(super) fn of_specialist(profile: &Profile, input: &str) -> Prompt {
    let user = Message::text(Role::User, input);
    let messages = system_message(profile).into_iter().chain([user]).collect();
    Prompt { messages, cuts: profile.cuts.clone(), covers: Vec::new() }
}

/// The user message of a node: its template, else the run's input; the run's files when the model may see them.
fn user_message(context: &StepContext, template: &Template, vision: bool, profile: &Profile, cuts: &mut Vec<Cut>) -> Message {
    let (state, system) = (context.state(), context.system());
    let text = render(template, context, &profile.memory, cuts);
    let input = || state.get("input").and_then(|input| input.as_str().map(str::to_owned)).unwrap_or_default();
    let text = if text.trim().is_empty() { input() } else { text };
    let attachments = if vision { media::attachments(state.get("attachments").map(|value| &**value)) } else { Vec::new() };
    let only_files = text.trim().is_empty() && !attachments.is_empty();
    let text = if only_files { words::look_at_files(&system.locale) } else { text };
    Message { attachments, ..Message::text(Role::User, text) }
}

/// The system message; none when there is nothing to say.
pub(super) fn system_message(profile: &Profile) -> Option<Message> {
    (!profile.instructions.trim().is_empty()).then(|| Message::text(Role::System, profile.instructions.as_str()))
}

/// A template of a prompt. The one place where values from the state are cut to their budgets.
pub(super) fn render(template: &Template, context: &StepContext, budgets: &MemoryConfig, cuts: &mut Vec<Cut>) -> String {
    let (state, system) = (context.state(), context.system());
    if budgets.budget_rag.is_none() && budgets.budget_state.is_none() {
        return template.render(state, &system);
    }
    template.render_with(state, &system, &mut |path, text| {
        if path.root() == "input" || is_system(path) {
            return text;
        }
        let Some(whole) = retrieved(context, path) else {
            return within(text, budgets.budget_state, Source::State(path.source()), cuts);
        };
        match (budgets.budget_rag, path.within(&whole)) {
            (Some(budget), Some(value)) => cut_retrieved(value, &whole, budget, path.source(), cuts),
            (_, _) => text,
        }
    })
}

/// The value that a path leads into, when a rag node wrote it.
fn retrieved(context: &StepContext, path: &Path) -> Option<std::sync::Arc<serde_json::Value>> {
    let writes = |node: &Node| matches!(node, Node::Rag(rag) if &*rag.output_key == path.root());
    let written = context.plan().graph().nodes.iter().any(|node| writes(&node.node));
    let value = context.state().get(path.root()).filter(|_| written)?;
    value.get("results").is_some_and(serde_json::Value::is_array).then(|| std::sync::Arc::clone(value))
}
