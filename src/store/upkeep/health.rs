//! Owns the health checks in the tables: what waits too long, and what no process handles.

use crate::model::{Id, Timestamp};
use crate::store::db::{Tx, params};
use crate::store::error::StoreError;

/// Jobs of a queue that could begin and do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// The queue.
    pub queue: String,
    /// How many.
    pub jobs: u64,
    /// When the one that waits longest became available.
    pub since: Timestamp,
}

/// How the studio does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Queues in which something waits.
    pub queues: Vec<Backlog>,
    /// Running runs whose lease ended a while ago.
    pub abandoned: u64,
    /// Running runs that their owner released and no worker has taken yet.
    pub given_back: u64,
    /// Running runs whose lease ends later than any lease can.
    pub from_the_future: u64,
    /// Running runs that were taken over since they last completed a step.
    pub taken_over: u64,
    /// Documents that wait to be read, since the one that waits longest could have been.
    pub documents: u64,
    /// Events that the host has not accepted.
    pub events: u64,
}

/// Looks: leases that ended before `overdue` are abandoned, those that end after `far` were made by another clock; documents and
/// events that could have gone on before `stale` wait too long.
pub fn look(tx: &mut Tx<'_>, now: Timestamp, overdue: Timestamp, far: Timestamp, stale: Timestamp) -> Result<Health, StoreError> {
    let queues = tx.query(
        "SELECT queue, COUNT(*), MIN(available_at) FROM #runs WHERE status = 'queued' AND available_at <= $1 GROUP BY queue ORDER BY queue",
        params![now.0],
        |row| Ok(Backlog { queue: row.opt_text(0)?.unwrap_or_default().to_owned(), jobs: row.count(1)?, since: Timestamp(row.int(2)?) }),
    )?;
    let mut number = |sql: &'static str, at: i64| -> Result<u64, StoreError> {
        Ok(tx.query_one(sql, params![at], |row| row.count(0))?.unwrap_or(0))
    };
    Ok(Health {
        queues,
        abandoned: number(
            "SELECT COUNT(*) FROM #runs WHERE status = 'running' AND parent IS NULL AND lease_until > 0 AND lease_until < $1",
            overdue.0,
        )?,
        given_back: number("SELECT COUNT(*) FROM #runs WHERE status = 'running' AND parent IS NULL AND lease_until <= 0 AND $1 > 0", 1)?,
        from_the_future: number("SELECT COUNT(*) FROM #runs WHERE status = 'running' AND parent IS NULL AND lease_until > $1", far.0)?,
        taken_over: number("SELECT COUNT(*) FROM #runs WHERE status = 'running' AND parent IS NULL AND takeovers >= $1", 1)?,
        documents: number("SELECT COUNT(*) FROM #readings WHERE state = 'waiting' AND available_at < $1", stale.0)?,
        events: number("SELECT COUNT(*) FROM #host_events WHERE created_at < $1", stale.0)?,
    })
}

/// The database takes writes: nothing is changed by this one.
pub fn touch(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.execute("UPDATE #meta SET value = value WHERE key = $1", params!["schema"]).map(drop)
}

/// What definitions say, of every tenant, after a place; with the place of the last one.
pub fn definitions(tx: &mut Tx<'_>, after: i64, limit: usize) -> Result<Vec<(i64, String, String, String)>, StoreError> {
    tx.query(
        "SELECT no, tenant, slug, body FROM #definitions WHERE no > $1 ORDER BY no LIMIT $2",
        params![after, limit as u64],
        |row| Ok((row.int(0)?, row.text(1)?.to_owned(), row.text(2)?.to_owned(), row.text(3)?.to_owned())),
    )
}

/// Runs with logs of their own, of every tenant, after a place.
pub fn logs(tx: &mut Tx<'_>, after: &str, limit: usize) -> Result<Vec<(String, Id)>, StoreError> {
    tx.query(
        "SELECT tenant, id FROM #runs WHERE id > $1 AND parent IS NULL ORDER BY id LIMIT $2",
        params![after, limit as u64],
        |row| Ok((row.text(0)?.to_owned(), row.id(1)?)),
    )
}
