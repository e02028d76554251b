//! Owns backups, and what becomes of the runs in a copy.

use std::path::Path;

use super::Studio;
use crate::error::Result;
use crate::store::runs::queue;
use crate::store::upkeep::backup::Backup;

impl Studio {
    /// Copies the database file into a new file, while it is in use, and the uploaded files beside it. Queued runs and runs at work rest in the copy.
    ///
    /// # Errors
    /// A path that cannot be used or is in use; a database that is no file; what the disk says.
    pub async fn backup(&self, to: &Path) -> Result<Backup> {
        let world = self.world();
        Ok(world.store.backup(to, world.files.clone()).await?)
    }

    /// Puts queued runs and runs at work to rest, in a database that was copied or restored by other means. The next worker ends them, and a retry
    /// goes on with them. How many.
    pub async fn put_runs_to_rest(&self) -> Result<u64> {
        self.writing(|tx| Ok(queue::put_to_rest(tx)?)).await
    }
}
