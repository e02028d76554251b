//! Owns the ids of tool calls: the provider's if they are unique, else generated.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use crate::engine::drive::context::StepContext;
use crate::model::chat::{Message, ToolCall};
use crate::model::run::OpenStep;

/// The ids that one speaker's calls have so far.
pub(super) struct CallIds<'a> {
    context: &'a StepContext,
    /// The call whose specialist speaks.
    parent: Option<&'a str>,
    /// Ids in what the model is sent of earlier turns.
    sent: HashSet<String>,
    used: HashSet<String>,
}

impl<'a> CallIds<'a> {
    /// For a conversation that begins with these messages.
    pub(super) fn new(context: &'a StepContext, parent: Option<&'a str>, prompt: &[Message]) -> Self {
        let sent = prompt.iter().flat_map(|message| &message.tool_calls).map(|call| call.id.clone()).collect();
        Self { context, parent, sent, used: HashSet::new() }
    }

    /// Gives the calls of a turn ids that are unique in the run and in the conversation, the same ones when the step is entered again.
    pub(super) fn settle(&mut self, turn: u32, calls: &mut [ToolCall]) {
        for (at, call) in calls.iter_mut().enumerate() {
            let own = self.own(turn, at, &call.id);
            if self.context.has_call(&own) || (self.repeats(&call.id) && !self.was_published(&call.id)) {
                call.id = own;
            }
            self.used.insert(call.id.clone());
        }
    }

    /// The id of a call that is about to wait for a person: another branch may have taken its own meanwhile.
    pub(super) fn settle_waiting(&self, turn: u32, at: usize, call: &mut ToolCall) {
        if self.context.call_id_taken(&call.id) {
            call.id = self.own(turn, at, &call.id);
        }
    }

    fn repeats(&self, id: &str) -> bool {
        // A specialist speaks beside others, and to models whose answers may be the same to the letter.
        id.is_empty() || names_a_prompt(id) || self.parent.is_some() || self.used.contains(id) || self.is_sent(id) || self.context.call_id_taken(id)
    }

    /// Logs of earlier versions have calls of specialists under their provider's ids, and keep them: what was made is not made again.
    fn was_published(&self, id: &str) -> bool {
        let by_this = |step: &OpenStep| step.announced.get(id).is_some_and(|parent| parent.as_deref() == self.parent);
        self.parent.is_some() && !self.used.contains(id) && self.context.open(by_this).unwrap_or(false)
    }

    /// An earlier turn has a call of that id; a call that was announced, or that a person decided on, keeps the id with which it was shown.
    fn is_sent(&self, id: &str) -> bool {
        let shown = || self.context.open(|step| step.announced.contains_key(id) || step.decisions.contains_key(id)).unwrap_or(false);
        self.sent.contains(id) && !shown()
    }

    fn own(&self, turn: u32, at: usize, id: &str) -> String {
        let parent = self.parent.unwrap_or_default();
        let hash = Sha256::digest(format!("{}|{parent}|{turn}|{at}|{id}", self.context.step()));
        hash.iter().take(12).fold("call_".to_owned(), |text, byte| format!("{text}{byte:02x}"))
    }
}

/// Prompts of a step are kept by names, those of specialists by the ids of their calls.
fn names_a_prompt(id: &str) -> bool {
    id == "agent" || id.starts_with("summarize") || id.contains("model:")
}
