//! Owns one step of a trace.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::event::weight::of_value;
use super::super::event::{Change, Entry, Fault, Handle, StepCompleted, Warning};
use super::super::graph::NodeKind;
use super::super::plan::Plan;
use super::super::run::{Run, Spot};
use super::super::state::{State, is_internal};
use super::super::usage::Usage;
use super::super::{Id, Timestamp};

/// A moment of a run: by the clock, and how long the run had worked by then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) at: Timestamp,
    pub(super) worked_ms: u64,
}

named! {
    /// How far a step is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StepStatus {
        /// Active.
        Running = "running",
        /// Waits for a person.
        Paused = "paused",
        /// Ended well.
        Completed = "completed",
        /// Ended badly.
        Failed = "failed",
        /// Cut short.
        Cancelled = "cancelled",
    }
}

/// One step of a trace.
#[derive(Debug)]
#[expect(missing_docs, reason = "the fields are those of the step in the trace JSON")]
pub struct Step {
    pub id: Id,
    pub seq: u64,
    pub node: Arc<str>,
    pub kind: Option<NodeKind>,
    pub title: Option<String>,
    pub status: StepStatus,
    pub handle: Option<Handle>,
    pub iteration: Option<u32>,
    pub scope: String,
    pub path: Vec<Arc<str>>,
    pub attempt: u32,
    pub checkpoint_hit: bool,
    pub superseded: bool,
    pub started_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    pub duration_ms: u64,
    pub snapshot: Option<State>,
    pub output: Option<Change>,
    pub fault: Option<Fault>,
    pub usage: Usage,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub thread: Option<Id>,
    pub attachment_count: u32,
    pub child_run: Option<Id>,
    /// Of a retrieval: chunk count, top score and citations.
    pub rag: Option<Value>,
    pub finish: Option<String>,
    pub warnings: Vec<Warning>,
    pub(super) spot: Spot,
    /// How long the run had worked when it was entered; none while it waits.
    entered_ms: Option<u64>,
}

/// The scope of a loop node's own visit.
pub(super) fn visited(scope: &str, node: &str, visit: u32) -> String {
    let own = format!("{node}#");
    let above: Vec<&str> = scope.split('/').filter(|part| !part.is_empty()).collect();
    let keep = above.iter().position(|part| part.starts_with(&own)).unwrap_or(above.len());
    let mut parts: Vec<String> = above[..keep].iter().map(|part| (*part).to_owned()).collect();
    parts.push(format!("{own}{visit}"));
    parts.join("/")
}

impl Step {
    pub(super) fn new(id: Id, node: &Arc<str>, entry: &Entry, run: &Run, plan: &Plan, snapshots: bool) -> Self {
        let at = plan.find(node);
        let lane = run.lanes.get(&entry.lane);
        let kind = at.map(|at| plan.node(at).kind);
        Self {
            id,
            seq: 0,
            node: Arc::clone(node),
            kind,
            title: at.and_then(|at| plan.node(at).title.clone()),
            status: StepStatus::Running,
            handle: None,
            iteration: None,
            scope: lane.map(|lane| lane.scope(plan)).unwrap_or_default(),
            path: lane.map(|lane| lane.path().to_vec()).unwrap_or_default(),
            attempt: 1,
            checkpoint_hit: false,
            superseded: false,
            started_at: entry.at,
            finished_at: None,
            duration_ms: 0,
            snapshot: lane.filter(|_| snapshots).map(|lane| lane.state.clone()),
            output: None,
            fault: None,
            usage: Usage::default(),
            provider: None,
            model: None,
            thread: (kind == Some(NodeKind::Agent)).then_some(run.created.thread),
            attachment_count: 0,
            child_run: None,
            rag: None,
            finish: None,
            warnings: Vec::new(),
            spot: run.spot(entry.lane),
            entered_ms: None,
        }
    }

    pub(super) fn enter(&mut self, now: Moment, attempt: u32) {
        self.status = StepStatus::Running;
        self.attempt = attempt;
        let before = self.entered_ms.replace(now.worked_ms);
        self.duration_ms += before.map_or(0, |since| now.worked_ms.saturating_sub(since));
        self.finished_at = None;
        self.fault = None;
    }

    pub(super) fn end(&mut self, now: Moment, status: StepStatus) {
        self.duration_ms += self.entered_ms.take().map_or(0, |since| now.worked_ms.saturating_sub(since));
        self.finished_at = Some(now.at);
        self.status = status;
    }

    /// A fork that had closed is open again, as if it had just begun.
    pub(super) fn reopen(&mut self) {
        (self.status, self.duration_ms) = (StepStatus::Failed, 0);
        (self.handle, self.output) = (None, None);
    }

    pub(super) fn pause(&mut self, now: Moment) {
        self.end(now, StepStatus::Paused);
        self.finished_at = None;
    }

    /// The keys that it changed, as the trace JSON has them.
    pub fn changed(&self) -> Option<Value> {
        self.output.as_ref().map(changed)
    }

    pub(super) fn leave(&mut self, now: Moment, handle: &Handle, change: &Change) {
        self.end(now, StepStatus::Completed);
        self.handle = Some(handle.clone());
        self.output = Some(change.clone());
    }

    pub(super) fn complete(&mut self, now: Moment, done: &StepCompleted) {
        self.leave(now, &done.handle, &done.change);
        self.fault.clone_from(&done.error);
        self.attachment_count = done.attachment_count;
        self.checkpoint_hit |= done.checkpoint_hit;
    }

    pub(super) fn fail(&mut self, now: Moment, fault: &Fault) {
        self.end(now, StepStatus::Failed);
        self.fault = Some(fault.clone());
    }

    /// About the bytes of what it wrote and found.
    pub fn payload(&self) -> usize {
        let output = self.output.iter().flatten().map(|(key, value)| key.len() + of_value(value)).sum::<usize>();
        output + self.rag.as_ref().map_or(0, of_value)
    }

    /// The step as the trace JSON has it. `state` is the snapshot to show, when it is shown.
    pub fn json(&self, state: Option<Value>, omitted: bool, payloads: bool, usage: Map<String, Value>) -> Value {
        let kind = self.kind.map(NodeKind::as_str);
        let error = self.fault.as_ref().map(|fault| json!({"code": fault.code.as_str(), "message": fault.message}));
        let mut shown = json!({
            "id": self.id, "seq": self.seq, "node_id": self.node, "node_type": kind, "node_title": self.title,
            "status": self.status.as_str(), "handle": self.handle, "iteration": self.iteration,
            "iteration_path": self.scope, "branch_id": self.path.last(), "branch_path": self.path, "attempt": self.attempt,
            "checkpoint_hit": self.checkpoint_hit, "superseded": self.superseded,
            "started_at": self.started_at.rfc3339(), "finished_at": self.finished_at.map(Timestamp::rfc3339),
            "duration_ms": self.duration_ms, "state_snapshot": null, "state_omitted": omitted,
            "output": self.changed().filter(|_| payloads), "error": error,
        });
        if let Value::Object(fields) = &mut shown {
            fields.insert("state_snapshot".into(), state.unwrap_or_default());
            fields.extend(usage);
            fields.insert("provider".into(), json!(self.provider));
            fields.insert("model".into(), json!(self.model));
            super::add_ending(fields, self.finish.as_deref(), &self.warnings);
            fields.insert("thread_id".into(), json!(self.thread));
            fields.insert("attachment_count".into(), json!(self.attachment_count));
            fields.insert("child_run_id".into(), json!(self.child_run));
            if let Some(errors) = self.fault.as_ref().map(|fault| &fault.validation_errors).filter(|errors| !errors.is_empty()) {
                fields.insert("validation_errors".into(), json!(errors));
            }
            if let Some(Value::Object(rag)) = &self.rag {
                fields.extend(rag.clone());
            }
            if !payloads {
                fields.remove("state_snapshot");
                fields.remove("output");
            }
        }
        shown
    }
}

/// The changed keys without internal ones.
fn changed(change: &Change) -> Value {
    let fields = change.iter().filter(|(key, _)| !is_internal(key));
    Value::Object(fields.map(|(key, value)| (key.to_string(), (**value).clone())).collect())
}
