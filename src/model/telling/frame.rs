//! Owns one frame: its event, name, number and approximate size.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::chat::ToolCall;
use super::super::event::{CallOutcome, CallServer, Created, EntityKind, Entry, Event, Pause, PauseReason, PureOutcome, Warning};
use super::super::plan::{NodeIndex, Plan};
use super::super::run::Status;
use super::super::usage::Usage;
use super::super::{Id, Timestamp};
use super::Tokens;
use super::json::Object;

/// The names of all events, approximately in the order of a run.
pub const EVENTS: [&str; 28] = [
    "thread",
    "trace_started",
    "step_started",
    "loop_iteration",
    "step_retrying",
    "checkpoint_hit",
    "model_fallback",
    "reasoning",
    "token",
    "source",
    "file",
    "tool_call",
    "tool_result",
    "rag_query",
    "branch_started",
    "branch_completed",
    "parallel_interrupt",
    "human_input_required",
    "tool_approval_required",
    "tool_approval_resolved",
    "step_completed",
    "step_failed",
    "trace_completed",
    "trace_failed",
    "trace_cancelled",
    "done",
    "error",
    "run_terminal",
];

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

/// Where a frame belongs: its run, and which branch of it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) facts: Arc<Facts>,
    pub(super) branch: Option<Arc<str>>,
    pub(super) path: Vec<Arc<str>>,
    pub(super) fork: Option<(Id, NodeIndex)>,
}

/// What was measured of a step while its frames were published.
#[derive(Clone, Debug, Default)]
pub(super) struct StepFacts {
    pub(super) iteration: Option<u32>,
    pub(super) usage: Option<Usage>,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) worked_ms: u64,
    /// Why the last answer of its own model ended.
    pub(super) finish: Option<String>,
    pub(super) warnings: Vec<Warning>,
}

/// One published event.
#[derive(Clone, Debug)]
pub struct Frame {
    pub(super) n: u64,
    pub(super) live: bool,
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
    Fallback(Arc<Entry>),
    Completed { entry: Arc<Entry>, step: Arc<StepFacts> },
    StepFailed { entry: Arc<Entry>, step: Arc<StepFacts> },
    Token { tokens: Arc<Tokens>, delta: Arc<str> },
    ToolCall { entry: Arc<Entry>, index: usize },
    ToolResult(Arc<Entry>),
    Source { entry: Arc<Entry>, index: usize },
    File { entry: Arc<Entry>, index: usize },
    RagQuery(Arc<Entry>),
    BranchStarted,
    BranchEnded { duration_ms: u64 },
    Interrupt(Arc<Entry>),
    Asked(Arc<Entry>),
    Resolved { entry: Arc<Entry>, paused: Arc<Entry> },
    Ended { entry: Arc<Entry>, total: Arc<Usage>, duration_ms: u64, reply_id: Option<Id>, last: Option<Arc<StepFacts>> },
    Terminal { entry: Option<Arc<Entry>>, status: Status },
    /// Encoded when it was published: it keeps the text instead of the much larger entry.
    Written(Arc<Written>),
}

/// A frame whose entry is larger than what readers receive.
#[derive(Debug)]
pub(super) struct Written {
    event: &'static str,
    begins: Option<Id>,
    terminal: bool,
    data: Vec<u8>,
    sources: Option<Value>,
}

/// Entries of more bytes are not kept for readers.
const HEAVY: usize = 8 << 10;

impl Body {
    /// The entries that it holds.
    fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        let (first, second) = match self {
            Self::RanStarted(entry)
            | Self::LoopIteration(entry)
            | Self::RanEnded(entry)
            | Self::Started(entry)
            | Self::Retrying(entry)
            | Self::Fallback(entry)
            | Self::Hit { entry, .. }
            | Self::Completed { entry, .. }
            | Self::StepFailed { entry, .. }
            | Self::ToolCall { entry, .. }
            | Self::ToolResult(entry)
            | Self::Source { entry, .. }
            | Self::File { entry, .. }
            | Self::RagQuery(entry)
            | Self::Interrupt(entry)
            | Self::Asked(entry)
            | Self::Ended { entry, .. } => (Some(entry), None),
            Self::Resolved { entry, paused } => (Some(entry), Some(paused)),
            Self::Terminal { entry, .. } => (entry.as_ref(), None),
            Self::Thread | Self::TraceStarted { .. } | Self::Token { .. } | Self::BranchStarted | Self::BranchEnded { .. } | Self::Written(_) => (None, None),
        };
        first.into_iter().chain(second)
    }
}

impl Place {
    /// Outside of all branches.
    pub(super) const fn root(facts: Arc<Facts>) -> Self {
        Self { facts, branch: None, path: Vec::new(), fork: None }
    }
}

impl Frame {
    pub(super) fn facts(&self) -> &Facts {
        &self.place.facts
    }

    /// Its number in its order.
    pub const fn number(&self) -> u64 {
        self.n
    }

    /// The frame that ends a tail.
    pub fn is_terminal(&self) -> bool {
        if let Body::Written(written) = &self.body { written.terminal } else { matches!(self.body, Body::Terminal { .. }) }
    }

    /// The same frame without an entry that is much larger than the frame.
    pub(super) fn light(self) -> Self {
        if self.body.entries().map(|entry| entry.event.weight()).sum::<usize>() <= HEAVY {
            return self;
        }
        let mut data = Vec::new();
        self.write_data(&mut data);
        data.shrink_to_fit();
        let written = Written { event: self.event(), begins: self.begins_step(), terminal: self.is_terminal(), data, sources: self.sources().cloned() };
        Self { body: Body::Written(Arc::new(written)), ..self }
    }

    /// About how many bytes it takes as text; cheap to say.
    pub fn weight(&self) -> usize {
        match &self.body {
            Body::Token { delta, .. } => 160 + delta.len(),
            Body::Written(written) => 256 + written.data.len(),
            // These carry the content of their entry; other events share the entry with them.
            Body::RanEnded(entry)
            | Body::Completed { entry, .. }
            | Body::StepFailed { entry, .. }
            | Body::Ended { entry, .. }
            | Body::ToolCall { entry, .. }
            | Body::ToolResult(entry)
            | Body::RagQuery(entry)
            | Body::Asked(entry)
            | Body::Resolved { entry, .. } => 256 + entry.event.weight(),
            Body::Thread
            | Body::TraceStarted { .. }
            | Body::RanStarted(_)
            | Body::LoopIteration(_)
            | Body::Started(_)
            | Body::Retrying(_)
            | Body::Hit { .. }
            | Body::Fallback(_)
            | Body::BranchStarted
            | Body::BranchEnded { .. }
            | Body::Interrupt(_)
            | Body::Source { .. }
            | Body::File { .. }
            | Body::Terminal { .. } => 256,
        }
    }

    /// The step that a `step_started` frame begins, when it is its first.
    pub fn begins_step(&self) -> Option<Id> {
        if let Body::Written(written) = &self.body {
            return written.begins;
        }
        let (Body::RanStarted(entry) | Body::Started(entry)) = &self.body else { return None };
        if let Event::StepRan(ran) = &entry.event {
            return (!ran.resumed).then_some(ran.step);
        }
        let Event::StepStarted(started) = &entry.event else { return None };
        (!started.resumed).then_some(started.step)
    }

    /// What a search of a knowledge base found: `[{n, chunk_id, document_id, source_name}]`. No part of its data.
    pub fn sources(&self) -> Option<&Value> {
        if let Body::Written(written) = &self.body {
            return written.sources.as_ref();
        }
        let Body::RagQuery(entry) = &self.body else { return None };
        let Event::CallFinished(call) = &entry.event else { return None };
        if let CallOutcome::Value(value) = &call.outcome { value.get("citations") } else { None }
    }

    /// The event's name.
    pub fn event(&self) -> &'static str {
        let chat = self.facts().created.entity == EntityKind::Agent;
        match &self.body {
            Body::Thread => "thread",
            Body::TraceStarted { .. } => "trace_started",
            Body::RanStarted(_) | Body::Started(_) => "step_started",
            Body::LoopIteration(_) => "loop_iteration",
            Body::RanEnded(entry) => {
                let failed = matches!(&entry.event, Event::StepRan(ran) if matches!(ran.outcome, PureOutcome::Failed(_)));
                if failed { "step_failed" } else { "step_completed" }
            }
            Body::Retrying(_) => "step_retrying",
            Body::Hit { .. } => "checkpoint_hit",
            Body::Fallback(_) => "model_fallback",
            Body::Completed { .. } => "step_completed",
            Body::StepFailed { .. } => "step_failed",
            Body::Token { tokens, .. } if tokens.thought => "reasoning",
            Body::Token { .. } => "token",
            Body::ToolCall { .. } => "tool_call",
            Body::ToolResult(_) => "tool_result",
            Body::Source { .. } => "source",
            Body::File { .. } => "file",
            Body::RagQuery(_) => "rag_query",
            Body::BranchStarted => "branch_started",
            Body::BranchEnded { .. } => "branch_completed",
            Body::Interrupt(_) => "parallel_interrupt",
            Body::Asked(entry) => match pause_of(entry).map(|pause| &pause.reason) {
                Some(PauseReason::Human { .. }) => "human_input_required",
                Some(PauseReason::Approval { .. }) | None => "tool_approval_required",
            },
            Body::Resolved { .. } => "tool_approval_resolved",
            Body::Ended { entry, .. } => end_of(&entry.event, chat),
            Body::Terminal { .. } => "run_terminal",
            Body::Written(written) => written.event,
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
        if let Body::Written(written) = &self.body {
            return out.extend_from_slice(&written.data);
        }
        let mut object = Object::open(out);
        if self.facts().created.entity == EntityKind::Agent {
            self.chat_fields(&mut object);
        } else {
            object.plain("trace_id", &self.facts().run);
            self.fields(&mut object);
            if let Some(branch) = &self.place.branch {
                object.put("branch_id", &**branch).put("branch_path", &self.place.path);
            }
        }
        object.close();
    }
}

/// The name of the event that ends a run.
const fn end_of(event: &Event, chat: bool) -> &'static str {
    match (matches!(event, Event::Completed { .. }), matches!(event, Event::Failed { .. }), chat) {
        (true, _, true) => "done",
        (true, _, false) => "trace_completed",
        (false, _, true) => "error",
        (false, true, false) => "trace_failed",
        (false, false, false) => "trace_cancelled",
    }
}

/// Calls that wait for approval, as they are shown: with the server that gets them, if it is one's, and with the arguments that are fixed.
pub fn pending_tools(calls: &[ToolCall], servers: &BTreeMap<String, CallServer>, fixed: &BTreeMap<String, Map<String, Value>>) -> Vec<Value> {
    let shown = |call: &ToolCall| {
        let mut shown = serde_json::json!({"name": call.name, "arguments": call.arguments, "call_id": call.id});
        if let Some(server) = servers.get(&call.id) {
            shown["server"] = server.slug.as_str().into();
        }
        if let Some(fixed) = fixed.get(&call.name) {
            shown["fixed_arguments"] = fixed.clone().into();
        }
        shown
    };
    calls.iter().map(shown).collect()
}

pub(super) const fn reason_of(pause: &Pause) -> &'static str {
    match pause.reason {
        PauseReason::Human { .. } => "human",
        PauseReason::Approval { .. } => "tool_approval",
    }
}

pub(super) fn pause_of(entry: &Entry) -> Option<&Pause> {
    if let Event::Paused(pause) = &entry.event { Some(pause) } else { None }
}
