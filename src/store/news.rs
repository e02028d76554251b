//! Owns what processes on one database tell each other: hints that something can be found there.

use std::sync::Arc;

use crate::model::Id;

/// Something that another process may be waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// There are jobs in the queue.
    Jobs,
    /// A run went on.
    Run(Id),
    /// Nobody knows what was missed.
    Anything,
}

/// Who is told; called on a thread of the store, and must not block.
pub type Hear = Arc<dyn Fn(News) + Send + Sync>;
