//! Owns the outbox of events for the host, kept until the host accepts them.

use serde_json::Value;

use crate::model::Timestamp;
use crate::store::db::{Tx, params, to_json};
use crate::store::error::StoreError;

/// Waits after a failed try; afterwards ten minutes each, for a day.
const WAITS: [i64; 3] = [1_000, 10_000, 60_000];
const LAST_WAIT: i64 = 600_000;
const TRIES: u64 = 1 + WAITS.len() as u64 + 86_400_000 / LAST_WAIT as u64;
/// How long whoever took something has it for himself: longer than the host may think about it.
const TAKEN: i64 = 30_000;

/// Something that the host has not answered yet.
#[derive(Clone, Debug, PartialEq)]
pub struct HostEvent {
    /// Its number.
    pub no: i64,
    /// The tenant.
    pub tenant: String,
    /// The event.
    pub body: Value,
    /// The try that it was taken for, from 1.
    pub tries: u64,
}

pub(in crate::store) fn add(tx: &mut Tx<'_>, tenant: &str, body: &Value, now: Timestamp) -> Result<(), StoreError> {
    tx.send(
        "INSERT INTO #host_events (tenant, body, created_at, due_at, tries) VALUES ($1, $2, $3, $4, 0)",
        params![tenant, &to_json(body)?, now.0, now.0],
    )?;
    Ok(())
}

/// Takes what is due for its next try. Who dies before saying how it went leaves it to be taken again.
///
/// # Errors
/// The database.
pub fn take_due(tx: &mut Tx<'_>, now: Timestamp, limit: usize) -> Result<Vec<HostEvent>, StoreError> {
    let mut due = tx.query(
        "SELECT no, tenant, body, tries FROM #host_events WHERE due_at <= $1 ORDER BY due_at, no LIMIT $2{| FOR UPDATE SKIP LOCKED}",
        params![now.0, limit as u64],
        |row| {
            Ok(HostEvent { no: row.int(0)?, tenant: row.text(1)?.to_owned(), body: row.json(2)?, tries: row.count(3)? + 1 })
        },
    )?;
    due.sort_by_key(|event| event.no);
    for event in &due {
        tx.execute(
            "UPDATE #host_events SET due_at = $2, tries = $3 WHERE no = $1",
            params![event.no, now.0.saturating_add(TAKEN), event.tries],
        )?;
    }
    Ok(due)
}

/// The host did not take it: it is due again after a while, or given up after a day. False when it was given up.
///
/// # Errors
/// The database.
pub fn failed(tx: &mut Tx<'_>, event: &HostEvent, now: Timestamp) -> Result<bool, StoreError> {
    if event.tries >= TRIES {
        done(tx, event)?;
        return Ok(false);
    }
    let before = usize::try_from(event.tries).unwrap_or(usize::MAX).saturating_sub(1);
    let wait = WAITS.get(before).copied().unwrap_or(LAST_WAIT);
    tx.execute("UPDATE #host_events SET due_at = $3 WHERE no = $1 AND tries = $2", params![event.no, event.tries, now.0.saturating_add(wait)])?;
    Ok(true)
}

/// When something is due next.
///
/// # Errors
/// The database.
pub fn next_due(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    let found = tx.query_one("SELECT MIN(due_at) FROM #host_events", params![], |row| row.opt_int(0))?;
    Ok(found.flatten().map(Timestamp))
}

/// The host has taken it. Where somebody else has taken it meanwhile for another try, that one is told how it ends.
///
/// # Errors
/// The database.
pub fn done(tx: &mut Tx<'_>, event: &HostEvent) -> Result<(), StoreError> {
    tx.execute("DELETE FROM #host_events WHERE no = $1 AND tries = $2", params![event.no, event.tries])?;
    Ok(())
}
