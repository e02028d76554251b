//! Owns the format of a log row: small entries together, with the hash that chains the rows.

use std::io::Write as _;

use sha2::{Digest, Sha256};

use crate::model::event::{Entry, LaneId, Seq};
use crate::model::{Id, Timestamp};
use crate::store::db::{Row, Tx, params};
use crate::store::error::StoreError;

/// A run's rows have the keys from its number times this on.
pub(in crate::store) const PLACES: i64 = 1 << 26;

/// So many bytes of entries lie in one row; one that is larger has a row to itself. Three such rows go on a page of SQLite, and
/// PostgreSQL compresses and moves what is longer than 2 KB.
const ROOM: usize = 1280;

/// The hash of a row: of its text, its place and the hash of the row before.
pub type Hash = [u8; 32];

/// The key of what lies at place `n` of a run.
pub(in crate::store) fn place(run: i64, n: u64) -> Result<i64, StoreError> {
    i64::try_from(n)
        .ok()
        .filter(|n| *n < PLACES)
        .map(|n| run * PLACES + n)
        .ok_or_else(|| StoreError::Conflict(format!("a run's log cannot have more than {PLACES} entries")))
}

/// Stores entries behind the row whose hash is given, in as few rows as have room for them. A row is the place, time, lane and event
/// of its first entry; for each further one follows a line of time, lane and event.
pub(in crate::store) fn store<'a>(tx: &mut Tx<'_>, run: i64, before: Hash, entries: impl Iterator<Item = &'a Entry>) -> Result<Hash, StoreError> {
    let (mut hash, mut body, mut first) = (before, Vec::with_capacity(1024), None::<&Entry>);
    for entry in entries {
        let end = body.len();
        if first.is_some() {
            write!(body, "\n{} {} ", entry.at.0, entry.lane).map_err(formless)?;
        }
        let event = body.len();
        serde_json::to_writer(&mut body, &entry.event).map_err(formless)?;
        let Some(full) = first.replace(entry) else { continue };
        if body.len() > ROOM {
            hash = stored(tx, run, &hash, full, &body[..end])?;
            body.drain(..event);
        } else {
            first = Some(full);
        }
    }
    first.map_or(Ok(hash), |first| stored(tx, run, &hash, first, &body))
}

fn formless(error: impl std::fmt::Display) -> StoreError {
    StoreError::Fault(format!("an entry has no JSON form: {error}"))
}

fn stored(tx: &mut Tx<'_>, run: i64, before: &Hash, first: &Entry, body: &[u8]) -> Result<Hash, StoreError> {
    let body = std::str::from_utf8(body).map_err(formless)?;
    let hash = chained(before, first.seq, first.at.0, first.lane, body);
    tx.send(
        "INSERT INTO #log (key, at, lane, body, hash) VALUES ($1, $2, $3, $4, $5)",
        params![place(run, first.seq)?, first.at.0, first.lane, body, &hash[..]],
    )?;
    Ok(hash)
}

/// What stands before a run's first row.
pub(in crate::store) fn root(run: &Id) -> Hash {
    Sha256::digest(run.0.as_bytes()).into()
}

fn chained(before: &Hash, first: Seq, at: i64, lane: LaneId, body: &str) -> Hash {
    let mut hash = Sha256::new();
    hash.update(before);
    hash.update(first.to_le_bytes());
    hash.update(at.to_le_bytes());
    hash.update(lane.to_le_bytes());
    hash.update(body.as_bytes());
    hash.finalize().into()
}

/// A row as it is read: columns `key`, `at`, `lane` and `body`.
pub(in crate::store) struct Stored<'a> {
    first: Seq,
    at: i64,
    lane: LaneId,
    body: &'a str,
}

impl<'a> Stored<'a> {
    pub(in crate::store) fn of(row: &'a Row<'_>) -> Result<Self, StoreError> {
        Ok(Self { first: row.count(0)? % PLACES as u64, at: row.int(1)?, lane: lane(row.int(2)?)?, body: row.text(3)? })
    }

    pub(in crate::store) const fn first(&self) -> Seq {
        self.first
    }

    pub(in crate::store) fn last(&self) -> Seq {
        self.first + self.body.bytes().filter(|byte| *byte == b'\n').count() as u64
    }

    /// The row's hash, if this was the one before.
    pub(in crate::store) fn behind(&self, before: &Hash) -> Hash {
        chained(before, self.first, self.at, self.lane, self.body)
    }

    /// Hands over the entries from `from` to `to`.
    pub(in crate::store) fn each(&self, from: Seq, to: Seq, take: &mut impl FnMut(Entry)) -> Result<(), StoreError> {
        for (seq, line) in (self.first..=to).zip(self.body.split('\n')) {
            if seq < from {
                continue;
            }
            let (at, lane, event) = if seq == self.first { (self.at, self.lane, line) } else { further(line)? };
            let event = serde_json::from_str(event).map_err(|error| StoreError::damaged(format!("stored JSON: {error}")))?;
            take(Entry { seq, at: Timestamp(at), lane, event });
        }
        Ok(())
    }
}

fn further(line: &str) -> Result<(i64, LaneId, &str), StoreError> {
    let mut parts = line.splitn(3, ' ');
    match (parts.next().and_then(|at| at.parse().ok()), parts.next().and_then(|lane| lane.parse().ok()), parts.next()) {
        (Some(at), Some(lane), Some(event)) => Ok((at, lane, event)),
        _ => Err(StoreError::damaged("a line of the log does not tell time, lane and event")),
    }
}

pub(in crate::store) fn lane(number: i64) -> Result<LaneId, StoreError> {
    LaneId::try_from(number).map_err(|_| StoreError::damaged("a lane's number is out of range"))
}

/// The hash of a row as it is stored.
pub(in crate::store) fn hash_of(bytes: &[u8]) -> Result<Hash, StoreError> {
    bytes.try_into().map_err(|_| StoreError::damaged("a hash of the log is not 32 bytes long"))
}
