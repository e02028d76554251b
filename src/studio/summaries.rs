//! Owns how a run is shown in lists: the run summary and its usage fields.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::model::Timestamp;
use crate::model::event::EntityKind;
use crate::model::usage::Usage;
use crate::store::run_line::RunLine;
use crate::store::runs::RunRow;

/// A run as lists show it: the members in their order.
#[derive(Debug, Serialize)]
pub(super) struct RunSummary<'a> {
    id: &'a str,
    trace_id: &'a str,
    status: &'a str,
    entity_type: &'a str,
    entity_id: &'a str,
    entity_name: &'a str,
    workflow_id: Option<&'a str>,
    thread_id: &'a str,
    parent_run_id: Option<&'a str>,
    awaiting_node_id: Option<&'a str>,
    awaiting_pause_id: Option<&'a str>,
    input_preview: &'a str,
    mode: &'a str,
    created_at: String,
    started_at: Option<String>,
    finished_at: Option<String>,
    duration_ms: u64,
    working_ms: u64,
    waiting_ms: u64,
    error: Option<&'a RawValue>,
    #[serde(flatten)]
    usage: UsageFields<'a>,
}

#[derive(Debug, Serialize)]
struct UsageFields<'a> {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    cached_tokens: u64,
    cache_write_tokens: u64,
    reasoning_tokens: u64,
    estimated_cost: String,
    currency: &'a str,
    unpriced: bool,
}

impl<'a> RunSummary<'a> {
    pub(super) fn of(run: &'a RunLine<'_>, now: Timestamp, currency: &'a str) -> Self {
        Self {
            id: &run.id,
            trace_id: &run.id,
            status: run.status,
            entity_type: run.entity_type,
            entity_id: &run.entity_id,
            entity_name: run.entity_name,
            workflow_id: (run.entity_type == EntityKind::Workflow.as_str()).then_some(&*run.entity_id),
            thread_id: &run.thread,
            parent_run_id: run.parent.as_deref(),
            awaiting_node_id: run.awaiting_node,
            awaiting_pause_id: run.awaiting_pause.as_deref(),
            input_preview: run.input_preview,
            mode: run.mode,
            created_at: run.created_at.rfc3339(),
            started_at: run.started_at.map(Timestamp::rfc3339),
            finished_at: run.finished_at.map(Timestamp::rfc3339),
            duration_ms: run.started_at.map_or(0, |started| run.finished_at.unwrap_or(now).since(started)),
            working_ms: run.working_ms,
            waiting_ms: run.waiting_ms,
            error: run.error.as_deref(),
            usage: UsageFields::of(&run.total, currency),
        }
    }
}

impl<'a> UsageFields<'a> {
    fn of(usage: &Usage, currency: &'a str) -> Self {
        let tokens = &usage.tokens;
        Self {
            prompt_tokens: tokens.prompt,
            completion_tokens: tokens.completion,
            total_tokens: tokens.prompt + tokens.completion,
            cached_tokens: tokens.cached,
            cache_write_tokens: tokens.cache_write,
            reasoning_tokens: tokens.reasoning,
            estimated_cost: usage.cost.shown(),
            currency,
            unpriced: usage.unpriced,
        }
    }
}

/// A run as lists show it.
#[must_use]
pub fn run_summary(run: &RunRow, now: Timestamp, currency: &str) -> Map<String, Value> {
    members(&RunSummary::of(&run.into(), now, currency))
}

/// Adds the usage fields.
pub fn add_usage(to: &mut Map<String, Value>, usage: &Usage, currency: &str) {
    to.extend(members(&UsageFields::of(usage, currency)));
}

pub(super) fn members(fields: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(fields) {
        Ok(Value::Object(fields)) => fields,
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) | Err(_) => Map::new(),
    }
}
