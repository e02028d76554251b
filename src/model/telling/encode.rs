//! Owns the wire form of workflow events: one line of JSON, encoded when a reader needs it.

use serde_json::Value;

use super::super::Id;
use super::super::event::{Answer, CallOutcome, Entry, Event, Fault, ModelFallback, Pause, PauseReason, PureOutcome};
use super::super::run::Status;
use super::super::usage::Usage;
use super::frame::{Body, Frame, StepFacts, pause_of, reason_of};
use super::json::Object;

impl Frame {
    fn node_head(&self, object: &mut Object<'_>, step: Id) {
        let node = self.facts().plan.node(self.node);
        object.id("step_id", step).put("node_id", &*node.id).plain("node_type", node.kind.as_str());
        if let Some(title) = &node.title {
            object.put("node_title", title);
        }
    }

    pub(super) fn node_only(&self, object: &mut Object<'_>, step: Id) {
        object.id("step_id", step).put("node_id", &*self.facts().plan.node(self.node).id);
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each event, each a line or two")]
    pub(super) fn fields(&self, object: &mut Object<'_>) {
        let created = &self.facts().created;
        match &self.body {
            Body::Thread => {
                object.id("thread_id", created.thread).id("workflow_id", created.entity_id);
            }
            Body::TraceStarted { at } => {
                object.id("workflow_id", created.entity_id).id("thread_id", created.thread);
                object.plain("status", "running").plain("started_at", &at.rfc3339());
            }
            Body::RanStarted(entry) => {
                if let Event::StepRan(ran) = &entry.event {
                    self.node_head(object, ran.step);
                    started(object, ran.iteration, ran.attempt, ran.resumed);
                }
            }
            Body::Started(entry) => {
                if let Event::StepStarted(begun) = &entry.event {
                    self.node_head(object, begun.step);
                    started(object, begun.iteration, begun.attempt, begun.resumed);
                }
            }
            Body::LoopIteration(entry) => {
                if let Event::StepRan(ran) = &entry.event {
                    self.node_only(object, ran.step);
                    object.maybe("iteration", ran.iteration).maybe("max_steps", ran.max_steps);
                }
            }
            Body::RanEnded(entry) => self.ran_ended(object, entry),
            Body::Retrying(entry) => {
                if let Event::StepRetrying { step, attempt, delay_ms, fault } = &entry.event {
                    self.node_only(object, *step);
                    object.number("attempt", u64::from(*attempt)).number("delay_ms", *delay_ms);
                    object.plain("code", fault.code.as_str()).put("message", &fault.message);
                }
            }
            Body::Hit { entry, iteration } => {
                if let Event::CheckpointHit { step, input_hash } = &entry.event {
                    self.node_only(object, *step);
                    object.maybe("iteration", *iteration).plain("input_hash", input_hash);
                }
            }
            Body::Fallback(entry) => {
                if let Event::ModelFallback(turned) = &entry.event {
                    self.node_only(object, turned.step);
                    fallback(object, turned);
                }
            }
            Body::Completed { entry, step } => self.completed(object, entry, step),
            Body::StepFailed { entry, step } => {
                if let Event::StepFailed { step: id, fault } = &entry.event {
                    self.step_failed(object, *id, fault, step.worked_ms);
                    if self.metered(step) {
                        self.usage(object, &step.usage.unwrap_or_default());
                    }
                }
            }
            Body::Token { tokens, delta } => {
                self.node_only(object, tokens.step);
                object.put("delta", &**delta).flag("publish_reply", tokens.publish_reply);
            }
            Body::ToolCall { entry, index } => self.tool_call(object, entry, *index),
            Body::ToolResult(entry) => self.tool_result(object, entry),
            Body::Source { entry, index } => {
                if let Event::CallFinished(call) = &entry.event {
                    self.node_only(object, call.step);
                }
                source(object, entry, *index);
            }
            Body::File { entry, index } => {
                if let Event::CallFinished(call) = &entry.event {
                    self.node_only(object, call.step);
                }
                file(object, entry, *index);
            }
            Body::RagQuery(entry) => self.rag_query(object, entry),
            Body::BranchStarted => self.branch(object),
            Body::BranchEnded { duration_ms } => {
                self.branch(object);
                object.number("duration_ms", *duration_ms);
            }
            Body::Interrupt(entry) => {
                if let Some(pause) = pause_of(entry) {
                    self.branch(object);
                    object.put("node_id", &*pause.node).id("pause_id", pause.id);
                    object.plain("reason", reason_of(pause));
                }
            }
            Body::Asked(entry) => self.asked(object, entry),
            Body::Resolved { entry, paused } => self.resolved(object, entry, paused),
            Body::Ended { entry, total, duration_ms, .. } => self.ended(object, entry, total, *duration_ms),
            Body::Terminal { entry, status } => terminal(object, entry.as_deref(), *status),
            // Its text is there already.
            Body::Written(_) => {}
        }
    }

    fn ran_ended(&self, object: &mut Object<'_>, entry: &Entry) {
        let Event::StepRan(ran) = &entry.event else { return };
        match &ran.outcome {
            PureOutcome::Failed(fault) => self.step_failed(object, ran.step, fault, 0),
            PureOutcome::Left { handle, change } => {
                self.node_head(object, ran.step);
                object.put("handle", &**handle).number("duration_ms", 0).maybe("iteration", ran.iteration);
                self.changes(object, change);
            }
        }
    }

    fn completed(&self, object: &mut Object<'_>, entry: &Entry, step: &StepFacts) {
        let Event::StepCompleted(done) = &entry.event else { return };
        self.node_head(object, done.step);
        object.put("handle", &*done.handle).number("duration_ms", step.worked_ms).maybe("iteration", step.iteration);
        self.changes(object, &done.change);
        if self.metered(step) {
            self.usage(object, &step.usage.unwrap_or_default());
            object.put("provider", &step.provider).put("model", &step.model);
            self.ending(object, step);
        }
        if let Some(fault) = &done.error {
            object.put("error", &serde_json::json!({"code": fault.code.as_str(), "message": fault.message}));
        }
    }

    fn step_failed(&self, object: &mut Object<'_>, step: Id, fault: &Fault, duration_ms: u64) {
        let node = self.facts().plan.node(self.node);
        object.id("step_id", step).put("node_id", &*node.id).plain("node_type", node.kind.as_str());
        object.number("duration_ms", duration_ms).plain("code", fault.code.as_str()).put("message", &fault.message);
        if !fault.validation_errors.is_empty() {
            object.put("validation_errors", &fault.validation_errors);
        }
    }

    fn rag_query(&self, object: &mut Object<'_>, entry: &Entry) {
        let Event::CallFinished(call) = &entry.event else { return };
        let CallOutcome::Value(value) = &call.outcome else { return };
        self.node_only(object, call.step);
        for name in ["query", "knowledge_base_id", "chunk_count", "top_score"] {
            object.put(name, value.get(name).unwrap_or(&Value::Null));
        }
    }

    fn branch(&self, object: &mut Object<'_>) {
        if let Some((_, fork)) = self.place.fork {
            object.put("fork_id", &*self.facts().plan.node(fork).id);
        }
    }

    fn asked(&self, object: &mut Object<'_>, entry: &Entry) {
        let Some(pause) = pause_of(entry) else { return };
        object.id("step_id", pause.step).put("node_id", &*pause.node).id("pause_id", pause.id);
        match &pause.reason {
            PauseReason::Human { prompt, output_key, question } => {
                object.put("prompt", prompt).put("output_key", output_key).id("thread_id", self.facts().created.thread);
                if let Some(question) = question {
                    object.put("question", &question.shown());
                }
            }
            PauseReason::Approval { .. } => pending(object, pause),
        }
    }

    fn resolved(&self, object: &mut Object<'_>, entry: &Entry, paused: &Entry) {
        let Some(pause) = pause_of(paused) else { return };
        object.id("step_id", pause.step).put("node_id", &*pause.node).id("pause_id", pause.id);
        decided(object, entry);
    }

    fn ended(&self, object: &mut Object<'_>, entry: &Entry, total: &Usage, duration_ms: u64) {
        if let Event::Completed { output, reply } = &entry.event {
            object.plain("status", "completed").put("output", output).put("reply", reply);
            object.id("thread_id", self.facts().created.thread).number("duration_ms", duration_ms);
        } else if let Event::Failed { fault, node } = &entry.event {
            object.put("node_id", node).plain("code", fault.code.as_str()).put("message", &fault.message);
            if !fault.validation_errors.is_empty() {
                object.put("validation_errors", &fault.validation_errors);
            }
            if !fault.calls.is_empty() {
                object.put("calls", &fault.calls);
            }
        } else if let Event::Cancelled { node } = &entry.event {
            object.put("node_id", node);
        }
        self.usage(object, total);
    }
}

pub(super) fn fallback(object: &mut Object<'_>, turned: &ModelFallback) {
    object.put("from", &turned.from).put("to", &turned.to).plain("code", turned.code.as_str());
    if let Some(parent) = turned.parent_call_id() {
        object.put("parent_call_id", parent);
    }
}

fn started(object: &mut Object<'_>, iteration: Option<u32>, attempt: u32, resumed: bool) {
    object.maybe("iteration", iteration).number("attempt", u64::from(attempt));
    if resumed {
        object.flag("resumed", true);
    }
}

pub(super) fn source(object: &mut Object<'_>, entry: &Entry, index: usize) {
    let Event::CallFinished(call) = &entry.event else { return };
    let Some(source) = call.sources.get(index) else { return };
    object.put("source_id", &source.source_id).put("kind", &source.kind);
    for (name, text) in [("url", &source.url), ("title", &source.title), ("document_id", &source.document_id)] {
        if let Some(text) = text {
            object.put(name, text);
        }
    }
    if let Some(page) = source.page {
        object.number("page", page);
    }
}

pub(super) fn file(object: &mut Object<'_>, entry: &Entry, index: usize) {
    let Event::CallFinished(call) = &entry.event else { return };
    let Some(file) = call.files.get(index) else { return };
    object.put("storage_key", &file.storage_key).put("name", &file.name).put("media_type", &file.media_type).number("size", file.size);
}

pub(super) fn pending(object: &mut Object<'_>, pause: &Pause) {
    if let PauseReason::Approval { calls, message, servers, fixed, .. } = &pause.reason {
        object.put("pending_tools", &super::frame::pending_tools(calls, servers, fixed)).put("message", message);
    }
}

pub(super) fn decided(object: &mut Object<'_>, entry: &Entry) {
    let Event::Resumed(resumed) = &entry.event else { return };
    let Answer::Approval { decisions } = &resumed.answer else { return };
    let shown: Vec<Value> = decisions
        .iter()
        .map(|decision| {
            let approval = if decision.approved { "approve" } else { "reject" };
            serde_json::json!({"call_id": decision.call_id, "approval": approval, "edited": decision.arguments.is_some()})
        })
        .collect();
    object.flag("approved", decisions.iter().any(|decision| decision.approved)).put("decisions", &shown);
}

pub(super) fn terminal(object: &mut Object<'_>, entry: Option<&Entry>, status: Status) {
    object.plain("status", status.as_str());
    if let Some(Event::Failed { fault, node }) = entry.map(|entry| &entry.event) {
        let error = serde_json::json!({"code": fault.code.as_str(), "message": fault.message, "node_id": node});
        object.put("error", &error);
    }
}
