//! Owns who works on which run: leases kept alive, runs of dead owners taken over, queued runs claimed.

mod takeover;
mod told_text;
mod working;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::drive::{Drive, Drove, Signals};
use super::feed::Feed;
use super::journal::{Boundary, Journal, Tenure};
use super::world::{Active, World};
use crate::error::Result;
use crate::knowledge::Worker;
use crate::model::agent::Definitions;
use crate::model::event::{Entry, Event, Fault};
use crate::model::run::{Run, Status};
use crate::model::telling::Telling;
use crate::model::{Id, Timestamp};
use crate::store::{Tx, queue};

pub use working::{Finished, Working};
pub(super) use working::Ends;

/// Queued runs that are claimed at once.
const CLAIMED: usize = 32;

/// What was before driving begins: the teller, entries that its readers may still want to follow, a failure that was not acted on.
pub(super) struct Start {
    pub(super) telling: Telling,
    pub(super) told: Vec<Arc<Entry>>,
    pub(super) failed: Option<(Fault, Arc<str>)>,
}

/// A run's place among those that are driven here; left when it is dropped, also by a runtime that ends.
struct Seat {
    world: Arc<World>,
    journal: Arc<Journal>,
    feed: Arc<Feed>,
    over: CancellationToken,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
        self.world.hub.remove(self.journal.run, &self.feed);
        self.over.cancel();
        self.world.ended.notify_one();
    }
}

impl Seat {
    /// The run is not at work here any more; the place may be another stretch's by now.
    fn leave(&self) {
        let fence = self.journal.tenure().fence;
        let mut active = self.world.active.lock();
        if active.get(&self.journal.run).is_some_and(|active| active.fence == fence) {
            active.remove(&self.journal.run);
        }
        drop(active);
        self.feed.close();
    }

    /// Says that this process has done with the run, to whoever wants to know.
    fn tell_end(&self, status: Status, began: std::time::Instant) {
        let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut ends = self.world.ends.lock();
        let told = ends.as_ref().is_none_or(|ends| ends.send(Finished { run: self.journal.run, status, millis }).is_ok());
        if !told {
            *ends = None;
        }
    }

    /// A cancel that came while the run was coming to rest.
    async fn hear_late_cancel(&self) {
        self.leave();
        if self.world.keeps_nothing() {
            return;
        }
        let (tenant, run) = (Arc::clone(&self.journal.tenant), self.journal.run);
        let row = self.world.store.read(move |tx| crate::store::runs::get(tx, &tenant, &run)).await;
        if row.is_ok_and(|row| row.is_some_and(|row| row.cancel_requested)) {
            let _over_already = super::answer::cancel(&self.world, &self.journal.tenant, &run.to_string()).await;
        }
    }

    /// Somebody else goes on at once with a run that cannot go on here.
    async fn hand_over(&self) {
        self.journal.give_up();
        if self.world.keeps_nothing() {
            return;
        }
        let (run, fence) = (self.journal.run, self.journal.tenure().fence);
        let _taken_over_when_the_lease_ends = self.world.store.write(move |tx| queue::release(tx, &run, fence)).await;
    }
}

/// When a lease taken now ends.
pub(super) fn lease(world: &World) -> Option<Timestamp> {
    let millis = i64::try_from(world.config.runs.lease_seconds * 1000).unwrap_or(i64::MAX);
    Some(Timestamp(world.clock.now().0.saturating_add(millis)))
}

/// Drives a run in this process, in a task of its own; the prelude is appended before its first step.
#[expect(clippy::too_many_arguments, reason = "it hands over all that driving needs")]
pub(super) fn drive_here(
    world: &Arc<World>,
    run: Run,
    start: Start,
    token_rows: u64,
    tenant: Arc<str>,
    tenure: Tenure,
    definitions: Arc<Definitions>,
    prelude: Vec<Event>,
) -> Arc<Journal> {
    let told = start.told.first().map_or(run.head, |entry| entry.seq - 1);
    let limit = usize::try_from(world.config.limits.stream_buffer_kb).unwrap_or(1024) * 1024;
    let feed = Arc::new(Feed::new(start.telling, told, token_rows, limit));
    for entry in &start.told {
        feed.stage(entry);
    }
    feed.release(run.head);
    let id = run.id;
    let queued = tenure.mode == "async";
    let tries_left = if queued { world.config.queue_tries.saturating_sub(tenure.tries) } else { 0 };
    let journal = Journal::new(Arc::clone(world), Arc::clone(&feed), run, tenant, tenure);
    let signals = Signals { cancel: CancellationToken::new(), stop: world.stopping.child_token() };
    let over = CancellationToken::new();
    let active = Active {
        signals: signals.clone(),
        definitions: Arc::clone(&definitions),
        fence: journal.tenure().fence,
        broken: journal.broken_token().clone(),
        over: over.clone(),
        queued,
    };
    world.active.lock().insert(id, active);
    world.hub.put(id, Arc::clone(&feed));
    for event in prelude {
        let _lost_is_seen_by_the_drive = journal.emit(0, event);
    }
    let drive =
        Drive { world: Arc::clone(world), journal: Arc::clone(&journal), definitions, signals, tries_left, failed: start.failed };
    let seat = Seat { world: Arc::clone(world), journal: Arc::clone(&journal), feed, over };
    let began = std::time::Instant::now();
    world.spawn(async move {
        let drove = std::panic::AssertUnwindSafe(drive.run()).catch_unwind().await;
        match drove {
            Ok(Drove::Requeued) => {
                seat.hear_late_cancel().await;
                seat.world.wake_workers();
                seat.tell_end(Status::Queued, began);
            }
            Ok(Drove::Rested(status)) => {
                if status.paused() {
                    seat.hear_late_cancel().await;
                }
                seat.tell_end(status, began);
            }
            Ok(Drove::Interrupted) => {}
            Ok(Drove::Lost) => seat.hand_over().await,
            Err(_) => {
                tracing::error!(run = %id, "driving a run panicked; it is left for a takeover");
                seat.hand_over().await;
            }
        }
        if seat.world.keeps_nothing() {
            seat.leave();
            seat.feed.read_out().await;
        }
    });
    journal
}

impl World {
    /// Keeps leases, hears cancels, takes over and works the queue, until the engine stops.
    pub(crate) fn keep(self: &Arc<Self>) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let _set_before = self.runtime.set(runtime);
        }
        if !self.keeps_nothing() {
            self.hear_news();
        }
        let world = Arc::clone(self);
        self.spawn(async move { world.keep_leases().await });
        let world = Arc::clone(self);
        self.spawn(async move { world.hear_cancels().await });
        self.observer.tasks().into_iter().for_each(|task| self.spawn(task));
        if self.config.usage.events.enabled {
            self.spawn(Arc::clone(self).keep_telling_usage());
        }
        if self.config.worker.in_process {
            self.spawn(Arc::clone(&self.knowledge).work(self.reader()));
            let world = Arc::clone(self);
            self.spawn(async move { world.take_over_abandoned().await });
            self.spawn(Arc::clone(self).drop_told_text(self.stopping.clone()));
            if self.config.async_runs_enabled {
                let world = Arc::clone(self);
                self.spawn(async move { world.work_queue().await });
            }
        }
    }

    /// Who reads documents here.
    fn reader(&self) -> Worker {
        Worker { owner: Arc::clone(&self.owner), is_gone: super::owner::is_gone, stopping: self.stopping.clone() }
    }

    /// Waits; false when the engine has no time left. Leases are kept while runs are brought to a stop.
    async fn pause(&self, time: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(time) => true,
            () = self.hurry.cancelled() => false,
        }
    }

    async fn keep_leases(self: Arc<Self>) {
        let third = Duration::from_millis((self.config.runs.lease_seconds * 1000 / 3).max(100));
        while self.pause(third).await {
            if let Err(error) = self.renew_leases().await {
                tracing::warn!(%error, "leases could not be renewed; it is tried again");
            }
        }
    }

    /// Holds the runs that are driven here for longer; driving stops at once where somebody else has taken one.
    async fn renew_leases(&self) -> Result<()> {
        let held: Vec<(Id, CancellationToken)> =
            self.active.lock().iter().map(|(run, active)| (*run, active.broken.clone())).collect();
        if held.is_empty() || self.keeps_nothing() {
            return Ok(());
        }
        let runs: Vec<Id> = held.iter().map(|(run, _)| *run).collect();
        let (owner, until) = (Arc::clone(&self.owner), lease(self).unwrap_or_default());
        let lost = self.store.write(move |tx| queue::renew(tx, &owner, &runs, until)).await?;
        for (_, broken) in held.iter().filter(|(run, _)| lost.contains(run)) {
            broken.cancel();
        }
        Ok(())
    }

    async fn hear_cancels(self: Arc<Self>) {
        while self.pause(Duration::from_millis(500)).await {
            if self.active.lock().is_empty() {
                continue;
            }
            let owner = Arc::clone(&self.owner);
            let wanted = self.store.read(move |tx| queue::cancel_wanted(tx, &owner)).await.unwrap_or_default();
            let active = self.active.lock();
            for run in wanted {
                if let Some(active) = active.get(&run) {
                    active.signals.cancel.cancel();
                }
            }
        }
    }

    async fn take_over_abandoned(self: Arc<Self>) {
        loop {
            if let Err(error) = self.take_over().await {
                tracing::warn!(%error, "abandoned runs could not be looked for; it is tried again");
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(5)) => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    /// Gives back all runs that are driven here, at once and without waiting: nothing more is written of them.
    pub(crate) fn abandon(&self) {
        let held: Vec<(Id, i64)> = self
            .active
            .lock()
            .iter()
            .map(|(run, active)| {
                active.broken.cancel();
                (*run, active.fence)
            })
            .collect();
        if !self.keeps_nothing() {
            for (run, fence) in held {
                let release = move |tx: &mut Tx<'_>| queue::release(tx, &run, fence);
                self.store.write_then(run, Box::new(release), Box::new(|_| ()));
            }
        }
    }

    async fn work_queue(self: Arc<Self>) {
        let most = usize::try_from(self.config.worker.concurrency.max(1)).unwrap_or(64);
        loop {
            let free = most.saturating_sub(self.active.lock().values().filter(|active| active.queued).count());
            let claimed = if free > 0 { self.work_on(&self.config.queue, free.min(CLAIMED)).await.unwrap_or_default() } else { Vec::new() };
            if !claimed.is_empty() {
                continue;
            }
            tokio::select! {
                () = self.wake.notified() => {}
                () = tokio::time::sleep(Duration::from_millis(200)) => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    /// Claims one queued run and goes to work on it; its id when there was one.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub async fn work(self: &Arc<Self>) -> Result<Option<Id>> {
        Ok(self.work_on(&self.config.queue, 1).await?.pop())
    }

    /// Claims queued runs, at most so many, and goes to work on them.
    async fn work_on(self: &Arc<Self>, queue: &str, most: usize) -> Result<Vec<Id>> {
        let (owner, name) = (Arc::clone(&self.owner), queue.to_owned());
        let (now, until) = (self.clock.now(), lease(self).unwrap_or_default());
        let world = Arc::clone(self);
        let claimed = self.store.write(move |tx| {
            let rows = queue::claim_queued(tx, &name, &owner, now, until, most)?;
            for row in &rows {
                world.boundary(Boundary::Before, row.id, row.head);
            }
            Ok(rows)
        });
        let rows = claimed.await?;
        let begun = rows.into_iter().map(|row| async {
            let id = row.id;
            self.boundary(Boundary::After, id, row.head);
            if let Err(error) = self.go_on(row, false).await {
                tracing::error!(run = %id, %error, "a queued run could not be started");
            }
            id
        });
        Ok(futures_util::future::join_all(begun).await)
    }
}
