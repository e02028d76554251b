//! Owns the records of answered requests. Stand-in until the real one is merged.
use serde_json::Value;

use super::{StoreError, Tx};
use crate::model::Timestamp;

/// What a key is worth.
#[derive(Debug, PartialEq)]
#[expect(missing_docs, reason = "a stand-in")]
pub enum Seen { First, InProgress, Reused, Answered(Value) }

fn at(tenant: &str, route: &str, key: &str) -> (String, String, String) {
    (tenant.into(), route.into(), key.into())
}
/// Takes a key for a request, or says why not.
pub fn begin(tx: &mut Tx<'_>, tenant: &str, route: &str, key: &str, request_hash: &str, _now: Timestamp) -> Result<Seen, StoreError> {
    let at = at(tenant, route, key);
    Ok(match tx.0.get(&at) {
        None => { tx.0.insert(at, (request_hash.into(), None)); Seen::First }
        Some((hash, _)) if hash != request_hash => Seen::Reused,
        Some((_, None)) => Seen::InProgress,
        Some((_, Some(answer))) => Seen::Answered(answer.clone()),
    })
}
/// Keeps the answer.
pub fn answered(tx: &mut Tx<'_>, tenant: &str, route: &str, key: &str, answer: &Value) -> Result<(), StoreError> {
    if let Some(row) = tx.0.get_mut(&at(tenant, route, key)) { row.1 = Some(answer.clone()); }
    Ok(())
}
/// Frees a key whose request was refused.
pub fn freed(tx: &mut Tx<'_>, tenant: &str, route: &str, key: &str) -> Result<(), StoreError> {
    tx.0.remove(&at(tenant, route, key));
    Ok(())
}
