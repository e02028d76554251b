//! Owns purging: expired data is deleted in small batches, so that other work can proceed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::{Scope, Studio};
use crate::engine;
use crate::error::{Error, Kind, Result};
use crate::model::{Id, Timestamp};
use crate::store::files::attachments;
use crate::store::log::checkpoints;
use crate::store::upkeep::retention::{self, LEAP, Place, Purged, Retention};
use crate::studio::threads::attachments::remove_noted;

/// Rows of a kind that are found, or expire, at once.
const BATCH: usize = 100;
/// How long one transaction removes what was found: others wait for it.
const HELD: Duration = Duration::from_millis(50);

const DAY_MS: i64 = 86_400_000;

impl Studio {
    fn retention(&self) -> Retention {
        let (retention, progress) = (&self.config().retention, &self.config().async_progress);
        Retention {
            runs_days: retention.runs_days,
            paused_days: retention.paused_days,
            threads_days: retention.threads_days,
            attachments_days: retention.attachments_days,
            tokens_seconds: progress.ttl,
        }
    }

    /// The time by which a purge tells what is too old: that of the server, where there is one, else that of this machine, as long as it is not
    /// further ahead than a clock can be believed. Somebody may say that the clock `is_right`; it is believed, too, when purges have met it for so long.
    ///
    /// # Errors
    /// A clock that is far ahead of everything in the database; the store.
    pub async fn time_of_purge(&self, is_right: bool) -> Result<Timestamp> {
        let world = self.world();
        world.store.know_time().await?;
        let now = world.store.time(world.clock.now());
        let known = if is_right { None } else { self.reading(|tx| Ok(retention::known_time(tx)?)).await? };
        match known.filter(|known| now.0.saturating_sub(known.0) > LEAP) {
            None => Ok(now),
            Some(known) if self.writing(move |tx| Ok(retention::doubt(tx, now)?)).await? => {
                let days = (now.0 - known.0) / DAY_MS;
                let text = format!(
                    "the clock is {days} days ahead of the last purge and of later runs; nothing was removed; set it, or use `studio purge --clock-is-right`"
                );
                Err(Error::new(Kind::InvalidState, text))
            }
            Some(_) => Ok(now),
        }
    }

    /// How much `purge` would remove now.
    pub async fn purgeable(&self) -> Result<Purged> {
        self.purgeable_at(self.time_of_purge(false).await?).await
    }

    /// How much a purge would remove at a time.
    pub async fn purgeable_at(&self, now: Timestamp) -> Result<Purged> {
        let keep = self.retention();
        self.reading(move |tx| Ok(retention::count(tx, &keep, now)?)).await
    }

    /// Removes what is older than `retention.*` says, of every tenant, and what has expired. Runs that are at work or waiting are never
    /// touched, paused ones only by `retention.paused_days`: they are cancelled first. It ends early, between two batches, when `stop`
    /// says so; begun again, it goes on with what is left.
    ///
    /// # Errors
    /// As [`Studio::time_of_purge`]; what was removed before stays removed.
    pub async fn purge(&self, stop: CancellationToken) -> Result<Purged> {
        self.purge_telling(stop, |_| ()).await
    }

    /// The same, with a progress report after each transaction.
    pub async fn purge_telling(&self, stop: CancellationToken, report: impl Fn(&Purged) + Send + Sync) -> Result<Purged> {
        self.purge_at(self.time_of_purge(false).await?, stop, report).await
    }

    /// The same, at a time.
    ///
    /// # Errors
    /// The store; what was removed before stays removed.
    pub async fn purge_at(&self, now: Timestamp, stop: CancellationToken, report: impl Fn(&Purged) + Send + Sync) -> Result<Purged> {
        let keep = self.retention();
        let mut all = Purged::default();
        self.writing(move |tx| Ok(retention::note_time(tx, now)?)).await?;
        self.remove_paused(&keep, now, &stop, &mut all, &report).await?;
        let mut place = Place::default();
        while !stop.is_cancelled() {
            let at = place.clone();
            let found = self.reading(move |tx| {
                let mut place = at.clone();
                let items = retention::find(tx, &keep, now, &mut place, BATCH)?;
                Ok((items, place))
            });
            let (items, next) = found.await?;
            // What others use again is found no more; should it be found with nothing else, it is left for another time.
            let is_last = items.is_empty() || (!self.remove_found(items, keep, now, &stop, &mut all, &report).await? && next == place);
            if is_last {
                break;
            }
            place = next;
        }
        while !stop.is_cancelled() {
            let purged = self.writing(move |tx| Ok(retention::expire(tx, &keep, now, BATCH)?)).await?;
            if purged.is_empty() {
                break;
            }
            all.add(purged);
            report(&all);
        }
        self.remove_left_files(now, &stop).await?;
        Ok(all)
    }

    /// Cancels and removes runs that nobody answers, and those that an earlier purge cancelled before it died.
    async fn remove_paused(
        &self,
        keep: &Retention,
        now: Timestamp,
        stop: &CancellationToken,
        all: &mut Purged,
        report: &(impl Fn(&Purged) + Send + Sync),
    ) -> Result<()> {
        for (tenant, run) in self.writing(|tx| Ok(retention::left(tx)?)).await? {
            all.runs += u64::from(self.remove_cancelled(&tenant, run).await?);
            self.writing(move |tx| Ok(retention::forget_leaving(tx, &[(tenant.clone(), run, 0)])?)).await?;
        }
        let (mut place, keep) = (Place::default(), *keep);
        while !stop.is_cancelled() {
            let at = place.clone();
            let found = self.reading(move |tx| {
                let mut place = at.clone();
                let runs = retention::paused_before(tx, &keep, now, &mut place, BATCH)?;
                Ok((runs, place))
            });
            let (paused, next) = found.await?;
            place = next;
            if paused.is_empty() {
                break;
            }
            let paused = Arc::new(paused);
            let noted = Arc::clone(&paused);
            self.writing(move |tx| Ok(retention::note_leaving(tx, &noted)?)).await?;
            for (tenant, run, fence) in paused.iter() {
                all.runs += u64::from(self.give_up(tenant, *run, *fence).await?);
                report(all);
            }
            self.writing(move |tx| Ok(retention::forget_leaving(tx, &paused)?)).await?;
        }
        Ok(())
    }

    /// Removes what was found, a little in each transaction. False when nothing was removed.
    async fn remove_found(
        &self,
        items: Vec<retention::Item>,
        keep: Retention,
        now: Timestamp,
        stop: &CancellationToken,
        all: &mut Purged,
        report: &(impl Fn(&Purged) + Send + Sync),
    ) -> Result<bool> {
        let (items, mut done, mut any) = (Arc::new(items), 0, false);
        while done < items.len() && !stop.is_cancelled() {
            let (left, from) = (Arc::clone(&items), done);
            let removed = self.writing(move |tx| Ok(retention::remove(tx, &left[from..], &keep, now, Instant::now() + HELD)?));
            let (mut purged, count) = removed.await?;
            done += count;
            if purged.is_empty() {
                continue;
            }
            any = true;
            if let Err(error) = remove_noted(self, std::mem::take(&mut purged.files)).await {
                tracing::warn!(%error, "unused files were not deleted; the next `purge` tries again");
            }
            all.add(purged);
            report(all);
        }
        Ok(any)
    }

    /// Removes files that nothing refers to and that were not removed when their rows were.
    async fn remove_left_files(&self, now: Timestamp, stop: &CancellationToken) -> Result<()> {
        let mut place = (String::new(), String::new());
        while self.world().files.is_some() && !stop.is_cancelled() {
            let after = place.clone();
            let left = self.reading(move |tx| Ok(attachments::due_to_remove(tx, (&after.0, &after.1), now, BATCH)?)).await?;
            let Some(last) = left.last() else { break };
            place = last.clone();
            remove_noted(self, left).await?;
        }
        Ok(())
    }

    /// Cancels a paused run and removes it; false when somebody answered it meanwhile.
    async fn give_up(&self, tenant: &str, run: Id, fence: i64) -> Result<bool> {
        let scope = Scope { tenant: tenant.into(), user: None };
        if !engine::cancel_paused(self.world(), &scope.tenant, run, fence, None).await? {
            return Ok(false);
        }
        self.remove_cancelled(&scope.tenant, run).await
    }

    async fn remove_cancelled(&self, tenant: &str, run: Id) -> Result<bool> {
        let scope = Scope { tenant: tenant.into(), user: None };
        match self.delete_run(&scope, &run.to_string()).await {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind, Kind::InvalidState | Kind::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes node checkpoints of every tenant: those that have expired, or all. How many there were.
    ///
    /// # Errors
    /// As [`Studio::time_of_purge`], unless all are meant.
    pub async fn purge_checkpoints(&self, all: bool) -> Result<u64> {
        let now = if all { None } else { Some(self.time_of_purge(false).await?) };
        let mut count = 0;
        loop {
            let removed = self.writing(move |tx| match now {
                Some(now) => Ok(checkpoints::delete_expired(tx, now, BATCH)?),
                None => Ok(checkpoints::delete_any(tx, BATCH)?),
            });
            let removed = removed.await?;
            count += removed;
            if removed < BATCH as u64 {
                return Ok(count);
            }
        }
    }

    /// Removes the node checkpoints of one run. How many there were.
    pub async fn purge_checkpoints_of(&self, scope: &Scope, run: &str) -> Result<u64> {
        self.must_know_run(scope, run).await?;
        let (tenant, run) = (Arc::clone(&scope.tenant), crate::studio::runs::checkpoints::run_of(run)?);
        self.writing(move |tx| Ok(checkpoints::delete_of_run(tx, &tenant, &run)?)).await
    }
}
