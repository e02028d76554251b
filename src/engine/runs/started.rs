//! Owns the result of starting or continuing a run, for the caller.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::engine::feed::Order;
use crate::engine::world::World;
use crate::error::Result;
use crate::model::Id;
use crate::model::run::Status;
use crate::store::StoreError;

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
    /// The position before the first event of this answer, in the order of branches.
    pub after: u64,
    /// The same in live order: a takeover may skip more numbers in one order than in the other.
    pub after_live: u64,
}

/// A run that was made, and is being stored.
pub struct Begun {
    pub(in crate::engine) started: Started,
    pub(in crate::engine) stored: Option<oneshot::Receiver<std::result::Result<(), StoreError>>>,
    pub(in crate::engine) world: Arc<World>,
}

impl Begun {
    /// Waits until it is stored. It is already active and continues whether or not the caller waits.
    ///
    /// # Errors
    /// Why it could not be stored; then there is no run.
    pub async fn stored(mut self) -> Result<Started> {
        if let Some(stored) = self.stored.take() {
            stored.await.unwrap_or_else(|_| Err(self.broke()))?;
        }
        Ok(self.started)
    }

    /// The reason why the result of the write is unknown.
    fn broke(&self) -> StoreError {
        if self.world.stopping.is_cancelled() {
            return StoreError::Closed;
        }
        StoreError::Fault("the run broke before it was stored; nothing of it was kept".to_owned())
    }
}

impl Started {
    /// As it is kept for a request that is sent again.
    pub fn accepted_json(&self) -> Value {
        json!({
            "trace_id": self.run, "status": self.status.as_str(), "thread_id": self.thread, "pause_id": self.pause, "after": self.after,
            "after_live": self.after_live,
        })
    }

    /// The position before the first event of this answer.
    pub const fn after_in(&self, order: Order) -> u64 {
        match order {
            Order::Ordered => self.after,
            Order::Live => self.after_live,
        }
    }
}
