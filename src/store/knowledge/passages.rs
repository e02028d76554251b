//! Owns passages: their texts, their vectors, and the compact copies that a search scans.

use std::sync::Arc;

use crate::store::db::{Row, Tx, params};
use crate::store::error::StoreError;
use crate::store::knowledge::fulltext::{self, Index};

/// A reading's rows have keys of their own: its number times this, plus the place of the passage.
const PLACES: i64 = 1 << 26;

/// The key of a passage.
pub const fn key(reading: i64, position: u64) -> i64 {
    reading * PLACES + position as i64
}

/// The reading and the place of a key.
pub const fn place(key: i64) -> (i64, u64) {
    (key / PLACES, (key % PLACES).unsigned_abs())
}

/// The most passages of a reading: they are stored in one transaction, which others wait for.
pub const MOST: usize = 200_000;

/// Where a piece of a document stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub page: Option<u32>,
    /// The headings above it.
    pub heading: Option<Arc<str>>,
    /// The sheet of a workbook.
    pub sheet: Option<Arc<str>>,
}

/// A piece of a text, and where it stands: where what is not repeated of the one before begins.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Passage {
    pub text: String,
    pub place: Place,
}

/// Vectors of passages that follow each other, with their small copies.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The place of the first.
    pub first: u64,
    /// What each is found by.
    pub terms: Vec<Vec<String>>,
    /// Little-endian floats of each.
    pub vectors: Vec<Vec<u8>>,
    /// All small copies, one after another.
    pub codes: Vec<u8>,
}

/// Keeps the passages of a reading in place of those that it had.
pub fn insert(tx: &mut Tx<'_>, reading: i64, passages: &[Passage]) -> Result<(), StoreError> {
    while remove_some(tx, reading, 10_000)? {}
    for (position, Passage { text, place }) in (0..).zip(passages) {
        tx.send(
            "INSERT INTO #passages (key, content, page, heading, sheet) VALUES ($1, $2, $3, $4, $5)",
            params![key(reading, position), text, place.page, place.heading.as_deref(), place.sheet.as_deref()],
        )?;
    }
    Ok(())
}

/// The texts of passages from a place on.
pub fn texts(tx: &mut Tx<'_>, reading: i64, first: u64, limit: usize) -> Result<Vec<String>, StoreError> {
    tx.query(
        "SELECT content FROM #passages WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3",
        params![key(reading, first), key(reading + 1, 0), limit as u64],
        |row| Ok(row.text(0)?.to_owned()),
    )
}

fn of_row(row: &Row<'_>) -> Result<Passage, StoreError> {
    let page = row.opt_int(1)?.and_then(|page| u32::try_from(page).ok());
    let place = Place { page, heading: row.opt_text(2)?.map(Into::into), sheet: row.opt_text(3)?.map(Into::into) };
    Ok(Passage { text: row.text(0)?.to_owned(), place })
}

/// A passage.
pub fn get(tx: &mut Tx<'_>, key: i64) -> Result<Option<Passage>, StoreError> {
    tx.query_one("SELECT content, page, heading, sheet FROM #passages WHERE key = $1", params![key], of_row)
}

/// The passages of a reading from a place on, with their places.
pub fn run(tx: &mut Tx<'_>, reading: i64, first: u64, limit: u64) -> Result<Vec<(u64, Passage)>, StoreError> {
    tx.query(
        "SELECT content, page, heading, sheet, key FROM #passages WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3",
        params![key(reading, first), key(reading + 1, 0), limit],
        |row| Ok((place(row.int(4)?).1, of_row(row)?)),
    )
}

/// The first passage of a reading that stands in a place, as far as that is known.
pub fn standing(tx: &mut Tx<'_>, reading: i64, at: &Place) -> Result<Option<u64>, StoreError> {
    tx.query_one(
        "SELECT key FROM #passages WHERE key >= $1 AND key < $2 AND ($3 IS NULL OR page = $3) AND ($4 IS NULL OR heading = $4) \
         AND ($5 IS NULL OR sheet = $5) ORDER BY key LIMIT 1",
        params![key(reading, 0), key(reading + 1, 0), at.page, at.heading.as_deref(), at.sheet.as_deref()],
        |row| Ok(place(row.int(0)?).1),
    )
}

/// Keeps vectors; their passages can be found by their words too.
pub fn keep_vectors(tx: &mut Tx<'_>, index: Index, reading: i64, batch: &Batch) -> Result<(), StoreError> {
    for ((position, vector), terms) in (batch.first..).zip(&batch.vectors).zip(&batch.terms) {
        let key = key(reading, position);
        tx.send("INSERT INTO #vectors (key, vector) VALUES ($1, $2)", params![key, vector.as_slice()])?;
        fulltext::add(tx, index, key, terms)?;
    }
    tx.execute(
        "INSERT INTO #codes (key, codes) VALUES ($1, $2)",
        params![key(reading, batch.first), batch.codes.as_slice()],
    )
    .map(drop)
}

/// Takes the place of the first of a run of small copies, and the bytes.
type TakeCodes<'t> = &'t mut dyn FnMut(u64, &[u8]) -> Result<(), StoreError>;

/// Hands the small copies of a reading to `take`, in order: the place of the first of each run, and the bytes.
pub fn codes(tx: &mut Tx<'_>, reading: i64, take: TakeCodes<'_>) -> Result<(), StoreError> {
    tx.query_each(
        "SELECT key, codes FROM #codes WHERE key >= $1 AND key < $2 ORDER BY key",
        params![key(reading, 0), key(reading + 1, 0)],
        &mut |row| take(place(row.int(0)?).1, row.blob(1)?),
    )
}

/// Hands the vector of a passage to `take`, if it has one.
pub fn vector<T>(tx: &mut Tx<'_>, key: i64, take: impl FnOnce(&[u8]) -> T) -> Result<Option<T>, StoreError> {
    tx.query_one("SELECT vector FROM #vectors WHERE key = $1", params![key], |row| Ok(take(row.blob(0)?)))
}

/// Hands the vectors of passages to `take`, in any order.
pub fn vectors(tx: &mut Tx<'_>, keys: &[i64], take: &mut dyn FnMut(i64, &[u8])) -> Result<(), StoreError> {
    if tx.is_file() {
        return keys.iter().try_for_each(|key| vector(tx, *key, |bytes| take(*key, bytes)).map(drop));
    }
    tx.query_each("SELECT key, vector FROM #vectors WHERE key = ANY($1::text::bigint[])", params![&array(keys)], &mut |row| {
        take(row.int(0)?, row.blob(1)?);
        Ok(())
    })
}

/// Numbers as PostgreSQL writes an array of them.
pub(super) fn array(numbers: &[i64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    format!("{{{}}}", numbers.join(","))
}

/// The length of a reading's vectors, in bytes.
pub fn vector_bytes(tx: &mut Tx<'_>, edition: i64) -> Result<Option<u64>, StoreError> {
    let found = tx.query_one(
        "SELECT no FROM #readings WHERE edition = $1 AND state IN ('live', 'working', 'waiting') AND done > 0 ORDER BY no LIMIT 1",
        params![edition],
        |row| row.int(0),
    )?;
    let Some(reading) = found else { return Ok(None) };
    vector(tx, key(reading, 0), |bytes| bytes.len() as u64)
}

/// Removes some rows of a reading; false when none were left.
pub fn remove_some(tx: &mut Tx<'_>, reading: i64, limit: u64) -> Result<bool, StoreError> {
    let first = tx.query_one(
        "SELECT key FROM #passages WHERE key >= $1 AND key < $2 ORDER BY key LIMIT 1",
        params![key(reading, 0), key(reading + 1, 0)],
        |row| row.int(0),
    )?;
    let Some(first) = first else { return Ok(false) };
    let last = (first + i64::try_from(limit).unwrap_or(i64::MAX / 2) - 1).min(key(reading + 1, 0) - 1);
    fulltext::remove(tx, first, last)?;
    tx.execute("DELETE FROM #codes WHERE key BETWEEN $1 AND $2", params![first, last])?;
    tx.execute("DELETE FROM #vectors WHERE key BETWEEN $1 AND $2", params![first, last])?;
    tx.execute("DELETE FROM #passages WHERE key BETWEEN $1 AND $2", params![first, last])?;
    Ok(true)
}
