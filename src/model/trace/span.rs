//! Owns one span of a trace: a model call, a tool call, a retrieval, a compaction or a truncation.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::event::weight::of_value;
use super::super::event::{AskedWith, CallFinished, CallKind, CallOutcome, CallStarted, CostSource, Fault, FaultCode, Measured, PartHash, Warning};
use super::super::usage::Usage;
use super::super::{Id, Timestamp};

/// One span of a trace.
#[derive(Debug)]
#[expect(missing_docs, reason = "the fields are those of the span in the trace JSON")]
pub struct Span {
    pub id: Id,
    pub parent: Option<Id>,
    pub step: Id,
    pub node: Option<Arc<str>>,
    pub kind: &'static str,
    pub name: String,
    pub status: &'static str,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub usage: Option<Usage>,
    pub started_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    pub fault: Option<Fault>,
    pub input: Option<Value>,
    pub output: Option<Value>,
    /// What a model was sent, as parts.
    pub prompt: Vec<PartHash>,
    /// What its request has beside what the studio sets, by provider.
    pub options: Map<String, Value>,
    /// The settings that it is asked with.
    pub parameters: Option<Box<AskedWith>>,
    /// What it answered, as a part.
    pub answer: Option<PartHash>,
    pub finish: Option<String>,
    pub cost_source: Option<CostSource>,
    pub warnings: Vec<Warning>,
    pub waited_ms: Option<u64>,
    pub response_id: Option<String>,
    pub response_model: Option<String>,
    pub first_piece_ms: Option<u64>,
}

impl Span {
    pub(super) fn begin(at: Timestamp, call: &CallStarted, node: Option<Arc<str>>) -> Self {
        let kind = match call.kind {
            CallKind::Model => "llm",
            CallKind::Tool => "tool",
            CallKind::Embedding => "embedding",
            CallKind::Retrieval | CallKind::Rerank => "rag",
        };
        Self {
            provider: call.provider.clone(),
            model: call.model.clone(),
            input: call.arguments.clone(),
            prompt: call.prompt.clone(),
            options: call.options.clone(),
            parameters: call.parameters.clone(),
            ..Self::new(call.span, call.step, node, (kind, &call.name), at)
        }
    }

    pub(super) fn measured(at: Timestamp, measured: &Measured, node: Option<Arc<str>>) -> Self {
        let kind = if measured.kind == "memory" { "memory" } else { "context" };
        Self {
            status: "completed",
            finished_at: Some(at),
            output: Some(measured.output.clone()),
            ..Self::new(measured.span, measured.step, node, (kind, &measured.name), at)
        }
    }

    fn new(id: Id, step: Id, node: Option<Arc<str>>, (kind, name): (&'static str, &str), at: Timestamp) -> Self {
        Self {
            id,
            parent: None,
            step,
            node,
            kind,
            name: name.to_owned(),
            status: "running",
            provider: None,
            model: None,
            usage: None,
            started_at: at,
            finished_at: None,
            fault: None,
            input: None,
            output: None,
            prompt: Vec::new(),
            options: Map::new(),
            parameters: None,
            answer: None,
            finish: None,
            cost_source: None,
            warnings: Vec::new(),
            waited_ms: None,
            response_id: None,
            response_model: None,
            first_piece_ms: None,
        }
    }

    pub(super) fn finish(&mut self, at: Timestamp, call: &CallFinished) {
        self.finished_at = Some(at);
        self.usage = call.usage;
        self.finish.clone_from(&call.finish);
        self.cost_source = call.cost_source;
        self.waited_ms = call.waited_ms;
        self.response_id.clone_from(&call.response_id);
        self.response_model.clone_from(&call.response_model);
        self.first_piece_ms = call.first_piece_ms;
        self.warnings.clone_from(&call.warnings);
        self.status = if call.outcome.ok() { "completed" } else { "failed" };
        match &call.outcome {
            CallOutcome::Message(part) => self.answer = Some(Arc::clone(part)),
            CallOutcome::Tool(outcome) => {
                let mut output = json!({"result": outcome.result, "is_error": outcome.is_error, "skipped": outcome.skipped});
                if !outcome.files.is_empty() {
                    output["files"] = json!(outcome.files);
                }
                self.output = Some(output);
                if outcome.abandoned {
                    self.status = "cancelled";
                } else if outcome.is_error {
                    self.status = "failed";
                }
            }
            // Nobody reads the numbers of a vector.
            CallOutcome::Value(value) if self.kind == "embedding" => self.output = Some(json!({"dimensions": value.get("dimensions")})),
            CallOutcome::Value(value) => self.output = Some(value.clone()),
            CallOutcome::Asked(asked) => {
                let messages: Vec<&str> = asked.questions.iter().map(|question| question.message.as_str()).collect();
                self.output = Some(json!({ "asked": messages }));
            }
            CallOutcome::Failed(fault) if fault.code == FaultCode::Cancelled => self.status = "cancelled",
            CallOutcome::Failed(fault) => self.fault = Some(fault.clone()),
        }
    }

    pub(super) fn cut(&mut self, at: Timestamp) {
        if self.finished_at.is_none() {
            self.finished_at = Some(at);
            self.status = "cancelled";
        }
    }

    /// What a step shows of a retrieval.
    pub(super) fn retrieved(&self, call: &CallFinished) -> Option<Value> {
        let CallOutcome::Value(value) = &call.outcome else { return None };
        if self.kind != "rag" || self.name == "rerank" {
            return None;
        }
        let mut shown = Map::new();
        for name in ["chunk_count", "top_score", "citations"] {
            shown.insert(name.to_owned(), value.get(name).cloned().unwrap_or(Value::Null));
        }
        Some(Value::Object(shown))
    }

    /// About the bytes of what it was given and gave.
    pub fn payload(&self) -> usize {
        self.input.iter().chain(&self.output).map(of_value).sum()
    }

    /// The span as the trace JSON has it. `messages` gives what a model was sent and what it answered.
    pub fn json(&self, messages: Option<(Value, Value)>, payloads: bool, usage: impl Fn(&Usage) -> Map<String, Value>) -> Value {
        let (input, output) = match messages {
            Some((input, output)) => (Some(input), Some(output)),
            None => (self.input.clone(), self.output.clone()),
        };
        let error = self.fault.as_ref().map(|fault| json!({"code": fault.code.as_str(), "message": fault.message}));
        let ended = self.finished_at.unwrap_or(self.started_at);
        let mut shown = json!({
            "id": self.id, "parent_span_id": self.parent, "step_id": self.step, "node_id": self.node, "type": self.kind,
            "name": self.name, "status": self.status, "provider": self.provider, "model": self.model,
            "input": input.filter(|_| payloads), "output": output.filter(|_| payloads), "error": error,
            "started_at": self.started_at.rfc3339(), "finished_at": self.finished_at.map(Timestamp::rfc3339),
            "duration_ms": ended.since(self.started_at),
        });
        if let Value::Object(fields) = &mut shown
            && (matches!(self.kind, "llm" | "embedding") || self.name == "rerank" && self.kind == "rag")
        {
            fields.extend(usage(&self.usage.unwrap_or_default()));
            if payloads && !self.options.is_empty() {
                fields.insert("provider_options".into(), self.options.clone().into());
            }
            fields.extend(self.cost_source.map(|source| ("cost_source".to_owned(), json!(source))));
            fields.extend(self.parameters.as_ref().map(|parameters| ("parameters".to_owned(), json!(parameters))));
            let named = [("response_id", &self.response_id), ("response_model", &self.response_model)];
            fields.extend(named.into_iter().filter_map(|(name, said)| Some((name.to_owned(), said.clone()?.into()))));
            let times = [("first_piece_ms", self.first_piece_ms), ("waited_ms", self.waited_ms)];
            fields.extend(times.into_iter().filter_map(|(name, time)| Some((name.to_owned(), time?.into()))));
            super::add_ending(fields, self.finish.as_deref(), &self.warnings);
        }
        shown
    }
}
