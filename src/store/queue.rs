//! Owns who works on a run: claims, leases, cancel requests.

use super::db::{Tx, params};
use super::error::StoreError;
use super::runs::{RunRow, of_row, run_columns};
use crate::model::{Id, Timestamp};

/// Takes the queued run that has been available longest, if there is one: it is `running` and has a new fence.
pub fn claim_queued(
    tx: &mut Tx<'_>,
    queue: &str,
    owner: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<RunRow>, StoreError> {
    tx.query_one(
        concat!(
            "UPDATE #runs SET status = 'running', fence = fence + 1, owner = $1, lease_until = $2, tries = tries + 1, \
             available_at = NULL WHERE no = (SELECT no FROM #runs WHERE status = 'queued' AND queue = $3 AND available_at <= $4 \
             ORDER BY available_at, no LIMIT 1) RETURNING ",
            run_columns!()
        ),
        params![owner, until.0, queue, now.0],
        of_row,
    )
}

/// When the next queued run becomes available.
pub fn due_at(tx: &mut Tx<'_>, queue: &str) -> Result<Option<Timestamp>, StoreError> {
    tx.query_one("SELECT MIN(available_at) FROM #runs WHERE status = 'queued' AND queue = $1", params![queue], |row| {
        row.opt_int(0)
    })
    .map(|found| found.flatten().map(Timestamp))
}

/// Takes running runs whose lease is over, or further ahead than a lease can be (a clock went back).
pub fn claim_expired(
    tx: &mut Tx<'_>,
    owner: &str,
    now: Timestamp,
    until: Timestamp,
    limit: usize,
) -> Result<Vec<RunRow>, StoreError> {
    let lease = until.0 - now.0;
    tx.query(
        concat!(
            "UPDATE #runs SET fence = fence + 1, owner = $1, lease_until = $2 WHERE no IN \
             (SELECT no FROM #runs WHERE status = 'running' AND parent IS NULL AND (lease_until < $3 OR lease_until > $4) \
             ORDER BY lease_until LIMIT $5) RETURNING ",
            run_columns!()
        ),
        params![owner, until.0, now.0, now.0 + 2 * lease, limit as u64],
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

/// Gives runs back: they stay `running` and anybody may take them over at once.
pub fn release(tx: &mut Tx<'_>, owner: &str, runs: &[Id]) -> Result<(), StoreError> {
    for run in runs {
        tx.execute(
            "UPDATE #runs SET lease_until = 0 WHERE id = $1 AND owner = $2 AND status = 'running'",
            params![&run.to_string(), owner],
        )?;
    }
    Ok(())
}

/// Asks the owner of a running run to cancel it; false when there is no such running run.
pub fn request_cancel(tx: &mut Tx<'_>, tenant: &str, run: &Id) -> Result<bool, StoreError> {
    let asked = tx.execute(
        "UPDATE #runs SET cancel_requested = 1 WHERE id = $1 AND tenant = $2 AND status = 'running'",
        params![&run.to_string(), tenant],
    )?;
    Ok(asked > 0)
}

/// The runs of an owner that it should cancel.
pub fn cancel_wanted(tx: &mut Tx<'_>, owner: &str) -> Result<Vec<Id>, StoreError> {
    tx.query(
        "SELECT id FROM #runs WHERE cancel_requested = 1 AND owner = $1 AND status = 'running'",
        params![owner],
        |row| row.id(0),
    )
}
