//! Owns what processes on one database tell each other: hints that something can be found there.

use std::sync::Arc;

use crate::model::Id;

/// Something that another process may be waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// There are jobs in the queue.
    Jobs,
    /// A run went on.
    Run(Id),
    /// Nobody knows what was missed.
    Anything,
}

/// Who is told; called on a thread of the store, and must not block.
pub type Listener = Arc<dyn Fn(Notification) + Send + Sync>;
