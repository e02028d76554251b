//! Owns the header `Idempotency-Key`: reads it, and finds the answer to an earlier request with the same key.

use axum::response::Response;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Kind, Result};
use crate::store::StoreError;
use crate::store::upkeep::request_keys::{self, RequestKey, Seen};
use crate::studio::{Scope, Studio, Upload};

const KEY: &str = "idempotency-key";

/// Whether a request has a key; what is costly to compare is only then looked at.
pub(super) fn has_key(headers: &HeaderMap) -> bool {
    headers.contains_key(KEY)
}

/// Reads the key of a request; most have none. `asked` is what was asked of, as the path names it.
pub(super) fn key_of(headers: &HeaderMap, route: &'static str, asked: &str, body: &Value) -> Result<Option<RequestKey>> {
    let Some(given) = headers.get(KEY) else { return Ok(None) };
    let key = given.as_bytes();
    if !(1..=255).contains(&key.len()) || !key.iter().all(u8::is_ascii_graphic) {
        return Err(Error::field("Idempotency-Key", "Idempotency-Key must be 1 to 255 visible ASCII characters"));
    }
    let key = String::from_utf8_lossy(key).as_ref().into();
    Ok(Some(RequestKey { route, key, request: hash(asked, body).into() }))
}

/// The key of a request whose body contains it.
pub(super) fn named(route: &'static str, name: &str, asked: &str, said: &Value) -> RequestKey {
    RequestKey { route, key: name.into(), request: hash(asked, said).into() }
}

/// The answer that was given to the first request with the key, if there was one.
pub(super) async fn answer_of(studio: &Studio, scope: &Scope, key: &RequestKey) -> Result<Option<Value>> {
    match seen(studio, scope, key).await? {
        None => Ok(None),
        Some(Seen::Answered(answer)) => Ok(Some(answer)),
        Some(Seen::Reused) => {
            let told = "this Idempotency-Key was sent with another body or path";
            Err(Error::new(Kind::IdempotencyKeyReused, told))
        }
    }
}

/// Why a request with a key was refused: another one with the key may have been accepted at the same time.
pub(super) async fn refusal(studio: &Studio, scope: &Scope, key: &RequestKey, error: Error) -> Error {
    match seen(studio, scope, key).await {
        Ok(Some(Seen::Answered(_))) => StoreError::KeyTaken.into(),
        Ok(Some(Seen::Reused) | None) | Err(_) => error,
    }
}

/// Something that was made now, or by an earlier request with the same key.
pub(super) struct Made {
    pub(super) answer: Value,
    pub(super) replayed: bool,
}

impl Made {
    /// Makes it unless that was done under the key. Of two requests at once with one key, the later one has the answer of the first.
    pub(super) async fn once(studio: &Studio, scope: &Scope, key: Option<&RequestKey>, make: impl Future<Output = Result<Value>>) -> Result<Self> {
        let replay = |answer| Self { answer, replayed: true };
        let Some(key) = key else { return Ok(Self { answer: make.await?, replayed: false }) };
        if let Some(answer) = answer_of(studio, scope, key).await? {
            return Ok(replay(answer));
        }
        match make.await {
            Ok(answer) => Ok(Self { answer, replayed: false }),
            Err(error) => answer_of(studio, scope, key).await?.map_or(Err(error), |answer| Ok(replay(answer))),
        }
    }

    /// Says whether it was made before.
    pub(super) fn tell(&self, mut response: Response) -> Response {
        if self.replayed {
            response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
        }
        response
    }
}

/// What a file is, where a request is compared with an earlier one.
pub(super) fn file_json(file: &Upload) -> Value {
    json!([file.name, file.mime_type, hex(Sha256::digest(&file.bytes))])
}

async fn seen(studio: &Studio, scope: &Scope, key: &RequestKey) -> Result<Option<Seen>> {
    let (key, tenant, now) = (key.clone(), scope.tenant.clone(), studio.world().clock.now());
    Ok(studio.world().store.read(move |tx| request_keys::find(tx, &tenant, &key, now)).await?)
}

fn hash(asked: &str, body: &Value) -> String {
    let mut hasher = Sha256::new();
    hasher.update(asked.as_bytes());
    hasher.update([0]);
    hasher.update(body.to_string().as_bytes());
    hex(hasher.finalize())
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
