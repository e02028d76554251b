//! Owns what crash tests share: studios on files, a host whose tools leave marks on disk, graphs, child processes.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::config::{Config, ConfigSources};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp};
use wfstudio::model::Id;
use wfstudio::model::event::EntityKind;
use wfstudio::store::runs::list;
use wfstudio::store::runs::list::RunFilter;
use wfstudio::store::runs::{self, RunRow};
use wfstudio::studio::runs::requests::{ResumeRequest, RetryRequest, RunRequest};
use wfstudio::studio::{Options, Resource, Scope, Started, Studio};

/// Where databases of tests lie: in memory, where a sync costs nothing.
pub fn folder() -> tempfile::TempDir {
    let fast = Path::new("/dev/shm");
    let made = if fast.is_dir() { tempfile::tempdir_in(fast) } else { tempfile::tempdir() };
    made.expect("a folder")
}

/// A file system of its own, so that space and rights can be taken away. None where this may not be done.
pub struct Mount(pub PathBuf, tempfile::TempDir);

impl Mount {
    pub fn new(kilobytes: u32) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().to_path_buf();
        let size = format!("size={kilobytes}k");
        command("mount", &["-t", "tmpfs", "-o", &size, "studio-test", at.to_str()?]).then(|| Self(at, folder))
    }

    pub fn remount(&self, how: &str) {
        assert!(command("mount", &["-o", &format!("remount,{how}"), self.0.to_str().expect("a path")]));
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        command("umount", &["-l", self.0.to_str().expect("a path")]);
        let _kept_until_here = self.1.path();
    }
}

fn command(program: &str, arguments: &[&str]) -> bool {
    std::process::Command::new(program).args(arguments).output().is_ok_and(|done| done.status.success())
}

/// Called before and after what a tool does.
pub type Tick = Arc<dyn Fn() + Send + Sync>;

/// A host whose tools write a line per call; `slow` in a name makes them take their time.
pub struct Marks {
    pub file: PathBuf,
    pub tick: Tick,
}

impl Host for Marks {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let (file, tick) = (self.file.clone(), Arc::clone(&self.tick));
        Box::pin(async move {
            let text = |key: &str| call.payload[key].as_str().unwrap_or_default().to_owned();
            let name = text("name");
            tick();
            mark(&file, &format!("{name} {} {}", text("call_id"), text("trace_id")));
            tick();
            if name.contains("slow") {
                tokio::time::sleep(Duration::from_secs(3)).await;
            }
            assert!(name != "panic", "the host's tool panics");
            if name == "broken" { Err(HostFailure::new("it is broken")) } else { Ok(answer_of(&name)) }
        })
    }
}

/// What a tool answers, always.
pub fn answer_of(name: &str) -> Value {
    if name == "big" { Value::String("x".repeat(20_000)) } else { json!({"done": name}) }
}

/// Adds a line and waits until it is on disk.
pub fn mark(file: &Path, line: &str) {
    let mut open = std::fs::OpenOptions::new().append(true).create(true).open(file).expect("a file");
    open.write_all(format!("{line}\n").as_bytes()).expect("a line");
    open.sync_all().expect("a disk");
}

/// The lines of a file of marks.
pub fn marks(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// A studio on a file, with its host.
#[derive(Clone)]
pub struct Bench {
    pub studio: Studio,
    pub scope: Scope,
    pub effects: PathBuf,
}

impl Bench {
    pub fn open(folder: &Path, settings: Value) -> Self {
        Self::open_with(folder, settings, Options::default(), Arc::new(|| ()))
    }

    pub fn open_with(folder: &Path, settings: Value, options: Options, tick: Tick) -> Self {
        let effects = folder.join("effects");
        let studio = Studio::open_with(config(folder, settings), options).expect("a studio");
        let tool = |name: &str, idempotent: bool, approval: bool| {
            json!({"name": name, "idempotent": idempotent, "require_approval": approval, "timeout_ms": 60_000})
        };
        let tools = json!([
            tool("note", true, false), tool("pay", false, false), tool("refund", false, true), tool("slow_pay", false, false),
            tool("big", false, false), tool("panic", false, false), tool("broken", false, false)
        ]);
        let tools = serde_json::from_value(tools).expect("tools");
        let declaration = HostDeclaration { ops: vec![HostOp::ToolCall], tools, ..HostDeclaration::default() };
        studio.set_host(Arc::new(Marks { file: effects.clone(), tick }), declaration);
        Self { studio, scope: Scope::default(), effects }
    }

    /// The id of the workflow of that slug, stored if it is not there.
    pub async fn workflow(&self, slug: &str, graph: Value) -> String {
        if let Ok(found) = self.studio.get(&self.scope, Resource::Workflow, slug).await {
            return found["id"].as_str().expect("an id").to_owned();
        }
        let body = json!({"name": slug, "slug": slug, "graph": graph});
        let stored = self.studio.create(&self.scope, Resource::Workflow, &body).await;
        stored.unwrap_or_else(|error| panic!("{error} {:?}", error.members))["id"].as_str().expect("an id").to_owned()
    }

    pub async fn start(&self, workflow: &str, body: Value, queued: bool) -> wfstudio::Result<Started> {
        let request = RunRequest::parse(&body, EntityKind::Workflow)?;
        self.studio.start(&self.scope, EntityKind::Workflow, workflow, request, queued).await
    }

    pub async fn resume(&self, run: &Id, body: Value) -> wfstudio::Result<Started> {
        self.studio.resume(&self.scope, &run.to_string(), ResumeRequest::parse(&body)?, false).await
    }

    pub async fn retry(&self, run: &Id, body: Value) -> wfstudio::Result<Started> {
        self.studio.retry(&self.scope, &run.to_string(), RetryRequest::parse(&body)?, false).await
    }

    pub async fn row(&self, run: &Id) -> RunRow {
        let run = *run;
        let row = self.studio.world().store.read(move |tx| runs::get(tx, "", &run)).await;
        row.expect("a store").expect("a run")
    }

    /// Waits until the run has this status; fails loudly otherwise.
    pub async fn until(&self, run: &Id, status: &str, patience: Duration) -> RunRow {
        let until = tokio::time::Instant::now() + patience;
        loop {
            let row = self.row(run).await;
            if row.status == status {
                return row;
            }
            assert!(tokio::time::Instant::now() < until, "the run is {}, not {status}: {:?}", row.status, row.error);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// The configuration of tests: nothing is taken over unless a test asks for it.
pub fn config(folder: &Path, settings: Value) -> Config {
    let path = folder.join("studio.sqlite");
    let database = crate::place::database(path.to_str().expect("a path"));
    let mut all = json!({
        "environment": "local",
        "database": database,
        "default_provider": "script",
        "worker": {"in_process": false},
        "async_runs_enabled": true,
        "memory": {"summarizer": {"provider": "script", "model": "talk"}},
        "providers": {"script": {"scripts": scripts()}},
    });
    merge(&mut all, settings);
    Config::load(ConfigSources { file: None, json: Some(all), env: BTreeMap::new() }).unwrap_or_else(|error| panic!("{error}"))
}

fn scripts() -> Value {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 5});
    json!({
        "talk": {"replies": [{"times": 0, "text": "one two three four", "chunks": ["one ", "two ", "three ", "four"], "usage": usage}]},
        "slow": {"replies": [{"times": 0, "text": "at last", "delay_ms": 3000, "usage": usage}]},
        "drip": {"replies": [{"times": 0, "text": "drip", "chunks": vec!["drip "; 200], "delay_ms": 20, "usage": usage}]},
        "flaky": {"replies": [
            {"match": {"call": 1}, "error": "provider_unavailable", "usage": usage}, {"text": "well", "usage": usage}
        ]},
        "clerk": {"on_exhausted": "repeat_last", "replies": [
            {"tool_calls": [{"name": "refund", "arguments": {"order": 7}, "id": "call_refund"}], "usage": usage},
            {"text": "It is refunded.", "times": 0, "usage": usage}
        ]},
    })
}

pub fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (into, from) => *into = from,
    }
}

/// A graph from `id type {data}` and `source.handle target` lines.
pub fn graph(nodes: &[(&str, &str, Value)], edges: &[(&str, &str)]) -> Value {
    let nodes = nodes.iter().map(|(id, kind, data)| {
        json!({"id": id, "type": kind, "position": {"x": 0, "y": 0}, "data": data})
    });
    let edges = edges.iter().enumerate().map(|(at, (source, target))| {
        let (source, handle) = source.split_once('.').unwrap_or((source, "default"));
        json!({"id": format!("e{at}"), "source": source, "target": target, "sourceHandle": handle, "targetHandle": "default"})
    });
    json!({"version": 1, "nodes": nodes.collect::<Vec<_>>(), "edges": edges.collect::<Vec<_>>(), "annotations": []})
}

/// One node between start and stop.
pub fn single(kind: &str, data: Value) -> Value {
    graph(&[("start", "start", json!({})), ("work", kind, data), ("stop", "stop", json!({}))], &[("start", "work"), ("work", "stop")])
}

/// The runs of workflows that nobody called, newest first.
pub async fn workflow_runs(bench: &Bench) -> Vec<Id> {
    runs_of_kind(bench, EntityKind::Workflow).await
}

/// The runs of workflows, or of agents, newest first.
pub async fn runs_of_kind(bench: &Bench, kind: EntityKind) -> Vec<Id> {
    let filter = RunFilter { entity_type: Some(kind), ..RunFilter::default() };
    let found = bench.studio.world().store.read(move |tx| {
        let mut found = Vec::new();
        list::list(tx, "", &filter, None, 1000, &mut |run| {
            found.push(run.id.parse().expect("an id"));
            Ok(())
        })?;
        Ok(found)
    });
    found.await.expect("runs")
}
