//! Owns the documents of knowledge bases: their rows, their results, and the figures of a base.

use serde_json::Value;

use crate::model::chat::Tokens;
use crate::model::usage::{Picos, Usage};
use crate::model::{Id, Timestamp};
use crate::store::db::{Row, Tx, params, to_json};
use crate::store::error::StoreError;
use crate::store::knowledge::{editions, readings};
use crate::store::runs::list::pattern;

/// A document.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct DocumentRow {
    /// Its place in lists; 0 before it is stored.
    pub no: i64,
    pub id: Id,
    pub base: Id,
    pub name: String,
    /// `manual` or `file`.
    pub source_type: String,
    /// Such as `text/markdown`.
    pub mime_type: String,
    /// Bytes.
    pub size: u64,
    /// What filters ask for.
    pub metadata: Value,
    /// When it came.
    pub created_at: Timestamp,
    /// When it was last read.
    pub updated_at: Timestamp,
    /// What its embeddings took.
    pub usage: Usage,
    /// How far it is.
    pub state: DocumentState,
}

/// How far a document is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentState {
    /// `pending`, `processing`, `completed` or `failed`.
    pub status: &'static str,
    /// Why it failed, or why the last attempt did.
    pub error: Option<String>,
    /// Passages with their vector.
    pub chunks: u64,
}

macro_rules! select {
    () => {
        "SELECT d.no, d.id, d.base, d.name, d.source_type, d.mime_type, d.size, d.metadata, d.created_at, d.updated_at, d.prompt, \
         d.completion, d.cached, d.cache_write, d.reasoning, d.cost, d.unpriced, n.state, n.error, n.done, \
         (SELECT COUNT(*) FROM #readings r WHERE r.document = d.no AND r.state = 'working'), \
         (SELECT COUNT(*) FROM #readings r WHERE r.document = d.no AND r.state = 'waiting') \
         FROM #documents d LEFT JOIN #readings n ON n.no = \
         (SELECT MAX(r.no) FROM #readings r WHERE r.document = d.no AND r.state <> 'gone') "
    };
}

fn of_row(row: &Row<'_>) -> Result<DocumentRow, StoreError> {
    let tokens = Tokens {
        prompt: row.count(10)?,
        completion: row.count(11)?,
        cached: row.count(12)?,
        cache_write: row.count(13)?,
        reasoning: row.count(14)?,
        ..Tokens::default()
    };
    let status = match (row.opt_text(17)?, row.int(20)?, row.int(21)?) {
        (_, working, _) if working > 0 => "processing",
        (_, _, waiting) if waiting > 0 => "pending",
        (Some("live"), ..) => "completed",
        (Some("failed"), ..) => "failed",
        _ => "pending",
    };
    Ok(DocumentRow {
        no: row.int(0)?,
        id: row.id(1)?,
        base: row.id(2)?,
        name: row.text(3)?.to_owned(),
        source_type: row.text(4)?.to_owned(),
        mime_type: row.text(5)?.to_owned(),
        size: row.count(6)?,
        metadata: row.json(7)?,
        created_at: Timestamp(row.int(8)?),
        updated_at: Timestamp(row.int(9)?),
        usage: Usage { tokens, cost: Picos(row.int(15)?), unpriced: row.truth(16)? },
        state: DocumentState {
            status,
            error: row.opt_text(18)?.map(str::to_owned),
            chunks: row.opt_int(19)?.and_then(|done| u64::try_from(done).ok()).unwrap_or(0),
        },
    })
}

/// Stores a document with its bytes; gives its number.
pub fn insert(tx: &mut Tx<'_>, tenant: &str, row: &DocumentRow, content: &[u8]) -> Result<i64, StoreError> {
    let no = tx.insert(
        "INSERT INTO #documents (id, tenant, base, name, source_type, mime_type, size, metadata, created_at, updated_at, prompt, \
         completion, cached, cache_write, reasoning, cost, unpriced) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0, 0, 0, 0, 0, 0){| RETURNING no}",
        params![
            &row.id.to_string(),
            tenant,
            &row.base.to_string(),
            &row.name,
            &row.source_type,
            &row.mime_type,
            row.size,
            &to_json(&row.metadata)?,
            row.created_at.0,
            row.updated_at.0,
        ],
    )?;
    tx.execute("INSERT INTO #document_contents (document, content) VALUES ($1, $2)", params![no, content])?;
    Ok(no)
}

/// A document of a base.
pub fn get(tx: &mut Tx<'_>, tenant: &str, base: &Id, id: &Id) -> Result<Option<DocumentRow>, StoreError> {
    tx.query_one(
        concat!(select!(), "WHERE d.tenant = $1 AND d.base = $2 AND d.id = $3"),
        params![tenant, &base.to_string(), &id.to_string()],
        of_row,
    )
}

/// A document by its number.
pub fn by_no(tx: &mut Tx<'_>, no: i64) -> Result<Option<DocumentRow>, StoreError> {
    tx.query_one(concat!(select!(), "WHERE d.no = $1"), params![no], of_row)
}

/// The documents of a base, newest first, after the place `after`, at most `limit`; `q` is a part of the name.
pub fn list(
    tx: &mut Tx<'_>,
    tenant: &str,
    base: &Id,
    q: Option<&str>,
    after: Option<i64>,
    limit: usize,
) -> Result<Vec<DocumentRow>, StoreError> {
    let q = q.map(|q| pattern(tx.is_file(), q));
    tx.query(
        concat!(
            select!(),
            "WHERE d.tenant = $1 AND d.base = $2 AND d.no < $3 AND ($4 IS NULL OR lower(d.name) {LIKE $4 ESCAPE '\\'|~ $4}) \
             ORDER BY d.no DESC LIMIT $5"
        ),
        params![tenant, &base.to_string(), after.unwrap_or(i64::MAX), q.as_ref(), limit as u64],
        of_row,
    )
}

/// Numbers of all documents of a base, the oldest first.
pub fn numbers(tx: &mut Tx<'_>, tenant: &str, base: &Id) -> Result<Vec<i64>, StoreError> {
    tx.query("SELECT no FROM #documents WHERE tenant = $1 AND base = $2 ORDER BY no", params![tenant, &base.to_string()], |row| row.int(0))
}

/// The bytes of a document.
pub fn content(tx: &mut Tx<'_>, no: i64) -> Result<Option<Vec<u8>>, StoreError> {
    tx.query_one("SELECT content FROM #document_contents WHERE document = $1", params![no], |row| Ok(row.blob(0)?.to_vec()))
}

/// So many bytes of what was sent, or as many as there are, behind so many others.
pub fn part(tx: &mut Tx<'_>, no: i64, skipped: u64, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
    tx.query_one(
        "SELECT substr(content, CAST($2 AS INTEGER), CAST($3 AS INTEGER)) FROM #document_contents WHERE document = $1",
        params![no, skipped.saturating_add(1), most],
        |row| Ok(row.blob(0)?.to_vec()),
    )
}

/// Adds what embeddings of a document took.
pub fn add_usage(tx: &mut Tx<'_>, no: i64, usage: &Usage, now: Timestamp) -> Result<(), StoreError> {
    let tokens = &usage.tokens;
    tx.execute(
        "UPDATE #documents SET prompt = prompt + $1, completion = completion + $2, cached = cached + $3, cache_write = cache_write + $4, \
         reasoning = reasoning + $5, cost = cost + $6, unpriced = CASE WHEN $7 = 1 THEN 1 ELSE unpriced END, updated_at = $8 WHERE no = $9",
        params![
            tokens.prompt,
            tokens.completion,
            tokens.cached,
            tokens.cache_write,
            tokens.reasoning,
            usage.cost.0,
            usage.unpriced,
            now.0,
            no,
        ],
    )
    .map(drop)
}

/// Removes a document; its passages are found no more.
pub fn delete(tx: &mut Tx<'_>, tenant: &str, base: &Id, no: i64) -> Result<(), StoreError> {
    // Nobody asks for a reading of it meanwhile.
    editions::alone(tx, base)?;
    readings::forget(tx, no)?;
    tx.execute("DELETE FROM #document_contents WHERE document = $1", params![no])?;
    tx.execute("DELETE FROM #documents WHERE no = $1", params![no])?;
    for edition in editions::of_base(tx, tenant, base)? {
        editions::changed(tx, edition.no)?;
    }
    editions::swap_when_whole(tx, tenant, base).map(drop)
}

/// Removes all documents of a base. Those that are added at the same time come before it, and go too, or find their base gone.
pub fn delete_all(tx: &mut Tx<'_>, tenant: &str, base: &Id) -> Result<(), StoreError> {
    editions::alone(tx, base)?;
    editions::close_all(tx, tenant, base)?;
    let base = base.to_string();
    tx.execute(
        "DELETE FROM #document_contents WHERE document IN (SELECT no FROM #documents WHERE tenant = $1 AND base = $2)",
        params![tenant, &base],
    )?;
    tx.execute("DELETE FROM #documents WHERE tenant = $1 AND base = $2", params![tenant, &base]).map(drop)
}

/// What a base holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Its documents.
    pub documents: u64,
    /// Passages that searches see.
    pub chunks: u64,
    /// Bytes of its documents.
    pub bytes: u64,
}

/// The figures of a base.
pub fn figures(tx: &mut Tx<'_>, tenant: &str, base: &Id) -> Result<Figures, StoreError> {
    let base = base.to_string();
    let found = tx.query_one(
        "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM #documents WHERE tenant = $1 AND base = $2",
        params![tenant, &base],
        |row| Ok((row.count(0)?, row.count(1)?)),
    )?;
    let chunks = tx.query_one(
        "SELECT CAST(COALESCE(SUM(r.done), 0) AS BIGINT) FROM #readings r JOIN #editions e ON e.no = r.edition \
         WHERE e.tenant = $1 AND e.base = $2 AND e.state = 'current' AND r.state = 'live'",
        params![tenant, &base],
        |row| row.count(0),
    )?;
    let (documents, bytes) = found.unwrap_or_default();
    Ok(Figures { documents, chunks: chunks.unwrap_or(0), bytes })
}
