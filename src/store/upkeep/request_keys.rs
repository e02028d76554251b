//! Owns the table of idempotency keys: each key is stored in the transaction of its request, with the answer.

use std::sync::Arc;

use serde_json::Value;

use crate::model::Timestamp;
use crate::store::db::{Tx, params, to_json};
use crate::store::error::StoreError;

/// How long a key is kept.
pub const LIFE_MS: i64 = 86_400_000;

/// A key, and the request that it was sent with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// Keys are unique per tenant and route.
    pub route: &'static str,
    /// As the client chose it.
    pub key: Arc<str>,
    /// A hash of path and body.
    pub request: Arc<str>,
}

/// What is stored under a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// The key was used for another body or path.
    Reused,
    /// The answer to the first request.
    Answered(Value),
}

/// Looks a key up.
pub fn find(tx: &mut Tx<'_>, tenant: &str, key: &RequestKey, now: Timestamp) -> Result<Option<Seen>, StoreError> {
    tx.query_one(
        "SELECT request_hash, answer FROM #idempotency WHERE tenant = $1 AND route = $2 AND key = $3 AND expires_at > $4",
        params![tenant, key.route, &*key.key, now.0],
        |row| {
            let same = row.text(0)? == &*key.request;
            Ok(if same { Seen::Answered(row.json(1)?) } else { Seen::Reused })
        },
    )
}

/// Stores the answer of a request, in the transaction that executes it.
///
/// # Errors
/// [`StoreError::KeyTaken`] when another request with the key was accepted meanwhile: the transaction must be rolled back.
pub fn keep(tx: &mut Tx<'_>, tenant: &str, key: &RequestKey, answer: &Value, now: Timestamp) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM #idempotency WHERE tenant = $1 AND route = $2 AND key = $3 AND expires_at <= $4",
        params![tenant, key.route, &*key.key, now.0],
    )?;
    let kept = tx.execute(
        "INSERT INTO #idempotency (tenant, route, key, request_hash, answer, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7) \
         ON CONFLICT (tenant, route, key) DO NOTHING",
        params![tenant, key.route, &*key.key, &*key.request, &to_json(answer)?, now.0, now.0 + LIFE_MS],
    )?;
    if kept == 1 { Ok(()) } else { Err(StoreError::KeyTaken) }
}

/// Deletes at most `limit` expired keys of all tenants; returns how many.
pub fn delete_expired(tx: &mut Tx<'_>, now: Timestamp, limit: usize) -> Result<u64, StoreError> {
    tx.execute(
        "DELETE FROM #idempotency WHERE (tenant, route, key) IN \
         (SELECT tenant, route, key FROM #idempotency WHERE expires_at <= $1 LIMIT $2)",
        params![now.0, limit as u64],
    )
}
