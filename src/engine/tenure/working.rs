//! Owns a worker that a program runs: it takes queued and abandoned runs, tells which ended, and ends when it is told to.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::super::world::World;
use crate::error::Result;
use crate::model::Id;
use crate::model::run::Status;

/// What a worker takes, and when it ends by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Working {
    /// The queue that it takes from.
    pub queue: String,
    /// At most so many runs at the same time.
    pub concurrency: usize,
    /// It ends after one run, or at once when none waits.
    pub once: bool,
    /// It ends when nothing waits and nothing is at work here.
    pub until_empty: bool,
}

/// A run that a process has done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The run.
    pub run: Id,
    /// How it rests; `queued` when it goes on later by itself.
    pub status: Status,
    /// How long it was at work here.
    pub millis: u64,
}

/// Where the ends of runs are told.
pub(in crate::engine) type Ends = mpsc::UnboundedSender<Finished>;

/// How often the queue is looked at when nobody says that there is something.
const LOOK: Duration = Duration::from_millis(200);
/// How long a database that cannot be used is left alone.
const AWAY: Duration = Duration::from_secs(1);
/// How often it is looked whether runs that are under way have ended, should nobody tell.
const WAIT: Duration = Duration::from_millis(50);

impl World {
    /// Works until it is told to stop, or until `working` says that it is done; runs under way are left at work here.
    ///
    /// # Errors
    /// When the store cannot be used and nobody waits for it: `once` and `until_empty`.
    pub async fn serve(self: &Arc<Self>, working: Working, stop: CancellationToken, mut told: impl FnMut(Finished)) -> Result<()> {
        let (sender, mut ends) = mpsc::unbounded_channel();
        *self.ends.lock() = Some(sender);
        let bounded = working.once || working.until_empty;
        let beside = stop.child_token();
        if bounded {
            self.take_over().await?;
        } else {
            self.spawn(Arc::clone(self).look_after_others(beside.clone()));
        }
        let served = self.take_from_queue(&working, &stop, &mut ends, &mut told).await;
        beside.cancel();
        let last = served.as_ref().ok().copied().flatten();
        while last.is_some_and(|run| self.active.lock().contains_key(&run)) && !stop.is_cancelled() && !self.stopping.is_cancelled() {
            next_end(&mut ends, &mut told, WAIT).await;
        }
        while let Ok(finished) = ends.try_recv() {
            told(finished);
        }
        served.map(drop)
    }

    /// Ends this engine's part in all runs at the border of their next step, however long that takes, or at once when `hurry` says so.
    pub async fn let_go(&self, hurry: CancellationToken, mut told: impl FnMut(Finished)) {
        let (sender, mut ends) = mpsc::unbounded_channel();
        *self.ends.lock() = Some(sender);
        self.stopping.cancel();
        while self.at_work() > 0 && !hurry.is_cancelled() {
            tokio::select! {
                () = next_end(&mut ends, &mut told, WAIT) => {}
                () = hurry.cancelled() => {}
            }
        }
        while let Ok(finished) = ends.try_recv() {
            told(finished);
        }
    }

    /// Reads documents and takes over abandoned runs, beside the queue.
    async fn look_after_others(self: Arc<Self>, stop: CancellationToken) {
        let reader = crate::knowledge::Worker { stopping: stop.clone(), ..self.reader() };
        let take_over = async {
            tokio::select! {
                () = Arc::clone(&self).take_over_abandoned() => {}
                () = stop.cancelled() => {}
            }
        };
        tokio::join!(Arc::clone(&self.knowledge).work(reader), take_over, Arc::clone(&self).drop_told_text(stop.clone()));
    }

    /// Takes runs as they come; the run that was taken when it is to be only one.
    async fn take_from_queue(
        self: &Arc<Self>,
        working: &Working,
        stop: &CancellationToken,
        ends: &mut mpsc::UnboundedReceiver<Finished>,
        told: &mut impl FnMut(Finished),
    ) -> Result<Option<Id>> {
        let most = working.concurrency.max(1);
        while !stop.is_cancelled() && !self.stopping.is_cancelled() {
            let busy = self.queued.load(std::sync::atomic::Ordering::Relaxed);
            let free = most.saturating_sub(busy);
            let free = if working.once { free.min(1) } else { free.min(super::CLAIMED) };
            let claimed = if free > 0 { self.work_on(&working.queue, free).await } else { Ok(Vec::new()) };
            match claimed {
                Ok(taken) if working.once => return Ok(taken.first().copied()),
                Ok(taken) if !taken.is_empty() => continue,
                Ok(_) if working.until_empty && busy == 0 => return Ok(None),
                Ok(_) => {}
                Err(error) if working.once || working.until_empty => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, "the queue could not be looked at; it is tried again");
                    tokio::select! {
                        () = tokio::time::sleep(AWAY) => {}
                        () = stop.cancelled() => {}
                    }
                }
            }
            tokio::select! {
                () = next_end(ends, told, LOOK) => {}
                () = self.wake.notified() => {}
                () = stop.cancelled() => {}
                () = self.stopping.cancelled() => {}
            }
        }
        Ok(None)
    }
}

/// Tells the next end, if one comes in time.
async fn next_end(ends: &mut mpsc::UnboundedReceiver<Finished>, told: &mut impl FnMut(Finished), within: Duration) {
    if let Ok(Some(finished)) = tokio::time::timeout(within, ends.recv()).await {
        told(finished);
    }
}
