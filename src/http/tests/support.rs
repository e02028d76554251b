//! Owns asking a studio in memory.

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::config::{Config, ConfigSources};
use crate::http::{HostMarks, dispatch};
use crate::studio::Studio;

/// A studio in memory; `keys` are laid over a local configuration.
pub(super) fn studio(keys: Value) -> Studio {
    let mut config = json!({"environment": "local", "database": crate::place::database(":memory:")});
    if let (Value::Object(config), Value::Object(keys)) = (&mut config, keys) {
        config.extend(keys);
    }
    let config = Config::load(ConfigSources { json: Some(config), ..ConfigSources::default() });
    Studio::open(config.expect("a configuration")).expect("a studio")
}

/// An answer that was read whole.
pub(super) struct WholeAnswer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl WholeAnswer {
    pub(super) async fn of(response: Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        Self { status: head.status, headers: head.headers, body }
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    pub(super) fn code(&self) -> String {
        self.json().get("code").and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

/// A request with the headers that a script sends.
pub(super) fn request(method: &str, path: &str, body: &str) -> Request<Bytes> {
    let builder = Request::builder().method(method).uri(path).header("host", "shop.example");
    let builder = if body.is_empty() { builder.header("x-requested-with", "test") } else { builder.header("content-type", "application/json") };
    builder.body(Bytes::copy_from_slice(body.as_bytes())).expect("a request")
}

/// Same, with one more header.
pub(super) fn with(mut request: Request<Bytes>, name: &'static str, value: &str) -> Request<Bytes> {
    request.headers_mut().insert(name, value.parse().expect("a value"));
    request
}

pub(super) async fn ask(studio: &Studio, request: Request<Bytes>) -> WholeAnswer {
    ask_as(studio, request, HostMarks::default()).await
}

pub(super) async fn ask_as(studio: &Studio, request: Request<Bytes>, marks: HostMarks) -> WholeAnswer {
    WholeAnswer::of(dispatch(studio, request, marks).await).await
}
