//! Owns what the host is told until it has answered.

use serde_json::Value;

use super::db::{Tx, params, to_json};
use super::error::StoreError;
use crate::model::Timestamp;

/// Waits before the next try; afterwards ten minutes each.
const WAITS: [i64; 3] = [1_000, 10_000, 60_000];
const LAST_WAIT: i64 = 600_000;
const LIFE: i64 = 86_400_000;

/// Something that the host has not answered yet.
#[derive(Clone, Debug, PartialEq)]
pub struct HostEvent {
    /// Its number.
    pub no: i64,
    /// The tenant.
    pub tenant: String,
    /// What is told.
    pub body: Value,
}

pub(super) fn add(tx: &mut Tx<'_>, tenant: &str, body: &Value, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO #host_events (tenant, body, created_at, due_at, tries) VALUES ($1, $2, $3, $4, 0)",
        params![tenant, &to_json(body)?, now.0, now.0],
    )?;
    Ok(())
}

/// Takes what is due for this try: it is due again later unless `done` is called.
pub fn take_due(tx: &mut Tx<'_>, now: Timestamp, limit: usize) -> Result<Vec<HostEvent>, StoreError> {
    tx.execute("DELETE FROM #host_events WHERE due_at <= $1 AND tries > 0 AND created_at < $2", params![now.0, now.0 - LIFE])?;
    let due = tx.query(
        "SELECT no, tenant, body, tries FROM #host_events WHERE due_at <= $1 ORDER BY due_at, no LIMIT $2",
        params![now.0, limit as u64],
        |row| Ok((HostEvent { no: row.int(0)?, tenant: row.text(1)?.to_owned(), body: row.json(2)? }, row.count(3)?)),
    )?;
    let mut taken = Vec::with_capacity(due.len());
    for (event, tries) in due {
        let wait = usize::try_from(tries).ok().and_then(|tries| WAITS.get(tries)).copied().unwrap_or(LAST_WAIT);
        tx.execute(
            "UPDATE #host_events SET due_at = $2, tries = tries + 1 WHERE no = $1",
            params![event.no, now.0 + wait],
        )?;
        taken.push(event);
    }
    Ok(taken)
}

/// When something is due next.
pub fn next_due(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    let found = tx.query_one("SELECT MIN(due_at) FROM #host_events", params![], |row| row.opt_int(0))?;
    Ok(found.flatten().map(Timestamp))
}

/// The host has answered.
pub fn done(tx: &mut Tx<'_>, no: i64) -> Result<(), StoreError> {
    tx.execute("DELETE FROM #host_events WHERE no = $1", params![no])?;
    Ok(())
}
