//! Owns node checkpoints: results of nodes that can be reused in the same run.

use serde_json::Value;

use crate::model::{Id, Timestamp};
use crate::store::db::{Row, Tx, params};
use crate::store::error::StoreError;

/// A node's stored result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointRow {
    /// SHA-256 in hex of run, node, iteration path and input hash.
    pub key: String,
    /// The run.
    pub run: Id,
    /// The node.
    pub node_id: String,
    /// Where in loops and forks.
    pub iteration_path: String,
    /// What the node read.
    pub input_hash: String,
    /// It left by this handle.
    pub handle: String,
    /// The keys that it wrote (JSON object).
    pub change: String,
    /// What it added to its memory (`model::event::Turn`) as JSON.
    pub turn: Option<String>,
    /// When it was stored.
    pub created_at: Timestamp,
    /// None = never.
    pub expires_at: Option<Timestamp>,
}

/// Stores a result; the first one stays until it expires.
pub fn store(tx: &mut Tx<'_>, tenant: &str, row: &CheckpointRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO #workflow_checkpoints AS c (key, tenant, run, node_id, iteration_path, input_hash, handle, change, created_at, expires_at, turn) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (key) DO UPDATE SET \
         handle = excluded.handle, change = excluded.change, created_at = excluded.created_at, expires_at = excluded.expires_at, \
         turn = excluded.turn WHERE c.tenant = excluded.tenant AND c.expires_at <= excluded.created_at",
        params![
            &row.key,
            tenant,
            &row.run.to_string(),
            &row.node_id,
            &row.iteration_path,
            &row.input_hash,
            &row.handle,
            &row.change,
            row.created_at.0,
            row.expires_at.map(|at| at.0),
            row.turn.as_ref(),
        ],
    )?;
    Ok(())
}

fn of_row(row: &Row<'_>) -> Result<CheckpointRow, StoreError> {
    Ok(CheckpointRow {
        key: row.text(0)?.to_owned(),
        run: row.id(1)?,
        node_id: row.text(2)?.to_owned(),
        iteration_path: row.text(3)?.to_owned(),
        input_hash: row.text(4)?.to_owned(),
        handle: row.text(5)?.to_owned(),
        change: row.text(6)?.to_owned(),
        created_at: Timestamp(row.int(7)?),
        expires_at: row.opt_int(8)?.map(Timestamp),
        turn: row.opt_text(9)?.map(str::to_owned),
    })
}

/// A result that is used again.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// It left by this handle.
    pub handle: String,
    /// The keys that it wrote.
    pub change: Value,
    /// What it added to its memory.
    pub turn: Option<Value>,
}

/// A result that has not expired.
pub fn find(tx: &mut Tx<'_>, tenant: &str, key: &str, now: Timestamp) -> Result<Option<Kept>, StoreError> {
    tx.query_one(
        "SELECT handle, change, turn FROM #workflow_checkpoints WHERE key = $1 AND tenant = $2 AND (expires_at IS NULL OR expires_at > $3)",
        params![key, tenant, now.0],
        |row| Ok(Kept { handle: row.text(0)?.to_owned(), change: row.json(1)?, turn: row.opt_json(2)? }),
    )
}

/// The results of a run, or of all runs, newest first, at most `limit`.
pub fn list(tx: &mut Tx<'_>, tenant: &str, run: Option<&Id>, limit: usize) -> Result<Vec<CheckpointRow>, StoreError> {
    let columns = |tx: &mut Tx<'_>| match run {
        Some(run) => tx.query(
            "SELECT key, run, node_id, iteration_path, input_hash, handle, change, created_at, expires_at, turn \
             FROM #workflow_checkpoints WHERE run = $1 AND tenant = $2 ORDER BY created_at DESC, key LIMIT $3",
            params![&run.to_string(), tenant, limit as u64],
            of_row,
        ),
        None => tx.query(
            "SELECT key, run, node_id, iteration_path, input_hash, handle, change, created_at, expires_at, turn \
             FROM #workflow_checkpoints WHERE tenant = $1 ORDER BY created_at DESC, key LIMIT $2",
            params![tenant, limit as u64],
            of_row,
        ),
    };
    columns(tx)
}

/// Removes the results of a run; says how many.
pub fn delete_of_run(tx: &mut Tx<'_>, tenant: &str, run: &Id) -> Result<u64, StoreError> {
    tx.execute(
        "DELETE FROM #workflow_checkpoints WHERE run = $1 AND tenant = $2",
        params![&run.to_string(), tenant],
    )
}

/// Removes expired results of every tenant, at most `limit`; says how many.
pub fn delete_expired(tx: &mut Tx<'_>, now: Timestamp, limit: usize) -> Result<u64, StoreError> {
    tx.execute(
        "DELETE FROM #workflow_checkpoints WHERE key IN \
         (SELECT key FROM #workflow_checkpoints WHERE expires_at IS NOT NULL AND expires_at <= $1 LIMIT $2)",
        params![now.0, limit as u64],
    )
}

/// Removes results of every run of every tenant, at most `limit`; says how many.
pub fn delete_any(tx: &mut Tx<'_>, limit: usize) -> Result<u64, StoreError> {
    tx.execute(
        "DELETE FROM #workflow_checkpoints WHERE key IN (SELECT key FROM #workflow_checkpoints LIMIT $1)",
        params![limit as u64],
    )
}
