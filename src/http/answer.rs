//! Owns the plain answers: JSON, created, accepted, nothing.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

pub(super) fn json(status: StatusCode, value: &Value) -> Response {
    let mut response = written(serde_json::to_vec(value).unwrap_or_default());
    *response.status_mut() = status;
    response
}

/// 200 with JSON that is written already.
pub(super) fn written(text: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// 200 with JSON.
pub(super) fn ok(value: &Value) -> Response {
    json(StatusCode::OK, value)
}

/// JSON of something that is edited, with its revision as the tag.
pub(super) fn edited(status: StatusCode, value: &Value, revision: &str) -> Response {
    let mut response = json(status, value);
    let number = value.get(revision).and_then(Value::as_i64);
    if let Some(tag) = number.and_then(|number| HeaderValue::try_from(format!("\"{number}\"")).ok()) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// 201 with the definition that was made below `collection`.
pub(super) fn created(value: &Value, collection: &str) -> Response {
    let mut response = edited(StatusCode::CREATED, value, "revision");
    let id = value.get("id").and_then(Value::as_str).unwrap_or_default();
    if let Ok(location) = HeaderValue::try_from(format!("{collection}/{id}")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// 204.
pub(super) fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
