//! Owns the limit of turns with tool calls: the model answers without tools, or the step fails.

use super::turns::{Conversation, ConversationEnd, Speaker, Turn};
use crate::model::agent::OnToolLimit;
use crate::model::event::{Fault, FaultCode, Warning};

/// The message to a model that must not call tools any more.
pub(super) const ANSWER_NOW: &str = "You have reached the limit of tool calls; no further call will be made. Answer now with what you know from \
                                     the results so far, and say what is missing.";

impl Speaker<'_> {
    /// The answer of a last call without tools, which comes after call `number`.
    pub(super) async fn at_limit(&self, number: u32, mut conversation: Conversation, rejected: bool) -> Result<ConversationEnd, Fault> {
        if self.profile.on_tool_limit == OnToolLimit::Fail {
            return Err(self.too_many());
        }
        let mut answer = self.ask_within(number + 1, &mut conversation, Turn::Last).await?;
        if !answer.message.tool_calls.is_empty() {
            // The provider's own form of the message has the calls, too.
            answer.message.tool_calls.clear();
            answer.message.blocks = None;
        }
        if answer.message.content.trim().is_empty() && answer.structured.is_none() {
            return Err(self.too_many());
        }
        self.end(number + 1, answer, conversation, rejected).await.map(ConversationEnd::Answer)
    }

    fn too_many(&self) -> Fault {
        Fault::new(FaultCode::ToolLimit, format!("the model wanted tools in more than {} turns", self.profile.tool_max_runs))
    }

    /// Sent with the last call.
    pub(super) fn tool_limit(&self) -> Warning {
        let text = format!("the model wanted tools in more than {} turns and was asked to answer without", self.profile.tool_max_runs);
        Warning { parameter: Some("tool_max_runs".into()), ..Warning::new(Warning::TOOL_LIMIT, text) }
    }
}
