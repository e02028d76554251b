//! The stream adapters over HTTP: conversations as the clients of both protocols hold them, cuts, repeats, restarts, tenants.

mod agui;
mod conversations;
mod vercel;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::http::{HostMarks, dispatch};

use crate::support::story::Story;

/// An answer: its status, its frames, and its text.
struct Answer {
    status: u16,
    text: String,
}

impl Answer {
    /// The JSON of its frames, in order.
    fn frames(&self) -> Vec<Value> {
        let data = self.text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|line| *line != "[DONE]");
        data.map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Types of its frames, without those that only developers see, repeats once.
    fn types(&self) -> String {
        let mut types: Vec<String> = self.frames().iter().map(|frame| frame["type"].as_str().expect("a type").to_owned()).collect();
        types.retain(|kind| kind != "data-studio" && kind != "CUSTOM");
        types.dedup();
        types.join(" ")
    }

    fn find(&self, kind: &str) -> Value {
        let found = self.frames().into_iter().find(|frame| frame["type"] == kind);
        found.unwrap_or_else(|| panic!("no {kind} in {}", self.text))
    }

    fn code(&self) -> String {
        let problem: Value = serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no problem: {}", self.text));
        format!("{} {}", self.status, problem["code"].as_str().expect("a code"))
    }

    /// All text that it tells.
    fn said(&self) -> String {
        self.frames()
            .iter()
            .filter_map(|frame| frame["delta"].as_str().filter(|_| frame["type"] != "TOOL_CALL_ARGS").map(str::to_owned))
            .collect()
    }
}

fn marks(tenant: &str) -> HostMarks {
    HostMarks { tenant: tenant.into(), authorized: true, ..HostMarks::default() }
}

async fn asked(
    story: &Story,
    tenant: &str,
    method: &str,
    path: &str,
    key: Option<&str>,
    body: Option<&Value>,
) -> http::Response<axum::body::Body> {
    let mut request = Request::builder().method(method).uri(format!("/api/studio{path}"));
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    if body.is_some() {
        request = request.header("content-type", "application/json");
    }
    let bytes = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
    dispatch(&story.bench.studio, request.body(bytes).expect("a request"), marks(tenant)).await
}

async fn whole(response: http::Response<axum::body::Body>) -> Answer {
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    Answer { status, text: String::from_utf8(bytes.to_vec()).expect("text") }
}

async fn post(story: &Story, path: &str, body: Value) -> Answer {
    whole(asked(story, "", "POST", path, None, Some(&body)).await).await
}

async fn post_with_key(story: &Story, path: &str, key: &str, body: Value) -> Answer {
    whole(asked(story, "", "POST", path, Some(key), Some(&body)).await).await
}

async fn get(story: &Story, path: &str) -> Answer {
    whole(asked(story, "", "GET", path, None, None).await).await
}

/// Reads a stream up to a text in it, and leaves it there.
async fn read_until(response: http::Response<axum::body::Body>, mark: &str) -> String {
    let mut body = response.into_body();
    let mut text = String::new();
    while !text.contains(mark) {
        let frame = body.frame().await.unwrap_or_else(|| panic!("no {mark} in {text}")).expect("a frame");
        text.push_str(std::str::from_utf8(frame.data_ref().expect("data")).expect("text"));
    }
    text
}

/// A UI message of the user.
fn user(text: &str) -> Value {
    json!({"id": format!("u-{text}"), "role": "user", "parts": [{"type": "text", "text": text}]})
}

/// What the AI SDK posts.
fn chat(id: &str, messages: Value) -> Value {
    json!({"id": id, "messages": messages, "trigger": "submit-message"})
}

/// What an AG-UI client posts.
fn input(thread: &str, run: &str, text: &str) -> Value {
    json!({"threadId": thread, "runId": run, "state": {}, "messages": [{"id": format!("m-{text}"), "role": "user", "content": text}], "tools": [], "context": [], "forwardedProps": {}})
}

async fn agent(story: &Story, more: Value) -> String {
    let mut body = json!({"name": "Helper", "provider": "script", "model": "m", "tools": [{"ref": "host:look"}]});
    crate::support::merge(&mut body, more);
    story.bench.agent(body).await
}

/// An agent whose payments wait for a person.
async fn payer(story: &Story) -> String {
    agent(story, json!({"tools": [{"ref": "host:look"}, {"ref": "host:pay"}]})).await
}

/// Replies of a model that pays when it is told to, and tells what came of it.
fn pays() -> Value {
    json!([
        {"match": {"tool_result": "pay"}, "text": "It is done.", "times": 0},
        {"match": {"contains": "pay"}, "text": "I will.", "tool_calls": [{"name": "pay", "arguments": {"sum": 5}}, {"name": "pay", "arguments": {"sum": 7}}], "times": 0},
        {"match": {"contains": "slow"}, "chunks": ["One ", "two ", "three ", "four."], "delay_ms": 800, "times": 0},
        {"match": {"contains": "fail"}, "error": "provider_auth", "times": 0},
        {"chunks": ["Hel", "lo."], "times": 0}])
}
