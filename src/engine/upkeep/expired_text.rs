//! Owns the deletion of streamed text some time after a run has paused or ended; its other events stay.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::engine::world::World;
use crate::error::Result;
use crate::model::Timestamp;
use crate::store::log;

/// How often it is looked for.
const LOOK: Duration = Duration::from_secs(60);
/// Runs in one transaction.
const AT_ONCE: usize = 100;

impl World {
    /// Deletes streamed text after `async_progress.ttl`, until it is stopped.
    pub(in crate::engine) async fn delete_expired_text(self: Arc<Self>, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = stop.cancelled() => return,
            }
            if let Err(error) = self.drop_old_text().await {
                tracing::warn!(%error, "old streamed text was not deleted; another attempt follows");
            }
        }
    }

    /// Drops what is old now.
    pub(crate) async fn drop_old_text(&self) -> Result<()> {
        let kept = i64::try_from(self.config.async_progress.ttl).unwrap_or(i64::MAX).saturating_mul(1000);
        self.store.know_time().await?;
        let before = Timestamp(self.common_time().0.saturating_sub(kept));
        while self.store.read(move |tx| log::any_tokens(tx, before)).await? {
            // Runs that another transaction holds are passed over; the next look finds them.
            if self.store.write(move |tx| log::expire_tokens(tx, before, AT_ONCE)).await? == 0 {
                break;
            }
        }
        Ok(())
    }
}
