//! Owns the indexing worker: claims, takeovers of dead owners' readings, cleanup.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Knowledge;
use crate::model::{Id, Timestamp};
use crate::store::StoreError;
use crate::store::knowledge::readings::ReadingRow;
use crate::store::knowledge::{documents, readings};

/// Documents that are read at once.
const AT_ONCE: usize = 4;
/// More of them, of tenants of which nothing else is read here.
const KEPT: usize = 2;
/// Of the time that passes this part is taken, at most, to find the tenants with the fewest documents at work.
const SEARCHING: u32 = 10;
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
    /// There is no time left for what is under way.
    pub hurry: CancellationToken,
}

/// A document that a worker reads.
struct AtWork(Arc<AtomicUsize>);

impl AtWork {
    fn new(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(all))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What is under way.
#[derive(Default)]
struct UnderWay {
    tasks: JoinSet<()>,
    /// From when on the tenants with the fewest documents at work are looked for again: that looks at all documents that wait.
    next_search: Option<Instant>,
}

impl Knowledge {
    /// Reads documents and copies their vectors as they come, until the engine stops.
    pub async fn work(self: Arc<Self>, worker: Worker) {
        tokio::join!(self.read_as_they_come(&worker), self.copy_as_they_come(&worker.stopping));
    }

    async fn read_as_they_come(self: &Arc<Self>, worker: &Worker) {
        let mut under_way = UnderWay::default();
        while !worker.stopping.is_cancelled() {
            match self.begin(worker, &mut under_way).await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(StoreError::Closed) => break,
                Err(error) => tracing::warn!(%error, "the check for documents to index failed; another attempt follows"),
            }
            tokio::select! {
                () = self.wake.notified() => {}
                Some(_) = under_way.tasks.join_next() => {}
                () = tokio::time::sleep(LOOK) => {}
                () = worker.stopping.cancelled() => {}
            }
        }
        while under_way.tasks.join_next().await.is_some() {}
    }

    /// Begins what can be begun; true when there may be more.
    async fn begin(self: &Arc<Self>, worker: &Worker, under_way: &mut UnderWay) -> Result<bool, StoreError> {
        while under_way.tasks.try_join_next().is_some() {}
        self.free_abandoned(worker).await?;
        if let Some(reading) = self.claim_next(&worker.owner, under_way).await? {
            let (knowledge, worker, at_work) = (Arc::clone(self), worker.clone(), AtWork::new(&self.at_work));
            under_way.tasks.spawn(async move {
                knowledge.work_on(reading, Some(&worker)).await;
                drop(at_work);
                knowledge.wake.notify_one();
            });
            return Ok(true);
        }
        if self.store.read(readings::any_gone).await? {
            return self.store.write(|tx| readings::sweep(tx, SWEPT)).await;
        }
        Ok(false)
    }

    /// Documents are being read here by a worker.
    pub fn is_busy(&self) -> bool {
        self.at_work.load(Ordering::SeqCst) > 0
    }

    /// The next document: tenants of which fewer are read here go before those that have waited longer.
    async fn claim_next(&self, owner: &Arc<str>, under_way: &mut UnderWay) -> Result<Option<ReadingRow>, StoreError> {
        let busy = under_way.tasks.len();
        let free = busy < AT_ONCE;
        if busy > 0 && busy < AT_ONCE + KEPT && under_way.next_search.is_none_or(|at| at <= Instant::now()) {
            let (name, now, until) = (Arc::clone(owner), self.common_time(), self.lease());
            let (began, most) = (Instant::now(), if free { u64::from(u32::MAX) } else { 0 });
            let found = self.store.read(move |tx| readings::next_for(tx, &name, now, most)).await?;
            under_way.next_search = Some(Instant::now() + began.elapsed() * SEARCHING);
            let Some(no) = found else { return Ok(None) };
            let name = Arc::clone(owner);
            let claimed = self.store.write(move |tx| readings::claim_one(tx, no, &name, until)).await?;
            if claimed.is_some() {
                return Ok(claimed);
            }
        }
        if free { self.claim(None, owner).await } else { Ok(None) }
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
        self.store.know_time().await?;
        let (holders, last_due) = self.store.read(|tx| Ok((readings::holders(tx)?, readings::last_due_at(tx)?))).await?;
        let (now, until) = (self.common_time(), self.lease());
        let far = Timestamp(now.0 + (2 * (until.0 - now.0)).max(LONGEST_LEASE));
        if last_due.is_some_and(|last| last > far) {
            self.store.write(move |tx| readings::call_back(tx, far, now)).await?;
        }
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
    pub async fn read_now(&self, tenant: &str, base: Id, document: Id, owner: &Arc<str>) -> Result<(), StoreError> {
        let scope = tenant.to_owned();
        let found = self.store.read(move |tx| documents::get(tx, &scope, &base, &document)).await?;
        let Some(document) = found else { return Ok(()) };
        while let Some(reading) = self.claim(Some(document.no), owner).await? {
            self.work_on(reading, None).await;
        }
        Ok(())
    }
}
