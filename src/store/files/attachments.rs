//! Owns uploaded files and their references.

use crate::model::Timestamp;
use crate::store::db::{Row, Tx, params};
use crate::store::error::StoreError;

/// An uploaded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentRow {
    /// 32 random bytes in base64url.
    pub storage_key: String,
    /// Who uploaded it.
    pub user_id: Option<String>,
    /// `image`, `audio`, `video` or `document`.
    pub kind: String,
    /// Such as `image/png`.
    pub mime_type: String,
    /// Its name.
    pub name: Option<String>,
    /// Bytes.
    pub size: u64,
    /// When.
    pub created_at: Timestamp,
    /// A run or a message refers to it, or did.
    pub used: bool,
}

/// A file that is stored together with the entry of a log that names it.
#[derive(Clone, Debug)]
pub struct KeptFile {
    /// What is known of it.
    pub row: AttachmentRow,
    /// Its bytes; none when they are kept elsewhere, and there already.
    pub content: Option<bytes::Bytes>,
}

impl AttachmentRow {
    /// Its uploader may read it, and everyone of the tenant once a run or a message refers to it.
    pub fn readable(&self, user: Option<&str>) -> bool {
        self.used || self.user_id.is_none() || user.is_none() || self.user_id.as_deref() == user
    }
}

/// Stores a file; without `content` its bytes are kept elsewhere.
pub fn insert(tx: &mut Tx<'_>, tenant: &str, row: &AttachmentRow, content: Option<&[u8]>) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO #attachments (tenant, storage_key, user_id, kind, mime_type, name, size, created_at, used, content) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        params![
            tenant,
            &row.storage_key,
            row.user_id.as_ref(),
            &row.kind,
            &row.mime_type,
            row.name.as_ref(),
            row.size,
            row.created_at.0,
            row.used,
            content,
        ],
    )?;
    if content.is_none() { removed(tx, tenant, &row.storage_key) } else { Ok(()) }
}

fn of_row(row: &Row<'_>) -> Result<AttachmentRow, StoreError> {
    Ok(AttachmentRow {
        storage_key: row.text(0)?.to_owned(),
        user_id: row.opt_text(1)?.map(str::to_owned),
        kind: row.text(2)?.to_owned(),
        mime_type: row.text(3)?.to_owned(),
        name: row.opt_text(4)?.map(str::to_owned),
        size: row.count(5)?,
        created_at: Timestamp(row.int(6)?),
        used: row.truth(7)?,
    })
}

/// What is known of a file.
pub fn get(tx: &mut Tx<'_>, tenant: &str, storage_key: &str) -> Result<Option<AttachmentRow>, StoreError> {
    tx.query_one(
        "SELECT storage_key, user_id, kind, mime_type, name, size, created_at, used FROM #attachments \
         WHERE tenant = $1 AND storage_key = $2",
        params![tenant, storage_key],
        of_row,
    )
}

/// The bytes of a file that are kept in the database.
pub fn content(tx: &mut Tx<'_>, tenant: &str, storage_key: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let found = tx.query_one(
        "SELECT content FROM #attachments WHERE tenant = $1 AND storage_key = $2",
        params![tenant, storage_key],
        |row| row.opt_blob(0).map(|bytes| bytes.map(<[u8]>::to_vec)),
    )?;
    Ok(found.flatten())
}

/// So many bytes of a file that is kept in the database, or as many as there are, behind so many others.
pub fn part(tx: &mut Tx<'_>, tenant: &str, storage_key: &str, skipped: u64, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let found = tx.query_one(
        "SELECT substr(content, CAST($3 AS INTEGER), CAST($4 AS INTEGER)) FROM #attachments WHERE tenant = $1 AND storage_key = $2",
        params![tenant, storage_key, skipped.saturating_add(1), most],
        |row| row.opt_blob(0).map(|bytes| bytes.map(<[u8]>::to_vec)),
    )?;
    Ok(found.flatten())
}

/// Holds the row of a file until this transaction ends, so that nobody removes the file or begins to use it meanwhile; false when there is none.
/// A server has room for the locks of any number of rows, but not for as many others.
fn hold(tx: &mut Tx<'_>, tenant: &str, file: &str) -> Result<bool, StoreError> {
    let found = tx.query_one(
        "SELECT 1 FROM #attachments WHERE tenant = $1 AND storage_key = $2{| FOR UPDATE}",
        params![tenant, file],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// Refuses when a file was removed; otherwise it stays until this transaction ends.
pub fn must_be_kept(tx: &mut Tx<'_>, tenant: &str, file: &str) -> Result<(), StoreError> {
    if hold(tx, tenant, file)? { Ok(()) } else { Err(StoreError::FileRemoved(file.to_owned())) }
}

/// Notes that a run or a thread refers to a file.
pub fn refer(tx: &mut Tx<'_>, tenant: &str, file: &str, owner_kind: &str, owner: &str) -> Result<(), StoreError> {
    // Only one connection at a time writes to a file of SQLite.
    if !tx.is_file() {
        tx.send("SELECT 1 FROM #attachments WHERE tenant = $1 AND storage_key = $2 FOR UPDATE", params![tenant, file])?;
    }
    tx.send(
        "INSERT INTO #attachment_uses (tenant, storage_key, owner_kind, owner) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (tenant, storage_key, owner_kind, owner) DO NOTHING",
        params![tenant, file, owner_kind, owner],
    )?;
    tx.send(
        "UPDATE #attachments SET used = 1 WHERE tenant = $1 AND storage_key = $2 AND used = 0",
        params![tenant, file],
    )?;
    Ok(())
}

/// Whether a run or a thread refers to a file.
pub fn in_use(tx: &mut Tx<'_>, tenant: &str, storage_key: &str) -> Result<bool, StoreError> {
    let found = tx.query_one(
        "SELECT 1 FROM #attachment_uses WHERE tenant = $1 AND storage_key = $2 LIMIT 1",
        params![tenant, storage_key],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// Who refers to a file that is about to be removed, as kind and id; at most `limit`. Until this transaction ends, nobody begins to.
pub fn used_by(tx: &mut Tx<'_>, tenant: &str, storage_key: &str, limit: usize) -> Result<Vec<(String, String)>, StoreError> {
    hold(tx, tenant, storage_key)?;
    tx.query(
        "SELECT owner_kind, owner FROM #attachment_uses WHERE tenant = $1 AND storage_key = $2 ORDER BY owner_kind, owner LIMIT $3",
        params![tenant, storage_key, limit as u64],
        |row| Ok((row.text(0)?.to_owned(), row.text(1)?.to_owned())),
    )
}

/// A run or a thread is gone: removes the files that nothing refers to any more, and gives their storage keys. Clients choose ids of threads, also
/// one that a run has: the kind tells them apart.
pub(in crate::store) fn release(tx: &mut Tx<'_>, tenant: &str, owner_kind: &str, owner: &str) -> Result<Vec<String>, StoreError> {
    let files = tx.query(
        "DELETE FROM #attachment_uses WHERE owner = $1 AND tenant = $2 AND owner_kind = $3 RETURNING storage_key",
        params![owner, tenant, owner_kind],
        |row| Ok(row.text(0)?.to_owned()),
    )?;
    let mut gone = Vec::new();
    for file in files {
        if hold(tx, tenant, &file)? && !in_use(tx, tenant, &file)? && delete(tx, tenant, &file)? {
            gone.push(file);
        }
    }
    Ok(gone)
}

/// Removes a file; false when there is none. Bytes in a folder are noted to be removed from there.
pub fn delete(tx: &mut Tx<'_>, tenant: &str, storage_key: &str) -> Result<bool, StoreError> {
    let elsewhere = tx.query_one(
        "DELETE FROM #attachments WHERE tenant = $1 AND storage_key = $2 RETURNING CASE WHEN content IS NULL THEN 1 ELSE 0 END",
        params![tenant, storage_key],
        |row| row.truth(0),
    )?;
    if elsewhere == Some(true) {
        to_remove(tx, tenant, storage_key, Timestamp(0))?;
    }
    Ok(elsewhere.is_some())
}

/// Notes bytes in a folder that nothing leads to: they are to be removed when they are still noted at `due`.
pub fn to_remove(tx: &mut Tx<'_>, tenant: &str, storage_key: &str, due: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO #files_to_remove (tenant, storage_key, due_at) VALUES ($1, $2, $3) \
         ON CONFLICT (tenant, storage_key) DO UPDATE SET due_at = excluded.due_at",
        params![tenant, storage_key, due.0],
    )
    .map(drop)
}

/// Bytes in a folder that are due to be removed, after a place in the order of tenant and storage key.
pub fn due_to_remove(
    tx: &mut Tx<'_>,
    (tenant, key): (&str, &str),
    now: Timestamp,
    limit: usize,
) -> Result<Vec<(String, String)>, StoreError> {
    tx.query(
        "SELECT tenant, storage_key FROM #files_to_remove WHERE (tenant > $1 OR (tenant = $1 AND storage_key > $2)) AND due_at <= $3 \
         ORDER BY tenant, storage_key LIMIT $4",
        params![tenant, key, now.0, limit as u64],
        |row| Ok((row.text(0)?.to_owned(), row.text(1)?.to_owned())),
    )
}

/// Files whose bytes are in the folder, behind a number: number, tenant, storage key.
pub fn in_folder(tx: &mut Tx<'_>, after: i64, limit: usize) -> Result<Vec<(i64, String, String)>, StoreError> {
    tx.query(
        "SELECT no, tenant, storage_key FROM #attachments WHERE no > $1 AND content IS NULL ORDER BY no LIMIT $2",
        params![after, limit as u64],
        |row| Ok((row.int(0)?, row.text(1)?.to_owned(), row.text(2)?.to_owned())),
    )
}

/// Bytes that were noted are gone from their folder, or belong to a file.
pub fn removed(tx: &mut Tx<'_>, tenant: &str, storage_key: &str) -> Result<(), StoreError> {
    tx.execute("DELETE FROM #files_to_remove WHERE tenant = $1 AND storage_key = $2", params![tenant, storage_key]).map(drop)
}

/// Which files are too old: those that nothing ever used, and, where used ones have a limit, those that no run still needs.
macro_rules! old_files {
    ($columns:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM #attachments a WHERE (a.used = 0 AND a.created_at < $1 AND NOT EXISTS (SELECT 1 FROM #attachment_uses u \
             WHERE u.tenant = a.tenant AND u.storage_key = a.storage_key)) OR (a.used = 1 AND a.created_at < $2 AND NOT EXISTS \
             (SELECT 1 FROM #attachment_uses u JOIN #runs r ON r.id = u.owner AND r.tenant = u.tenant WHERE u.tenant = a.tenant \
             AND u.storage_key = a.storage_key AND u.owner_kind = 'run' AND r.status NOT IN ('completed', 'failed', 'cancelled')))",
            $rest
        )
    };
}

/// Whether a run that is not over refers to a file.
fn is_needed(tx: &mut Tx<'_>, tenant: &str, storage_key: &str) -> Result<bool, StoreError> {
    let found = tx.query_one(
        "SELECT 1 FROM #attachment_uses u JOIN #runs r ON r.id = u.owner AND r.tenant = u.tenant WHERE u.tenant = $1 AND u.storage_key = $2 \
         AND u.owner_kind = 'run' AND r.status NOT IN ('completed', 'failed', 'cancelled') LIMIT 1",
        params![tenant, storage_key],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// How many files are too old.
pub fn count_old(tx: &mut Tx<'_>, unused_before: Timestamp, used_before: Option<Timestamp>) -> Result<u64, StoreError> {
    let found = tx.query_one(
        old_files!("COUNT(*)", ""),
        params![unused_before.0, used_before.map_or(i64::MIN, |at| at.0)],
        |row| row.count(0),
    )?;
    Ok(found.unwrap_or(0))
}

/// Files that are too old, at most `limit`: tenant and storage key of each, and whether it was ever used.
pub fn old(
    tx: &mut Tx<'_>,
    unused_before: Timestamp,
    used_before: Option<Timestamp>,
    limit: usize,
) -> Result<Vec<(String, String, bool)>, StoreError> {
    tx.query(
        old_files!("a.tenant, a.storage_key, a.used", " LIMIT $3"),
        params![unused_before.0, used_before.map_or(i64::MIN, |at| at.0), limit as u64],
        |row| Ok((row.text(0)?.to_owned(), row.text(1)?.to_owned(), row.truth(2)?)),
    )
}

/// Removes a file that was found to be too old; false when somebody has begun to use it since. Messages may still name a used one.
pub fn delete_free(tx: &mut Tx<'_>, tenant: &str, file: &str, used: bool) -> Result<bool, StoreError> {
    if !hold(tx, tenant, file)? {
        return Ok(false);
    }
    let is_free = if used { !is_needed(tx, tenant, file)? } else { !in_use(tx, tenant, file)? };
    if !is_free || !delete(tx, tenant, file)? {
        return Ok(false);
    }
    tx.execute("DELETE FROM #attachment_uses WHERE tenant = $1 AND storage_key = $2", params![tenant, file])?;
    Ok(true)
}
