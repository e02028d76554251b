//! Owns the indexing worker: claims, takeovers of dead owners' readings, cleanup.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Knowledge;
use crate::model::{Id, Timestamp};
use crate::store::StoreError;
use crate::store::knowledge::readings::ReadingRow;
use crate::store::knowledge::{documents, readings};

/// Documents that are read at once.
const AT_ONCE: usize = 4;
/// How often it is looked for work that others left.
const LOOK: Duration = Duration::from_secs(1);
/// Rows of what is gone that are removed at once.
const SWEPT: u64 = 2_000;
/// Other engines may hold longer leases than this one, but not much longer than this, in milliseconds.
const LONGEST_LEASE: i64 = 3_600_000;

/// Who works.
#[derive(Clone)]
pub struct Worker {
    /// The name under which it holds readings.
    pub owner: Arc<str>,
    /// Is the process of another name certainly gone?
    pub is_gone: fn(&str) -> bool,
    /// Nothing new is begun, and what is under way is given back.
    pub stopping: CancellationToken,
}

impl Knowledge {
    /// Reads documents and copies their vectors as they come, until the engine stops.
    pub async fn work(self: Arc<Self>, worker: Worker) {
        tokio::join!(self.read_as_they_come(&worker), self.copy_as_they_come(&worker.stopping));
    }

    async fn read_as_they_come(self: &Arc<Self>, worker: &Worker) {
        let mut under_way = JoinSet::new();
        while !worker.stopping.is_cancelled() {
            match self.begin(worker, &mut under_way).await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(StoreError::Closed) => break,
                Err(error) => tracing::warn!(%error, "documents to read could not be looked for; it is tried again"),
            }
            tokio::select! {
                () = self.wake.notified() => {}
                Some(_) = under_way.join_next() => {}
                () = tokio::time::sleep(LOOK) => {}
                () = worker.stopping.cancelled() => {}
            }
        }
        while under_way.join_next().await.is_some() {}
    }

    /// Begins what can be begun; true when there may be more.
    async fn begin(self: &Arc<Self>, worker: &Worker, under_way: &mut JoinSet<()>) -> Result<bool, StoreError> {
        while under_way.try_join_next().is_some() {}
        self.free_abandoned(worker).await?;
        if under_way.len() < AT_ONCE
            && let Some(reading) = self.claim(None, &worker.owner).await?
        {
            let (knowledge, worker) = (Arc::clone(self), worker.clone());
            under_way.spawn(async move { knowledge.work_until_stopped(reading, &worker).await });
            return Ok(true);
        }
        if self.store.read(readings::any_gone).await? {
            return self.store.write(|tx| readings::sweep(tx, SWEPT)).await;
        }
        Ok(false)
    }

    async fn work_until_stopped(&self, reading: ReadingRow, worker: &Worker) {
        let given_back = reading.clone();
        tokio::select! {
            () = self.work_on(reading, true) => {}
            () = worker.stopping.cancelled() => {
                let now = self.common_time();
                let _read_again_when_the_lease_ends = self.store.write(move |tx| readings::give_back(tx, &given_back, now)).await;
            }
        }
        self.wake.notify_one();
    }

    async fn claim(&self, document: Option<i64>, owner: &Arc<str>) -> Result<Option<ReadingRow>, StoreError> {
        let (owner, now, until) = (Arc::clone(owner), self.common_time(), self.lease());
        if !self.store.read(move |tx| readings::any_waiting(tx, document, now)).await? {
            return Ok(None);
        }
        self.store.write(move |tx| readings::claim(tx, document, &owner, now, until)).await
    }

    /// Gives back what dead owners hold.
    async fn free_abandoned(&self, worker: &Worker) -> Result<(), StoreError> {
        let holders = self.store.read(readings::holders).await?;
        let (now, until) = (self.common_time(), self.lease());
        let far = Timestamp(now.0 + (2 * (until.0 - now.0)).max(LONGEST_LEASE));
        let gone: Vec<String> = holders.iter().filter_map(|(owner, ..)| owner.clone()).filter(|owner| (worker.is_gone)(owner)).collect();
        if gone.is_empty() && !holders.iter().any(|(_, first, last)| *first < now || *last > far) {
            return Ok(());
        }
        let free = move |tx: &mut crate::store::Tx<'_>| {
            gone.iter().try_for_each(|owner| readings::free(tx, owner, now))?;
            readings::free_expired(tx, now, far)
        };
        self.store.write(free).await
    }

    /// Reads a document here and now; a failure is final.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub async fn read_now(&self, tenant: &str, base: Id, document: Id, owner: &Arc<str>) -> Result<(), StoreError> {
        let scope = tenant.to_owned();
        let found = self.store.read(move |tx| documents::get(tx, &scope, &base, &document)).await?;
        let Some(document) = found else { return Ok(()) };
        while let Some(reading) = self.claim(Some(document.no), owner).await? {
            self.work_on(reading, false).await;
        }
        Ok(())
    }
}
