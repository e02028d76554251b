//! Owns the llm node: one model call, no history, no tools.

use std::sync::Arc;

use serde_json::Value;

use crate::engine::agent::{ConversationEnd, Profile, Scope, Shape, Speaker, ToolTable, of_llm, output_schema};
use crate::engine::drive::context::{StepContext, StepEnd, StepResult};
use crate::model::event::Change;
use crate::model::parts::File;
use crate::model::node::LlmNode;

/// Runs the node.
///
/// # Errors
/// What the provider or the store says, or `structured_invalid`.
pub async fn run(context: &StepContext, node: &LlmNode) -> StepResult {
    let profile = Profile::of_llm(context, node).await;
    let shape = match node.structured {
        true => Some(Shape::new(output_schema(context, node.schema.as_ref(), node.output_schema.as_deref()))?),
        false => None,
    };
    let messages = context.prompt("agent", async { Ok(of_llm(context, node, &profile)) }).await?;
    let scope = Scope::step(node.stream && shape.is_none(), node.publish_reply);
    let tools = ToolTable::default();
    let speaker = Speaker { context, profile: &profile, tools: &tools, shape: shape.as_ref(), scope };
    match speaker.talk(messages).await? {
        ConversationEnd::Pause(reason) => Ok(StepEnd::Pause(reason)),
        ConversationEnd::Answer(answer) => {
            let attachment_count = answer.messages.first().map_or(0, |message| message.attachments.len());
            let made = node.files_key.as_ref().map(|key| (Arc::clone(key), Arc::new(File::listed(&File::made_in(&answer.messages)))));
            let value = answer.value.unwrap_or(Value::String(answer.text));
            let written = (Arc::clone(&node.output_key), Arc::new(value));
            let change = Change::from_iter(made.into_iter().chain(std::iter::once(written)));
            let attachment_count = u32::try_from(attachment_count).unwrap_or(u32::MAX);
            Ok(StepEnd::Left { handle: "default", change, turn: None, attachment_count })
        }
    }
}
