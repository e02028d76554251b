//! Owns the agent loop: profile, prompt and tools, turn by turn until an answer or a pause.

mod approval;
mod binding;
mod compaction;
mod find_tools;
mod ids;
mod inside_turn;
mod limit;
mod media;
mod memory;
mod profile;
mod prompt;
mod specialist;
mod structured;
mod turns;
mod window;
mod words;

use std::sync::Arc;

use serde_json::Value;

pub(super) use self::binding::{ToolTable, reference_of, server_reference_of};
pub(super) use self::compaction::SUMMARIZE;
pub(super) use self::profile::Profile;
pub(super) use self::prompt::of_llm;
pub(super) use self::structured::{Shape, output_schema};
pub(super) use self::turns::{Answer, ConversationEnd, Scope, Speaker};
use crate::engine::drive::context::{NewTurn, StepContext, StepEnd, StepResult};
use crate::model::event::{Change, EntityKind};
use crate::model::memory::Summary;
use crate::model::parts::File;
use crate::model::node::AgentNode;

/// Runs an agent node until it leaves or waits for a person.
///
/// # Errors
/// What the provider, the store or a limit says; tools do not fail an agent.
pub(super) async fn run(context: &StepContext, node: &AgentNode) -> StepResult {
    let profile = Profile::of_agent(context, node, &context.node().id)?;
    let chat = context.run().entity == EntityKind::Agent;
    let shape = Shape::of_agent(context, node, &profile, chat)?;
    let tools = ToolTable::of_agent(context, context.at(), &profile, 0).await?;
    let streams = (node.stream || chat) && shape.is_none() && (profile.stream_approval || !tools.can_pause());
    let speaker = Speaker { context, profile: &profile, tools: &tools, shape: shape.as_ref(), scope: Scope::step(streams, node.publish_reply) };
    let history = memory::History::of(context, node, &profile);
    let prompt = prompt::of_agent(context, node, &profile, &tools, history.as_ref());
    // In a box of its own: it is large, and gone while the model is waited for.
    let messages = Box::pin(context.prompt("agent", prompt)).await?;
    match speaker.talk(messages).await? {
        ConversationEnd::Pause(reason) => Ok(StepEnd::Pause(reason)),
        ConversationEnd::Answer(answer) => {
            let summary = compaction::made(context, &profile).await?;
            if chat && !streams {
                context.tell_text(&answer.text, node.publish_reply).await?;
            }
            Ok(left(context, node, answer, history, summary))
        }
    }
}

fn left(context: &StepContext, node: &AgentNode, answer: Answer, history: Option<memory::History>, summary: Option<Summary>) -> StepEnd {
    let wired = || context.plan().next(context.at(), "rejected").is_some();
    let handle = if answer.rejected && wired() { "rejected" } else { "default" };
    let attachment_count = answer.messages.first().map_or(0, |message| message.attachments.len());
    let made = node.files_key.as_ref().map(|key| (Arc::clone(key), Arc::new(File::listed(&File::made_in(&answer.messages)))));
    let turn = history.map(|history| NewTurn { history: history.name, messages: answer.messages, in_memory: history.in_memory, summary });
    let value = answer.value.unwrap_or(Value::String(answer.text));
    let written = (Arc::clone(&node.output_key), Arc::new(value));
    let change = Change::from_iter(made.into_iter().chain(std::iter::once(written)));
    StepEnd::Left { handle, change, turn, attachment_count: u32::try_from(attachment_count).unwrap_or(u32::MAX) }
}
