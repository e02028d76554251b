//! Owns requests that are sent again: the key, what it is kept under, and which of the answers a key gets.

use http::HeaderMap;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Kind, Result};
use crate::store::idempotency::{self, Seen};
use crate::studio::{Scope, Studio};

/// A key and the request that it was sent with.
#[derive(Clone, Debug)]
pub(super) struct Key {
    /// Kept per tenant and route.
    route: &'static str,
    key: String,
    /// Of what was asked for: its id and its body.
    hash: String,
}

/// What a key leads to.
pub(super) enum Claimed {
    /// The request is the first with its key.
    First,
    /// It was answered before.
    Answered(Value),
}

impl Key {
    /// Reads the key of a request; most have none.
    pub(super) fn of(headers: &HeaderMap, route: &'static str, id: &str, body: &Value) -> Result<Option<Self>> {
        let Some(given) = headers.get("idempotency-key") else { return Ok(None) };
        let key = given.as_bytes();
        if !(1..=255).contains(&key.len()) || !key.iter().all(u8::is_ascii_graphic) {
            return Err(Error::field("Idempotency-Key", "Idempotency-Key must be 1 to 255 visible ASCII characters"));
        }
        let key = String::from_utf8_lossy(key).into_owned();
        Ok(Some(Self { route, key, hash: hash(id, body) }))
    }

    /// Takes the key for this request, or finds the answer that it was given before.
    pub(super) async fn claim(&self, studio: &Studio, scope: &Scope) -> Result<Claimed> {
        let (key, tenant) = (self.clone(), scope.tenant.clone());
        let now = studio.world().clock.now();
        let store = &studio.world().store;
        let seen = store.write(move |tx| idempotency::begin(tx, &tenant, key.route, &key.key, &key.hash, now)).await?;
        match seen {
            Seen::First => Ok(Claimed::First),
            Seen::Answered(answer) => Ok(Claimed::Answered(answer)),
            Seen::InProgress => {
                let told = "the first request with this Idempotency-Key is still being accepted";
                Err(Error::new(Kind::IdempotencyInProgress, told))
            }
            Seen::Reused => {
                let told = "this Idempotency-Key was sent with another body or path";
                Err(Error::new(Kind::IdempotencyKeyReused, told))
            }
        }
    }

    /// Keeps the answer for whoever sends the key again.
    pub(super) async fn settle(&self, studio: &Studio, scope: &Scope, answer: Value) {
        let (key, tenant) = (self.clone(), scope.tenant.clone());
        let store = &studio.world().store;
        let kept = store.write(move |tx| idempotency::answered(tx, &tenant, key.route, &key.key, &answer)).await;
        if let Err(error) = kept.map_err(Error::from) {
            tracing::warn!("an answer could not be kept for its Idempotency-Key: {error}");
        }
    }

    /// The request was refused: the key is free.
    pub(super) async fn release(&self, studio: &Studio, scope: &Scope) {
        let (key, tenant) = (self.clone(), scope.tenant.clone());
        let store = &studio.world().store;
        let freed = store.write(move |tx| idempotency::freed(tx, &tenant, key.route, &key.key)).await;
        if let Err(error) = freed.map_err(Error::from) {
            tracing::warn!("an Idempotency-Key could not be freed: {error}");
        }
    }
}

fn hash(id: &str, body: &Value) -> String {
    let mut hasher = Sha256::new();
    hasher.update(id.as_bytes());
    hasher.update([0]);
    hasher.update(body.to_string().as_bytes());
    hasher.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
        hex.extend([byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap_or('0')));
        hex
    })
}
