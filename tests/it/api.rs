//! The management API as clients meet it over HTTP: edits side by side, refusals, tenants.

mod edits;
mod lost;
mod once;
mod refusals;
mod tenants;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::http::{HostMarks, dispatch};

use crate::support::Bench;

/// One request of a tenant; the status and the answer, null where it has no JSON.
async fn asked(bench: &Bench, tenant: &str, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
    let request = Request::builder().method(method).uri(format!("/studio{path}")).header("sec-fetch-site", "same-origin");
    let request = if body.is_some() { request.header("content-type", "application/json") } else { request };
    let bytes = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
    let marks = HostMarks { tenant: tenant.into(), ..HostMarks::default() };
    let answer = dispatch(&bench.studio, request.body(bytes).expect("a request"), marks).await;
    let status = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

async fn ask(bench: &Bench, method: &str, path: &str, body: Value) -> (u16, Value) {
    asked(bench, "", method, path, Some(&body)).await
}

/// The least that makes each kind of definition.
fn least() -> [(&'static str, Value); 5] {
    [
        ("agents", json!({"name": "thing"})),
        ("workflows", json!({"name": "thing"})),
        ("tools", json!({"name": "thing", "kind": "webhook", "config": {"url": "https://shop.example/"}})),
        ("mcp-servers", json!({"name": "thing", "transport": "http", "url": "https://mcp.example/"})),
        ("knowledge-bases", json!({"name": "thing"})),
    ]
}
