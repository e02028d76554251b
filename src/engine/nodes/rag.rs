//! Owns the rag node: what it asks of a knowledge base, and what it writes.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::context::{StepContext, StepEnd, StepResult};
use crate::engine::values::ValueCall;
use crate::model::event::{CallKind, Change, Fault, FaultCode};
use crate::model::node::{OnMissing, RagNode};

/// Runs the node.
///
/// # Errors
/// `knowledge_base_missing` when there is no base and the node says so; what the search fails with.
pub async fn run(context: &StepContext, node: &RagNode) -> StepResult {
    let system = context.system();
    let query = node.query.render(context.state(), &system);
    let query = if query.trim().is_empty() { input(context) } else { query };
    if node.on_missing == OnMissing::Fail {
        let name = node.knowledge_base_id.as_deref().unwrap_or("none");
        let text = format!("the knowledge base ({name}) is not there; choose one in the node, or set `on_missing` to `empty`");
        return Err(Fault::new(FaultCode::KnowledgeBaseMissing, text));
    }
    let empty = json!({
        "query": query, "results": [], "context": "", "knowledge_base_id": null, "chunk_count": 0, "top_score": 0, "citations": [],
    });
    let search = ValueCall { kind: CallKind::Retrieval, name: "search", metered: None };
    let found = context.value("rag", search, async { Ok((empty, None)) }).await?;
    let change = Change::from_iter([(Arc::clone(&node.output_key), Arc::new(without_citations(found)))]);
    Ok(StepEnd::Left { handle: "default", change, turn: None, attachment_count: 0 })
}

fn without_citations(mut found: Value) -> Value {
    if let Value::Object(fields) = &mut found {
        fields.remove("citations");
    }
    found
}

fn input(context: &StepContext) -> String {
    context.state().get("input").and_then(|input| input.as_str()).unwrap_or_default().to_owned()
}
