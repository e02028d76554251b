//! Owns the counters of the provider `script`: calls made and replies used, by node, over all its passes and resumes.

use std::sync::Arc;

use super::Run;
use crate::model::event::{CallKind, CallStarted};

/// What a scripted node has used so far.
#[derive(Clone, Debug, Default)]
pub struct Scripted {
    /// Calls made.
    pub calls: u64,
    /// Indexes of the replies, in order.
    pub replies: Vec<u64>,
}

impl Scripted {
    pub(super) fn replied(&mut self, index: u64) {
        self.replies.push(index);
    }
}

impl Run {
    /// Counts a call of a scripted model.
    pub(super) fn count_scripted(&mut self, call: &CallStarted) {
        if let (CallKind::Model, Some(asker)) = (call.kind, &call.asker) {
            self.scripted.entry(Arc::clone(asker)).or_default().calls += 1;
        }
    }
}
