//! Owns the slots of a worker: one is taken before a run is claimed and released when the run is no longer driven here.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::engine::world::World;
use crate::model::Id;
use crate::model::run::Status;
use crate::store::runs::RunRow;

/// When there is more to do than can be done at once, so long is waited for several places to become free together.
const GATHERED: Duration = Duration::from_millis(5);
/// More places than any process can use.
const MOST: usize = 1 << 20;

/// A run that a process has done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The run.
    pub run: Id,
    /// How it rests; `queued` when it goes on later by itself.
    pub status: Status,
    /// How long it was driven here.
    pub millis: u64,
}

/// Receives each run that a worker took and that this process has finished with.
pub(super) type Listener = Arc<dyn Fn(Finished) + Send + Sync>;

/// The places of one worker.
pub(in crate::engine) struct Room {
    free: Arc<Semaphore>,
    most: u32,
    listener: Option<Listener>,
}

/// A place for one run; free again when it is dropped.
pub(in crate::engine) struct Place {
    _held: OwnedSemaphorePermit,
    listener: Option<Listener>,
}

/// A claim in progress; a closing engine waits until the runs are driven or released.
pub(in crate::engine) struct Taking(Arc<World>);

impl Taking {
    pub(in crate::engine) fn new(world: &Arc<World>) -> Self {
        world.taking.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(world))
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        self.0.taking.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Runs that were just claimed: their leases are kept until they are driven or given back, however long their logs take to read.
pub(in crate::engine) struct Claimed {
    world: Arc<World>,
    rows: Vec<RunRow>,
}

impl Claimed {
    pub(super) fn new(world: &Arc<World>, rows: Vec<RunRow>) -> Self {
        world.claimed.lock().extend(rows.iter().map(|row| (row.id, row.fence)));
        Self { world: Arc::clone(world), rows }
    }

    pub(super) fn rows(&self) -> &[RunRow] {
        &self.rows
    }

    /// Of which tenants they are, and which.
    pub(super) fn names(&self) -> Vec<(Arc<str>, Id)> {
        self.rows.iter().map(|row| (Arc::clone(&row.tenant), row.id)).collect()
    }

    /// One of them is driven, or was given back.
    pub(super) fn settled(&self, row: &RunRow) {
        self.world.claimed.lock().remove(&(row.id, row.fence));
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        self.rows.iter().for_each(|row| self.settled(row));
    }
}

impl Room {
    /// Room for so many runs, at least one.
    pub(in crate::engine) fn new(most: usize, listener: Option<Listener>) -> Self {
        let most = most.clamp(1, MOST);
        Self { free: Arc::new(Semaphore::new(most)), most: u32::try_from(most).unwrap_or(1), listener }
    }

    /// The places that are free at this moment, at most so many.
    pub(super) fn places(&self, most: usize) -> Vec<Place> {
        let held = std::iter::from_fn(|| Arc::clone(&self.free).try_acquire_owned().ok());
        held.take(most).map(|held| Place { _held: held, listener: self.listener.clone() }).collect()
    }

    /// Waits until a good part of the places is free, or any when they become free slowly.
    pub(super) async fn wait(&self) {
        let several = tokio::time::timeout(GATHERED, self.free.acquire_many(self.most.div_ceil(4)));
        if several.await.is_err() {
            let _given_back_at_once = self.free.acquire().await;
        }
    }

    /// No run of this worker is driven here.
    pub(super) fn is_idle(&self) -> bool {
        self.free.available_permits() >= self.most as usize
    }

    /// Waits until no run of this worker is driven here.
    pub(super) async fn idle(&self) {
        let _given_back_at_once = self.free.acquire_many(self.most).await;
    }
}

impl Place {
    /// This process is done with the run.
    pub(super) fn tell(&self, finished: Finished) {
        if let Some(listener) = &self.listener {
            listener(finished);
        }
    }
}
