//! Owns retention (`retention.*`): the statements that find what is too old, and those that delete it, a little in each transaction.
//!
//! An interrupted purge starts again from the beginning: deleted rows are gone, the others are found again.

use std::time::Instant;

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
    pub const fn is_empty(&self) -> bool {
        self.runs + self.threads + self.checkpoints + self.idempotency + self.attachments + self.tokens == 0
    }
}

/// How far a purge has come; it begins at the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    run: String,
    runs_done: bool,
    paused: String,
    thread: i64,
    threads_done: bool,
}

/// Something that is too old.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A run of a tenant.
    Run(String, Id),
    /// A thread of a tenant.
    Thread(String, Id),
    /// A file: its tenant, its storage key, and whether it was ever used.
    File(String, String, bool),
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

/// Ids of runs that may be at rest for so long: those that were made before, and those that were made while a clock was ahead.
fn ranges(before: i64, now: Timestamp) -> [(String, String); 2] {
    let ahead = now.0.saturating_add(DAY_MS);
    [(String::new(), first_id(before)), (first_id(ahead), "g".to_owned())]
}

/// Runs that are over for longer than they may be kept, after a place.
fn runs_before(tx: &mut Tx<'_>, before: i64, now: Timestamp, after: &str, limit: usize) -> Result<Vec<(String, Id)>, StoreError> {
    let mut all = Vec::new();
    for (first, last) in ranges(before, now) {
        all.extend(tx.query(
            "SELECT tenant, id FROM #runs WHERE id > $1 AND id < $2 AND parent IS NULL AND status IN ('completed', 'failed', 'cancelled') \
             AND rested_at < $3 ORDER BY id LIMIT $4",
            params![after.max(first.as_str()), &last, before, (limit - all.len()) as u64],
            |row| Ok((row.text(0)?.to_owned(), row.id(1)?)),
        )?);
        if all.len() == limit {
            break;
        }
    }
    Ok(all)
}

/// A paused run: its tenant, its id, its fence.
pub type Paused = (String, Id, i64);

/// Paused runs that nobody answered for longer than they may wait: they are cancelled, then removed. Moves the place on.
pub fn paused_before(tx: &mut Tx<'_>, keep: &Retention, now: Timestamp, place: &mut Place, limit: usize) -> Result<Vec<Paused>, StoreError> {
    let Some(before) = Limits::of(keep, now).paused else { return Ok(Vec::new()) };
    let mut found: Vec<Paused> = Vec::new();
    for (first, last) in ranges(before, now) {
        found.extend(tx.query(
            "SELECT tenant, id, fence FROM #runs WHERE id > $1 AND id < $2 AND parent IS NULL \
             AND status IN ('awaiting_input', 'awaiting_tool_approval') AND rested_at < $3 ORDER BY id LIMIT $4",
            params![place.paused.as_str().max(first.as_str()), &last, before, (limit - found.len()) as u64],
            |row| Ok((row.text(0)?.to_owned(), row.id(1)?, row.int(2)?)),
        )?);
        if found.len() == limit {
            break;
        }
    }
    if let Some((_, last, _)) = found.last() {
        place.paused = last.to_string();
    }
    Ok(found)
}

/// Threads that nobody used for longer than they may be kept, after a place, with their numbers.
fn threads_before(tx: &mut Tx<'_>, before: i64, after: i64, limit: usize) -> Result<Vec<(String, Id, i64)>, StoreError> {
    tx.query(
        "SELECT tenant, id, no FROM #threads t WHERE no > $1 AND updated_at < $2 \
         AND NOT EXISTS (SELECT 1 FROM #runs r WHERE r.tenant = t.tenant AND r.thread = t.id AND r.parent IS NULL \
         AND r.status NOT IN ('completed', 'failed', 'cancelled')) ORDER BY no LIMIT $3",
        params![after, before, limit as u64],
        |row| Ok((row.text(0)?.to_owned(), row.id(1)?, row.int(2)?)),
    )
}

/// What is too old behind a place, at most `limit` of each kind; moves the place on. Nobody waits for this look: what it finds is looked at again
/// when it is removed.
pub fn find(tx: &mut Tx<'_>, keep: &Retention, now: Timestamp, place: &mut Place, limit: usize) -> Result<Vec<Item>, StoreError> {
    let (limits, mut items) = (Limits::of(keep, now), Vec::new());
    if let Some(before) = limits.runs.filter(|_| !place.runs_done) {
        let found = runs_before(tx, before, now, &place.run, limit)?;
        place.runs_done = found.len() < limit;
        place.run = found.last().map_or_else(String::new, |(_, last)| last.to_string());
        items.extend(found.into_iter().map(|(tenant, run)| Item::Run(tenant, run)));
    }
    if let Some(before) = limits.threads.filter(|_| !place.threads_done) {
        let found = threads_before(tx, before, place.thread, limit)?;
        place.threads_done = found.len() < limit;
        place.thread = found.last().map_or(0, |(_, _, last)| *last);
        items.extend(found.into_iter().map(|(tenant, thread, _)| Item::Thread(tenant, thread)));
    }
    let files = attachments::old(tx, Timestamp(limits.unused_files), limits.files.map(Timestamp), limit)?;
    items.extend(files.into_iter().map(|(tenant, file, used)| Item::File(tenant, file, used)));
    Ok(items)
}

/// Removes what was found, as far as it is still too old: at least one, and no more when it is later than `until`. With how many it is done.
pub fn remove(tx: &mut Tx<'_>, items: &[Item], keep: &Retention, now: Timestamp, until: Instant) -> Result<(Purged, usize), StoreError> {
    let (limits, mut purged, mut done) = (Limits::of(keep, now), Purged::default(), 0);
    for item in items {
        if done > 0 && Instant::now() >= until {
            break;
        }
        done += 1;
        let (tenant, files) = match item {
            Item::Run(tenant, run) => {
                let before = Timestamp(limits.runs.unwrap_or(i64::MIN));
                if !delete::claim_old(tx, tenant, run, before)? {
                    continue;
                }
                purged.runs += 1;
                (tenant, delete::delete(tx, tenant, run)?)
            }
            Item::Thread(tenant, thread) => {
                let before = Timestamp(limits.threads.unwrap_or(i64::MIN));
                let Some(files) = threads::delete_before(tx, tenant, thread, before)? else { continue };
                purged.threads += 1;
                (tenant, files)
            }
            Item::File(tenant, file, used) if attachments::delete_free(tx, tenant, file, *used)? => (tenant, vec![file.clone()]),
            Item::File(..) => continue,
        };
        purged.attachments += files.len() as u64;
        purged.files.extend(files.into_iter().map(|file| (tenant.clone(), file)));
    }
    Ok((purged, done))
}

/// Removes what has expired by itself, at most `limit` of each kind; to be repeated until nothing is left.
pub fn expire(tx: &mut Tx<'_>, keep: &Retention, now: Timestamp, limit: usize) -> Result<Purged, StoreError> {
    Ok(Purged {
        checkpoints: checkpoints::delete_expired(tx, now, limit)?,
        idempotency: request_keys::delete_expired(tx, now, limit)?,
        tokens: log::expire_tokens(tx, Timestamp(Limits::of(keep, now).tokens), limit)?,
        ..Purged::default()
    })
}

/// A clock is believed as long as it is not further than this from the last moment that is known, in milliseconds: a purge each week is enough.
pub const LEAP: i64 = 8 * DAY_MS;

/// The last moment that is known: that of the last purge, or of runs that were made since without a gap that is longer than [`LEAP`]. None where nothing
/// is known, and where a server says what time it is.
pub fn known_time(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    if !tx.is_file() {
        return Ok(None);
    }
    let purged = tx.query_one("SELECT value FROM #meta WHERE key = 'purged_at'", params![], |row| Ok(row.text(0)?.parse::<i64>().ok()))?;
    let begin = match purged.flatten() {
        Some(at) => Some(at),
        None => tx.query_one("SELECT id FROM #runs ORDER BY id LIMIT 1", params![], |row| row.id(0))?.map(|id| id.made_at().0),
    };
    let Some(mut known) = begin else { return Ok(None) };
    loop {
        let within = first_id(known.saturating_add(LEAP));
        let next = tx.query_one("SELECT id FROM #runs WHERE id < $1 ORDER BY id DESC LIMIT 1", params![&within], |row| row.id(0))?;
        match next.map(|id| id.made_at().0) {
            Some(at) if at > known => known = at,
            _ => return Ok(Some(Timestamp(known))),
        }
    }
}

/// Notes the time of a purge; it never goes back. Its clock is believed, so that a doubt about an earlier one says nothing of later ones.
pub fn note_time(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    tx.execute("DELETE FROM #meta WHERE key = 'purge_doubted'", params![])?;
    tx.execute(
        "INSERT INTO #meta AS m (key, value) VALUES ('purged_at', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value \
         WHERE CAST(m.value AS BIGINT) < CAST(excluded.value AS BIGINT)",
        params![&now.0.to_string()],
    )
    .map(drop)
}

/// Notes that a purge met a clock that is too far ahead. False when purges have met it for [`LEAP`], one at least in each such time: it is right then.
pub fn doubt(tx: &mut Tx<'_>, now: Timestamp) -> Result<bool, StoreError> {
    let noted = tx.query_one("SELECT value FROM #meta WHERE key = 'purge_doubted'", params![], |row| Ok(row.text(0)?.to_owned()))?;
    let noted = noted.and_then(|text| text.split_once(' ').and_then(|(first, last)| Some((first.parse::<i64>().ok()?, last.parse::<i64>().ok()?))));
    let first = match noted {
        Some((first, last)) if (last..=last.saturating_add(LEAP)).contains(&now.0) => first,
        _ => now.0,
    };
    tx.execute(
        "INSERT INTO #meta (key, value) VALUES ('purge_doubted', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        params![&format!("{first} {}", now.0)],
    )?;
    Ok(now.0 - first < LEAP)
}

/// Notes paused runs that are about to be cancelled and removed: should this process die between the two, the next purge removes them.
pub fn note_leaving(tx: &mut Tx<'_>, runs: &[Paused]) -> Result<(), StoreError> {
    for (tenant, run, fence) in runs {
        tx.execute(
            "INSERT INTO #meta (key, value) VALUES ('leaving:' || $1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            params![&run.to_string(), &format!("{fence} {tenant}")],
        )?;
    }
    Ok(())
}

/// They are gone, or stay.
pub fn forget_leaving(tx: &mut Tx<'_>, runs: &[Paused]) -> Result<(), StoreError> {
    for (_, run, _) in runs {
        tx.execute("DELETE FROM #meta WHERE key = 'leaving:' || $1", params![&run.to_string()])?;
    }
    Ok(())
}

/// Noted runs that were cancelled as they were noted, and are still there. Notes of those that somebody answered, or that are gone, are forgotten.
pub fn left(tx: &mut Tx<'_>) -> Result<Vec<(String, Id)>, StoreError> {
    let noted = tx.query("SELECT value, substr(key, 9) FROM #meta WHERE key LIKE 'leaving:%'", params![], |row| {
        // Notes of earlier builds are the tenant alone.
        let noted = row.text(0)?;
        let with_fence = noted.split_once(' ').and_then(|(fence, tenant)| Some((Some(fence.parse::<i64>().ok()?), tenant)));
        let (fence, tenant) = with_fence.unwrap_or((None, noted));
        Ok((fence, tenant.to_owned(), row.id(1)?))
    })?;
    let mut left = Vec::new();
    for (fence, tenant, run) in noted {
        let found = tx.query_one("SELECT status, fence FROM #runs WHERE id = $1 AND tenant = $2", params![&run.to_string(), &tenant], |row| {
            Ok((row.text(0)?.to_owned(), row.int(1)?))
        })?;
        match found.as_ref().map(|(status, now)| (status.as_str(), fence.map(|fence| now.saturating_sub(fence)))) {
            // The cancel was the only thing that happened to it.
            Some(("cancelled", None | Some(1))) => left.push((tenant, run)),
            // Another purge may be about to cancel it.
            Some(("awaiting_input" | "awaiting_tool_approval", None | Some(0))) => {}
            _ => forget_leaving(tx, &[(tenant, run, fence.unwrap_or_default())])?,
        }
    }
    Ok(left)
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
         AND r.thread = t.id AND r.parent IS NULL AND r.status NOT IN ('completed', 'failed', 'cancelled'))",
        limits.threads,
    )?;
    let checkpoints = number("SELECT COUNT(*) FROM #workflow_checkpoints WHERE expires_at <= $1", Some(now.0))?;
    let idempotency = number("SELECT COUNT(*) FROM #idempotency WHERE expires_at <= $1", Some(now.0))?;
    let tokens = number("SELECT COUNT(*) FROM #runs WHERE tokens_kept = 1 AND rested_at < $1", Some(limits.tokens))?;
    let attachments = attachments::count_old(tx, Timestamp(limits.unused_files), limits.files.map(Timestamp))?;
    Ok(Purged { runs: over + paused, threads, checkpoints, idempotency, attachments, tokens, files: Vec::new() })
}
