//! Owns the owners of runs: claims, leases, cancel requests.

use std::sync::Arc;

use serde_json::Value;

use crate::model::{Id, Timestamp};
use crate::store::Store;
use crate::store::db::{Tx, params, to_json};
use crate::store::error::StoreError;
use crate::store::runs::{RunRow, of_row, run_columns};

/// Takes the queued runs that have been available longest: they are `running` and have a new fence.
pub fn claim_queued(
    tx: &mut Tx<'_>,
    queue: &str,
    owner: &str,
    now: Timestamp,
    until: Timestamp,
    most: usize,
) -> Result<Vec<RunRow>, StoreError> {
    let mut rows = tx.query(
        concat!(
            "WITH waiting AS MATERIALIZED (SELECT no FROM #runs WHERE status = 'queued' AND queue = $3 AND available_at <= $4 \
             ORDER BY available_at, no LIMIT $5{| FOR UPDATE SKIP LOCKED}) \
             UPDATE #runs SET status = 'running', fence = fence + 1, owner = $1, lease_until = $2, tries = tries + 1, \
             available_at = NULL WHERE no IN (SELECT no FROM waiting) RETURNING ",
            run_columns!()
        ),
        params![owner, until.0, queue, now.0, most as u64],
        of_row,
    )?;
    rows.sort_unstable_by_key(|row| row.no);
    Ok(rows)
}

/// Whether a claim that took nothing passed by a run that is due, because another connection holds its row. That connection may be about to take
/// it, and may as well end without it. To a file one connection writes at a time.
pub fn is_passed_by(tx: &mut Tx<'_>, queue: &str, now: Timestamp) -> Result<bool, StoreError> {
    Ok(!tx.is_file() && due_at(tx, queue)?.is_some_and(|due| due <= now))
}

/// When the next queued run becomes available.
pub fn due_at(tx: &mut Tx<'_>, queue: &str) -> Result<Option<Timestamp>, StoreError> {
    tx.query_one("SELECT MIN(available_at) FROM #runs WHERE status = 'queued' AND queue = $1", params![queue], |row| {
        row.opt_int(0)
    })
    .map(|found| found.flatten().map(Timestamp))
}

/// When the last queued run of all queues becomes available; each queue is looked at once, however many runs wait in it.
pub fn last_due_at(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    tx.query_one(
        "WITH RECURSIVE queues(name) AS (SELECT MIN(queue) FROM #runs WHERE status = 'queued' UNION ALL \
         SELECT (SELECT MIN(queue) FROM #runs WHERE status = 'queued' AND queue > queues.name) FROM queues WHERE queues.name IS NOT NULL) \
         SELECT MAX(last) FROM (SELECT (SELECT MAX(available_at) FROM #runs WHERE status = 'queued' AND queue = queues.name) AS last \
         FROM queues WHERE queues.name IS NOT NULL) AS ends",
        params![],
        |row| row.opt_int(0),
    )
    .map(|found| found.flatten().map(Timestamp))
}

/// Makes queued runs available now that would be later than `far`, whatever their queue.
pub fn call_back(tx: &mut Tx<'_>, far: Timestamp, now: Timestamp) -> Result<(), StoreError> {
    let text = "UPDATE #runs SET available_at = $2 WHERE status = 'queued' AND available_at > $1";
    tx.execute(text, params![far.0, now.0]).map(drop)
}

/// Who holds running runs, with the earliest and the latest end of their leases.
pub fn holders(tx: &mut Tx<'_>) -> Result<Vec<(Option<String>, Timestamp, Timestamp)>, StoreError> {
    tx.query(
        "SELECT owner, MIN(lease_until), MAX(lease_until) FROM #runs WHERE status = 'running' AND parent IS NULL GROUP BY owner",
        params![],
        |row| {
            let time = |column| row.opt_int(column).map(|at| Timestamp(at.unwrap_or(0)));
            Ok((row.opt_text(0)?.map(str::to_owned), time(1)?, time(2)?))
        },
    )
}

/// Ends the leases of an owner whose process is gone.
pub fn expire(tx: &mut Tx<'_>, owner: &str) -> Result<(), StoreError> {
    tx.execute("UPDATE #runs SET lease_until = 0 WHERE owner = $1 AND status = 'running'", params![owner]).map(drop)
}

/// Which abandoned runs are taken: those whose lease is over at `now`, or ends after `far`, where no lease can end (a clock went back).
#[derive(Clone, Debug)]
pub struct Lapsed {
    /// Leases that ended before this moment are over.
    pub now: Timestamp,
    /// No lease can end later.
    pub far: Timestamp,
    /// At most so many sync runs.
    pub sync: usize,
    /// At most so many runs.
    pub most: usize,
    /// Also runs that the new owner holds already: it looked after all that it drives, and what is left of its own nobody drives.
    pub own: bool,
    /// Runs that the new owner drives: they are not taken from itself.
    pub held: Vec<String>,
}

/// Takes over running runs without an owner. A lost owner counts as a takeover, a released run does not.
pub fn claim_expired(tx: &mut Tx<'_>, owner: &str, until: Timestamp, lapsed: &Lapsed) -> Result<Vec<RunRow>, StoreError> {
    tx.query(
        concat!(
            "WITH held AS MATERIALIZED (SELECT value FROM {json_each($8)|jsonb_array_elements_text(CAST($8 AS JSONB))}), \
             queued AS MATERIALIZED (SELECT no, lease_until FROM #runs WHERE status = 'running' AND parent IS NULL AND mode = 'async' \
             AND (lease_until < $3 OR lease_until > $4) AND (owner IS NULL OR owner <> $1 OR ($7 = 1 AND id NOT IN (SELECT value FROM held))) \
             ORDER BY lease_until LIMIT $5{| FOR UPDATE SKIP LOCKED}), \
             sync AS MATERIALIZED (SELECT no, lease_until FROM #runs WHERE status = 'running' AND parent IS NULL AND mode <> 'async' \
             AND (lease_until < $3 OR lease_until > $4) AND (owner IS NULL OR owner <> $1 OR ($7 = 1 AND id NOT IN (SELECT value FROM held))) \
             ORDER BY lease_until LIMIT $6{| FOR UPDATE SKIP LOCKED}), \
             lapsed AS (SELECT no FROM (SELECT no, lease_until FROM queued UNION ALL SELECT no, lease_until FROM sync) AS both_kinds \
             ORDER BY lease_until LIMIT $5) \
             UPDATE #runs SET fence = fence + 1, owner = $1, lease_until = $2, \
             takeovers = takeovers + CASE WHEN owner IS NULL THEN 0 ELSE 1 END \
             WHERE no IN (SELECT no FROM lapsed) RETURNING ",
            run_columns!()
        ),
        params![
            owner,
            until.0,
            lapsed.now.0,
            lapsed.far.0,
            lapsed.most as u64,
            lapsed.sync as u64,
            i64::from(lapsed.own),
            &to_json(&lapsed.held)?,
        ],
        of_row,
    )
}

/// Takes one run for a new owner, whatever its status, if its fence is still `fence`.
pub fn claim(
    tx: &mut Tx<'_>,
    tenant: &str,
    run: &Id,
    fence: i64,
    owner: &str,
    until: Timestamp,
) -> Result<Option<RunRow>, StoreError> {
    tx.query_one(
        concat!(
            "UPDATE #runs SET fence = fence + 1, owner = $4, lease_until = $5 WHERE id = $1 AND tenant = $2 AND fence = $3 RETURNING ",
            run_columns!()
        ),
        params![&run.to_string(), tenant, fence, owner, until.0],
        of_row,
    )
}

/// So many runs are held for longer with one statement.
const RENEWED: usize = 100;

/// When a lease that is taken now ends.
pub type Until = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Holds runs for longer, some in each transaction.
///
/// # Errors
/// The database; some may be held for longer.
pub async fn hold(store: &Store, owner: &Arc<str>, mut runs: Vec<Id>, until: &Until) -> Result<Renewed, StoreError> {
    runs.sort_unstable();
    let mut all = Renewed::default();
    for piece in runs.chunks(RENEWED) {
        let (owner, piece, until) = (Arc::clone(owner), piece.to_vec(), Arc::clone(until));
        // The time is set when it is written, which may be long after it was queued.
        let work = move |tx: &mut Tx<'_>| renew(tx, &owner, &piece, until());
        let renewed = match store.keep(work.clone()).await {
            // No connection can be had beside those of other writes.
            Err(StoreError::Crowded(_)) => store.write(work).await?,
            other => other?,
        };
        all.lost.extend(renewed.lost);
        all.skipped.extend(renewed.skipped);
    }
    Ok(all)
}

/// What became of leases that should end later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renewed {
    /// Runs that the owner no longer holds.
    pub lost: Vec<Id>,
    /// Runs that it holds and that are being written: they are held for longer when they are not.
    pub skipped: Vec<Id>,
}

/// Holds runs for longer, but for those that somebody is writing: nobody is waited for. Where others wait for rows, they are locked in the
/// order of ids, as [`Store::write_then`] does.
pub fn renew(tx: &mut Tx<'_>, owner: &str, runs: &[Id], until: Timestamp) -> Result<Renewed, StoreError> {
    let wanted = to_json(&runs)?;
    let held = tx.query(
        "WITH held AS MATERIALIZED (SELECT no FROM #runs WHERE id IN \
         (SELECT value FROM {json_each($3)|jsonb_array_elements_text(CAST($3 AS JSONB))}) AND owner = $2 AND status = 'running' \
         ORDER BY id{| FOR UPDATE SKIP LOCKED}) \
         UPDATE #runs SET lease_until = $1 WHERE no IN (SELECT no FROM held) RETURNING id",
        params![until.0, owner, &wanted],
        |row| row.id(0),
    )?;
    let mut lost: Vec<Id> = runs.iter().filter(|run| !held.contains(run)).copied().collect();
    if lost.is_empty() || tx.is_file() {
        return Ok(Renewed { lost, skipped: Vec::new() });
    }
    let skipped = tx.query(
        "SELECT id FROM #runs WHERE id IN (SELECT value FROM {json_each($2)|jsonb_array_elements_text(CAST($2 AS JSONB))}) \
         AND owner = $1 AND status = 'running'",
        params![owner, &to_json(&lost)?],
        |row| row.id(0),
    )?;
    lost.retain(|run| !skipped.contains(run));
    Ok(Renewed { lost, skipped })
}

/// Gives a run back: it stays `running`, its former owner writes nothing more, and anybody may take it over at once. `lost` counts
/// as an owner that was lost.
pub fn release(tx: &mut Tx<'_>, run: &Id, fence: i64, lost: bool) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE #runs SET fence = fence + 1, owner = NULL, lease_until = 0, takeovers = takeovers + $3 \
         WHERE id = $1 AND fence = $2 AND status = 'running'",
        params![&run.to_string(), fence, i64::from(lost)],
    )
    .map(drop)
}

/// Releases all runs of an owner, as [`release`] does, without counting takeovers.
pub fn release_all(tx: &mut Tx<'_>, owner: &str) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE #runs SET fence = fence + 1, owner = NULL, lease_until = 0 WHERE owner = $1 AND status = 'running' AND parent IS NULL",
        params![owner],
    )
    .map(drop)
}

/// Takeovers of a run that rests since its database was copied or restored: what it did since in the original is not known.
pub const RESTS: u32 = 1_000_000;

/// The takeovers of a run as they are told.
pub const fn takeovers(stored: u32) -> u32 {
    if stored < RESTS { stored } else { 0 }
}

/// Puts queued runs and runs at work to rest, of every tenant: who takes one ends it, so that a person decides whether it goes on here.
pub fn put_to_rest(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    tx.execute(
        "UPDATE #runs SET takeovers = $1, fence = fence + 1, owner = NULL, lease_until = CASE WHEN status = 'running' THEN 0 END \
         WHERE status IN ('queued', 'running') AND parent IS NULL",
        params![RESTS],
    )
}

/// Puts a run back into the queue that was claimed from it, and that nothing was done with since.
pub fn unclaim(tx: &mut Tx<'_>, run: &Id, fence: i64, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE #runs SET status = 'queued', fence = fence + 1, owner = NULL, lease_until = NULL, available_at = $3, tries = tries - 1 \
         WHERE id = $1 AND fence = $2 AND status = 'running'",
        params![&run.to_string(), fence, now.0],
    )
    .map(drop)
}

/// Ends a run whose log cannot take an entry; false if another worker has taken it.
pub fn end(tx: &mut Tx<'_>, run: &Id, fence: i64, status: &str, error: Option<&Value>, now: Timestamp) -> Result<bool, StoreError> {
    let error = error.map(Value::to_string);
    let ended = tx.execute(
        "UPDATE #runs SET status = $3, error = $4, finished_at = $5, rested_at = $5, fence = fence + 1, owner = NULL, lease_until = NULL, \
         awaiting_node = NULL, awaiting_pause = NULL, available_at = NULL, cancel_requested = 0 WHERE id = $1 AND fence = $2",
        params![&run.to_string(), fence, status, error.as_deref(), now.0],
    )?;
    if ended > 0 {
        end_children(tx, run, status, now)?;
    }
    Ok(ended > 0)
}

/// Ends the child runs of a run that has ended; those that are over stay as they are.
pub fn end_children(tx: &mut Tx<'_>, run: &Id, status: &str, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE #runs SET status = $2, finished_at = $3, rested_at = $3, awaiting_node = NULL, awaiting_pause = NULL \
         WHERE parent = $1 AND status NOT IN ('completed', 'failed', 'cancelled')",
        params![&run.to_string(), status, now.0],
    )
    .map(drop)
}

/// Asks the owner of a running run to cancel it; false when there is no such running run, or it has another fence than this.
pub fn request_cancel(tx: &mut Tx<'_>, tenant: &str, run: &Id, fence: Option<i64>) -> Result<bool, StoreError> {
    let asked = tx.execute(
        "UPDATE #runs SET cancel_requested = 1 WHERE id = $1 AND tenant = $2 AND status = 'running' AND ($3 = 0 OR fence = $3)",
        params![&run.to_string(), tenant, fence.unwrap_or(0)],
    )?;
    Ok(asked > 0)
}

/// Runs that paused, ended or were queued again before their owner received the cancel.
pub fn cancel_overdue(tx: &mut Tx<'_>) -> Result<Vec<(String, Id)>, StoreError> {
    tx.query(
        "SELECT tenant, id FROM #runs WHERE cancel_requested = 1 AND status IN ('queued', 'awaiting_input', 'awaiting_tool_approval')",
        params![],
        |row| Ok((row.text(0)?.to_owned(), row.id(1)?)),
    )
}

/// The runs of an owner that it should cancel.
pub fn cancel_wanted(tx: &mut Tx<'_>, owner: &str) -> Result<Vec<Id>, StoreError> {
    tx.query(
        "SELECT id FROM #runs WHERE cancel_requested = 1 AND owner = $1 AND status = 'running'",
        params![owner],
        |row| row.id(0),
    )
}
