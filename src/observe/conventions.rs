//! Owns the names of OpenTelemetry's conventions for generative AI.

use serde_json::{Value, json};

use super::messages::{conversation, reason};
use super::piece::{Content, End, Piece, Work};
use crate::model::event::EntityKind;

/// An attribute: text, a number, a switch or a list of these.
pub(super) type Attribute = (&'static str, Value);

/// `{operation} {target}`, as the conventions name spans.
pub(super) fn name(piece: &Piece) -> String {
    match operation(piece) {
        Some(operation) => format!("{operation} {}", piece.name),
        None => piece.name.clone(),
    }
}

/// What is done, where the conventions have a word for it.
pub(super) fn operation(piece: &Piece) -> Option<&'static str> {
    match (&piece.work, piece.run.entity) {
        (Work::Run, EntityKind::Workflow) => Some("invoke_workflow"),
        (Work::Run, EntityKind::Agent) | (Work::Agent { .. }, EntityKind::Workflow) => Some("invoke_agent"),
        (Work::Chat, _) => Some("chat"),
        (Work::Tool, _) => Some("execute_tool"),
        (Work::Embedding, _) => Some("embeddings"),
        (Work::Retrieval, _) => Some("retrieval"),
        // The agent of a chat is the run itself.
        (Work::Agent { .. }, EntityKind::Agent) | (Work::Step { .. } | Work::Measured, _) => None,
    }
}

/// A kind of provider as the conventions call it.
fn provider(kind: &str) -> &str {
    match kind {
        "openai-responses" => "openai",
        "gemini" => "gcp.gemini",
        "azure-openai" => "azure.ai.openai",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        "bedrock" => "aws.bedrock",
        "vertex" => "gcp.vertex_ai",
        "moonshot" => "moonshot_ai",
        other => other,
    }
}

/// The kind of the provider that was asked, if one was.
pub(super) fn kind_of_provider(piece: &Piece) -> Option<&str> {
    piece.kind.as_deref().or(piece.provider.as_deref()).map(provider)
}

/// Everything that is known of a piece; what was said only with `content`.
pub(super) fn attributes(piece: &Piece, content: bool) -> Vec<Attribute> {
    let run = &piece.run;
    let mut found: Vec<Attribute> = Vec::with_capacity(24);
    found.push(("gen_ai.conversation.id", json!(run.thread)));
    found.push(("session.id", json!(run.thread)));
    found.push(("studio.run.id", json!(run.run)));
    found.extend(run.user.iter().map(|user| ("user.id", json!(user))));
    found.extend((!run.tenant.is_empty()).then(|| ("studio.tenant", json!(&*run.tenant))));
    found.extend(piece.node.iter().map(|node| ("studio.node.id", json!(&**node))));
    found.extend(operation(piece).map(|operation| ("gen_ai.operation.name", json!(operation))));
    work(piece, &mut found);
    model(piece, &mut found);
    if let End::Failed { code, .. } = &piece.end {
        found.push(("error.type", json!(code)));
    }
    if piece.end == End::Cut {
        found.push(("studio.cancelled", json!(true)));
    }
    found.extend(piece.facts.iter().cloned());
    if content {
        said(piece, &mut found);
    }
    found
}

fn work(piece: &Piece, found: &mut Vec<Attribute>) {
    let run = &piece.run;
    match &piece.work {
        Work::Run => {
            let (name, id) = match run.entity {
                EntityKind::Workflow => ("gen_ai.workflow.name", "studio.workflow.id"),
                EntityKind::Agent => ("gen_ai.agent.name", "gen_ai.agent.id"),
            };
            found.extend([(name, json!(run.name)), (id, json!(run.entity_id)), ("studio.run.attempt", json!(run.attempt))]);
        }
        Work::Agent { id, child } => {
            found.push(("gen_ai.agent.name", json!(piece.name)));
            found.extend(id.map(|id| ("gen_ai.agent.id", json!(id))));
            found.extend(child.map(|child| ("studio.child_run.id", json!(child))));
            found.push(("studio.node.type", json!("agent")));
        }
        Work::Step { kind } => found.push(("studio.node.type", json!(kind))),
        Work::Tool => {
            found.push(("gen_ai.tool.name", json!(piece.name)));
            found.push(("gen_ai.tool.type", json!("function")));
            found.extend(piece.call_id.iter().map(|id| ("gen_ai.tool.call.id", json!(id))));
        }
        Work::Chat | Work::Embedding | Work::Retrieval | Work::Measured => {}
    }
}

fn model(piece: &Piece, found: &mut Vec<Attribute>) {
    found.extend(kind_of_provider(piece).map(|kind| ("gen_ai.provider.name", json!(kind))));
    found.extend(piece.model.iter().map(|model| ("gen_ai.request.model", json!(model))));
    if piece.streams {
        found.push(("gen_ai.request.stream", json!(true)));
    }
    if let Some(asked) = piece.parameters.as_deref() {
        found.extend(asked.temperature.map(|value| ("gen_ai.request.temperature", json!(value))));
        found.extend(asked.top_p.map(|value| ("gen_ai.request.top_p", json!(value))));
        found.extend(asked.max_tokens.map(|value| ("gen_ai.request.max_tokens", json!(value))));
        found.extend(asked.stop.as_ref().map(|texts| ("gen_ai.request.stop_sequences", json!(texts))));
        found.extend(asked.reasoning_effort.as_ref().map(|effort| ("studio.request.reasoning_effort", json!(effort))));
    }
    found.extend(piece.response_id.iter().map(|id| ("gen_ai.response.id", json!(id))));
    found.extend(piece.response_model.iter().map(|model| ("gen_ai.response.model", json!(model))));
    found.extend(piece.first_piece_ms.map(|first| ("gen_ai.response.time_to_first_chunk", json!(first as f64 / 1000.0))));
    found.extend(piece.finish.iter().map(|finish| ("gen_ai.response.finish_reasons", json!([reason(finish)]))));
    let Some(usage) = &piece.usage else { return };
    let tokens = &usage.tokens;
    if piece.work == Work::Run {
        // By names of our own: whoever adds up the conventions' counts would count every call twice.
        found.extend([("studio.usage.input_tokens", json!(tokens.prompt)), ("studio.usage.output_tokens", json!(tokens.completion))]);
    } else {
        found.extend([("gen_ai.usage.input_tokens", json!(tokens.prompt)), ("gen_ai.usage.output_tokens", json!(tokens.completion))]);
        let parts = [
            ("gen_ai.usage.cache_read.input_tokens", tokens.cached),
            ("gen_ai.usage.cache_creation.input_tokens", tokens.cache_write),
            ("gen_ai.usage.reasoning.output_tokens", tokens.reasoning),
        ];
        found.extend(parts.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name, json!(count))));
    }
    found.push(("studio.usage.cost", json!(usage.cost.shown())));
    found.push(("studio.usage.currency", json!(&*piece.currency)));
    if usage.unpriced {
        found.push(("studio.usage.unpriced", json!(true)));
    }
}

/// What was said, where it was kept. Messages are JSON in a text, since attributes have no objects.
fn said(piece: &Piece, found: &mut Vec<Attribute>) {
    match &piece.said {
        None => {}
        Some(Content::Chat { sent, answer }) => {
            let told = conversation(sent, answer.as_ref(), piece.finish.as_deref());
            let lists = [
                ("gen_ai.system_instructions", told.instructions),
                ("gen_ai.input.messages", told.input),
                ("gen_ai.output.messages", told.output),
            ];
            found.extend(lists.into_iter().filter(|(_, list)| !list.is_empty()).map(|(name, list)| (name, as_text(&list.into()))));
        }
        Some(Content::Values { input, output }) => {
            let (into, out) = match piece.work {
                Work::Tool => ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result"),
                Work::Retrieval => ("gen_ai.retrieval.query.text", "gen_ai.retrieval.documents"),
                Work::Run | Work::Agent { .. } | Work::Step { .. } | Work::Chat | Work::Embedding | Work::Measured => {
                    ("input.value", "output.value")
                }
            };
            found.extend(input.iter().map(|value| (into, as_text(value))));
            found.extend(output.iter().map(|value| (out, as_text(value))));
        }
    }
}

/// What one attribute may measure; collectors refuse whole batches because of one that is larger.
const TEXT: usize = 256 << 10;

/// A text as it is, anything else as JSON; what is very long is cut.
pub(super) fn as_text(value: &Value) -> Value {
    let mut text = match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    if text.len() > TEXT {
        text.truncate(text.floor_char_boundary(TEXT));
        text.push_str("\n\n[truncated]");
    }
    Value::String(text)
}
