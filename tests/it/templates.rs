//! Templates as clients meet them over HTTP: lists, installs, refusals, and each bundled workflow played to each of its ends.

mod ends;
mod folders;
mod installs;
mod lists;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::http::{HostMarks, dispatch};

use crate::support::Bench;

const WORKFLOWS: [&str; 11] = [
    "basic-agent-chat",
    "supervisor-specialist-tool-mode",
    "rag-knowledge-qna",
    "lead-qualification",
    "lead-qualification-loop",
    "autonomous-lead-qualification",
    "parallel-support-triage",
    "support-rag-hitl",
    "parallel-triage-hitl",
    "parallel-refund-approval",
    "dev-support-memory-loop",
];

/// One request of a tenant: the status and the answer's text.
async fn sent(bench: &Bench, tenant: &str, method: &str, path: &str, body: Option<&Value>) -> (u16, String) {
    let request = Request::builder().method(method).uri(format!("/studio{path}")).header("sec-fetch-site", "same-origin");
    let request = if body.is_some() { request.header("content-type", "application/json") } else { request };
    let bytes = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
    let marks = HostMarks { tenant: tenant.into(), ..HostMarks::default() };
    let answer = dispatch(&bench.studio, request.body(bytes).expect("a request"), marks).await;
    let status = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
    (status, String::from_utf8(bytes.to_vec()).expect("text"))
}

async fn get(bench: &Bench, path: &str) -> (u16, Value) {
    let (status, text) = sent(bench, "", "GET", path, None).await;
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

async fn post(bench: &Bench, path: &str, body: Value) -> (u16, Value) {
    let (status, text) = sent(bench, "", "POST", path, Some(&body)).await;
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

/// Installs a workflow; the answer.
async fn install(bench: &Bench, template: &str) -> Value {
    let (status, made) = post(bench, &format!("/api/templates/workflow/{template}/install"), json!({})).await;
    assert_eq!(status, 201, "{template}: {made}");
    made
}

/// The slugs or names of a list's items, sorted.
async fn all(bench: &Bench, path: &str, member: &str) -> Vec<String> {
    let listed = get(bench, path).await.1;
    let mut found: Vec<String> = listed["data"].as_array().expect("a list").iter().map(|item| item[member].as_str().expect("a text").to_owned()).collect();
    found.sort();
    found
}

/// A run as a client of its streams sees it.
struct Played<'b> {
    bench: &'b Bench,
    run: String,
    events: Vec<(String, Value)>,
}

fn events(text: &str) -> Vec<(String, Value)> {
    let frames = text.split("\n\n").filter(|frame| frame.contains("data:"));
    let line = |frame: &str, name: &str| frame.lines().find_map(|line| line.strip_prefix(name).map(|rest| rest.trim().to_owned())).unwrap_or_default();
    frames.map(|frame| (line(frame, "event:"), serde_json::from_str(&line(frame, "data:")).unwrap_or(Value::Null))).collect()
}

impl<'b> Played<'b> {
    /// Streams a run of a workflow until it rests.
    async fn start(bench: &'b Bench, workflow: &str, message: &str) -> Self {
        let (status, text) = sent(bench, "", "POST", &format!("/workflows/{workflow}/run/stream"), Some(&json!({"message": message}))).await;
        assert_eq!(status, 200, "{text}");
        let events = events(&text);
        let run = events.iter().find_map(|(_, data)| data["trace_id"].as_str()).expect("a run").to_owned();
        Self { bench, run, events }
    }

    /// Answers its pause and streams what follows.
    async fn resume(&mut self, body: Value) {
        let (status, text) = sent(self.bench, "", "POST", &format!("/api/runs/{}/resume/stream", self.run), Some(&body)).await;
        assert_eq!(status, 200, "{text}");
        self.events.extend(events(&text));
    }

    async fn say(&mut self, message: &str) {
        self.resume(json!({"message": message})).await;
    }

    /// Its trace.
    async fn trace(&self) -> Value {
        get(self.bench, &format!("/api/runs/{}", self.run)).await.1
    }

    /// Its status, and its reply or the node that waits.
    async fn end(&self) -> (String, String) {
        let trace = self.trace().await["trace"].take();
        let waits = trace["awaiting_node_id"].as_str();
        let told = waits.or_else(|| trace["reply"].as_str()).unwrap_or_default();
        (trace["status"].as_str().unwrap_or_default().to_owned(), told.to_owned())
    }

    /// The data of its events of one kind.
    fn data_of(&self, event: &str) -> Vec<&Value> {
        self.events.iter().filter(|(name, _)| name == event).map(|(_, data)| data).collect()
    }

    /// The nodes that were entered, in order.
    fn nodes(&self) -> Vec<&str> {
        self.data_of("step_started").into_iter().filter(|step| step["resumed"] != true).filter_map(|step| step["node_id"].as_str()).collect()
    }
}
