//! Owns when the database compares vectors itself, and the copies of vectors that it needs for that.

use std::collections::HashSet;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Knowledge;
use crate::config::Pgvector;
use crate::store::StoreError;
use crate::store::knowledge::nearest::{self, Due};

/// A search whose compact copies take no more than this is faster in memory: a process keeps so many (`vector_cache`).
const LARGE: u64 = 256 << 20;
/// How often it is looked for vectors that others stored, or for an extension that was added.
const LOOK: Duration = Duration::from_secs(30);

/// More bytes of compact copies than this are left to the database; none: it is never asked.
pub(super) const fn least(how: Pgvector) -> Option<u64> {
    match how {
        Pgvector::Auto => Some(LARGE),
        Pgvector::Always => Some(0),
        Pgvector::Off => None,
    }
}

impl Knowledge {
    /// Copies vectors as they come, until the engine stops.
    pub(super) async fn copy_as_they_come(&self, stopping: &CancellationToken) {
        if least(self.config.rag.pgvector).is_none() {
            return;
        }
        loop {
            if matches!(self.store.read(|tx| Ok(tx.is_file())).await, Ok(true) | Err(StoreError::Closed)) {
                return;
            }
            let copied = tokio::select! {
                copied = self.copy_vectors() => copied,
                () = stopping.cancelled() => return,
            };
            match copied {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                Err(error) => tracing::warn!(%error, "vectors were not copied for pgvector; searches run in memory, and another attempt follows"),
            }
            tokio::select! {
                () = self.indexed.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
                () = stopping.cancelled() => return,
            }
        }
    }

    /// Copies all vectors that the database is to compare.
    pub async fn copy_vectors(&self) -> Result<(), StoreError> {
        let Some(least) = least(self.config.rag.pgvector) else { return Ok(()) };
        // A reading of which something is missing is tried once.
        let mut passed = HashSet::new();
        loop {
            let tried = passed.clone();
            match self.store.read(move |tx| nearest::due(tx, least, &tried)).await? {
                Due::Nothing => return Ok(()),
                Due::Table => self.store.write(nearest::create).await?,
                Due::Reading(reading) => {
                    passed.insert(reading);
                    while let Some(copies) = self.store.read(move |tx| nearest::next(tx, reading)).await? {
                        self.store.write(move |tx| nearest::keep(tx, &copies)).await?;
                    }
                }
            }
        }
    }
}
