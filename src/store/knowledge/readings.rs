//! Owns readings: the indexing jobs of documents, their owners and their progress.

use crate::model::usage::Usage;
use crate::model::{Id, Timestamp};
use crate::store::db::{Row, Tx, params};
use crate::store::error::StoreError;
use crate::store::knowledge::fulltext::Index;
use crate::store::knowledge::passages::Passage;
use crate::store::knowledge::{documents, editions, passages};

/// A document that is read into an edition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are columns")]
pub struct ReadingRow {
    pub no: i64,
    pub tenant: String,
    pub base: Id,
    pub document: i64,
    pub edition: i64,
    pub max_words: u32,
    pub overlap_words: u32,
    /// Passages in all; none before the text was cut.
    pub chunks: Option<u64>,
    /// Passages with their vector.
    pub done: u64,
    /// Grows with each claim.
    pub fence: i64,
    /// How often it was begun, this time included.
    pub tries: u32,
}

macro_rules! columns {
    () => {
        "no, tenant, base, document, edition, max_words, overlap_words, chunks, done, fence, tries"
    };
}

fn of_row(row: &Row<'_>) -> Result<ReadingRow, StoreError> {
    let small = |column| row.count(column).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    Ok(ReadingRow {
        no: row.int(0)?,
        tenant: row.text(1)?.to_owned(),
        base: row.id(2)?,
        document: row.int(3)?,
        edition: row.int(4)?,
        max_words: small(5)?,
        overlap_words: small(6)?,
        chunks: row.opt_int(7)?.and_then(|chunks| u64::try_from(chunks).ok()),
        done: row.count(8)?,
        fence: row.int(9)?,
        tries: small(10)?,
    })
}

/// What is to be read, and how its text is cut.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the fields are columns")]
pub struct Wanted<'a> {
    pub tenant: &'a str,
    pub base: &'a Id,
    pub document: i64,
    pub edition: i64,
    pub max_words: u32,
    pub overlap_words: u32,
    /// From when on anybody may begin.
    pub due: Timestamp,
}

/// Asks for a reading. Whatever was under way or failed for the same document and edition is given up; what is live stays so until
/// this one is.
pub fn ask(tx: &mut Tx<'_>, wanted: &Wanted<'_>) -> Result<i64, StoreError> {
    tx.execute(
        "UPDATE #readings SET state = 'gone', owner = NULL WHERE document = $1 AND edition = $2 AND state IN ('waiting', 'working', 'failed')",
        params![wanted.document, wanted.edition],
    )?;
    tx.insert(
        "INSERT INTO #readings (tenant, base, document, edition, state, max_words, overlap_words, done, fence, tries, available_at) \
         VALUES ($1, $2, $3, $4, 'waiting', $5, $6, 0, 0, 0, $7){| RETURNING no}",
        params![
            wanted.tenant,
            &wanted.base.to_string(),
            wanted.document,
            wanted.edition,
            wanted.max_words,
            wanted.overlap_words,
            wanted.due.0,
        ],
    )
}

/// Takes the reading that has waited longest of those that are due; of one document, due or not, when it is named.
pub fn claim(
    tx: &mut Tx<'_>,
    document: Option<i64>,
    owner: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<ReadingRow>, StoreError> {
    tx.query_one(
        concat!(
            "UPDATE #readings SET state = 'working', fence = fence + 1, owner = $1, lease_until = $2, tries = tries + 1, available_at = NULL \
             WHERE no = (SELECT no FROM #readings WHERE state = 'waiting' AND (document = $3 OR ($3 IS NULL AND available_at <= $4)) \
             ORDER BY available_at, no LIMIT 1{| FOR UPDATE SKIP LOCKED}) AND state = 'waiting' RETURNING ",
            columns!()
        ),
        params![owner, until.0, document, now.0],
        of_row,
    )
}

/// When the last waiting reading is due.
pub fn last_due_at(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    let found = tx.query_one("SELECT MAX(available_at) FROM #readings WHERE state = 'waiting'", params![], |row| row.opt_int(0))?;
    Ok(found.flatten().map(Timestamp))
}

/// Makes due what would be later than `far`: it was put off while a clock was ahead.
pub fn call_back(tx: &mut Tx<'_>, far: Timestamp, now: Timestamp) -> Result<(), StoreError> {
    tx.execute("UPDATE #readings SET available_at = $2 WHERE state = 'waiting' AND available_at > $1", params![far.0, now.0]).map(drop)
}

/// The reading that an owner begins next: of the tenants with the fewest readings at work there, at most so many, the one that has waited
/// longest of those that are due.
pub fn next_for(tx: &mut Tx<'_>, owner: &str, now: Timestamp, most: u64) -> Result<Option<i64>, StoreError> {
    tx.query_one(
        "SELECT r.no FROM #readings r LEFT JOIN \
         (SELECT tenant, COUNT(*) AS busy FROM #readings WHERE state = 'working' AND owner = $1 GROUP BY tenant) w ON w.tenant = r.tenant \
         WHERE r.state = 'waiting' AND r.available_at <= $2 AND COALESCE(w.busy, 0) <= $3 ORDER BY COALESCE(w.busy, 0), r.available_at, r.no LIMIT 1",
        params![owner, now.0, most],
        |row| row.int(0),
    )
}

/// Takes a reading, if it still waits.
pub fn claim_one(tx: &mut Tx<'_>, no: i64, owner: &str, until: Timestamp) -> Result<Option<ReadingRow>, StoreError> {
    tx.query_one(
        concat!(
            "UPDATE #readings SET state = 'working', fence = fence + 1, owner = $1, lease_until = $2, tries = tries + 1, available_at = NULL \
             WHERE no = $3 AND state = 'waiting' RETURNING ",
            columns!()
        ),
        params![owner, until.0, no],
        of_row,
    )
}

/// Who holds readings, with the earliest and the latest end of their leases.
pub fn holders(tx: &mut Tx<'_>) -> Result<Vec<(Option<String>, Timestamp, Timestamp)>, StoreError> {
    tx.query("SELECT owner, MIN(lease_until), MAX(lease_until) FROM #readings WHERE state = 'working' GROUP BY owner", params![], |row| {
        let time = |column| row.opt_int(column).map(|at| Timestamp(at.unwrap_or(0)));
        Ok((row.opt_text(0)?.map(str::to_owned), time(1)?, time(2)?))
    })
}

/// Gives back the readings of an owner whose process is gone.
pub fn free(tx: &mut Tx<'_>, owner: &str, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE #readings SET state = 'waiting', owner = NULL, fence = fence + 1, available_at = $1 WHERE owner = $2 AND state = 'working'",
        params![now.0, owner],
    )
    .map(drop)
}

/// Gives back the readings whose lease is over, or ends after `far`, where no lease can end (a clock went back).
pub fn free_expired(tx: &mut Tx<'_>, now: Timestamp, far: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE #readings SET state = 'waiting', owner = NULL, fence = fence + 1, available_at = $1 \
         WHERE state = 'working' AND (lease_until < $1 OR lease_until > $2)",
        params![now.0, far.0],
    )
    .map(drop)
}

fn held(changed: u64) -> Result<(), StoreError> {
    if changed == 0 { Err(StoreError::Fenced) } else { Ok(()) }
}

/// Holds a reading for longer.
pub fn renew(tx: &mut Tx<'_>, reading: &ReadingRow, until: Timestamp) -> Result<(), StoreError> {
    let changed = tx.execute(
        "UPDATE #readings SET lease_until = $1 WHERE no = $2 AND fence = $3 AND state = 'working'",
        params![until.0, reading.no, reading.fence],
    )?;
    held(changed)
}

/// Keeps the passages of the cut text.
pub fn cut(tx: &mut Tx<'_>, reading: &ReadingRow, texts: &[Passage]) -> Result<(), StoreError> {
    let changed = tx.execute(
        "UPDATE #readings SET chunks = $1, done = 0 WHERE no = $2 AND fence = $3 AND state = 'working'",
        params![texts.len() as u64, reading.no, reading.fence],
    )?;
    held(changed)?;
    passages::insert(tx, reading.no, texts)
}

/// Keeps the vectors of the next passages, with what making them took.
pub fn advance(
    tx: &mut Tx<'_>,
    reading: &ReadingRow,
    (index, batch): (Index, &passages::Batch),
    usage: &Usage,
    now: Timestamp,
    until: Timestamp,
) -> Result<(), StoreError> {
    let changed = tx.execute(
        "UPDATE #readings SET done = $1, lease_until = $2, tries = 1, error = NULL \
         WHERE no = $3 AND fence = $4 AND state = 'working' AND done = $5",
        params![batch.first + batch.vectors.len() as u64, until.0, reading.no, reading.fence, batch.first],
    )?;
    held(changed)?;
    passages::keep_vectors(tx, index, reading.no, batch)?;
    documents::add_usage(tx, reading.document, usage, now)
}

/// The reading is whole: it takes the place of the one before, and searches see it if its edition is the current one.
pub fn complete(tx: &mut Tx<'_>, reading: &ReadingRow, now: Timestamp) -> Result<(), StoreError> {
    // In the order in which others lock: the editions, then their readings.
    editions::alone(tx, &reading.base)?;
    let changed = tx.execute(
        "UPDATE #readings SET state = 'live', owner = NULL, lease_until = NULL, error = NULL WHERE no = $1 AND fence = $2 AND state = 'working'",
        params![reading.no, reading.fence],
    )?;
    held(changed)?;
    tx.execute(
        "UPDATE #readings SET state = 'gone' WHERE document = $1 AND edition = $2 AND no < $3",
        params![reading.document, reading.edition, reading.no],
    )?;
    tx.execute("UPDATE #documents SET updated_at = $1 WHERE no = $2", params![now.0, reading.document])?;
    editions::changed(tx, reading.edition)?;
    editions::swap_when_whole(tx, &reading.tenant, &reading.base).map(drop)
}

/// The reading is given up.
pub fn fail(tx: &mut Tx<'_>, reading: &ReadingRow, error: &str, now: Timestamp) -> Result<(), StoreError> {
    editions::alone(tx, &reading.base)?;
    let changed = tx.execute(
        "UPDATE #readings SET state = 'failed', owner = NULL, lease_until = NULL, error = $1 WHERE no = $2 AND fence = $3 AND state = 'working'",
        params![error, reading.no, reading.fence],
    )?;
    held(changed)?;
    tx.execute("UPDATE #documents SET updated_at = $1 WHERE no = $2", params![now.0, reading.document])?;
    editions::swap_when_whole(tx, &reading.tenant, &reading.base).map(drop)
}

/// The reading is tried again at a time.
pub fn put_off(tx: &mut Tx<'_>, reading: &ReadingRow, error: &str, at: Timestamp) -> Result<(), StoreError> {
    let changed = tx.execute(
        "UPDATE #readings SET state = 'waiting', owner = NULL, lease_until = NULL, error = $1, available_at = $2 \
         WHERE no = $3 AND fence = $4 AND state = 'working'",
        params![error, at.0, reading.no, reading.fence],
    )?;
    held(changed)
}

/// The reading is given back by a worker that stops: this does not count as a try.
pub fn give_back(tx: &mut Tx<'_>, reading: &ReadingRow, now: Timestamp) -> Result<(), StoreError> {
    let changed = tx.execute(
        "UPDATE #readings SET state = 'waiting', owner = NULL, lease_until = NULL, tries = tries - 1, available_at = $1 \
         WHERE no = $2 AND fence = $3 AND state = 'working'",
        params![now.0, reading.no, reading.fence],
    )?;
    held(changed)
}

/// The readings of a document are of no more use.
pub fn forget(tx: &mut Tx<'_>, document: i64) -> Result<(), StoreError> {
    tx.execute("UPDATE #readings SET state = 'gone', owner = NULL WHERE document = $1", params![document]).map(drop)
}

fn exists(tx: &mut Tx<'_>, sql: &'static str, params: &[crate::store::Param<'_>]) -> Result<bool, StoreError> {
    Ok(tx.query_one(sql, params, |_| Ok(()))?.is_some())
}

/// Was anything read into an edition, or is it to be?
pub fn any(tx: &mut Tx<'_>, edition: i64) -> Result<bool, StoreError> {
    exists(tx, "SELECT 1 FROM #readings WHERE edition = $1 AND state IN ('waiting', 'working', 'live') LIMIT 1", params![edition])
}

/// Passages of an edition that searches do not see though their words are there: of readings under way, failed ones, and those that are gone.
pub fn unseen(tx: &mut Tx<'_>, edition: i64) -> Result<u64, StoreError> {
    let sum = "SELECT CAST(COALESCE(SUM(done), 0) AS BIGINT) FROM #readings WHERE edition = $1 AND state IN ('waiting', 'working', 'failed', 'gone')";
    Ok(tx.query_one(sum, params![edition], |row| row.count(0))?.unwrap_or(0))
}

/// Is there something left to read into an edition?
pub fn unfinished(tx: &mut Tx<'_>, edition: i64) -> Result<bool, StoreError> {
    exists(tx, "SELECT 1 FROM #readings WHERE edition = $1 AND state IN ('waiting', 'working') LIMIT 1", params![edition])
}

/// Would a document be lost with another edition that this one finds, or is about to?
pub fn missing(tx: &mut Tx<'_>, from: i64, to: i64) -> Result<bool, StoreError> {
    exists(
        tx,
        "SELECT 1 FROM #readings a WHERE a.edition = $1 AND a.state IN ('waiting', 'working', 'live') AND NOT EXISTS \
         (SELECT 1 FROM #readings b WHERE b.edition = $2 AND b.document = a.document AND b.state = 'live') LIMIT 1",
        params![from, to],
    )
}

/// A live reading with its document, as results name it.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are columns")]
pub struct LiveReading {
    pub no: i64,
    pub passages: u64,
    pub document: Id,
    pub name: String,
    pub source_type: String,
    pub metadata: serde_json::Value,
}

/// What an edition is made of.
pub fn live(tx: &mut Tx<'_>, edition: i64) -> Result<Vec<LiveReading>, StoreError> {
    tx.query(
        "SELECT r.no, d.id, d.name, d.source_type, d.metadata, r.done FROM #readings r JOIN #documents d ON d.no = r.document \
         WHERE r.edition = $1 AND r.state = 'live' ORDER BY r.no",
        params![edition],
        |row| {
            Ok(LiveReading {
                no: row.int(0)?,
                document: row.id(1)?,
                name: row.text(2)?.to_owned(),
                source_type: row.text(3)?.to_owned(),
                metadata: row.json(4)?,
                passages: row.count(5)?,
            })
        },
    )
}

/// The reading of a document whose vectors are those that another edition wants: only the language of the words is another.
pub fn with_vectors_for(tx: &mut Tx<'_>, reading: &ReadingRow, edition: &editions::Edition) -> Result<Option<i64>, StoreError> {
    let current = editions::of_base(tx, &reading.tenant, &reading.base)?.into_iter().find(|edition| edition.current);
    // A reindex without another language makes all vectors anew, also of a base whose edition says no language yet.
    let is_of_another = |from: &editions::Edition| edition.language.as_deref().is_some_and(|language| !from.serves(&edition.embedder, language));
    let Some(from) = current.filter(|from| from.embedder == edition.embedder && is_of_another(from)) else {
        return Ok(None);
    };
    tx.query_one(
        "SELECT no FROM #readings WHERE document = $1 AND edition = $2 AND state = 'live' ORDER BY no DESC LIMIT 1",
        params![reading.document, from.no],
        |row| row.int(0),
    )
}

/// The reading of a document that searches see, and how many passages it has.
pub fn shown(tx: &mut Tx<'_>, document: i64) -> Result<Option<(i64, u64)>, StoreError> {
    tx.query_one(
        "SELECT r.no, r.done FROM #readings r JOIN #editions e ON e.no = r.edition \
         WHERE r.document = $1 AND r.state = 'live' AND e.state = 'current' ORDER BY r.no DESC LIMIT 1",
        params![document],
        |row| Ok((row.int(0)?, row.count(1)?)),
    )
}

/// Removes passages of readings that are gone, at most about `limit` of them. False when nothing was left.
pub fn sweep(tx: &mut Tx<'_>, limit: u64) -> Result<bool, StoreError> {
    let found = tx.query_one("SELECT no FROM #readings WHERE state = 'gone' ORDER BY no LIMIT 1", params![], |row| row.int(0))?;
    let Some(reading) = found else { return Ok(false) };
    if !passages::remove_some(tx, reading, limit)? {
        tx.execute("DELETE FROM #readings WHERE no = $1", params![reading])?;
        editions::sweep(tx)?;
    }
    Ok(true)
}

/// Does anything wait that is due; of one document, due or not, when it is named?
pub fn any_waiting(tx: &mut Tx<'_>, document: Option<i64>, now: Timestamp) -> Result<bool, StoreError> {
    exists(
        tx,
        "SELECT 1 FROM #readings WHERE state = 'waiting' AND (document = $1 OR ($1 IS NULL AND available_at <= $2)) LIMIT 1",
        params![document, now.0],
    )
}

/// Have so many passages of a reading that is still held their vectors?
pub fn has_reached(tx: &mut Tx<'_>, reading: &ReadingRow, done: u64) -> Result<bool, StoreError> {
    exists(tx, "SELECT 1 FROM #readings WHERE no = $1 AND fence = $2 AND done >= $3 LIMIT 1", params![reading.no, reading.fence, done])
}

/// Is there something to sweep?
pub fn any_gone(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    exists(tx, "SELECT 1 FROM #readings WHERE state = 'gone' LIMIT 1", params![])
}
