//! Owns the leases of runs: heartbeats, takeovers of dead owners' runs, claims of queued runs.

mod failed_takeovers;
pub(in crate::engine) mod owner;
mod slots;
mod takeover;
mod worker;

pub(in crate::engine) use self::slots::Taking;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::clock::Passing;
use crate::engine::drive::{Drive, DriveResult, Signals};
use crate::engine::feed::Feed;
use crate::engine::log::journal::{Journal, Ownership, Stored};
use crate::engine::world::{Active, World};
use crate::error::Result;
use crate::knowledge::Worker;
use crate::model::agent::Definitions;
use crate::model::event::{Entry, Event, Fault};
use crate::model::run::{Run, Status};
use crate::model::telling::Telling;
use crate::model::{Id, Timestamp};
use crate::store::runs::queue;
use crate::store::{Job, Tx};

pub use crate::engine::leases::slots::Finished;
pub(super) use crate::engine::leases::slots::{Place, Room};
pub use crate::engine::leases::worker::Working;

/// The state before driving begins: the encoder, entries that readers may still need, unhandled failures.
pub(super) struct Start {
    pub(super) telling: Telling,
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) failed: Vec<(Fault, Arc<str>)>,
    /// What is stored of it.
    pub(super) stored: Stored,
    /// Its place among the runs of a worker; none when no worker took it.
    pub(super) place: Option<Place>,
    /// How the clock goes since the run went to work.
    pub(super) passing: Passing,
}

/// A run's place among those that are driven here; left when it is dropped, also by a runtime that ends.
struct ActiveRun {
    world: Arc<World>,
    journal: Arc<Journal>,
    feed: Arc<Feed>,
    over: CancellationToken,
    queued: bool,
    place: Option<Place>,
}

impl Drop for ActiveRun {
    fn drop(&mut self) {
        if self.queued {
            self.world.queued.fetch_sub(1, Ordering::Relaxed);
        }
        self.leave();
        self.world.hub.remove(self.journal.run, &self.feed);
        self.over.cancel();
        self.world.ended.notify_one();
    }
}

impl ActiveRun {
    /// This process no longer drives the run; another stretch may already have its slot.
    fn leave(&self) {
        let fence = self.journal.ownership().fence;
        let mut active = self.world.active.lock();
        if active.get(&self.journal.run).is_some_and(|active| active.journal.ownership().fence == fence) {
            active.remove(&self.journal.run);
        }
        drop(active);
        self.feed.close();
    }

    /// Drives the run, and leaves. What is rare need not have a place in the task, and what is bound to a name before it is waited
    /// for has two.
    async fn serve(self, drive: Drive, fresh: bool) {
        let began = std::time::Instant::now();
        match std::panic::AssertUnwindSafe(drive_together(&self.journal, drive)).catch_unwind().await {
            Ok(DriveResult::Requeued) => {
                Box::pin(self.hear_late_cancel()).await;
                self.world.wake_workers();
                self.tell_end(Status::Queued, began);
            }
            Ok(DriveResult::Rested(status)) => {
                if status.paused() {
                    Box::pin(self.hear_late_cancel()).await;
                }
                self.tell_end(status, began);
            }
            Ok(DriveResult::Interrupted) => {}
            Ok(DriveResult::Lost) => self.hand_over(),
            Err(_) => {
                tracing::error!(run = %self.journal.run, "the execution of a run panicked; a worker takes the run over when its lease expires");
                self.hand_over();
            }
        }
        if self.world.keeps_nothing() {
            self.leave();
            self.feed.read_out().await;
        } else if fresh && self.journal.is_begun() {
            self.leave();
            self.over.cancel();
            self.world.ended.notify_one();
            self.feed.found().await;
        }
    }

    /// Says that this process has done with the run, to the worker that took it.
    fn tell_end(&self, status: Status, began: std::time::Instant) {
        let Some(place) = &self.place else { return };
        let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        place.tell(Finished { run: self.journal.run, status, millis });
    }

    /// A cancel that came while the run was pausing or ending.
    async fn hear_late_cancel(&self) {
        self.leave();
        if self.world.keeps_nothing() {
            return;
        }
        let (tenant, run) = (Arc::clone(&self.journal.tenant), self.journal.run);
        let row = self.world.store.read(move |tx| crate::store::runs::get(tx, &tenant, &run)).await;
        if row.is_ok_and(|row| row.is_some_and(|row| row.cancel_requested)) {
            let _over_already = crate::engine::runs::cancel::cancel(&self.world, &self.journal.tenant, &run.to_string()).await;
        }
    }

    /// Somebody else goes on at once with a run that cannot go on here. It has lost its owner, unless that has no time left.
    fn hand_over(&self) {
        self.journal.give_up();
        if !self.world.keeps_nothing() {
            self.world.give_back(self.journal.run, self.journal.ownership().fence, !self.world.hurry.is_cancelled());
        }
    }
}

/// When a lease taken now ends.
pub(super) fn lease(world: &World) -> Option<Timestamp> {
    let millis = i64::try_from(world.config.runs.lease_seconds * 1000).unwrap_or(i64::MAX);
    Some(Timestamp(world.common_time().0.saturating_add(millis)))
}

/// Drives a run in this process, in a task of its own; the prelude is appended before its first step.
#[expect(clippy::too_many_arguments, reason = "it hands over all that driving needs")]
pub(super) fn drive_here(
    world: &Arc<World>,
    run: Run,
    start: Start,
    token_rows: u64,
    tenant: Arc<str>,
    ownership: Ownership,
    definitions: Arc<Definitions>,
    prelude: Vec<Event>,
) -> Arc<Journal> {
    let told = start.entries.first().map_or(run.head, |entry| entry.seq - 1);
    let limit = usize::try_from(world.config.limits.stream_buffer_kb).unwrap_or(1024) * 1024;
    let queued = ownership.mode == "async";
    let progress = !queued || world.config.async_progress.enabled;
    let feed = Arc::new(Feed::new(Arc::clone(&tenant), progress, start.telling, told, token_rows, limit));
    for entry in &start.entries {
        feed.stage(entry);
    }
    let fresh = matches!(start.stored, Stored::Nothing(_));
    if !fresh {
        feed.release(run.head);
    }
    let id = run.id;
    let tries_left = if queued { world.config.queue_tries.saturating_sub(ownership.tries) } else { 0 };
    let journal = Journal::new(Arc::clone(world), Arc::clone(&feed), run, tenant, ownership, start.stored, start.passing);
    // A token of its own below the engine's: runs do not meet in one lock whenever they wait.
    let signals = Signals { cancel: CancellationToken::new(), stop: world.stopping.child_token() };
    let over = CancellationToken::new();
    let active = Active {
        signals: signals.clone(),
        definitions: Arc::clone(&definitions),
        journal: Arc::clone(&journal),
        over: over.clone(),
    };
    world.active.lock().insert(id, active);
    world.hub.put(id, Arc::clone(&feed));
    if queued {
        world.queued.fetch_add(1, Ordering::Relaxed);
    }
    // From here on the place is left whatever happens.
    let active_run = ActiveRun { world: Arc::clone(world), journal: Arc::clone(&journal), feed, over, queued, place: start.place };
    for event in prelude {
        let _lost_is_seen_by_the_drive = journal.emit(0, event);
    }
    let drive =
        Drive { world: Arc::clone(world), journal: Arc::clone(&journal), definitions, signals, tries_left, failed: start.failed };
    world.spawn(active_run.serve(drive, fresh));
    journal
}

/// How soon a lease is tried again whose run is being written.
const AGAIN: Duration = Duration::from_millis(50);
/// How long drivers are waited for that are in the middle of something when the engine ends: they take answers, and never wait.
const MIDDLE: Duration = Duration::from_millis(500);

/// Drives a run; what it appends until it has to wait goes to the writer at once, as one piece.
async fn drive_together(journal: &Arc<Journal>, drive: Drive) -> DriveResult {
    let mut drive = std::pin::pin!(drive.run());
    std::future::poll_fn(|context| journal.further(|| drive.as_mut().poll(context)).unwrap_or(Poll::Ready(DriveResult::Lost))).await
}

impl World {
    /// Renews leases, receives cancels, takes runs over and executes queued runs, until the engine stops.
    pub(crate) fn keep(self: &Arc<Self>) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let _set_before = self.runtime.set(runtime);
        }
        if !self.keeps_nothing() {
            self.listen();
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
            self.spawn(Arc::clone(self).delete_expired_text(self.stopping.clone()));
            self.spawn(Arc::clone(self).serve_itself());
        }
    }

    /// Who reads documents here.
    fn reader(&self) -> Worker {
        Worker {
            owner: Arc::clone(self.owner()),
            is_gone: crate::engine::leases::owner::is_gone,
            stopping: self.stopping.clone(),
            hurry: self.hurry.clone(),
        }
    }

    /// Waits; false when the engine has given its runs back. Until then they are its own, and their leases are kept.
    async fn pause(&self, time: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(time) => true,
            () = self.gone.cancelled() => false,
        }
    }

    /// Renews all leases each third of their time. Those of runs that are being written are tried again soon: a write that is held up may let go of its
    /// run for a moment only, before it is tried again.
    async fn keep_leases(self: Arc<Self>) {
        let third = Duration::from_millis((self.config.runs.lease_seconds * 1000 / 3).max(100));
        let (mut next, mut written) = (Instant::now() + third, Vec::new());
        loop {
            let left = next.saturating_duration_since(Instant::now());
            if !self.pause(if written.is_empty() { left } else { left.min(AGAIN) }).await {
                return;
            }
            let all = Instant::now() >= next;
            if all {
                next = Instant::now() + third;
            }
            let only = std::mem::take(&mut written);
            match self.renew_leases(|run| all || only.contains(&run)).await {
                Ok(left) => written = left,
                Err(error) => tracing::warn!(%error, "leases could not be renewed; another attempt follows"),
            }
        }
    }

    /// Holds runs that are driven here, or will be soon, for longer; driving stops at once where somebody else has taken one. Those that are
    /// being written.
    async fn renew_leases(self: &Arc<Self>, wanted: impl Fn(Id) -> bool) -> Result<Vec<Id>> {
        let stored: Vec<Arc<Journal>> = self.active.lock().values().map(|active| Arc::clone(&active.journal)).collect();
        let held: Vec<Arc<Journal>> = stored.into_iter().filter(|journal| journal.is_begun() && wanted(journal.run)).collect();
        let claimed: Vec<Id> = self.claimed.lock().iter().map(|(run, _)| *run).filter(|run| wanted(*run)).collect();
        let runs: Vec<Id> = held.iter().map(|journal| journal.run).chain(claimed).collect();
        if runs.is_empty() || self.keeps_nothing() {
            return Ok(Vec::new());
        }
        let world = Arc::clone(self);
        let until: queue::Until = Arc::new(move || lease(&world).unwrap_or_default());
        let queue::Renewed { lost, skipped } = queue::hold(&self.store, self.owner(), runs, &until).await?;
        // A run that rests has no lease, even if its driver does not know yet that this is stored.
        for journal in held.iter().filter(|journal| lost.contains(&journal.run) && journal.status() == Status::Running) {
            journal.give_up();
        }
        Ok(skipped)
    }

    /// Holds all runs that are driven here for longer; false when some are being written all the time.
    async fn renew_all(self: &Arc<Self>) -> Result<bool> {
        let mut written = self.renew_leases(|_| true).await?;
        for _ in 0..20 {
            if written.is_empty() {
                break;
            }
            tokio::time::sleep(AGAIN).await;
            let only = std::mem::take(&mut written);
            written = self.renew_leases(|run| only.contains(&run)).await?;
        }
        Ok(written.is_empty())
    }

    async fn hear_cancels(self: Arc<Self>) {
        let mut deaf = false;
        while self.pause(Duration::from_millis(500)).await {
            if self.active.lock().is_empty() {
                continue;
            }
            let owner = Arc::clone(self.owner());
            let wanted = self.store.read(move |tx| queue::cancel_wanted(tx, &owner)).await;
            if let Err(error) = &wanted
                && !deaf
            {
                tracing::warn!(%error, "the check for cancels from other processes failed; another attempt follows");
            }
            deaf = wanted.is_err();
            let active = self.active.lock();
            for run in wanted.unwrap_or_default() {
                if let Some(active) = active.get(&run) {
                    active.signals.cancel.cancel();
                }
            }
        }
    }

    /// Gives back all runs that are held here, at once and without waiting: nothing more is written of them. Those that are not driven yet, because they
    /// are being claimed or somebody's answer is being stored, are given back behind everything else that is still written.
    pub(crate) fn abandon(&self) {
        self.gone.cancel();
        let at_work: Vec<Arc<Journal>> = self.active.lock().values().map(|active| Arc::clone(&active.journal)).collect();
        let until = Instant::now() + MIDDLE;
        let put_down = |journal: Arc<Journal>| {
            // Each run gets its turn, whatever those before it took.
            journal.put_down(until.max(Instant::now() + Duration::from_millis(5)));
            (journal.run, journal.ownership().fence)
        };
        let held: Vec<(Id, i64)> = at_work.into_iter().map(put_down).collect();
        if !self.keeps_nothing() {
            held.into_iter().for_each(|(run, fence)| self.give_back(run, fence, false));
            let owner = Arc::clone(self.owner());
            self.store.at_end(move |tx| queue::release_all(tx, &owner));
        }
    }

    /// Gives a lease back, behind what the run still writes; when that is not possible, it ends by itself. `lost` counts as an owner
    /// that died.
    fn give_back(&self, run: Id, fence: i64, lost: bool) {
        let release = move |tx: &mut Tx<'_>| queue::release(tx, &run, fence, lost);
        self.store.write_then(run, Job { work: Box::new(release), then: Box::new(|_| ()) });
    }
}
