//! Owns how a run is shown in lists: the run summary and its usage fields.

use serde_json::{Map, Value, json};

use crate::model::Timestamp;
use crate::model::event::EntityKind;
use crate::model::usage::Usage;
use crate::store::runs::RunRow;

/// A run as lists show it.
#[must_use]
pub fn run_summary(run: &RunRow, now: Timestamp, currency: &str) -> Map<String, Value> {
    let workflow = (run.entity_type == EntityKind::Workflow).then(|| run.entity_id.to_string());
    let time = |at: Option<Timestamp>| at.map(Timestamp::rfc3339);
    let duration = run.started_at.map_or(0, |started| run.finished_at.unwrap_or(now).since(started));
    let fields = json!({
        "id": run.id.to_string(), "trace_id": run.id.to_string(), "status": run.status, "entity_type": run.entity_type.as_str(),
        "entity_id": run.entity_id.to_string(), "entity_name": run.entity_name, "workflow_id": workflow,
        "thread_id": run.thread.to_string(), "parent_run_id": run.parent.map(|id| id.to_string()),
        "awaiting_node_id": run.awaiting_node, "awaiting_pause_id": run.awaiting_pause.map(|id| id.to_string()),
        "input_preview": run.input_preview, "mode": run.mode, "created_at": run.created_at.rfc3339(),
        "started_at": time(run.started_at), "finished_at": time(run.finished_at), "duration_ms": duration,
        "working_ms": run.working_ms, "waiting_ms": run.waiting_ms, "error": run.error,
    });
    let mut summary = match fields {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    add_usage(&mut summary, &run.total, currency);
    summary
}

/// Adds the usage fields.
pub fn add_usage(to: &mut Map<String, Value>, usage: &Usage, currency: &str) {
    let tokens = &usage.tokens;
    to.insert("prompt_tokens".into(), tokens.prompt.into());
    to.insert("completion_tokens".into(), tokens.completion.into());
    to.insert("total_tokens".into(), (tokens.prompt + tokens.completion).into());
    to.insert("cached_tokens".into(), tokens.cached.into());
    to.insert("cache_write_tokens".into(), tokens.cache_write.into());
    to.insert("reasoning_tokens".into(), tokens.reasoning.into());
    to.insert("estimated_cost".into(), usage.cost.shown().into());
    to.insert("currency".into(), currency.into());
    to.insert("unpriced".into(), usage.unpriced.into());
}
