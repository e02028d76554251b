//! Owns the worker: it claims runs from a queue and from dead owners while it has free slots, until it is stopped or nothing is
//! left.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::engine::leases::lease;
use crate::engine::leases::slots::{Claimed, Finished, Place, Room, Taking};
use crate::engine::log::journal::Boundary;
use crate::engine::world::World;
use crate::error::{Error, Kind, Result};
use crate::model::Id;
use crate::model::run::Status;
use crate::store::runs::queue;
use crate::store::runs;
use crate::sync::Mutex;

/// Runs that are claimed at once.
const CLAIMED: usize = 64;
/// How often runs are looked for whose owner is gone.
const SWEEP: Duration = Duration::from_secs(5);
/// What is due already may be in other hands for a moment.
const SOON: Duration = Duration::from_millis(20);
/// How often the queue is polled without notifications.
const LOOK: Duration = Duration::from_millis(200);
/// And with notifications.
const LOOK_FOR_LOST: Duration = Duration::from_secs(2);
/// How long `once` waits for a job whose row another connection holds: a claim that is not kept leaves it in the queue.
const HELD: Duration = Duration::from_secs(2);
/// How long a database that cannot be used is left alone.
const AWAY: Duration = Duration::from_secs(1);

/// What a worker takes, and when it ends by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Working {
    /// The queue that it takes from.
    pub queue: String,
    /// At most so many runs at the same time.
    pub concurrency: usize,
    /// It takes one queued run or, where none waits, one whose owner is gone, and ends with it; at once when there is neither.
    pub once: bool,
    /// It ends when the queue is empty and all its runs have stopped.
    pub until_empty: bool,
}

struct Worker<'a> {
    /// None where runs are never queued.
    queue: Option<&'a str>,
    room: &'a Room,
    until_empty: bool,
    stop: CancellationToken,
}

/// What a worker looks for next.
struct Next {
    queued: bool,
    abandoned: Instant,
}

/// What a look into the queue gave.
#[derive(Default)]
struct Queued {
    taken: Vec<(Arc<str>, Id)>,
    /// Nothing was taken, though a run is due: another connection holds its row.
    is_held: bool,
}

/// What a look for runs gave.
enum Took {
    Some,
    Nothing,
    /// A queued run is due, and another connection holds its row.
    Held,
    /// There was no look.
    NoRoom,
}

impl World {
    /// Works until it is told to stop, or until `working` says that it is done; runs under way are left at work here. `report` hears of
    /// each run that was taken and that this process is done with, also later.
    ///
    /// # Errors
    /// When the store cannot be used and nobody waits for it: `once` and `until_empty`. When the engine stops before the run of `once` has ended.
    pub async fn serve(
        self: &Arc<Self>,
        working: Working,
        stop: CancellationToken,
        report: impl Fn(Finished) + Send + Sync + 'static,
    ) -> Result<()> {
        if working.once {
            return self.take_one(&working.queue, stop, report).await;
        }
        let room = Room::new(working.concurrency, Some(Arc::new(report)));
        let until = self.stopping.child_token();
        let worker = Worker { queue: Some(&working.queue), room: &room, until_empty: working.until_empty, stop: until.clone() };
        if !working.until_empty {
            self.spawn(Arc::clone(self).look_after_others(until.clone()));
        }
        // A claim in progress is completed when it is stopped.
        let told_to_stop = async {
            stop.cancelled().await;
            until.cancel();
            std::future::pending().await
        };
        let served = tokio::select! {
            served = self.take_runs(&worker) => served,
            served = told_to_stop => served,
        };
        until.cancel();
        served
    }

    /// Takes runs for this engine's own worker until the engine stops.
    pub(super) async fn serve_itself(self: Arc<Self>) {
        let queue = self.config.async_runs_enabled.then_some(self.config.queue.as_str());
        let worker = Worker { queue, room: &self.room, until_empty: false, stop: self.stopping.clone() };
        if let Err(error) = self.take_runs(&worker).await {
            tracing::error!(%error, "this process takes no more runs");
        }
    }

    /// Ends this engine's part in all runs at the border of their next step, however long that takes, or at once when `hurry` says so.
    pub async fn let_go(&self, hurry: CancellationToken) {
        self.stopping.cancel();
        while self.is_busy() && !hurry.is_cancelled() {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
                () = hurry.cancelled() => {}
            }
        }
    }

    /// Reads documents and drops old text, beside the runs.
    async fn look_after_others(self: Arc<Self>, stop: CancellationToken) {
        let reader = crate::knowledge::Worker { stopping: stop.clone(), ..self.reader() };
        tokio::join!(Arc::clone(&self.knowledge).work(reader), Arc::clone(&self).delete_expired_text(stop.clone()));
    }

    /// Takes runs as they come.
    async fn take_runs(self: &Arc<Self>, worker: &Worker<'_>) -> Result<()> {
        let mut wake = self.wake.subscribe();
        let mut next = Next { queued: true, abandoned: Instant::now() };
        while !worker.stop.is_cancelled() {
            // One run that cannot be gone on with is no reason to take no other.
            let taken = AssertUnwindSafe(self.take_some(worker, &mut next)).catch_unwind().await;
            let waited = match taken.unwrap_or_else(|_| Err(Error::internal("a fault in the studio stopped it"))) {
                Ok(Took::Nothing) if worker.until_empty && worker.room.is_idle() => return Ok(()),
                Ok(Took::Held) => {
                    worker.stop.run_until_cancelled(tokio::time::sleep(SOON)).await;
                    next.queued = true;
                    Ok(())
                }
                Ok(Took::Nothing | Took::Some | Took::NoRoom) => self.wait_for_more(worker, &mut next, &mut wake).await,
                Err(error) => Err(error),
            };
            if let Err(error) = waited {
                if worker.until_empty {
                    return Err(error);
                }
                tracing::warn!(%error, "the check for queued and abandoned runs failed; another attempt follows");
                worker.stop.run_until_cancelled(tokio::time::sleep(AWAY)).await;
            }
        }
        Ok(())
    }

    /// Takes abandoned runs when it is time to look for them, then queued ones, as far as there is room.
    async fn take_some(self: &Arc<Self>, worker: &Worker<'_>, next: &mut Next) -> Result<Took> {
        let mut places = worker.room.places(CLAIMED);
        let free = places.len();
        if free == 0 {
            return Ok(Took::NoRoom);
        }
        if next.abandoned <= Instant::now() {
            next.abandoned = Instant::now() + SWEEP;
            self.take_abandoned(&mut places, &worker.stop).await?;
            if places.is_empty() {
                next.abandoned = Instant::now();
            }
        }
        let mut is_held = false;
        next.queued = match worker.queue {
            Some(queue) if (next.queued || worker.until_empty) && !places.is_empty() => {
                is_held = self.take_queued(queue, &mut places, &worker.stop).await?.is_held;
                places.is_empty()
            }
            Some(_) => next.queued,
            None => false,
        };
        Ok(match places.len() {
            left if left < free => Took::Some,
            _ if is_held => Took::Held,
            _ => Took::Nothing,
        })
    }

    /// Waits until there may be something to take, and room for it.
    async fn wait_for_more(&self, worker: &Worker<'_>, next: &mut Next, wake: &mut watch::Receiver<()>) -> Result<()> {
        worker.stop.run_until_cancelled(worker.room.wait()).await;
        let look = if self.store.has_notifications() { LOOK_FOR_LOST } else { LOOK };
        while !next.queued && next.abandoned > Instant::now() && !worker.stop.is_cancelled() {
            let due = match worker.queue.map(str::to_owned) {
                Some(name) => self.store.read(move |tx| queue::due_at(tx, &name)).await?,
                None => None,
            };
            let wait = due.map_or(look, |due| Duration::from_millis(due.since(self.common_time()))).clamp(SOON, look);
            tokio::select! {
                _ = wake.changed() => next.queued = true,
                () = worker.room.idle(), if worker.until_empty => next.queued = true,
                () = tokio::time::sleep(wait) => next.queued = due.is_some_and(|due| due <= self.common_time()),
                () = tokio::time::sleep_until(next.abandoned) => {}
                () = worker.stop.cancelled() => {}
            }
        }
        Ok(())
    }

    /// Takes one run and waits for its end.
    async fn take_one(
        self: &Arc<Self>,
        queue: &str,
        stop: CancellationToken,
        report: impl Fn(Finished) + Send + Sync + 'static,
    ) -> Result<()> {
        let began = std::time::Instant::now();
        let report = Arc::new(report);
        let heard = Arc::new(Mutex::new(false));
        let listener = {
            let (report, heard) = (Arc::clone(&report), Arc::clone(&heard));
            move |finished| {
                *heard.lock() = true;
                report(finished);
            }
        };
        let mut places = Room::new(1, Some(Arc::new(listener))).places(1);
        let until = Instant::now() + HELD;
        let mut taken = loop {
            let Queued { mut taken, is_held } = self.take_queued(queue, &mut places, &stop).await?;
            if taken.is_empty() {
                taken = self.take_abandoned(&mut places, &stop).await?;
            }
            if !taken.is_empty() || !is_held || Instant::now() >= until {
                break taken;
            }
            stop.run_until_cancelled(tokio::time::sleep(SOON)).await;
        };
        let Some((tenant, run)) = taken.pop() else {
            let text = "the studio is shutting down and takes no run";
            return if self.stopping.is_cancelled() { Err(Error::new(Kind::ShuttingDown, text)) } else { Ok(()) };
        };
        let over = self.active.lock().get(&run).map(|active| active.over.clone());
        if let Some(over) = over
            && stop.run_until_cancelled(over.cancelled()).await.is_none()
        {
            return Ok(());
        }
        if *heard.lock() {
            return Ok(());
        }
        // No end is reported for a run that could not be continued, or that was returned to the queue.
        if self.stopping.is_cancelled() {
            let text = format!("the studio is shutting down; run {run} goes on when somebody takes it over");
            return Err(Error::new(Kind::ShuttingDown, text).with("trace_id", run.to_string()));
        }
        let row = self.store.read(move |tx| runs::get(tx, &tenant, &run)).await?;
        let status = row.and_then(|row| Status::named(&row.status)).unwrap_or(Status::Running);
        report(Finished { run, status, millis: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX) });
        Ok(())
    }

    /// Claims one queued run and goes to work on it; its id when there was one, and room for it.
    pub async fn work(self: &Arc<Self>) -> Result<Option<Id>> {
        let queued = self.take_queued(&self.config.queue, &mut self.room.places(1), &self.stopping).await?;
        Ok(queued.taken.first().map(|(_, run)| *run))
    }

    /// Claims queued runs, at most one for each free slot, and executes them, unless `stop` comes first. Returns which.
    async fn take_queued(self: &Arc<Self>, queue: &str, places: &mut Vec<Place>, stop: &CancellationToken) -> Result<Queued> {
        if places.is_empty() {
            return Ok(Queued::default());
        }
        let _until_they_are_at_work = Taking::new(self);
        self.store.know_time().await?;
        let (owner, name, most) = (Arc::clone(self.owner()), queue.to_owned(), places.len());
        let (now, world, stop) = (self.common_time(), Arc::clone(self), stop.clone());
        let claimed = self.store.write(move |tx| {
            if stop.is_cancelled() || world.stopping.is_cancelled() {
                return Ok((Vec::new(), false));
            }
            // A write may wait for long: its lease begins when it is made.
            let rows = queue::claim_queued(tx, &name, &owner, now, lease(&world).unwrap_or_default(), most)?;
            let is_held = rows.is_empty() && queue::is_passed_by(tx, &name, now)?;
            for row in &rows {
                world.boundary(Boundary::Before, row.id, row.head);
            }
            Ok((rows, is_held))
        });
        let (rows, is_held) = claimed.await?;
        let claimed = Claimed::new(self, rows);
        for row in claimed.rows() {
            self.boundary(Boundary::After, row.id, row.head);
            let job = if row.started_at.is_none() { "RunWorkflowJob" } else { "ResumeWorkflowJob" };
            tracing::info!(run = %row.id, job, queue, tries = row.tries, "a job begins");
        }
        let taken = claimed.names();
        self.go_on_with(claimed, places, false).await;
        Ok(Queued { taken, is_held })
    }
}
