//! Owns the choice of a scripted reply: the first unused one whose conditions hold.

use super::play::Act;
use super::{Condition, Exhausted, Reply, Script};
use crate::model::chat::{Message, Role};
use crate::model::event::FaultCode;
use crate::providers::{ChatRequest, ProviderFailure};

impl Script {
    /// What the model does with this request.
    pub(super) fn choose(&self, request: &ChatRequest) -> Result<Act, ProviderFailure> {
        let indexed = || (0_u64..).zip(&self.replies);
        let fitting = indexed().find(|(index, reply)| reply.left(request, *index) && reply.holds(request));
        if let Some((index, reply)) = fitting {
            return Ok(Act::play(reply, index, request));
        }
        match self.on_exhausted {
            Exhausted::Echo => Ok(Act::echo(request)),
            Exhausted::RepeatLast => self.last_used(request).map_or_else(|| Err(exhausted(request)), Ok),
            Exhausted::Fail => Err(exhausted(request)),
        }
    }

    fn last_used(&self, request: &ChatRequest) -> Option<Act> {
        let last = u64::try_from(self.replies.len()).ok()?.checked_sub(1)?;
        let index = request.asker.replies_used.last().copied().unwrap_or(last);
        let reply = self.replies.get(usize::try_from(index).ok()?)?;
        Some(Act::play(reply, index, request))
    }
}

fn exhausted(request: &ChatRequest) -> ProviderFailure {
    let text = format!("the script of model `{}` has no reply left that fits", request.model);
    ProviderFailure::new(FaultCode::ProviderBadRequest, text)
}

impl Reply {
    fn left(&self, request: &ChatRequest, index: u64) -> bool {
        let used = request.asker.replies_used.iter().filter(|used| **used == index).count();
        self.config.times == 0 || u64::try_from(used).is_ok_and(|used| used < self.config.times)
    }

    fn holds(&self, request: &ChatRequest) -> bool {
        let condition = &self.config.condition;
        let last = request.messages.last();
        let text = last.map_or("", |message| &message.content);
        condition.asked_by(request)
            && condition.contains.as_ref().is_none_or(|part| text.contains(part.as_str()))
            && self.regex.as_ref().is_none_or(|regex| regex.is_match(text))
            && self.system.as_ref().is_none_or(|part| system_contains(&request.messages, part))
            && condition.tool_result.as_ref().is_none_or(|tool| last.is_some_and(|last| is_result_of(last, tool)))
    }

    /// What `regex` found in the last message.
    pub(super) fn found<'t>(&self, text: &'t str) -> &'t str {
        self.regex.as_ref().and_then(|regex| regex.find(text)).map_or("", |found| found.as_str())
    }
}

impl Condition {
    fn asked_by(&self, request: &ChatRequest) -> bool {
        let asker = &request.asker;
        let is = |wanted: &Option<String>, given: &Option<String>| wanted.is_none() || wanted == given;
        is(&self.node_id, &asker.node_id)
            && is(&self.agent, &asker.agent)
            && self.call.is_none_or(|call| call == asker.calls_before + 1)
            && self.structured.is_none_or(|structured| structured == request.schema.is_some())
            && self.has_tool.as_ref().is_none_or(|tool| request.tools.iter().any(|offer| offer.name == *tool))
    }
}

fn system_contains(messages: &[Message], part: &str) -> bool {
    messages.iter().any(|message| message.role == Role::System && message.content.contains(part))
}

fn is_result_of(message: &Message, tool: &str) -> bool {
    message.role == Role::Tool && message.name.as_deref() == Some(tool)
}
