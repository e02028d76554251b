//! Owns what tests share: a studio on a database of its own, graphs as text, runs as text.

pub mod caller;
pub mod described;
pub mod hands;
pub mod place;
pub mod render;
pub mod rules;
pub mod story;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::engine::{Follow, From};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::{ResumeRequest, RetryRequest, RunRequest};
use wfstudio::studio::{Resource, Scope, Started, Studio};

/// A studio for one test.
pub struct Bench {
    pub studio: Studio,
    pub scope: Scope,
}

impl Bench {
    /// In memory, with these settings over the usual ones.
    pub fn new(settings: Value) -> Self {
        let config = config(settings, ":memory:");
        Self { studio: Studio::open(config).expect("a studio"), scope: Scope::default() }
    }

    /// On the database in a folder.
    pub fn on_disk(settings: Value, folder: &std::path::Path) -> Self {
        let path = folder.join("studio.sqlite");
        let config = config(settings, path.to_str().expect("a path"));
        Self { studio: Studio::open(config).expect("a studio"), scope: Scope::default() }
    }

    /// Stores a workflow; its id.
    pub async fn workflow(&self, graph: Value) -> String {
        let body = json!({"name": "Test", "graph": graph});
        let stored = self.studio.create(&self.scope, Resource::Workflow, &body).await;
        stored.unwrap_or_else(|error| panic!("{error} {:?}", error.members))["id"].as_str().expect("an id").to_owned()
    }

    /// Stores an agent; its id.
    pub async fn agent(&self, body: Value) -> String {
        let stored = self.studio.create(&self.scope, Resource::Agent, &body).await;
        stored.unwrap_or_else(|error| panic!("{error} {:?}", error.members))["id"].as_str().expect("an id").to_owned()
    }

    pub async fn start(&self, workflow: &str, body: Value) -> Started {
        let request = RunRequest::parse(&body, EntityKind::Workflow).expect("a run body");
        self.studio.start(&self.scope, EntityKind::Workflow, workflow, request, false).await.expect("a run")
    }

    /// A turn of a stored agent, followed to its end; the run.
    pub async fn chat(&self, agent: &str, body: Value) -> String {
        let request = RunRequest::parse(&body, EntityKind::Agent).expect("a chat body");
        let started = self.studio.start(&self.scope, EntityKind::Agent, agent, request, false).await;
        let started = started.unwrap_or_else(|error| panic!("{error} {:?}", error.members));
        self.events_text(&started).await;
        started.run.to_string()
    }

    pub async fn resume(&self, run: &str, body: Value) -> wfstudio::Result<Started> {
        let request = ResumeRequest::parse(&body)?;
        self.studio.resume(&self.scope, run, request, false).await
    }

    pub async fn retry(&self, run: &str, body: Value) -> wfstudio::Result<Started> {
        let request = RetryRequest::parse(&body)?;
        self.studio.retry(&self.scope, run, request, false).await
    }

    /// Answers a pause and leaves the run to a worker.
    pub async fn queue_resume(&self, run: &str, body: Value) -> wfstudio::Result<Started> {
        let request = ResumeRequest::parse(&body)?;
        self.studio.resume(&self.scope, run, request, true).await
    }

    /// Leaves a failed run to a worker.
    pub async fn queue_retry(&self, run: &str, body: Value) -> wfstudio::Result<Started> {
        let request = RetryRequest::parse(&body)?;
        self.studio.retry(&self.scope, run, request, true).await
    }

    /// All frames of an answer as text.
    pub async fn events_text(&self, started: &Started) -> String {
        self.events_text_from(&started.run.to_string(), From { after: started.after, ..From::default() }, Follow::Answer).await
    }

    pub async fn events_text_from(&self, run: &str, from: From, follow: Follow) -> String {
        let Some(mut stream) = self.studio.events(&self.scope, run, from, follow).await.expect("events") else {
            return "(nothing)\n".to_owned();
        };
        let mut out = Transcript::default();
        while let Some(batch) = stream.next_batch().await {
            for frame in batch {
                let (mut id, mut data) = (Vec::new(), Vec::new());
                frame.write_id(&mut id);
                frame.write_data(&mut data);
                out.add(&String::from_utf8_lossy(&id), frame.event(), &data);
            }
        }
        out.text
    }

    pub async fn trace(&self, run: &str) -> Value {
        self.studio.trace(&self.scope, run, wfstudio::studio::TraceQuery::default()).await.expect("a trace")
    }
}

/// The configuration of tests.
pub fn config(settings: Value, path: &str) -> Config {
    let mut all = json!({"environment": "local", "database": place::database(path), "default_provider": "script"});
    merge(&mut all, settings);
    Config::load(ConfigSources { file: None, json: Some(all), env: BTreeMap::new() }).unwrap_or_else(|error| panic!("{error}"))
}

pub fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Events as text, with ids of this run told by order of appearance.
#[derive(Default)]
pub struct Transcript {
    pub text: String,
    names: BTreeMap<String, String>,
}

impl Transcript {
    pub fn add(&mut self, id: &str, event: &str, data: &[u8]) {
        let data: Value = serde_json::from_slice(data).expect("JSON");
        let plain = self.plain(data);
        let _ = writeln!(self.text, "{id} {event} {plain}");
    }

    fn plain(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) if uuid::Uuid::try_parse(&text).is_ok() => {
                let next = self.names.len() + 1;
                Value::String(self.names.entry(text).or_insert_with(|| format!("#{next}")).clone())
            }
            Value::String(text) if text.len() == 29 && text.ends_with("+00:00") => Value::String("time".into()),
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.plain(item)).collect()),
            Value::Object(fields) => {
                let whole = |key: &str, value: &Value| key == "finish" && value == "stop";
                let fields = fields.into_iter().filter(|(key, value)| !whole(key, value));
                Value::Object(fields.map(|(key, value)| self.field(key, value)).collect())
            }
            other => other,
        }
    }

    fn field(&mut self, key: String, value: Value) -> (String, Value) {
        let timed = key == "duration_ms" || key == "delay_ms";
        let value = if timed { Value::String("ms".into()) } else { self.plain(value) };
        (key, value)
    }
}
