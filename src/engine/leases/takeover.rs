//! Owns takeovers: runs whose lease has expired or whose owner is dead, and runs that were just claimed.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio_util::sync::CancellationToken;

use crate::clock::Passing;
use crate::engine::drive::node_at_work;
use crate::engine::leases::failed_takeovers::{copied, hopeless};
use crate::engine::leases::slots::{Claimed, Place, Taking};
use crate::engine::leases::{Start, drive_here, lease, owner};
use crate::engine::log::journal::{Boundary, Ownership, Stored};
use crate::engine::runs::load::Loaded;
use crate::engine::runs::{cancel, load, unreadable};
use crate::engine::world::World;
use crate::error::{Error, Kind, Result};
use crate::model::event::{Event, Fault, FaultCode};
use crate::model::run::Status;
use crate::model::{Id, Timestamp};
use crate::store::runs::queue::Lapsed;
use crate::store::runs::{RunRow, queue};

/// Other engines may hold longer leases than this one, but not much longer than this, in milliseconds.
const LONGEST_LEASE: i64 = 3_600_000;
/// A clock was wrong where a queued run waits for longer: other processes may have a longer `queue_backoff` than this one.
const FAR_AHEAD: i64 = 86_400_000;
/// Runs that are taken over at once.
const TAKEN: usize = 64;

/// A run that was just claimed.
struct Held {
    run: Id,
    tenant: Arc<str>,
    fence: i64,
    takeovers: u32,
    /// A cancel of it was accepted.
    cancelled: bool,
}

impl World {
    /// Takes runs whose lease is over, or whose owner's process is gone, and goes on with them here, as far as there is room for them
    /// (`worker.concurrency`). How many.
    pub async fn take_over(self: &Arc<Self>) -> Result<usize> {
        let mut count = 0;
        loop {
            let mut places = self.room.places(TAKEN);
            let taken = self.take_abandoned(&mut places, &self.stopping).await?.len();
            count += taken;
            if taken == 0 || !places.is_empty() {
                return Ok(count);
            }
        }
    }

    /// Claims abandoned runs, at most one for each free slot, and continues them, unless `stop` comes first. Returns which.
    pub(super) async fn take_abandoned(self: &Arc<Self>, places: &mut Vec<Place>, stop: &CancellationToken) -> Result<Vec<(Arc<str>, Id)>> {
        for (tenant, run) in self.store.read(queue::cancel_overdue).await? {
            if let Err(error) = cancel::cancel(self, &tenant.into(), &run.to_string()).await
                && error.kind != Kind::InvalidState
            {
                tracing::warn!(%run, %error, "a waiting run could not be cancelled; another attempt follows");
            }
        }
        let _until_they_are_at_work = Taking::new(self);
        let claimed = self.claim_abandoned(places.len(), stop.clone()).await?;
        let taken = claimed.names();
        self.go_on_with(claimed, places, true).await;
        Ok(taken)
    }

    async fn claim_abandoned(self: &Arc<Self>, most: usize, stop: CancellationToken) -> Result<Claimed> {
        self.store.know_time().await?;
        let (now, until) = (self.common_time(), lease(self).unwrap_or_default());
        let (holders, last_due) = self.store.read(|tx| Ok((queue::holders(tx)?, queue::last_due_at(tx)?))).await?;
        self.call_back_queued(last_due, now).await?;
        let gone: Vec<String> =
            holders.iter().filter_map(|(owner, ..)| owner.clone()).filter(|owner| *owner != **self.owner() && owner::is_gone(owner)).collect();
        let latest = far(now, until);
        let none = gone.is_empty() && !holders.iter().any(|(_, first, last)| *first < now || *last > latest);
        if none || most == 0 {
            return Ok(Claimed::new(self, Vec::new()));
        }
        // A clock that jumped, or a process that stood still: what is driven here is not abandoned, nor what another claim of this engine
        // has just taken.
        let own = self.renew_all().await?;
        let sync = usize::try_from(self.config.limits.runs).unwrap_or(usize::MAX).saturating_sub(self.sync_runs());
        let (sync, world) = (sync.min(most), Arc::clone(self));
        let owner = Arc::clone(self.owner());
        let claimed = self.store.write(move |tx| {
            if stop.is_cancelled() || world.stopping.is_cancelled() {
                return Ok(Vec::new());
            }
            gone.iter().try_for_each(|owner| queue::expire(tx, owner))?;
            // A write may wait for long: its lease begins when it is made.
            let (here, until) = (world.common_time(), lease(&world).unwrap_or_default());
            // What was renewed or claimed since is not over, and not far away, whatever the clock did meanwhile.
            let (now, far) = (now.min(here), latest.max(far(here, until)));
            let own = own && world.taking.load(Ordering::SeqCst) == 1;
            let held = world.active.lock().keys().map(Id::to_string).collect();
            let lapsed = Lapsed { now, far, sync, most, own, held };
            let rows = queue::claim_expired(tx, &owner, until, &lapsed)?;
            for row in &rows {
                world.boundary(Boundary::Before, row.id, row.head);
            }
            Ok(rows)
        });
        let claimed = Claimed::new(self, claimed.await?);
        for row in claimed.rows() {
            self.boundary(Boundary::After, row.id, row.head);
        }
        Ok(claimed)
    }

    /// Makes available what was queued while the clock was far ahead: it would wait until the clock is there again.
    async fn call_back_queued(&self, last_due: Option<Timestamp>, now: Timestamp) -> Result<()> {
        let backoff = i64::try_from(self.config.queue_backoff).unwrap_or(i64::MAX).saturating_mul(2_000);
        let far = Timestamp(now.0.saturating_add(backoff).saturating_add(FAR_AHEAD));
        if last_due.is_some_and(|last| last > far) {
            self.store.write(move |tx| queue::call_back(tx, far, now)).await?;
            self.wake_workers();
        }
        Ok(())
    }

    /// Goes on with runs that this engine has just claimed, each in a place of its own. What is wrong with one stops no other.
    pub(super) async fn go_on_with(self: &Arc<Self>, claimed: Claimed, places: &mut Vec<Place>, taken_over: bool) {
        let hold = |row: &RunRow| Held { run: row.id, tenant: Arc::clone(&row.tenant), fence: row.fence, takeovers: row.takeovers, cancelled: row.cancel_requested };
        let mut loaded = Vec::new().into_iter();
        for (at, row) in claimed.rows().iter().enumerate() {
            let (held, place) = (hold(row), places.pop());
            if loaded.len() == 0 && !self.stopping.is_cancelled() {
                loaded = self.loaded(&claimed.rows()[at..]).await.into_iter();
            }
            // Nothing new begins while the engine stops.
            let begun = match loaded.next().filter(|_| !self.stopping.is_cancelled()) {
                Some(Ok(loaded)) => self.try_to_go_on(&loaded, place, taken_over),
                Some(Err(error)) => Err(error),
                None => Err(Error::new(Kind::ShuttingDown, "the studio is shutting down")),
            };
            if let Err(error) = begun {
                self.put_down(held, taken_over, error).await;
            }
            claimed.settled(row);
        }
    }

    /// What is stored of the first runs, at least one. When they cannot be read together, the first is read alone.
    async fn loaded(self: &Arc<Self>, claimed: &[RunRow]) -> Vec<Result<Loaded>> {
        match load::load_all(self, &claimed.into()).await {
            Ok(loaded) => return loaded,
            Err(error) if claimed.len() < 2 => return vec![Err(error)],
            Err(_) => {}
        }
        load::load_all(self, &claimed[..1].into()).await.unwrap_or_else(|error| vec![Err(error)])
    }

    fn try_to_go_on(self: &Arc<Self>, loaded: &Loaded, place: Option<Place>, taken_over: bool) -> Result<()> {
        let went = std::panic::catch_unwind(AssertUnwindSafe(|| self.go_on(loaded, place, taken_over)));
        went.unwrap_or_else(|_| Err(load::unreadable(loaded.row.id, load::FAULT)))
    }

    /// A claimed run cannot be gone on with. It ends when nobody ever can; else somebody tries again.
    async fn put_down(self: &Arc<Self>, held: Held, taken_over: bool, error: Error) {
        let Held { run, tenant, fence, takeovers, cancelled } = held;
        // What passes says nothing about the run, however often it was taken over.
        let passes = matches!(error.kind, Kind::StoreUnavailable | Kind::ShuttingDown);
        if unreadable::is_lasting(&error) || (!passes && takeovers > self.config.runs.max_takeovers) {
            tracing::error!(%run, %error, "the log of a run cannot be read; the run ends as failed");
            let fault = (!cancelled).then(|| Fault::new(FaultCode::Internal, error.to_string()));
            if let Err(error) = unreadable::end(self, &tenant, run, fence, fault).await {
                tracing::error!(%run, %error, "a run whose log cannot be read could not be ended; another attempt follows when its lease expires");
            }
            return;
        }
        if !passes {
            tracing::error!(%run, %error, "a claimed run cannot continue; another attempt follows when its lease expires");
            return;
        }
        tracing::warn!(%run, %error, "a claimed run cannot continue in this process; it is returned to the queue");
        let now = self.common_time();
        let given = self.store.write(move |tx| {
            if taken_over { queue::release(tx, &run, fence, false) } else { queue::unclaim(tx, &run, fence, now) }
        });
        if let Err(error) = given.await {
            tracing::warn!(%run, %error, "a claimed run could not be returned to the queue; other processes take it over when its lease expires");
        }
    }

    fn go_on(self: &Arc<Self>, loaded: &Loaded, place: Option<Place>, taken_over: bool) -> Result<()> {
        let (row, tenant) = (&loaded.row, Arc::clone(&loaded.row.tenant));
        let run = loaded.fold(None)?;
        let ownership = Ownership {
            owner: Arc::clone(self.owner()),
            fence: row.fence,
            mode: if row.mode == "async" { "async" } else { "sync" },
            queue: row.queue.as_deref().map(Arc::from),
            tries: row.tries,
        };
        let rows = loaded.tokens.last().map_or(0, |tokens| tokens.n);
        let stored = Stored::Whole(loaded.known());
        let (telling, passing) = (loaded.telling(self, false), Passing::since(&*self.clock, self.clock.now()));
        let start = Start { telling, entries: Vec::new(), failed: loaded.failed(), stored, place, passing };
        let began = run.status == Status::Queued || !taken_over;
        let rests = row.takeovers >= queue::RESTS;
        let (takeovers, doubts) = (queue::takeovers(row.takeovers), run.in_doubt());
        let first = if began { Event::Began } else { Event::TakenOver { count: takeovers, worked_ms: Some(row.working_ms) } };
        let mut prelude = vec![first];
        if row.cancel_requested {
            prelude.push(Event::Cancelled { node: node_at_work(&run) });
        } else if rests {
            prelude.push(Event::Failed { fault: copied(&doubts), node: None });
        } else if taken_over && let Some(fault) = hopeless(self, takeovers, &doubts) {
            prelude.push(Event::Failed { fault, node: None });
        }
        drive_here(self, run, start, rows, tenant, ownership, Arc::clone(&loaded.definitions), prelude);
        Ok(())
    }
}

/// No lease can end later than this, where one that begins now ends at `until`.
fn far(now: Timestamp, until: Timestamp) -> Timestamp {
    Timestamp(now.0 + (2 * (until.0 - now.0)).max(LONGEST_LEASE))
}
