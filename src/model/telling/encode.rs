//! Owns the wire form of each told event: its name and its one line of JSON, written when a reader wants it.

use std::io::Write;
use std::sync::Arc;

use serde_json::Value;

use super::super::event::{
    Answer, CallFinished, CallOutcome, Change, Created, EntityKind, Entry, Event, Fault, Pause, PauseReason, PureOutcome,
};
use super::super::graph::NodeKind;
use super::super::plan::{NodeIndex, Plan};
use super::super::run::Status;
use super::super::usage::Usage;
use super::super::{Id, Timestamp};
use super::Tokens;
use super::json::Object;

/// What all frames of a run share.
#[derive(Debug)]
pub struct Facts {
    pub(super) run: String,
    pub(super) created: Arc<Created>,
    pub(super) plan: Arc<Plan>,
    pub(super) wire: Wire,
}

/// Settings that the wire form depends on.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Values larger than this are left out of `changes`, `inputs` and `result`.
    pub value_bytes: usize,
    /// The currency of costs.
    pub currency: Arc<str>,
}

/// Which branch a frame belongs to.
#[derive(Debug, Default)]
pub(super) struct Place {
    pub(super) branch: Option<Arc<str>>,
    pub(super) path: Vec<Arc<str>>,
    pub(super) fork: Option<(Id, NodeIndex)>,
}

/// What was measured of a step while it was told.
#[derive(Clone, Debug, Default)]
pub(super) struct StepFacts {
    pub(super) iteration: Option<u32>,
    pub(super) usage: Option<Usage>,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) worked_ms: u64,
}

/// One told event.
#[derive(Clone, Debug)]
pub struct Frame {
    pub(super) n: u64,
    pub(super) live: bool,
    pub(super) facts: Arc<Facts>,
    pub(super) place: Arc<Place>,
    pub(super) node: NodeIndex,
    pub(super) body: Body,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    Thread,
    TraceStarted { at: Timestamp },
    RanStarted(Arc<Entry>),
    LoopIteration(Arc<Entry>),
    RanEnded(Arc<Entry>),
    Started(Arc<Entry>),
    Retrying(Arc<Entry>),
    Hit { entry: Arc<Entry>, iteration: Option<u32> },
    Completed { entry: Arc<Entry>, step: Box<StepFacts> },
    StepFailed { entry: Arc<Entry>, step: Box<StepFacts> },
    Token { tokens: Arc<Tokens>, delta: Arc<str> },
    ToolCall { entry: Arc<Entry>, index: usize },
    ToolResult(Arc<Entry>),
    RagQuery(Arc<Entry>),
    BranchStarted,
    BranchEnded { duration_ms: u64 },
    Interrupt(Arc<Entry>),
    Asked(Arc<Entry>),
    Resolved { entry: Arc<Entry>, paused: Arc<Entry> },
    Ended { entry: Arc<Entry>, total: Box<Usage>, duration_ms: u64, reply_id: Option<Id> },
    Terminal { entry: Option<Arc<Entry>>, status: Status },
}

impl Frame {
    /// Its number in its order.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.n
    }

    /// The frame that ends a tail.
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        matches!(self.body, Body::Terminal { .. })
    }

    /// About how many bytes it takes as text; cheap to say.
    #[must_use]
    pub fn weight(&self) -> usize {
        match &self.body {
            Body::Token { delta, .. } => 160 + delta.len(),
            Body::Completed { .. } | Body::Ended { .. } | Body::ToolResult(_) | Body::ToolCall { .. } => 1024,
            Body::Thread
            | Body::TraceStarted { .. }
            | Body::RanStarted(_)
            | Body::LoopIteration(_)
            | Body::RanEnded(_)
            | Body::Started(_)
            | Body::Retrying(_)
            | Body::Hit { .. }
            | Body::StepFailed { .. }
            | Body::RagQuery(_)
            | Body::BranchStarted
            | Body::BranchEnded { .. }
            | Body::Interrupt(_)
            | Body::Asked(_)
            | Body::Resolved { .. }
            | Body::Terminal { .. } => 256,
        }
    }

    /// The step that a `step_started` frame begins, when it is its first.
    #[must_use]
    pub fn begins_step(&self) -> Option<Id> {
        match &self.body {
            Body::RanStarted(entry) | Body::Started(entry) => match &entry.event {
                Event::StepRan(ran) if !ran.resumed => Some(ran.step),
                Event::StepStarted(started) if !started.resumed => Some(started.step),
                _elsewhere => None,
            },
            _elsewhere => None,
        }
    }

    /// The event's name.
    #[must_use]
    pub fn event(&self) -> &'static str {
        let chat = self.facts.created.entity == EntityKind::Agent;
        match &self.body {
            Body::Thread => "thread",
            Body::TraceStarted { .. } => "trace_started",
            Body::RanStarted(_) | Body::Started(_) => "step_started",
            Body::LoopIteration(_) => "loop_iteration",
            Body::RanEnded(entry) => match &entry.event {
                Event::StepRan(ran) if matches!(ran.outcome, PureOutcome::Failed(_)) => "step_failed",
                _left => "step_completed",
            },
            Body::Retrying(_) => "step_retrying",
            Body::Hit { .. } => "checkpoint_hit",
            Body::Completed { .. } => "step_completed",
            Body::StepFailed { .. } => "step_failed",
            Body::Token { .. } => "token",
            Body::ToolCall { .. } => "tool_call",
            Body::ToolResult(_) => "tool_result",
            Body::RagQuery(_) => "rag_query",
            Body::BranchStarted => "branch_started",
            Body::BranchEnded { .. } => "branch_completed",
            Body::Interrupt(_) => "parallel_interrupt",
            Body::Asked(entry) => match pause_of(entry).map(|pause| &pause.reason) {
                Some(PauseReason::Human { .. }) => "human_input_required",
                Some(PauseReason::Approval { .. }) | None => "tool_approval_required",
            },
            Body::Resolved { .. } => "tool_approval_resolved",
            Body::Ended { entry, .. } => match &entry.event {
                Event::Completed { .. } if chat => "done",
                Event::Completed { .. } => "trace_completed",
                _failed if chat => "error",
                Event::Failed { .. } => "trace_failed",
                _cancelled => "trace_cancelled",
            },
            Body::Terminal { .. } => "run_terminal",
        }
    }

    /// Its id: `7`, or `L7` as it happened.
    pub fn write_id(&self, out: &mut Vec<u8>) {
        if self.live {
            out.push(b'L');
        }
        let _infallible = write!(out, "{}", self.n);
    }

    /// Its data, one line of JSON.
    pub fn write_data(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        if self.facts.created.entity == EntityKind::Agent {
            self.chat_fields(&mut object);
        } else {
            object.plain("trace_id", &self.facts.run);
            self.fields(&mut object);
            if let Some(branch) = &self.place.branch {
                object.put("branch_id", &**branch).put("branch_path", &self.place.path);
            }
        }
        object.close();
    }

    fn node_head(&self, object: &mut Object<'_>, step: Id) {
        let node = self.facts.plan.node(self.node);
        object.id("step_id", step).put("node_id", &*node.id).plain("node_type", node.kind.as_str());
        if let Some(title) = &node.title {
            object.put("node_title", title);
        }
    }

    fn node_only(&self, object: &mut Object<'_>, step: Id) {
        object.id("step_id", step).put("node_id", &*self.facts.plan.node(self.node).id);
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each event, each a line or two")]
    fn fields(&self, object: &mut Object<'_>) {
        let created = &self.facts.created;
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
        }
    }

    /// The fields of agent chat.
    fn chat_fields(&self, object: &mut Object<'_>) {
        let (run, created) = (&self.facts.run, &self.facts.created);
        match &self.body {
            Body::Thread => {
                object.id("thread_id", created.thread).plain("trace_id", run).id("agent_id", created.entity_id);
            }
            Body::Token { delta, .. } => {
                object.put("delta", &**delta);
            }
            Body::ToolCall { entry, index } => self.tool_call(object, entry, *index),
            Body::ToolResult(entry) => self.tool_result(object, entry),
            Body::Asked(entry) => {
                object.plain("trace_id", run);
                if let Some(pause) = pause_of(entry) {
                    object.id("pause_id", pause.id);
                    pending(object, pause);
                }
            }
            Body::Resolved { entry, paused } => {
                object.plain("trace_id", run);
                if let Some(pause) = pause_of(paused) {
                    object.id("pause_id", pause.id);
                }
                decided(object, entry);
            }
            Body::Ended { entry, total, reply_id, .. } => self.chat_ended(object, entry, total, *reply_id),
            Body::Terminal { entry, status } => {
                object.plain("trace_id", run);
                terminal(object, entry.as_deref(), *status);
            }
            Body::TraceStarted { .. }
            | Body::RanStarted(_)
            | Body::LoopIteration(_)
            | Body::RanEnded(_)
            | Body::Started(_)
            | Body::Retrying(_)
            | Body::Hit { .. }
            | Body::Completed { .. }
            | Body::StepFailed { .. }
            | Body::RagQuery(_)
            | Body::BranchStarted
            | Body::BranchEnded { .. }
            | Body::Interrupt(_) => {}
        }
    }

    fn chat_ended(&self, object: &mut Object<'_>, entry: &Entry, total: &Usage, reply_id: Option<Id>) {
        object.plain("trace_id", &self.facts.run);
        match &entry.event {
            Event::Completed { reply, .. } => {
                object.id("thread_id", self.facts.created.thread).plain("status", "completed");
                object.put("message_id", &reply_id).put("reply", reply);
                self.usage(object, total);
            }
            Event::Failed { fault, .. } => {
                object.plain("code", fault.code.as_str()).put("message", &fault.message);
            }
            _cancelled => {
                object.plain("code", "cancelled").plain("message", "the turn was cancelled");
            }
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
        }
        if let Some(fault) = &done.error {
            object.put("error", &serde_json::json!({"code": fault.code.as_str(), "message": fault.message}));
        }
    }

    fn step_failed(&self, object: &mut Object<'_>, step: Id, fault: &Fault, duration_ms: u64) {
        let node = self.facts.plan.node(self.node);
        object.id("step_id", step).put("node_id", &*node.id).plain("node_type", node.kind.as_str());
        object.number("duration_ms", duration_ms).plain("code", fault.code.as_str()).put("message", &fault.message);
        if !fault.validation_errors.is_empty() {
            object.put("validation_errors", &fault.validation_errors);
        }
    }

    fn metered(&self, step: &StepFacts) -> bool {
        let kind = self.facts.plan.node(self.node).kind;
        matches!(kind, NodeKind::Agent | NodeKind::Llm | NodeKind::Rag) || step.usage.is_some_and(|usage| !usage.is_zero())
    }

    fn usage(&self, object: &mut Object<'_>, usage: &Usage) {
        let tokens = &usage.tokens;
        object
            .number("prompt_tokens", tokens.prompt)
            .number("completion_tokens", tokens.completion)
            .number("total_tokens", tokens.prompt + tokens.completion)
            .number("cached_tokens", tokens.cached)
            .number("cache_write_tokens", tokens.cache_write)
            .number("reasoning_tokens", tokens.reasoning)
            .plain("estimated_cost", &usage.cost.shown())
            .put("currency", &*self.facts.wire.currency)
            .flag("unpriced", usage.unpriced);
    }

    /// The changed keys without internal ones; values that are too large are named only.
    fn changes(&self, object: &mut Object<'_>, change: &Change) {
        let mut omitted: Vec<&str> = Vec::new();
        let mut buffer = Vec::new();
        let mut inner = Object::open(&mut buffer);
        for (key, value) in change.iter().filter(|(key, _)| !key.starts_with("__")) {
            if self.fits(value) { inner.put(key, &**value) } else { omitted.push(key); &mut inner };
        }
        inner.close();
        object.raw("changes", &buffer);
        if !omitted.is_empty() {
            object.put("omitted_keys", &omitted);
        }
    }

    fn fits(&self, value: &Value) -> bool {
        weigh(value, self.facts.wire.value_bytes) <= self.facts.wire.value_bytes
    }

    fn tool_call(&self, object: &mut Object<'_>, entry: &Entry, index: usize) {
        let Event::ToolsCalled { step, calls, parent_call_id } = &entry.event else { return };
        let Some(call) = calls.get(index) else { return };
        let chat = self.facts.created.entity == EntityKind::Agent;
        if !chat {
            self.node_only(object, *step);
        }
        object.put("call_id", &call.id).put("name", &call.name);
        let omitted = self.inputs(object, &call.arguments);
        if !chat {
            object.put("result", &());
        }
        if let Some(parent) = parent_call_id {
            object.put("parent_call_id", parent);
        }
        if omitted {
            object.put("omitted_keys", &["inputs"]);
        }
    }

    fn inputs(&self, object: &mut Object<'_>, inputs: &Value) -> bool {
        let fits = self.fits(inputs);
        if fits && inputs.is_object() {
            object.put("inputs", inputs);
        } else {
            object.put("inputs", &serde_json::Map::new());
        }
        !fits
    }

    fn tool_result(&self, object: &mut Object<'_>, entry: &Entry) {
        let Event::CallFinished(call) = &entry.event else { return };
        let CallFinished { step, outcome: CallOutcome::Tool(outcome), duration_ms, .. } = &**call else { return };
        if self.facts.created.entity != EntityKind::Agent {
            self.node_only(object, *step);
        }
        object.put("call_id", &outcome.call_id).put("name", &outcome.name);
        let mut omitted = Vec::new();
        if self.inputs(object, &outcome.inputs) {
            omitted.push("inputs");
        }
        if outcome.result.len() > self.facts.wire.value_bytes {
            omitted.push("result");
            object.put("result", &());
        } else {
            object.put("result", &outcome.result);
        }
        object.flag("is_error", outcome.is_error).flag("skipped", outcome.skipped).number("duration_ms", *duration_ms);
        if let Some(parent) = &outcome.parent_call_id {
            object.put("parent_call_id", parent);
        }
        if !omitted.is_empty() {
            object.put("omitted_keys", &omitted);
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
            object.put("fork_id", &*self.facts.plan.node(fork).id);
        }
    }

    fn asked(&self, object: &mut Object<'_>, entry: &Entry) {
        let Some(pause) = pause_of(entry) else { return };
        object.id("step_id", pause.step).put("node_id", &*pause.node).id("pause_id", pause.id);
        match &pause.reason {
            PauseReason::Human { prompt, output_key } => {
                object.put("prompt", prompt).put("output_key", output_key).id("thread_id", self.facts.created.thread);
            }
            PauseReason::Approval { .. } => pending(object, pause),
        }
    }

    fn resolved(&self, object: &mut Object<'_>, entry: &Entry, paused: &Entry) {
        let Some(pause) = pause_of(paused) else { return };
        object.put("node_id", &*pause.node).id("pause_id", pause.id);
        decided(object, entry);
    }

    fn ended(&self, object: &mut Object<'_>, entry: &Entry, total: &Usage, duration_ms: u64) {
        match &entry.event {
            Event::Completed { output, reply } => {
                object.plain("status", "completed").put("output", output).put("reply", reply);
                object.id("thread_id", self.facts.created.thread).number("duration_ms", duration_ms);
            }
            Event::Failed { fault, node } => {
                object.put("node_id", node).plain("code", fault.code.as_str()).put("message", &fault.message);
                if !fault.validation_errors.is_empty() {
                    object.put("validation_errors", &fault.validation_errors);
                }
                if !fault.calls.is_empty() {
                    object.put("calls", &fault.calls);
                }
            }
            Event::Cancelled { node } => {
                object.put("node_id", node);
            }
            _elsewhere => {}
        }
        self.usage(object, total);
    }
}

fn started(object: &mut Object<'_>, iteration: Option<u32>, attempt: u32, resumed: bool) {
    object.maybe("iteration", iteration).number("attempt", u64::from(attempt));
    if resumed {
        object.flag("resumed", true);
    }
}

fn pending(object: &mut Object<'_>, pause: &Pause) {
    if let PauseReason::Approval { calls, message, .. } = &pause.reason {
        object.put("pending_tools", &pending_tools(calls)).put("message", message);
    }
}

/// Calls that wait for approval, as they are shown.
#[must_use]
pub fn pending_tools(calls: &[super::super::chat::ToolCall]) -> Vec<Value> {
    calls
        .iter()
        .map(|call| serde_json::json!({"name": call.name, "arguments": call.arguments, "call_id": call.id}))
        .collect()
}

fn decided(object: &mut Object<'_>, entry: &Entry) {
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

fn terminal(object: &mut Object<'_>, entry: Option<&Entry>, status: Status) {
    object.plain("status", status.as_str());
    if let Some(Event::Failed { fault, node }) = entry.map(|entry| &entry.event) {
        let error = serde_json::json!({"code": fault.code.as_str(), "message": fault.message, "node_id": node});
        object.put("error", &error);
    }
}

fn reason_of(pause: &Pause) -> &'static str {
    match pause.reason {
        PauseReason::Human { .. } => "human",
        PauseReason::Approval { .. } => "tool_approval",
    }
}

fn pause_of(entry: &Entry) -> Option<&Pause> {
    if let Event::Paused(pause) = &entry.event { Some(pause) } else { None }
}

/// About the bytes of a value as JSON; stops counting past `enough`.
fn weigh(value: &Value, enough: usize) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 12,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => {
            let mut sum = 2;
            for item in items {
                sum += weigh(item, enough) + 1;
                if sum > enough {
                    break;
                }
            }
            sum
        }
        Value::Object(fields) => {
            let mut sum = 2;
            for (key, item) in fields {
                sum += key.len() + 4 + weigh(item, enough);
                if sum > enough {
                    break;
                }
            }
            sum
        }
    }
}
