//! Owns the notifications between processes on one database; losing one does no harm.

use std::sync::Arc;

use crate::model::Id;

/// Something that another process may be waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// There are jobs in the queue.
    Jobs,
    /// A run went on.
    Run(Id),
    /// Notifications may have been lost.
    Anything,
}

/// The listener; called on a thread of the store, and must not block.
pub type Listener = Arc<dyn Fn(Notification) + Send + Sync>;
