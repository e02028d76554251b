//! Code: definitions as classes, classes and JSON files as definitions, over HTTP and on the command line.

mod checkers;
mod commands;
mod exports;
mod flags;
mod imports;
mod registered;
mod round_trips;
mod stories;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::http::{HostMarks, dispatch};

use crate::support::Bench;

/// A studio whose files are in a folder of its own.
struct Desk {
    bench: Bench,
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self::with(json!({}))
    }

    fn with(settings: Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
        let mut all = json!({"export_path": path("app"), "workflow_scan_paths": [path("app"), path("more")], "workflow_json_paths": [path("json")]});
        crate::support::merge(&mut all, settings);
        Self { bench: Bench::new(all), folder }
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join(path)).ok()
    }

    /// One request of a tenant: the status and the answer.
    async fn sent(&self, tenant: &str, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let request = Request::builder().method(method).uri(format!("/studio{path}")).header("sec-fetch-site", "same-origin");
        let request = if body.is_some() { request.header("content-type", "application/json") } else { request };
        let bytes = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let marks = HostMarks { tenant: tenant.into(), gate: Some(true), ..HostMarks::default() };
        let answer = dispatch(&self.bench.studio, request.body(bytes).expect("a request"), marks).await;
        let status = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.sent("", "GET", path, None).await
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.sent("", "POST", path, Some(&body)).await
    }

    /// Makes something; the answer.
    async fn make(&self, path: &str, body: Value) -> Value {
        let (status, made) = self.post(path, body).await;
        assert!(status == 200 || status == 201, "{path}: {status} {made}");
        made
    }

    async fn install(&self, template: &str) -> Value {
        self.make(&format!("/api/templates/workflow/{template}/install"), json!({})).await["workflow"].clone()
    }
}

fn code(answer: &(u16, Value)) -> String {
    format!("{} {}", answer.0, answer.1["code"].as_str().unwrap_or_default())
}
