//! Owns who works on which run: leases kept alive, runs of dead owners taken over, queued runs claimed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::drive::{Drive, Drove, Signals};
use super::feed::Feed;
use super::journal::{Journal, Tenure};
use super::load;
use super::world::{Active, World};
use crate::error::Result;
use crate::model::agent::Definitions;
use crate::model::event::{DoubtfulCall, Entry, Event, Fault, FaultCode};
use crate::model::run::{Run, Status};
use crate::model::telling::Telling;
use crate::model::{Id, Timestamp};
use crate::store::runs::RunRow;
use crate::store::queue;

/// What was told before driving begins: the teller, and entries that its readers may still want to follow.
pub(super) struct Start {
    pub(super) telling: Telling,
    pub(super) told: Vec<Arc<Entry>>,
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
    let tries_left = if queued { u32::try_from(world.config.queue_tries).unwrap_or(1).saturating_sub(tenure.tries) } else { 0 };
    let journal = Journal::new(Arc::clone(world), Arc::clone(&feed), run, tenant, tenure);
    let signals = Signals { cancel: CancellationToken::new(), stop: world.stopping.child_token() };
    let over = CancellationToken::new();
    let active =
        Active { signals: signals.clone(), definitions: Arc::clone(&definitions), over: over.clone(), queued };
    world.active.lock().insert(id, active);
    world.hub.put(id, Arc::clone(&feed));
    for event in prelude {
        let _lost_is_seen_by_the_drive = journal.emit(0, event);
    }
    let drive = Drive { world: Arc::clone(world), journal: Arc::clone(&journal), definitions, signals, tries_left };
    let (world, kept) = (Arc::clone(world), Arc::clone(&journal));
    tokio::spawn(async move {
        let drove = std::panic::AssertUnwindSafe(drive.run()).catch_unwind().await;
        if drove.is_err() {
            tracing::error!(run = %id, "driving a run panicked; it is left for a takeover");
            kept.release();
        }
        world.active.lock().remove(&id);
        feed.close();
        if world.keeps_nothing() {
            feed.read_out().await;
        }
        world.hub.remove(id, &feed);
        over.cancel();
        world.ended.notify_one();
        if matches!(drove, Ok(Drove::Requeued)) {
            world.wake.notify_one();
        }
    });
    journal
}

impl World {
    /// Keeps leases, hears cancels, takes over and works the queue, until the engine stops.
    pub(crate) fn keep(self: &Arc<Self>) {
        let world = Arc::clone(self);
        tokio::spawn(async move { world.keep_leases().await });
        let world = Arc::clone(self);
        tokio::spawn(async move { world.hear_cancels().await });
        if self.config.usage.events.enabled {
            tokio::spawn(Arc::clone(self).keep_telling_usage());
        }
        if self.config.worker.in_process {
            let world = Arc::clone(self);
            tokio::spawn(async move { world.take_over_abandoned().await });
            if self.config.async_runs_enabled {
                let world = Arc::clone(self);
                tokio::spawn(async move { world.work_queue().await });
            }
        }
    }

    async fn pause(&self, time: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(time) => true,
            () = self.stopping.cancelled() => false,
        }
    }

    async fn keep_leases(self: Arc<Self>) {
        let third = Duration::from_millis((self.config.runs.lease_seconds * 1000 / 3).max(100));
        while self.pause(third).await {
            let held: Vec<Id> = self.active.lock().keys().copied().collect();
            if held.is_empty() {
                continue;
            }
            let (owner, until) = (Arc::clone(&self.owner), lease(&self).unwrap_or_default());
            let renewed = self.store.write(move |tx| queue::renew(tx, &owner, &held, until)).await;
            if let Err(error) = renewed {
                tracing::warn!(%error, "leases could not be renewed; it is tried again");
            }
        }
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
            self.take_over().await;
            if !self.pause(Duration::from_secs(5)).await {
                return;
            }
        }
    }

    /// Takes runs whose lease is over, and goes on with them here. How many there were.
    pub async fn take_over(self: &Arc<Self>) -> usize {
        let (owner, now, until) = (Arc::clone(&self.owner), self.clock.now(), lease(self).unwrap_or_default());
        let claimed = self.store.write(move |tx| queue::claim_expired(tx, &owner, now, until, 64)).await;
        let rows = match claimed {
            Ok(rows) => rows,
            Err(error) => {
                tracing::warn!(%error, "abandoned runs could not be looked for; it is tried again");
                return 0;
            }
        };
        let count = rows.len();
        for row in rows {
            let id = row.id;
            if let Err(error) = self.go_on(row, true).await {
                tracing::error!(run = %id, %error, "an abandoned run could not be taken over");
            }
        }
        count
    }

    async fn work_queue(self: Arc<Self>) {
        let most = usize::try_from(self.config.worker.concurrency.max(1)).unwrap_or(64);
        loop {
            let free = most.saturating_sub(self.active.lock().values().filter(|active| active.queued).count());
            let claimed = if free > 0 { self.work().await.unwrap_or_default() } else { None };
            if claimed.is_some() {
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
        let (owner, name) = (Arc::clone(&self.owner), self.config.queue.clone());
        let (now, until) = (self.clock.now(), lease(self).unwrap_or_default());
        let claimed = self.store.write(move |tx| queue::claim_queued(tx, &name, &owner, now, until)).await?;
        let Some(row) = claimed else { return Ok(None) };
        let id = row.id;
        if let Err(error) = self.go_on(row, false).await {
            tracing::error!(run = %id, %error, "a queued run could not be started");
        }
        Ok(Some(id))
    }

    /// Goes on with a run that this engine has just claimed.
    async fn go_on(self: &Arc<Self>, row: RunRow, taken_over: bool) -> Result<()> {
        let tenant = Arc::clone(&row.tenant);
        let loaded = load::load(self, &tenant, &row.id.to_string()).await?;
        let run = loaded.fold(None)?;
        let tenure = Tenure {
            owner: Arc::clone(&self.owner),
            fence: row.fence,
            mode: if row.mode == "async" { "async" } else { "sync" },
            queue: row.queue.as_deref().map(Arc::from),
            tries: row.tries,
        };
        let rows = loaded.tokens.last().map_or(0, |tokens| tokens.n);
        let start = Start { telling: loaded.telling(self, false), told: Vec::new() };
        let began = run.status == Status::Queued || !taken_over;
        let (takeovers, doubts) = (run.takeovers + 1, run.in_doubt());
        let first = if began { Event::Began } else { Event::TakenOver { count: takeovers } };
        let mut prelude = vec![first];
        if !began && let Some(fault) = hopeless(self, takeovers, &doubts) {
            prelude.push(Event::Failed { fault, node: None });
        }
        drive_here(self, run, start, rows, tenant, tenure, Arc::clone(&loaded.definitions), prelude);
        Ok(())
    }
}

/// Why a run that was taken over cannot go on.
fn hopeless(world: &World, takeovers: u32, doubts: &[DoubtfulCall]) -> Option<Fault> {
    let most = u32::try_from(world.config.runs.max_takeovers).unwrap_or(u32::MAX);
    if takeovers > most {
        let text = format!("{takeovers} owners died one after another without completing a step (`runs.max_takeovers`)");
        return Some(Fault::new(FaultCode::WorkerLost, text));
    }
    if doubts.is_empty() {
        return None;
    }
    let names: Vec<&str> = doubts.iter().map(|call| call.name.as_str()).collect();
    let text = format!(
        "the process died while these tools ran, and nobody knows whether they did their work: {}; retry with a decision for each",
        names.join(", ")
    );
    let mut fault = Fault::new(FaultCode::InDoubt, text);
    fault.calls = doubts.to_vec();
    Some(fault)
}
