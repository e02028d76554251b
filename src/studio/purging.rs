//! Owns purging: expired data is deleted in small batches, so that other work can proceed.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Scope, Studio};
use crate::engine;
use crate::error::{Kind, Result};
use crate::model::{Id, Timestamp};
use crate::store::files::attachments;
use crate::store::log::checkpoints;
use crate::store::upkeep::retention::{Place, Purged, Retention};
use crate::store::upkeep::retention;
use crate::studio::threads::attachments::remove_noted;

/// Rows of a kind in one transaction.
const BATCH: usize = 100;

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

    /// How much `purge` would remove now.
    ///
    /// # Errors
    /// The store.
    pub async fn purgeable(&self) -> Result<Purged> {
        let (keep, now) = (self.retention(), self.world().clock.now());
        self.reading(move |tx| Ok(retention::count(tx, &keep, now)?)).await
    }

    /// Removes what is older than `retention.*` says, of every tenant, and what has expired. Runs that are at work or waiting are never
    /// touched, paused ones only by `retention.paused_days`: they are cancelled first. It ends early, between two batches, when `stop`
    /// says so; begun again, it goes on with what is left.
    ///
    /// # Errors
    /// The store; what was removed before stays removed.
    pub async fn purge(&self, stop: CancellationToken) -> Result<Purged> {
        self.purge_telling(stop, |_| ()).await
    }

    /// The same, with a progress report after each transaction.
    ///
    /// # Errors
    /// As above.
    pub async fn purge_telling(&self, stop: CancellationToken, told: impl Fn(&Purged) + Send + Sync) -> Result<Purged> {
        let (keep, now) = (self.retention(), self.world().clock.now());
        let (mut all, mut place) = (Purged::default(), Place::default());
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
            for (tenant, run, fence) in paused {
                all.runs += u64::from(self.give_up(&tenant, run, fence).await?);
                told(&all);
            }
        }
        while !stop.is_cancelled() {
            let at = place.clone();
            let removed = self.writing(move |tx| {
                let mut place = at.clone();
                let purged = retention::batch(tx, &keep, now, &mut place, BATCH)?;
                Ok((purged, place))
            });
            let (purged, next) = removed.await?;
            place = next;
            if purged.is_empty() {
                break;
            }
            if let Err(error) = remove_noted(self, purged.files.clone()).await {
                tracing::warn!(%error, "files that nothing refers to were not removed; the next purge tries again");
            }
            all.add(purged);
            told(&all);
        }
        self.remove_left_files(now, &stop).await?;
        Ok(all)
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
        match self.delete_run(&scope, &run.to_string()).await {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind, Kind::InvalidState | Kind::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes node checkpoints of every tenant: those that have expired, or all. How many there were.
    ///
    /// # Errors
    /// The store.
    pub async fn purge_checkpoints(&self, all: bool) -> Result<u64> {
        if all {
            return self.writing(|tx| Ok(checkpoints::delete_all(tx)?)).await;
        }
        let now = self.world().clock.now();
        let mut count = 0;
        loop {
            let removed = self.writing(move |tx| Ok(checkpoints::delete_expired(tx, now, BATCH)?)).await?;
            count += removed;
            if removed < BATCH as u64 {
                return Ok(count);
            }
        }
    }

    /// Removes the node checkpoints of one run. How many there were.
    ///
    /// # Errors
    /// An unknown run; the store.
    pub async fn purge_checkpoints_of(&self, scope: &Scope, run: &str) -> Result<u64> {
        self.must_know_run(scope, run).await?;
        let (tenant, run) = (Arc::clone(&scope.tenant), crate::studio::runs::checkpoints::run_of(run)?);
        self.writing(move |tx| Ok(checkpoints::delete_of_run(tx, &tenant, &run)?)).await
    }
}
