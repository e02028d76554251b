//! Owns the vectors that a PostgreSQL server with the extension `vector` compares itself: copies in the extension's type `halfvec`.
//!
//! Their table is there only where the extension was. Nothing else depends on it: a reading without all copies is searched without them.
//! Copies go with the vectors that they are of. The copy of a reading's first passage is stored last, so its presence means that all are there.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::store::db::{Tx, params};
use crate::store::error::StoreError;
use crate::store::knowledge::passages;

/// The longest vectors that the extension can hold.
pub const LONGEST: u64 = 16_000;
/// Copies that are stored in one transaction, which others wait for.
const AT_ONCE: i64 = 64;

/// The extension in this database.
struct Extension {
    /// The schema that its types are in, as SQL names it.
    schema: String,
    /// There is a table for copies, and it has their column.
    has_table: bool,
    may_create: bool,
}

/// None when the server is none, or has no `halfvec`, or its user may not use it.
fn extension(tx: &mut Tx<'_>) -> Result<Option<Extension>, StoreError> {
    if tx.is_file() {
        return Ok(None);
    }
    tx.query_one(
        "SELECT quote_ident(n.nspname)::text, has_schema_privilege(current_schema()::text, 'CREATE'), EXISTS (SELECT 1 FROM pg_attribute a \
         WHERE a.attrelid = to_regclass(quote_ident(current_schema()) || '.#nearest') AND a.attname = 'vector' AND a.atttypid = t.oid) \
         FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace JOIN pg_type t ON t.typnamespace = n.oid AND t.typname = 'halfvec' \
         WHERE e.extname = 'vector' AND has_schema_privilege(n.oid, 'USAGE')",
        params![],
        |row| Ok(Extension { schema: row.text(0)?.to_owned(), may_create: row.truth(1)?, has_table: row.truth(2)? }),
    )
}

/// The table of copies.
#[derive(Debug)]
pub struct Table {
    schema: String,
}

/// The table of copies, if there is one that can be used.
pub fn table(tx: &mut Tx<'_>) -> Result<Option<Table>, StoreError> {
    Ok(extension(tx)?.filter(|extension| extension.has_table).map(|extension| Table { schema: extension.schema }))
}

/// What is to be copied.
#[derive(Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing.
    Nothing,
    /// The table is to be made.
    Table,
    /// The vectors of this reading.
    Reading(i64),
}

/// Looks for a reading without all of its copies that is none of these, in an edition whose compact copies take more than so many bytes.
pub fn due(tx: &mut Tx<'_>, least: u64, passed: &HashSet<i64>) -> Result<Due, StoreError> {
    let Some(extension) = extension(tx)?.filter(|extension| extension.has_table || extension.may_create) else { return Ok(Due::Nothing) };
    // The bytes are those of the longest vectors: what is smaller need not be looked at.
    let editions = tx.query(
        "SELECT e.no, SUM(r.done)::bigint FROM #editions e JOIN #readings r ON r.edition = e.no AND r.state = 'live' \
         WHERE e.state IN ('current', 'building') GROUP BY e.no HAVING SUM(r.done) > 0 AND SUM(r.done) >= $1 ORDER BY e.no",
        params![least / (LONGEST + 4)],
        |row| Ok((row.int(0)?, row.count(1)?)),
    )?;
    for (edition, count) in editions {
        let length = passages::vector_bytes(tx, edition)?.unwrap_or(0) / 4;
        if length > LONGEST || count * (length + 4) <= least {
            continue;
        }
        if !extension.has_table {
            return Ok(Due::Table);
        }
        if let Some(reading) = missing(tx, edition)?.difference(passed).min() {
            return Ok(Due::Reading(*reading));
        }
    }
    Ok(Due::Nothing)
}

/// The readings of an edition that searches see and that have not all of their copies.
pub fn missing(tx: &mut Tx<'_>, edition: i64) -> Result<HashSet<i64>, StoreError> {
    let found = tx.query(
        "SELECT r.no FROM #readings r WHERE r.edition = $1 AND r.state = 'live' AND r.done > 0 \
         AND NOT EXISTS (SELECT 1 FROM #nearest n WHERE n.key = r.no * 67108864)",
        params![edition],
        |row| row.int(0),
    )?;
    Ok(found.into_iter().collect())
}

/// Makes the table; one that lost its column with the extension is dropped first.
pub fn create(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.alone("nearest", "table")?;
    let Some(Extension { schema, has_table: false, .. }) = extension(tx)? else { return Ok(()) };
    // Rows of up to a page are not moved elsewhere: a search reads them all.
    tx.run_made(
        "DROP TABLE IF EXISTS #nearest; \
         CREATE TABLE #nearest (key BIGINT PRIMARY KEY REFERENCES #vectors (key) ON DELETE CASCADE, edition BIGINT NOT NULL, \
         vector EXTENSION.halfvec NOT NULL) WITH (toast_tuple_target = 8160); CREATE INDEX #nearest_edition ON #nearest (edition)",
        &[("EXTENSION", &schema)],
    )
}

/// Vectors that are to be copied.
#[derive(Debug)]
pub struct Copies {
    table: Table,
    edition: i64,
    vectors: Vec<(i64, String)>,
}

/// The next vectors of a reading to copy, from its last passage to its first; none when all are copied, or it is of no more use.
pub fn next(tx: &mut Tx<'_>, reading: i64) -> Result<Option<Copies>, StoreError> {
    let Some(table) = table(tx)? else { return Ok(None) };
    let (first, end) = (passages::key(reading, 0), passages::key(reading + 1, 0));
    let found = tx.query_one(
        "SELECT edition, done, (SELECT MIN(key) FROM #nearest WHERE key >= $2 AND key < $3) FROM #readings WHERE no = $1 AND state = 'live'",
        params![reading, first, end],
        |row| Ok((row.int(0)?, row.count(1)?, row.opt_int(2)?)),
    )?;
    let Some((edition, done, least)) = found else { return Ok(None) };
    let before = least.unwrap_or_else(|| passages::key(reading, done));
    let vectors = tx.query(
        "SELECT key, vector FROM #vectors WHERE key >= $1 AND key < $2 ORDER BY key",
        params![first.max(before - AT_ONCE), before],
        |row| Ok((row.int(0)?, text(row.blob(1)?.as_chunks::<4>().0.iter().map(|number| f32::from_le_bytes(*number))))),
    )?;
    Ok(Some(Copies { table, edition, vectors }).filter(|copies| !copies.vectors.is_empty()))
}

/// Numbers as the extension writes a vector.
fn text(numbers: impl Iterator<Item = f32>) -> String {
    let mut text = String::from("[");
    for (place, number) in numbers.enumerate() {
        let comma = if place == 0 { "" } else { "," };
        let _infallible = write!(text, "{comma}{number:.7}");
    }
    text.push(']');
    text
}

/// Keeps copies, of vectors that are still there.
pub fn keep(tx: &mut Tx<'_>, Copies { table, edition, vectors }: &Copies) -> Result<(), StoreError> {
    let rows: Vec<String> = vectors.iter().map(|(key, vector)| format!("({key},'{vector}')")).collect();
    tx.run_made(
        "INSERT INTO #nearest (key, edition, vector) SELECT v.key, EDITION, c.vector::EXTENSION.halfvec FROM (VALUES ROWS) c (key, vector) \
         JOIN #vectors v ON v.key = c.key FOR KEY SHARE OF v ON CONFLICT (key) DO NOTHING",
        &[("ROWS", &rows.join(",")), ("EDITION", &edition.to_string()), ("EXTENSION", &table.schema)],
    )
}

/// Keys of the passages of these readings whose vectors are most alike, best first.
pub fn find(tx: &mut Tx<'_>, table: &Table, edition: i64, readings: &[i64], vector: &[f32], limit: usize) -> Result<Vec<i64>, StoreError> {
    let mut found = Vec::new();
    // All rows are looked at: worth more processes of the server, and no compiling.
    tx.run_made("SET LOCAL jit = off; SET LOCAL parallel_setup_cost = 0", &[])?;
    tx.query_made(
        "SELECT key FROM #nearest WHERE edition = EDITION AND key >> 26 = ANY('READINGS'::bigint[]) \
         ORDER BY vector OPERATOR(EXTENSION.<#>) 'NUMBERS'::EXTENSION.halfvec, key LIMIT LENGTH",
        &[
            ("READINGS", &passages::array(readings)),
            ("NUMBERS", &text(vector.iter().copied())),
            ("EDITION", &edition.to_string()),
            ("LENGTH", &limit.to_string()),
            ("EXTENSION", &table.schema),
        ],
        &mut |row| {
            found.push(row.int(0)?);
            Ok(())
        },
    )?;
    Ok(found)
}
