//! Owns nothing: the facade's signatures until the real one is merged.
#![expect(missing_docs, clippy::unused_async, reason = "a stand-in")]
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::lists::{ListQuery, Page};
use super::requests::{ResumeRequest, RetryRequest, RunRequest};
use crate::clock::{Clock, SystemClock};
use crate::config::Config;
use crate::error::{Error, Kind, Result};
use crate::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp};
use crate::model::Id;
use crate::model::event::EntityKind;
use crate::store::Store;

pub struct World { pub config: Arc<Config>, pub clock: Arc<dyn Clock>, pub store: Store, pub host: HostDoor }
#[derive(Default)]
pub struct HostDoor(parking_lot::RwLock<Option<(Arc<dyn Host>, HostDeclaration)>>);
impl HostDoor {
    pub fn answers(&self, op: HostOp) -> bool {
        self.0.read().as_ref().is_some_and(|(_, declaration)| declaration.ops.contains(&op))
    }
    pub async fn call(&self, op: HostOp, payload: Value, limit: Duration) -> Result<Value, HostFailure> {
        let host = self.0.read().as_ref().map(|(host, _)| Arc::clone(host)).ok_or_else(|| HostFailure("no host".into()))?;
        let asked = host.call(HostCall { op, payload, chunks: None });
        tokio::time::timeout(limit, asked).await.unwrap_or_else(|_| Err(HostFailure("silent".into())))
    }
}

#[derive(Clone)]
pub struct Studio(Arc<Inner>);
struct Inner { world: Arc<World>, runtime: Option<tokio::runtime::Runtime>, streams: Arc<AtomicUsize>, started: AtomicUsize, cancelled: AtomicUsize }
impl Drop for Inner { fn drop(&mut self) { if let Some(runtime) = self.runtime.take() { runtime.shutdown_background(); } } }
#[derive(Clone, Default)]
pub struct Scope { pub tenant: Arc<str>, pub user: Option<Value> }
pub struct Started { pub run: Id, pub thread: Id, pub pause: Option<Id>, pub status: Status, pub entity: EntityKind, pub after: u64 }
#[derive(Clone, Copy)]
pub enum Status { Queued, Running, Cancelled }
impl Status {
    pub const fn as_str(self) -> &'static str {
        match self { Self::Queued => "queued", Self::Running => "running", Self::Cancelled => "cancelled" }
    }
}
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order { #[default] Ordered, Live }
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct From { pub order: Order, pub after: u64 }
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow { Answer, Tail }
#[derive(Clone, Debug, Default)]
pub struct TraceQuery { pub graph: bool, pub messages: bool, pub children: bool, pub snapshots: bool, pub payloads: bool }
#[derive(Clone, Debug)]
pub struct Frame { pub order: Order, pub number: u64, pub name: &'static str, pub data: Value }
impl Frame {
    pub fn event(&self) -> &'static str { self.name }
    pub fn write_id(&self, out: &mut Vec<u8>) {
        if self.order == Order::Live { out.push(b'L'); }
        out.extend_from_slice(self.number.to_string().as_bytes());
    }
    pub fn write_data(&self, out: &mut Vec<u8>) { out.extend_from_slice(self.data.to_string().as_bytes()); }
}
pub struct EventStream(Vec<Frame>);
impl EventStream {
    pub fn was_cut(&self) -> bool { false }
    pub fn cut_when_behind(self) -> Self { self }
    pub async fn next_batch(&mut self) -> Option<Vec<Frame>> { if self.0.is_empty() { None } else { Some(std::mem::take(&mut self.0)) } }
}
/// One of `limits.streams`.
pub struct StreamSlot(Arc<AtomicUsize>);
impl Drop for StreamSlot { fn drop(&mut self) { self.0.fetch_sub(1, Ordering::SeqCst); } }

fn none<T>(resource: &str, id: &str) -> Result<T> { Err(Error::not_found(resource, id)) }

impl Studio {
    pub fn open(config: Config) -> Result<Self> {
        let world = World { config: Arc::new(config), clock: Arc::new(SystemClock::default()), store: Store::default(), host: HostDoor::default() };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(|e| Error::internal(e.to_string()))?;
        Ok(Self(Arc::new(Inner { world: Arc::new(world), runtime: Some(runtime), streams: Arc::default(), started: AtomicUsize::new(0), cancelled: AtomicUsize::new(0) })))
    }
    pub fn config(&self) -> &Config { &self.0.world.config }
    pub fn world(&self) -> &Arc<World> { &self.0.world }
    pub fn set_host(&self, host: Arc<dyn Host>, declaration: HostDeclaration) { *self.0.world.host.0.write() = Some((host, declaration)); }
    pub fn runtime(&self) -> Result<tokio::runtime::Handle> { self.0.runtime.as_ref().map(|runtime| runtime.handle().clone()).ok_or_else(|| Error::internal("closed")) }
    pub fn stream_slot(&self) -> Result<StreamSlot> {
        let before = self.0.streams.fetch_add(1, Ordering::SeqCst);
        let slot = StreamSlot(Arc::clone(&self.0.streams));
        if before < self.config().limits.streams { Ok(slot) } else { Err(Error::new(Kind::TooManyStreams, "too many streams are open")) }
    }
    pub(crate) async fn on_runtime<T: Send + 'static>(&self, work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
        self.runtime()?.spawn(work).await.unwrap_or_else(|_| Err(Error::internal("a fault")))
    }
    pub fn started(&self) -> usize { self.0.started.load(Ordering::SeqCst) }
    pub fn cancelled(&self) -> usize { self.0.cancelled.load(Ordering::SeqCst) }

    pub async fn start(&self, _: &Scope, entity: EntityKind, id: &str, _: RunRequest, queued: bool) -> Result<Started> {
        if id != "known" { return none(entity.as_str(), id); }
        self.0.started.fetch_add(1, Ordering::SeqCst);
        let status = if queued { Status::Queued } else { Status::Running };
        Ok(Started { run: self.0.world.clock.id(), thread: self.0.world.clock.id(), pause: None, status, entity, after: 0 })
    }
    pub async fn resume(&self, _: &Scope, run: &str, _: ResumeRequest, _: bool) -> Result<Started> { none("run", run) }
    pub async fn retry(&self, _: &Scope, run: &str, _: RetryRequest, _: bool) -> Result<Started> { none("run", run) }
    pub async fn cancel(&self, _: &Scope, run: &str) -> Result<(Id, Status)> {
        self.0.cancelled.fetch_add(1, Ordering::SeqCst);
        Ok((run.parse().map_err(|_| Error::not_found("run", run))?, Status::Cancelled))
    }
    pub async fn delete_run(&self, _: &Scope, run: &str) -> Result<()> { none("run", run) }
    pub async fn events(&self, _: &Scope, run: &str, from: From, telling: Follow) -> Result<Option<EventStream>> {
        if run.parse::<Id>().is_err() { return none("run", run); }
        let frame = |number, name| Frame { order: from.order, number, name, data: json!({"trace_id": run}) };
        let mut frames = vec![frame(1, "thread"), frame(2, "trace_completed")];
        if telling == Follow::Tail { frames.push(frame(3, "run_terminal")); }
        frames.retain(|frame| frame.number > from.after);
        Ok(if frames.is_empty() { None } else { Some(EventStream(frames)) })
    }
    pub async fn trace(&self, _: &Scope, run: &str, _: TraceQuery) -> Result<Value> { none("run", run) }
    pub async fn step(&self, _: &Scope, run: &str, _: &str, _: bool) -> Result<Value> { none("run", run) }
}

/// What the lists of runs are asked for.
#[derive(Clone, Debug, Default)]
pub struct RunsQuery {
    pub status: Vec<String>, pub entity_type: Option<EntityKind>, pub entity_id: Option<String>, pub thread_id: Option<String>,
    pub parent_run_id: Option<String>, pub from: Option<crate::model::Timestamp>, pub to: Option<crate::model::Timestamp>, pub list: ListQuery,
}
impl Studio {
    pub async fn runs(&self, _: &Scope, _: RunsQuery) -> Result<Page> { Ok(Page::default()) }
    pub async fn runs_page(&self, _: &Scope, _workflow: &str, page: u64, per_page: u64, _status: &[String]) -> Result<Value> {
        Ok(json!({"data": [], "meta": {"current_page": page, "last_page": 1, "per_page": per_page, "total": 0}}))
    }
    pub async fn run_counts(&self, _: &Scope) -> Result<Value> { Ok(json!({"queued": 0, "running": 0, "awaiting_input": 0, "awaiting_tool_approval": 0})) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource { Agent, Workflow, Tool, McpServer, KnowledgeBase }
impl Resource {
    pub const ALL: [Self; 5] = [Self::Agent, Self::Workflow, Self::Tool, Self::McpServer, Self::KnowledgeBase];
    pub const fn word(self) -> &'static str { self.words().0 }
    pub const fn path(self) -> &'static str { self.words().1 }
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Agent => ("agent", "agents"), Self::Workflow => ("workflow", "workflows"), Self::Tool => ("tool", "tools"),
            Self::McpServer => ("mcp_server", "mcp-servers"), Self::KnowledgeBase => ("knowledge_base", "knowledge-bases"),
        }
    }
}
impl Studio {
    pub async fn list(&self, _: &Scope, _: Resource, _: ListQuery) -> Result<Page> { Ok(Page::default()) }
    pub async fn create(&self, _: &Scope, _: Resource, body: &Value) -> Result<Value> {
        let name = body.get("name").ok_or_else(|| Error::field("name", "name is required"))?;
        Ok(json!({"id": self.world().clock.id().to_string(), "name": name, "revision": 1}))
    }
    pub async fn get(&self, _: &Scope, resource: Resource, id: &str) -> Result<Value> { none(resource.word(), id) }
    pub async fn put(&self, _: &Scope, resource: Resource, id: &str, _: &Value, _: Option<i64>) -> Result<Value> { none(resource.word(), id) }
    pub async fn patch(&self, _: &Scope, resource: Resource, id: &str, _: &Value, _: Option<i64>) -> Result<Value> { none(resource.word(), id) }
    pub async fn delete(&self, _: &Scope, resource: Resource, id: &str, _: &Value, _: Option<i64>, _force: bool) -> Result<()> { none(resource.word(), id) }
    pub async fn duplicate(&self, _: &Scope, resource: Resource, id: &str) -> Result<Value> { none(resource.word(), id) }
    pub async fn draft(&self, _: &Scope, workflow: &str) -> Result<Value> { none("workflow", workflow) }
    pub async fn put_draft(&self, _: &Scope, workflow: &str, _: &Value, _: Option<i64>) -> Result<Value> { none("workflow", workflow) }
    pub async fn delete_draft(&self, _: &Scope, workflow: &str) -> Result<()> { none("workflow", workflow) }
    pub async fn save_draft(&self, _: &Scope, workflow: &str, _: &Value, _: Option<i64>) -> Result<Value> { none("workflow", workflow) }
    pub async fn revisions(&self, _: &Scope, workflow: &str, _: ListQuery) -> Result<Page> { none("workflow", workflow) }
    pub async fn revision(&self, _: &Scope, workflow: &str, _: i64) -> Result<Value> { none("workflow", workflow) }
    pub async fn restore_revision(&self, _: &Scope, workflow: &str, _: i64) -> Result<Value> { none("workflow", workflow) }
    pub async fn validate_graph(&self, _: &Scope, _: &Value) -> Result<Value> { Ok(json!({"valid": true, "errors": [], "warnings": [], "issues": []})) }
    pub fn graph_schema(&self) -> Value { json!({"version": 1}) }
    pub async fn registry_tools(&self, _: &Scope) -> Result<Value> { Ok(json!({"data": []})) }
    pub fn registry_schemas(&self) -> Value { json!({"data": []}) }
    pub fn settings(&self) -> Value { json!({"flags": {}, "keys": []}) }
    pub async fn providers(&self, _: &Scope) -> Result<Value> { Ok(json!({"data": []})) }
    pub async fn threads(&self, _: &Scope, _entity: Option<EntityKind>, _entity_id: Option<&str>, _: ListQuery) -> Result<Page> { Ok(Page::default()) }
    pub async fn thread(&self, _: &Scope, thread: &str, _: ListQuery) -> Result<Value> { none("thread", thread) }
    pub async fn delete_thread(&self, _: &Scope, thread: &str) -> Result<()> { none("thread", thread) }
    pub async fn chat_threads(&self, _: &Scope, entity: EntityKind, id: &str, _: ListQuery) -> Result<Page> { none(entity.as_str(), id) }
    pub async fn chat_messages(&self, _: &Scope, entity: EntityKind, id: &str, _thread: &str, _: ListQuery) -> Result<Value> { none(entity.as_str(), id) }
    pub async fn chat_runs(&self, _: &Scope, entity: EntityKind, id: &str, _thread: &str, _: ListQuery) -> Result<Page> { none(entity.as_str(), id) }
    pub async fn upload(&self, _: &Scope, upload: Upload) -> Result<Value> {
        Ok(json!({"storage_key": "k", "mime_type": "text/plain", "name": upload.name, "type": "document", "size_bytes": upload.bytes.len()}))
    }
    pub async fn attachment(&self, _: &Scope, key: &str) -> Result<StoredFile> { none("attachment", key) }
    pub async fn delete_attachment(&self, _: &Scope, key: &str) -> Result<()> { none("attachment", key) }
    pub async fn checkpoints(&self, _: &Scope, run: &str) -> Result<Value> { none("run", run) }
    pub async fn delete_checkpoints(&self, _: &Scope, run: &str) -> Result<()> { none("run", run) }
}
/// A file as it was sent.
pub struct Upload { pub name: Option<String>, pub mime_type: Option<String>, pub kind: Option<String>, pub bytes: bytes::Bytes }
/// A file as it is kept.
pub struct StoredFile { pub mime_type: String, pub name: Option<String>, pub bytes: bytes::Bytes }
