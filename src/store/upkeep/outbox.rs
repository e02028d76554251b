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
/// Clocks of hosts differ, but not by more than this.
const FAR: i64 = 3_600_000;
/// What nobody takes is given up after so many looks, each so many milliseconds behind the one before: a week in which processes were at
/// work. Looks are counted, since a clock that jumps ahead is no reason to give anything up.
const LOOKS: u64 = 1_008;
const BETWEEN_LOOKS: u64 = 600_000;

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
pub fn take_due(tx: &mut Tx<'_>, now: Timestamp, limit: usize) -> Result<Vec<HostEvent>, StoreError> {
    let mut due = tx.query(
        "SELECT no, tenant, body, tries FROM #host_events WHERE due_at <= $1 ORDER BY due_at, no LIMIT $2{| FOR UPDATE SKIP LOCKED}",
        params![now.0, limit as u64],
        |row| {
            Ok(HostEvent { no: row.int(0)?, tenant: row.text(1)?.to_owned(), body: row.json(2)?, tries: row.count(3)? + 1 })
        },
    )?;
    due.sort_by_key(|event| event.no);
    if !due.is_empty() {
        somebody_takes(tx)?;
    }
    for event in &due {
        tx.execute(
            "UPDATE #host_events SET due_at = $2, tries = $3 WHERE no = $1",
            params![event.no, now.0.saturating_add(TAKEN), event.tries],
        )?;
    }
    Ok(due)
}

/// The host did not take it: it is due again after a while, or given up after a day. False when it was given up.
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
pub fn next_due(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    let found = tx.query_one("SELECT MIN(due_at) FROM #host_events", params![], |row| row.opt_int(0))?;
    Ok(found.flatten().map(Timestamp))
}

/// When the first and the last of all that waits are due.
///
/// # Errors
/// The database.
pub fn due_between(tx: &mut Tx<'_>) -> Result<Option<(Timestamp, Timestamp)>, StoreError> {
    let found = tx.query_one("SELECT (SELECT MIN(due_at) FROM #host_events), (SELECT MAX(due_at) FROM #host_events)", params![], |row| {
        Ok(row.opt_int(0)?.zip(row.opt_int(1)?))
    })?;
    Ok(found.flatten().map(|(first, last)| (Timestamp(first), Timestamp(last))))
}

/// Nothing is due later than this after `now`, unless a clock was ahead when it was stored.
#[must_use]
pub const fn far(now: Timestamp) -> Timestamp {
    Timestamp(now.0.saturating_add(FAR))
}

/// Makes due what would be later than `far`.
///
/// # Errors
/// The database.
pub fn call_back(tx: &mut Tx<'_>, far: Timestamp, now: Timestamp) -> Result<(), StoreError> {
    tx.execute("UPDATE #host_events SET due_at = $2 WHERE due_at > $1", params![far.0, now.0]).map(drop)
}

/// The host has taken it. If another process has taken it meanwhile for another try, that try decides how it ends.
pub fn done(tx: &mut Tx<'_>, event: &HostEvent) -> Result<(), StoreError> {
    tx.execute("DELETE FROM #host_events WHERE no = $1 AND tries = $2", params![event.no, event.tries])?;
    Ok(())
}

/// From here on everything is kept for those who take it, however long they stay away.
fn somebody_takes(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.send("INSERT INTO #meta (key, value) VALUES ('usage_taken', '1') ON CONFLICT (key) DO NOTHING", params![])
}

fn meta(tx: &mut Tx<'_>, key: &str) -> Result<Option<String>, StoreError> {
    tx.query_one("SELECT value FROM #meta WHERE key = $1", params![key], |row| Ok(row.text(0)?.to_owned()))
}

/// How often it was looked for events up to `newest` that nobody takes, and when it was last.
struct UntakenCount {
    newest: i64,
    looks: u64,
    at: Timestamp,
}

impl UntakenCount {
    fn read(tx: &mut Tx<'_>) -> Result<Option<Self>, StoreError> {
        let Some(text) = meta(tx, "usage_untaken")? else { return Ok(None) };
        let mut numbers = text.split(' ').map_while(|number| number.parse().ok());
        let (Some(newest), Some(looks), Some(at)) = (numbers.next(), numbers.next(), numbers.next()) else { return Ok(None) };
        Ok(Some(Self { newest, looks: u64::try_from(looks).unwrap_or(0), at: Timestamp(at) }))
    }

    fn write(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let text = format!("{} {} {}", self.newest, self.looks, self.at.0);
        tx.send(
            "INSERT INTO #meta (key, value) VALUES ('usage_untaken', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            params![&text],
        )
    }
}

/// Gives up what nobody took for a week, where no process on this database ever took anything; at most `limit`, and how many there were.
pub fn give_up(tx: &mut Tx<'_>, now: Timestamp, limit: usize) -> Result<u64, StoreError> {
    let all = "SELECT MIN(no), MAX(no), MAX(tries) FROM #host_events";
    let found = tx.query_one(all, params![], |row| Ok((row.opt_int(0)?, row.opt_int(1)?, row.opt_int(2)?)))?;
    let Some((Some(oldest), Some(newest), Some(tries))) = found else { return Ok(0) };
    if meta(tx, "usage_taken")?.is_some() {
        return Ok(0);
    }
    let anew = UntakenCount { newest, looks: 0, at: now };
    let Some(untaken) = UntakenCount::read(tx)? else {
        // An earlier version of the studio may have taken some.
        if oldest > 1 || tries > 0 { somebody_takes(tx)? } else { anew.write(tx)? }
        return Ok(0);
    };
    if untaken.looks < LOOKS {
        if now.0.abs_diff(untaken.at.0) >= BETWEEN_LOOKS {
            UntakenCount { looks: untaken.looks + 1, at: now, ..untaken }.write(tx)?;
        }
        return Ok(0);
    }
    let gone = tx.execute(
        "DELETE FROM #host_events WHERE no IN (SELECT no FROM #host_events WHERE no <= $1 AND tries = 0 ORDER BY no LIMIT $2)",
        params![untaken.newest, limit as u64],
    )?;
    if gone < limit as u64 {
        anew.write(tx)?;
    }
    Ok(gone)
}
