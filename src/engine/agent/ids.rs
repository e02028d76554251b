//! Owns the ids of tool calls: a provider's own where they can be trusted, ours where they repeat or are missing.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use crate::engine::context::StepContext;
use crate::model::chat::ToolCall;

/// Shorter ids of providers are counters rather than ids.
const TRUSTED_LENGTH: usize = 20;

/// The ids that one speaker's calls have so far.
pub(super) struct CallIds<'a> {
    context: &'a StepContext,
    /// The call whose specialist speaks.
    parent: Option<&'a str>,
    used: HashSet<String>,
}

impl<'a> CallIds<'a> {
    pub(super) fn new(context: &'a StepContext, parent: Option<&'a str>) -> Self {
        Self { context, parent, used: HashSet::new() }
    }

    /// Gives the calls of a turn ids that are unique in the run, the same ones when the step is entered again.
    pub(super) fn settle(&mut self, turn: u32, calls: &mut [ToolCall]) {
        for (at, call) in calls.iter_mut().enumerate() {
            if self.repeats(&call.id) {
                call.id = self.own(turn, at, &call.id);
            }
            self.used.insert(call.id.clone());
        }
    }

    fn repeats(&self, id: &str) -> bool {
        let unsure = self.parent.is_some() && id.len() < TRUSTED_LENGTH;
        id.is_empty() || unsure || self.used.contains(id) || self.context.call_id_taken(id)
    }

    fn own(&self, turn: u32, at: usize, id: &str) -> String {
        let parent = self.parent.unwrap_or_default();
        let hash = Sha256::digest(format!("{}|{parent}|{turn}|{at}|{id}", self.context.step()));
        hash.iter().take(12).fold("call_".to_owned(), |text, byte| format!("{text}{byte:02x}"))
    }
}
