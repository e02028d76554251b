//! Owns the worker program: takes runs from the queue until it is stopped.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::engine::{Finished, Working};
use crate::error::{Error, Kind, Result};
use crate::studio::facade::Studio;

/// How a program asks its worker to end.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Nothing new is begun, and runs end at the border of their next step.
    pub gently: CancellationToken,
    /// What is under way is dropped.
    pub at_once: CancellationToken,
}

impl Studio {
    /// Takes runs from a queue, and those whose owners are gone, until `stop` or until `working` says that it is done. `report` hears of
    /// each run that it took and that this process is done with, also later. Runs under way stay at work.
    ///
    /// # Errors
    /// When the store cannot be used by a worker that does not wait for it, or the studio shuts down.
    pub async fn work(&self, working: Working, stop: CancellationToken, report: impl Fn(Finished) + Send + Sync + 'static) -> Result<()> {
        let world = std::sync::Arc::clone(self.world());
        self.on_runtime(async move { world.serve(working, stop, report).await }).await
    }

    /// Ends the studio as a worker does: runs end at the border of their next step, however long that takes; `at_once` cuts them.
    pub async fn let_go(&self, at_once: CancellationToken) {
        let (world, hurry) = (std::sync::Arc::clone(self.world()), at_once.clone());
        let gone = self.on_runtime(async move {
            world.let_go(hurry).await;
            Ok(())
        });
        if let Err(error) = gone.await
            && error.kind != Kind::ShuttingDown
        {
            tracing::warn!(%error, "runs could not be returned to the queue; other processes take them over when their leases expire");
        }
        let patience = if at_once.is_cancelled() { Duration::from_millis(500) } else { self.shutdown_time() };
        self.shutdown(patience).await;
    }

    fn shutdown_time(&self) -> Duration {
        Duration::from_millis(self.config().timeouts.shutdown_ms)
    }

    /// What a worker of this configuration takes.
    ///
    /// # Errors
    /// When a queue without a name is asked for.
    pub fn working(&self, queue: Option<&str>, concurrency: Option<usize>) -> Result<Working> {
        let queue = queue.unwrap_or(&self.config().queue);
        if queue.trim().is_empty() {
            return Err(Error::field("queue", "the queue needs a name"));
        }
        let most = usize::try_from(self.config().worker.concurrency).unwrap_or(64);
        Ok(Working { queue: queue.to_owned(), concurrency: concurrency.unwrap_or(most).max(1), once: false, until_empty: false })
    }
}
