//! Owns what a caller is told of a run that was started or goes on.

use serde_json::{Value, json};

use crate::model::Id;
use crate::model::event::EntityKind;
use crate::model::run::Status;

/// A run that was started or goes on.
#[derive(Clone, Debug)]
pub struct Started {
    /// The run.
    pub run: Id,
    /// Its thread.
    pub thread: Id,
    /// The pause that was answered.
    pub pause: Option<Id>,
    /// `queued` or `running`.
    pub status: Status,
    /// What it is a run of.
    pub entity: EntityKind,
    /// The position before the first event of this answer, in the order of branches.
    pub after: u64,
}

impl Started {
    /// As it is kept for a request that is sent again.
    #[must_use]
    pub fn told(&self) -> Value {
        json!({
            "trace_id": self.run, "status": self.status.as_str(), "thread_id": self.thread, "pause_id": self.pause, "after": self.after,
        })
    }
}
