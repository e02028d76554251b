//! Owns the answers to requests that may be sent twice.

use serde_json::Value;

use super::db::{Tx, params, to_json};
use super::error::StoreError;
use crate::model::Timestamp;

/// How long a key is kept.
pub const LIFE_MS: i64 = 86_400_000;
/// A request whose process died while it was being accepted blocks its key no longer than this.
const ACCEPTING_MS: i64 = 60_000;

/// What is known of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// Nothing: the key is now held, and `answered` or `freed` must follow.
    First,
    /// The first request is still being accepted.
    InProgress,
    /// It belongs to another request: other body or path.
    Reused,
    /// The answer that was given.
    Answered(Value),
}

/// Takes a key, or says what it was used for. `request` is a hash of path and body.
pub fn begin(
    tx: &mut Tx<'_>,
    tenant: &str,
    route: &str,
    key: &str,
    request: &str,
    now: Timestamp,
) -> Result<Seen, StoreError> {
    tx.alone("idempotency", key)?;
    let found = tx.query_one(
        "SELECT request_hash, answer, created_at FROM #idempotency WHERE tenant = $1 AND route = $2 AND key = $3 AND expires_at > $4",
        params![tenant, route, key, now.0],
        |row| {
            let same = row.text(0)? == request;
            let seen = match row.opt_json(1)? {
                _ if !same => Seen::Reused,
                Some(answer) => Seen::Answered(answer),
                None => Seen::InProgress,
            };
            Ok((seen, row.opt_text(1)?.is_none() && row.int(2)? < now.0 - ACCEPTING_MS))
        },
    )?;
    if let Some((seen, false)) = found {
        return Ok(seen);
    }
    tx.execute(
        "INSERT INTO #idempotency (tenant, route, key, request_hash, answer, created_at, expires_at) VALUES ($1, $2, $3, $4, NULL, $5, $6) \
         ON CONFLICT (tenant, route, key) DO UPDATE SET request_hash = excluded.request_hash, answer = NULL, \
         created_at = excluded.created_at, expires_at = excluded.expires_at",
        params![tenant, route, key, request, now.0, now.0 + LIFE_MS],
    )?;
    Ok(Seen::First)
}

/// The request was accepted with this answer.
pub fn answered(tx: &mut Tx<'_>, tenant: &str, route: &str, key: &str, answer: &Value) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE #idempotency SET answer = $1 WHERE tenant = $2 AND route = $3 AND key = $4",
        params![&to_json(answer)?, tenant, route, key],
    )?;
    Ok(())
}

/// The request was refused: the key is free.
pub fn freed(tx: &mut Tx<'_>, tenant: &str, route: &str, key: &str) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM #idempotency WHERE tenant = $1 AND route = $2 AND key = $3 AND answer IS NULL",
        params![tenant, route, key],
    )?;
    Ok(())
}

/// Removes keys whose time is over, of every tenant, at most `limit`; says how many.
pub fn delete_expired(tx: &mut Tx<'_>, now: Timestamp, limit: usize) -> Result<u64, StoreError> {
    tx.execute(
        "DELETE FROM #idempotency WHERE (tenant, route, key) IN \
         (SELECT tenant, route, key FROM #idempotency WHERE expires_at <= $1 LIMIT $2)",
        params![now.0, limit as u64],
    )
}
