//! Owns the world outside: tools that write down each call before they answer, and a model that takes its time.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path as At, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, post};
use serde_json::{Value, json};

/// What is outside of all processes of the storm, and outlives them.
pub struct Outside {
    pub port: u16,
    ledger: Arc<Ledger>,
}

struct Ledger {
    path: PathBuf,
    file: Mutex<std::fs::File>,
    /// How often a model was asked, by the run that it was asked for.
    asked: Mutex<HashMap<String, usize>>,
    seed: AtomicU64,
}

impl Ledger {
    fn write(&self, line: &str) {
        let mut file = self.file.lock().expect("a ledger");
        file.write_all(format!("{line}\n").as_bytes()).expect("a line");
    }

    /// Some milliseconds, up to `most`.
    fn some(&self, most: u64) -> Duration {
        let seed = self.seed.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let mixed = (seed ^ (seed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Duration::from_millis((mixed >> 40) % (most + 1))
    }
}

impl Outside {
    /// Listens on a free port; the ledger is a file.
    pub async fn open(folder: &Path) -> Self {
        let path = folder.join("ledger");
        let file = std::fs::OpenOptions::new().append(true).create(true).open(&path).expect("a ledger");
        let ledger = Ledger { path, file: Mutex::new(file), asked: Mutex::default(), seed: AtomicU64::new(1) };
        let ledger = Arc::new(ledger);
        let routes = Router::new()
            .route("/tool/{name}", any(tool))
            .route("/v1/chat/completions", post(model))
            .with_state(Arc::clone(&ledger));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { port, ledger }
    }

    /// Calls that the tools took, as (tool, key of the call), in order.
    pub fn calls(&self) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(&self.ledger.path).expect("a ledger");
        let call = |line: &str| line.split_once(' ').map(|(tool, key)| (tool.to_owned(), key.to_owned()));
        text.lines().filter_map(call).collect()
    }

    /// A tool took the call of this key.
    pub fn took(&self, key: &str) -> bool {
        self.calls().iter().any(|(_, taken)| taken == key)
    }

    /// How often models were asked, by run.
    pub fn asked(&self) -> HashMap<String, usize> {
        self.ledger.asked.lock().expect("a count").clone()
    }
}

/// The effect comes first, the answer some time later.
async fn tool(State(ledger): State<Arc<Ledger>>, At(name): At<String>, headers: HeaderMap) -> String {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).unwrap_or("none");
    ledger.write(&format!("{name} {key}"));
    tokio::time::sleep(ledger.some(60)).await;
    json!({"done": name}).to_string()
}

fn marker(body: &Value) -> String {
    let text = body["messages"].to_string();
    let at = text.find("run-").expect("a prompt names its run");
    text[at..].chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect()
}

/// Wants the tool that it is offered, once; else talks.
async fn model(State(ledger): State<Arc<Ledger>>, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).expect("a request");
    let marker = marker(&body);
    *ledger.asked.lock().expect("a count").entry(marker.clone()).or_default() += 1;
    tokio::time::sleep(ledger.some(200)).await;
    let answered = body["messages"].as_array().and_then(|messages| messages.last()).is_some_and(|last| last["role"] == "tool");
    let offered = body["tools"][0]["function"]["name"].as_str().filter(|_| !answered);
    let message = match offered {
        Some(name) => {
            let arguments = json!({"run": marker, "at": "agent"}).to_string();
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}]})
        }
        None => json!({"role": "assistant", "content": format!("one two three for {marker}")}),
    };
    let reason = if offered.is_some() { "tool_calls" } else { "stop" };
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12});
    if body["stream"] == true {
        let mut words: Vec<Value> = message["content"].as_str().unwrap_or_default().split_inclusive(' ').map(|word| json!({"content": word})).collect();
        if let Some(call) = message["tool_calls"].get(0) {
            let mut call = call.clone();
            call["index"] = 0.into();
            words.push(json!({"tool_calls": [call]}));
        }
        let mut text = String::new();
        for delta in words {
            let chunk = json!({"id": "c", "object": "chat.completion.chunk", "model": "talk", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
            text.push_str(&format!("data: {chunk}\n\n"));
        }
        let end = json!({"id": "c", "object": "chat.completion.chunk", "model": "talk", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage});
        text.push_str(&format!("data: {end}\n\ndata: [DONE]\n\n"));
        return ([(header::CONTENT_TYPE, "text/event-stream")], text).into_response();
    }
    let whole = json!({"id": "c", "object": "chat.completion", "model": "talk",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage});
    ([(header::CONTENT_TYPE, "application/json")], whole.to_string()).into_response()
}
