//! Owns the attributes of Langfuse besides the conventions.

use serde_json::{Map, Value, json};

use super::conventions::{Attribute, as_text};
use super::messages::conversation;
use super::piece::{Content, End, Piece, Work};
use crate::model::Timestamp;
use crate::model::event::EntityKind;
use crate::model::usage::Usage;

/// The version of its ingestion that this speaks.
pub(super) const INGESTION: &str = "4";

pub(super) fn attributes(piece: &Piece, content: bool) -> Vec<Attribute> {
    let run = &piece.run;
    let mut found = vec![
        ("langfuse.trace.name", json!(run.name)),
        ("langfuse.trace.metadata.run_id", json!(run.run)),
        ("langfuse.observation.type", json!(kind(piece))),
    ];
    found.extend(piece.model.iter().map(|model| ("langfuse.observation.model.name", json!(model))));
    if let Some(usage) = piece.usage.filter(|_| matches!(piece.work, Work::Chat | Work::Embedding)) {
        found.push(("langfuse.observation.usage_details", json!(usage_details(&usage).to_string())));
        if !usage.unpriced {
            let cost = json!({"total": usage.cost.shown().parse::<f64>().unwrap_or_default()});
            found.push(("langfuse.observation.cost_details", json!(cost.to_string())));
        }
    }
    match &piece.end {
        End::Failed { .. } => {
            found.push(("langfuse.observation.level", json!("ERROR")));
            found.extend(piece.failure(content).map(|(_, message)| ("langfuse.observation.status_message", json!(message))));
        }
        End::Cut => found.push(("langfuse.observation.level", json!("WARNING"))),
        End::Well => {}
    }
    // The run is a root here, even if its parent is a span of the host, because Langfuse does not receive that span.
    found.extend((piece.work == Work::Run && run.began_in.is_some()).then(|| ("langfuse.internal.as_root", json!(true))));
    found.extend(piece.parameters.as_ref().map(|asked| ("langfuse.observation.model.parameters", json!(json!(asked).to_string()))));
    if let Some(first) = piece.first_piece_ms {
        let at = Timestamp(piece.started.0.saturating_add(i64::try_from(first).unwrap_or(0)));
        found.push(("langfuse.observation.completion_start_time", json!(json!(at.rfc3339()).to_string())));
    }
    let (input, output) = if content { said(piece) } else { (None, None) };
    found.extend(input.map(|value| ("langfuse.observation.input", as_text(&value))));
    found.extend(output.map(|value| ("langfuse.observation.output", as_text(&value))));
    found
}

fn kind(piece: &Piece) -> &'static str {
    match (&piece.work, piece.run.entity) {
        (Work::Run, EntityKind::Workflow) => "chain",
        (Work::Run, EntityKind::Agent) | (Work::Agent { .. }, EntityKind::Workflow) => "agent",
        (Work::Agent { .. }, EntityKind::Agent) | (Work::Step { .. } | Work::Measured, _) => "span",
        (Work::Chat, _) => "generation",
        (Work::Tool, _) => "tool",
        (Work::Embedding, _) => "embedding",
        (Work::Retrieval, _) => "retriever",
    }
}

/// Counts that do not overlap.
fn usage_details(usage: &Usage) -> Value {
    let tokens = &usage.tokens;
    let counts = [
        ("input", tokens.prompt.saturating_sub(tokens.cached + tokens.cache_write)),
        ("input_cached_tokens", tokens.cached),
        ("input_cache_creation", tokens.cache_write),
        ("output", tokens.completion.saturating_sub(tokens.reasoning)),
        ("output_reasoning_tokens", tokens.reasoning),
    ];
    let needed = |(name, count): &(&str, u64)| *count > 0 || matches!(*name, "input" | "output");
    let mut details: Map<String, Value> = counts.iter().filter(|count| needed(count)).map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
    details.insert("total".into(), json!(tokens.prompt + tokens.completion));
    Value::Object(details)
}

fn said(piece: &Piece) -> (Option<Value>, Option<Value>) {
    match &piece.said {
        None => (None, None),
        Some(Content::Values { input, output }) => (input.clone(), output.clone()),
        Some(Content::Chat { sent, answer }) => {
            let told = conversation(sent, answer.as_ref(), piece.finish.as_deref());
            let system = (!told.instructions.is_empty()).then(|| json!({"role": "system", "parts": told.instructions}));
            let input: Vec<Value> = system.into_iter().chain(told.input).collect();
            (Some(input.into()), told.output.into_iter().next())
        }
    }
}
