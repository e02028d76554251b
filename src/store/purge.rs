//! Owns retention: what is older than it may be is found and removed in small batches.

use super::db::{Tx, params};
use super::error::StoreError;
use super::{attachments, checkpoints, idempotency, log, run_delete, threads};
use crate::model::{Id, Timestamp};

const DAY_MS: i64 = 86_400_000;

/// What may be kept how long; 0 = for ever.
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "the fields are keys of the configuration")]
pub struct Retention {
    pub runs_days: u64,
    pub threads_days: u64,
    pub attachments_days: u64,
    /// Seconds that told text is kept after a run came to rest.
    pub tokens_seconds: u64,
}

/// How many of each kind were removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are kinds")]
pub struct Purged {
    pub runs: u64,
    pub threads: u64,
    pub checkpoints: u64,
    pub idempotency: u64,
    pub attachments: u64,
    /// Runs whose told text was dropped.
    pub tokens: u64,
    /// Tenant and storage key of removed files.
    pub files: Vec<(String, String)>,
}

impl Purged {
    /// Adds another batch.
    pub fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.threads += other.threads;
        self.checkpoints += other.checkpoints;
        self.idempotency += other.idempotency;
        self.attachments += other.attachments;
        self.tokens += other.tokens;
        self.files.extend(other.files);
    }

    /// Nothing was left to remove.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.runs + self.threads + self.checkpoints + self.idempotency + self.attachments + self.tokens == 0
    }
}

fn before(now: Timestamp, days: u64) -> Option<i64> {
    (days > 0).then(|| now.0 - i64::try_from(days).unwrap_or(i64::MAX / DAY_MS) * DAY_MS)
}

fn runs_before(tx: &mut Tx<'_>, before: i64, limit: usize) -> Result<Vec<(String, Id)>, StoreError> {
    tx.query(
        "SELECT tenant, id FROM #runs WHERE parent IS NULL AND status IN ('completed', 'failed', 'cancelled') AND rested_at < $1 LIMIT $2",
        params![before, limit as u64],
        |row| Ok((row.text(0)?.to_owned(), row.id(1)?)),
    )
}

/// Paused runs that came to rest before `before`: they are cancelled before they are removed.
pub fn paused_before(tx: &mut Tx<'_>, before: Timestamp, limit: usize) -> Result<Vec<(String, Id)>, StoreError> {
    tx.query(
        "SELECT tenant, id FROM #runs WHERE parent IS NULL AND status IN ('awaiting_input', 'awaiting_tool_approval') \
         AND rested_at < $1 LIMIT $2",
        params![before.0, limit as u64],
        |row| Ok((row.text(0)?.to_owned(), row.id(1)?)),
    )
}

fn threads_before(tx: &mut Tx<'_>, before: i64, limit: usize) -> Result<Vec<(String, Id)>, StoreError> {
    tx.query(
        "SELECT tenant, id FROM #threads t WHERE updated_at < $1 AND NOT EXISTS (SELECT 1 FROM #runs r WHERE r.tenant = t.tenant \
         AND r.thread = t.id AND r.status NOT IN ('completed', 'failed', 'cancelled')) LIMIT $2",
        params![before, limit as u64],
        |row| Ok((row.text(0)?.to_owned(), row.id(1)?)),
    )
}

/// Removes one batch of what is too old; to be repeated until nothing is left.
pub fn batch(tx: &mut Tx<'_>, keep: &Retention, now: Timestamp, limit: usize) -> Result<Purged, StoreError> {
    let mut purged = Purged::default();
    if let Some(before) = before(now, keep.runs_days) {
        for (tenant, run) in runs_before(tx, before, limit)? {
            let files = run_delete::delete(tx, &tenant, &run)?;
            purged.files.extend(files.into_iter().map(|file| (tenant.clone(), file)));
            purged.runs += 1;
        }
    }
    if let Some(before) = before(now, keep.threads_days) {
        for (tenant, thread) in threads_before(tx, before, limit)? {
            let files = threads::delete(tx, &tenant, &thread)?;
            purged.files.extend(files.into_iter().map(|file| (tenant.clone(), file)));
            purged.threads += 1;
        }
    }
    purged.attachments += purged.files.len() as u64;
    let old_files = before(now, keep.attachments_days).map(Timestamp);
    let gone = attachments::delete_old(tx, Timestamp(now.0 - DAY_MS), old_files, limit)?;
    purged.attachments += gone.len() as u64;
    purged.files.extend(gone);
    purged.checkpoints = checkpoints::delete_expired(tx, now, limit)?;
    purged.idempotency = idempotency::delete_expired(tx, now, limit)?;
    let told = i64::try_from(keep.tokens_seconds).unwrap_or(i64::MAX / 1000).saturating_mul(1000);
    purged.tokens = log::expire_tokens(tx, Timestamp(now.0.saturating_sub(told)), limit)?;
    Ok(purged)
}
