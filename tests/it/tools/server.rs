//! Owns the web server that webhooks of tests call: it says what it was sent, and answers as the path wants.

use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::json;

/// What it was sent, one line each.
type Seen = Arc<Mutex<Vec<String>>>;

/// A server on a free port of this machine.
pub struct Server {
    pub port: u16,
    seen: Seen,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Seen::default();
        let app = axum::Router::new().fallback(any(answer)).with_state(Arc::clone(&seen));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.expect("a server") });
        Self { port, seen, task }
    }

    /// An address of it.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The same by a name that has to be resolved.
    pub fn named(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port)
    }

    /// `METHOD path?query | header: value … | body` of every request so far.
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("a lock").clone()
    }

    /// The idempotency keys of every request so far.
    pub fn keys(&self) -> Vec<String> {
        let key = |line: &String| Some(line.split_once("idempotency-key: ")?.1.split(' ').next()?.to_owned());
        self.seen().iter().filter_map(key).collect()
    }

    /// The same without what differs from call to call.
    pub fn seen_text(&self) -> String {
        let key = regex::Regex::new("[0-9a-f]{8}-[0-9a-f-]{27}").expect("a pattern");
        key.replace_all(&self.seen().join("\n"), "#").replace(&self.port.to_string(), "PORT").replace(env!("CARGO_PKG_VERSION"), "VERSION")
    }
}

async fn answer(State(seen): State<Seen>, method: Method, uri: Uri, query: Query<Vec<(String, String)>>, headers: HeaderMap, body: Bytes) -> Response {
    let mut sent: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap_or("?"))).collect();
    sent.retain(|line| !["host:", "accept:", "content-length:"].iter().any(|start| line.starts_with(start)));
    sent.sort();
    let body = String::from_utf8_lossy(&body).into_owned();
    let line = format!("{method} {uri} | {} | {body}", sent.join(" · "));
    seen.lock().expect("a lock").push(line);
    let asked = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()).unwrap_or_default();
    let authorization = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or("none");
    match uri.path() {
        "/redirect" => {
            let code = asked("code").parse().unwrap_or(302);
            (StatusCode::from_u16(code).expect("a status"), [("location", asked("to"))]).into_response()
        }
        "/around" => (StatusCode::FOUND, [("location", "/around")]).into_response(),
        "/refuse" => (StatusCode::UNAUTHORIZED, format!("bad token {authorization}")).into_response(),
        "/large" => "0123456789abcdef".repeat((9 << 20) / 16).into_response(),
        "/endless" => Body::from_stream(futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[b'x'; 65536])))).into_response(),
        "/hang" => std::future::pending().await,
        "/binary" => ([("content-type", "image/png")], vec![0x89, b'P', b'N', b'G', 0, 0]).into_response(),
        "/cut-parts" => r#"{"studio_parts": [{"type": "text""#.into_response(),
        "/many-files" => axum::Json(json!({"studio_parts": vec![json!({"type": "file", "media_type": "text/plain", "data": "eA=="}); 21]})).into_response(),
        "/pretty" => ([("content-type", "application/json")], "{\n  \"id\": 12345678901234567890,\n  \"ok\": true\n}\n").into_response(),
        "/escaped" => ([("content-type", "application/json")], format!("{{\"key\":\"{}\",\"n\":1.10}}", authorization.replace('/', "\\/"))).into_response(),
        "/deep" => ([("content-type", "application/json")], format!("{}{}", "[".repeat(110), "]".repeat(110))).into_response(),
        "/none" => StatusCode::NO_CONTENT.into_response(),
        _ => axum::Json(json!({"method": method.as_str(), "authorization": authorization})).into_response(),
    }
}
