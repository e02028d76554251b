//! Owns who works on a run: claims, leases, cancel requests.

use super::db::{Tx, params};
use super::error::StoreError;
use super::runs::{RunRow, of_row, run_columns};
use crate::model::{Id, Timestamp};

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

/// When the next queued run becomes available.
pub fn due_at(tx: &mut Tx<'_>, queue: &str) -> Result<Option<Timestamp>, StoreError> {
    tx.query_one("SELECT MIN(available_at) FROM #runs WHERE status = 'queued' AND queue = $1", params![queue], |row| {
        row.opt_int(0)
    })
    .map(|found| found.flatten().map(Timestamp))
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

/// Takes running runs whose lease is over, or ends after `far`, where no lease can end (a clock went back). Each taking is counted.
pub fn claim_expired(
    tx: &mut Tx<'_>,
    owner: &str,
    now: Timestamp,
    until: Timestamp,
    far: Timestamp,
    limit: usize,
) -> Result<Vec<RunRow>, StoreError> {
    tx.query(
        concat!(
            "WITH lapsed AS MATERIALIZED (SELECT no FROM #runs WHERE status = 'running' AND parent IS NULL \
             AND (lease_until < $3 OR lease_until > $4) ORDER BY lease_until LIMIT $5{| FOR UPDATE SKIP LOCKED}) \
             UPDATE #runs SET fence = fence + 1, owner = $1, lease_until = $2, takeovers = takeovers + 1 \
             WHERE no IN (SELECT no FROM lapsed) RETURNING ",
            run_columns!()
        ),
        params![owner, until.0, now.0, far.0, limit as u64],
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

/// Holds runs for longer; gives those that this owner no longer holds.
pub fn renew(tx: &mut Tx<'_>, owner: &str, runs: &[Id], until: Timestamp) -> Result<Vec<Id>, StoreError> {
    let mut lost = Vec::new();
    for run in runs {
        let held = tx.execute(
            "UPDATE #runs SET lease_until = $1 WHERE id = $2 AND owner = $3 AND status = 'running'",
            params![until.0, &run.to_string(), owner],
        )?;
        if held == 0 {
            lost.push(*run);
        }
    }
    Ok(lost)
}

/// Gives a run back: it stays `running`, its former owner writes nothing more, and anybody may take it over at once.
pub fn release(tx: &mut Tx<'_>, run: &Id, fence: i64) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE #runs SET fence = fence + 1, owner = NULL, lease_until = 0 WHERE id = $1 AND fence = $2 AND status = 'running'",
        params![&run.to_string(), fence],
    )
    .map(drop)
}

/// A taking does not count: the taker could not even read the run.
pub fn uncount(tx: &mut Tx<'_>, run: &Id, fence: i64) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE #runs SET takeovers = takeovers - 1 WHERE id = $1 AND fence = $2 AND status = 'running' AND takeovers > 0",
        params![&run.to_string(), fence],
    )
    .map(drop)
}

/// Asks the owner of a running run to cancel it; false when there is no such running run.
pub fn request_cancel(tx: &mut Tx<'_>, tenant: &str, run: &Id) -> Result<bool, StoreError> {
    let asked = tx.execute(
        "UPDATE #runs SET cancel_requested = 1 WHERE id = $1 AND tenant = $2 AND status = 'running'",
        params![&run.to_string(), tenant],
    )?;
    Ok(asked > 0)
}

/// Runs that came to rest, or back into the queue, before their owner heard that they should be cancelled.
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
