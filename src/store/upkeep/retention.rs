//! Owns retention (`retention.*`): the statements that find and delete expired rows, in batches.
//!
//! An interrupted purge starts again from the beginning: deleted rows are gone, the others are found again.

use crate::model::{Id, Timestamp};
use crate::store::db::{Tx, params};
use crate::store::error::StoreError;
use crate::store::files::attachments;
use crate::store::log::checkpoints;
use crate::store::runs::delete;
use crate::store::upkeep::request_keys;
use crate::store::{log, threads};

const DAY_MS: i64 = 86_400_000;

/// What may be kept how long; 0 = for ever.
#[derive(Clone, Copy, Debug, Default)]
#[expect(missing_docs, reason = "the fields are keys of the configuration")]
pub struct Retention {
    pub runs_days: u64,
    pub paused_days: u64,
    pub threads_days: u64,
    pub attachments_days: u64,
    /// Seconds for which streamed text is kept after a run has paused or ended.
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
    /// Runs whose streamed text was deleted.
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

    /// How many of each kind, under the names that people see.
    #[must_use]
    pub const fn counts(&self) -> [(&'static str, u64); 6] {
        [
            ("runs", self.runs),
            ("threads", self.threads),
            ("checkpoints", self.checkpoints),
            ("idempotency", self.idempotency),
            ("attachments", self.attachments),
            ("tokens", self.tokens),
        ]
    }

    /// Nothing was left to remove.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.runs + self.threads + self.checkpoints + self.idempotency + self.attachments + self.tokens == 0
    }
}

/// How far a purge has come; it begins at the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    run: String,
    paused: String,
    thread: (i64, i64),
}

/// The times before which each kind is too old.
struct Limits {
    runs: Option<i64>,
    paused: Option<i64>,
    threads: Option<i64>,
    files: Option<i64>,
    unused_files: i64,
    tokens: i64,
}

impl Limits {
    fn of(keep: &Retention, now: Timestamp) -> Self {
        let days = |days: u64| (days > 0).then(|| now.0.saturating_sub(i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY_MS)));
        let told = i64::try_from(keep.tokens_seconds).unwrap_or(i64::MAX).saturating_mul(1000);
        Self {
            runs: days(keep.runs_days),
            paused: days(keep.paused_days),
            threads: days(keep.threads_days),
            files: days(keep.attachments_days),
            unused_files: now.0.saturating_sub(DAY_MS),
            tokens: now.0.saturating_sub(told),
        }
    }
}

/// The first id that a run could have which was made at a time: ids of runs are in the order of their making.
fn first_id(at: i64) -> String {
    Id::v7(u64::try_from(at).unwrap_or(0), 0, 0).to_string()
}

fn run_row(row: &crate::store::Row<'_>) -> Result<(String, Id), StoreError> {
    Ok((row.text(0)?.to_owned(), row.id(1)?))
}

/// Runs that are over for longer than they may be kept, after a place.
fn runs_before(tx: &mut Tx<'_>, before: i64, after: &str, limit: usize) -> Result<Vec<(String, Id)>, StoreError> {
    tx.query(
        "SELECT tenant, id FROM #runs WHERE id > $1 AND id < $2 AND parent IS NULL AND status IN ('completed', 'failed', 'cancelled') \
         AND rested_at < $3 ORDER BY id LIMIT $4",
        params![after, &first_id(before), before, limit as u64],
        run_row,
    )
}

/// A paused run: its tenant, its id, its fence.
pub type Paused = (String, Id, i64);

/// Paused runs that nobody answered for longer than they may wait: they are cancelled, then removed. Moves the place on.
pub fn paused_before(tx: &mut Tx<'_>, keep: &Retention, now: Timestamp, place: &mut Place, limit: usize) -> Result<Vec<Paused>, StoreError> {
    let Some(before) = Limits::of(keep, now).paused else { return Ok(Vec::new()) };
    let found = tx.query(
        "SELECT tenant, id, fence FROM #runs WHERE id > $1 AND id < $2 AND parent IS NULL \
         AND status IN ('awaiting_input', 'awaiting_tool_approval') AND rested_at < $3 ORDER BY id LIMIT $4",
        params![&place.paused, &first_id(before), before, limit as u64],
        |row| Ok((row.text(0)?.to_owned(), row.id(1)?, row.int(2)?)),
    )?;
    if let Some((_, last, _)) = found.last() {
        place.paused = last.to_string();
    }
    Ok(found)
}

/// A thread with its tenant, and its place: when it was used last, and its number.
type Aged = (String, Id, (i64, i64));

/// Threads that nobody used for longer than they may be kept, after a place, those first that were not used for longest.
fn threads_before(tx: &mut Tx<'_>, before: i64, (used, no): (i64, i64), limit: usize) -> Result<Vec<Aged>, StoreError> {
    tx.query(
        "SELECT tenant, id, updated_at, no FROM #threads t WHERE updated_at >= $1 AND (updated_at > $1 OR no > $2) AND updated_at < $3 \
         AND NOT EXISTS (SELECT 1 FROM #runs r WHERE r.tenant = t.tenant AND r.thread = t.id \
         AND r.status NOT IN ('completed', 'failed', 'cancelled')) ORDER BY updated_at, no LIMIT $4",
        params![used, no, before, limit as u64],
        |row| Ok((row.text(0)?.to_owned(), row.id(1)?, (row.int(2)?, row.int(3)?))),
    )
}

/// Removes one batch of what is too old and moves the place on; to be repeated until nothing is left.
pub fn batch(tx: &mut Tx<'_>, keep: &Retention, now: Timestamp, place: &mut Place, limit: usize) -> Result<Purged, StoreError> {
    let mut purged = Purged::default();
    let limits = Limits::of(keep, now);
    if let Some(before) = limits.runs {
        for (tenant, run) in runs_before(tx, before, &place.run, limit)? {
            place.run = run.to_string();
            if delete::claim(tx, &tenant, &run)? {
                let files = delete::delete(tx, &tenant, &run)?;
                purged.files.extend(files.into_iter().map(|file| (tenant.clone(), file)));
                purged.runs += 1;
            }
        }
    }
    if let Some(before) = limits.threads {
        for (tenant, thread, at) in threads_before(tx, before, place.thread, limit)? {
            place.thread = at;
            if let Some(files) = threads::delete_before(tx, &tenant, &thread, Timestamp(before))? {
                purged.files.extend(files.into_iter().map(|file| (tenant.clone(), file)));
                purged.threads += 1;
            }
        }
    }
    purged.attachments += purged.files.len() as u64;
    let gone = attachments::delete_old(tx, Timestamp(limits.unused_files), limits.files.map(Timestamp), limit)?;
    purged.attachments += gone.len() as u64;
    purged.files.extend(gone);
    purged.checkpoints = checkpoints::delete_expired(tx, now, limit)?;
    purged.idempotency = request_keys::delete_expired(tx, now, limit)?;
    purged.tokens = log::expire_tokens(tx, Timestamp(limits.tokens), limit)?;
    Ok(purged)
}

/// How much a purge would remove now. Files that go together with their runs or threads are not counted.
pub fn count(tx: &mut Tx<'_>, keep: &Retention, now: Timestamp) -> Result<Purged, StoreError> {
    let limits = Limits::of(keep, now);
    let mut number = |sql: &'static str, at: Option<i64>| -> Result<u64, StoreError> {
        let Some(at) = at else { return Ok(0) };
        Ok(tx.query_one(sql, params![at], |row| row.count(0))?.unwrap_or(0))
    };
    let over = number(
        "SELECT COUNT(*) FROM #runs WHERE parent IS NULL AND status IN ('completed', 'failed', 'cancelled') AND rested_at < $1",
        limits.runs,
    )?;
    let paused = number(
        "SELECT COUNT(*) FROM #runs WHERE parent IS NULL AND status IN ('awaiting_input', 'awaiting_tool_approval') AND rested_at < $1",
        limits.paused,
    )?;
    let threads = number(
        "SELECT COUNT(*) FROM #threads t WHERE updated_at < $1 AND NOT EXISTS (SELECT 1 FROM #runs r WHERE r.tenant = t.tenant \
         AND r.thread = t.id AND r.status NOT IN ('completed', 'failed', 'cancelled'))",
        limits.threads,
    )?;
    let checkpoints = number("SELECT COUNT(*) FROM #workflow_checkpoints WHERE expires_at <= $1", Some(now.0))?;
    let idempotency = number("SELECT COUNT(*) FROM #idempotency WHERE expires_at <= $1", Some(now.0))?;
    let tokens = number("SELECT COUNT(*) FROM #runs WHERE tokens_kept = 1 AND rested_at < $1", Some(limits.tokens))?;
    let attachments = attachments::count_old(tx, Timestamp(limits.unused_files), limits.files.map(Timestamp))?;
    Ok(Purged { runs: over + paused, threads, checkpoints, idempotency, attachments, tokens, files: Vec::new() })
}
