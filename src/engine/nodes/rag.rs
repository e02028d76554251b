//! Owns the rag node: its search and its result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::engine::calls::embeddings_and_searches::ValueCall;
use crate::engine::drive::context::{StepContext, StepEnd, StepResult, store_fault};
use crate::knowledge::{Question, Scores, SearchFailure};
use crate::model::event::{CallKind, Change, Fault, FaultCode, Warning};
use crate::model::node::{OnMissing, RagNode};
use crate::model::node::rerank::Rerank;
use crate::providers::ProviderFailure;
use crate::store::knowledge::editions::Embedder;
use crate::tools::knowledge_search::{Chunk, Found, SearchQuery};

/// How often a question is asked anew because the base was reindexed meanwhile.
const MOVES: usize = 3;

/// Runs the node.
///
/// # Errors
/// `knowledge_base_missing` when there is no base and the node says so; `knowledge_base_failed` with what the search fails with.
pub async fn run(context: &StepContext, node: &RagNode) -> StepResult {
    let asked = asked(context, node)?;
    for _ in 0..MOVES {
        let Some(question) = question(context, node, &asked).await? else {
            return Ok(left(node, search(context, &asked.query, None, async { Ok(Some(Found::default())) }).await?));
        };
        let vector = vector(context, &question).await?;
        let id = question.base.id.to_string();
        let found = search(context, &asked.query, Some(id), find(context, &question, vector)).await?;
        if !found.is_null() {
            return Ok(left(node, found));
        }
    }
    Err(Fault::new(FaultCode::KnowledgeBaseFailed, "the knowledge base was reindexed several times during the search; there is no result; search again"))
}

fn asked(context: &StepContext, node: &RagNode) -> Result<SearchQuery, Fault> {
    let (system, limit) = (context.system(), context.world().config.limits.state_kb);
    let query = node.query.render(context.state(), &system);
    Ok(SearchQuery {
        knowledge_base: node.knowledge_base_id.clone().unwrap_or_default(),
        query: if query.trim().is_empty() { input(context) } else { query },
        top_k: node.top_k,
        threshold: node.threshold,
        mode: node.mode.clone(),
        rerank: node.rerank.clone(),
        filter: node.filter.as_ref().map(|filter| filter.resolve(context.state(), &system, limit)).transpose()?,
        trace: None,
    })
}

fn input(context: &StepContext) -> String {
    context.state().get("input").and_then(|input| input.as_str()).unwrap_or_default().to_owned()
}

/// The question to the base; none when there is no base and the node goes on without.
async fn question(context: &StepContext, node: &RagNode, asked: &SearchQuery) -> Result<Option<Question>, Fault> {
    let found = match &node.knowledge_base_id {
        Some(_) => context.world().knowledge.question(&context.run().tenant, asked).await,
        None => Err(SearchFailure::Missing("none".to_owned())),
    };
    match found {
        Ok(question) => Ok(Some(question)),
        Err(SearchFailure::Missing(_)) if node.on_missing == OnMissing::Empty => Ok(None),
        Err(failure) => Err(fault(failure)),
    }
}

fn fault(failure: SearchFailure) -> Fault {
    match failure {
        SearchFailure::Missing(name) => {
            let text = format!("the knowledge base ({name}) is not there; choose one in the node, or set `on_missing` to `empty`");
            Fault::new(FaultCode::KnowledgeBaseMissing, text)
        }
        SearchFailure::Wrong(field, text) => Fault::new(FaultCode::KnowledgeBaseFailed, format!("{field}: {text}")),
        SearchFailure::Provider(failure) => failed(failure.fault),
        SearchFailure::Store(error) => store_fault(&error),
    }
}

/// Every failure of a search is reported as one.
fn failed(fault: Fault) -> Fault {
    if matches!(fault.code, FaultCode::Cancelled | FaultCode::StoreUnavailable) {
        return fault;
    }
    let text = format!("the question could not be embedded ({}): {}", fault.code.as_str(), fault.message);
    Fault::new(FaultCode::KnowledgeBaseFailed, text)
}

/// The vector of the question: made once for each kind of vectors that the base has.
async fn vector(context: &StepContext, question: &Question) -> Result<Option<Vec<f32>>, Fault> {
    let Some((edition, embedder)) = question.embedder() else { return Ok(None) };
    context.may_call()?;
    let Embedder { provider, model, .. } = embedder.clone();
    let call = ValueCall { kind: CallKind::Embedding, name: "embed", metered: Some((provider, model)), warns: None };
    let (world, tenant) = (context.world(), &context.run().tenant);
    let make = |trace, made: Arc<AtomicBool>| async move {
        let begun = || made.store(true, Ordering::Relaxed);
        let (vector, tokens) = world.knowledge.embed(tenant, embedder, &question.query, trace, &begun).await?;
        let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        Ok::<_, ProviderFailure>((json!({"dimensions": vector.len(), "vector": STANDARD.encode(bytes)}), tokens))
    };
    let made = context.value(&format!("embed:{edition}"), call, make).await.map_err(failed)?;
    let bytes = made.get("vector").and_then(Value::as_str).and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
    Ok(Some(bytes.as_chunks::<4>().0.iter().map(|number| f32::from_le_bytes(*number)).collect()))
}

/// What answers the question: in the order of the reranker, if there is one and it answers.
async fn find(context: &StepContext, question: &Question, vector: Option<Vec<f32>>) -> Result<Option<Found>, Fault> {
    let knowledge = &context.world().knowledge;
    if let Some((edition, reranker)) = question.reranker() {
        let Some(candidates) = knowledge.candidates(question, vector.clone()).await.map_err(fault)? else { return Ok(None) };
        if let Some(scores) = scores(context, question, (edition, reranker), &candidates).await? {
            return knowledge.find_ranked(question, vector, &scores).await.map_err(fault);
        }
    }
    knowledge.find(question, vector).await.map_err(fault)
}

/// What the reranker says of each candidate: asked once, also when the node is entered again. None when it fails.
async fn scores(
    context: &StepContext,
    question: &Question,
    (edition, reranker): (i64, &Rerank),
    candidates: &[Chunk],
) -> Result<Option<Scores>, Fault> {
    if candidates.is_empty() {
        return Ok(Some(Scores::default()));
    }
    let metered = Some((reranker.provider.clone(), reranker.model.clone()));
    let call = ValueCall { kind: CallKind::Rerank, name: "rerank", metered, warns: Some(Warning::RERANK_FAILED) };
    let (world, tenant) = (context.world(), &context.run().tenant);
    let make = |trace, made: Arc<AtomicBool>| async move {
        let begun = || made.store(true, Ordering::Relaxed);
        let (scores, tokens) = world.knowledge.rank(tenant, reranker, &question.query, candidates, trace, &begun).await?;
        Ok::<_, ProviderFailure>((json!({ "scores": scores }), tokens))
    };
    match context.value(&format!("rerank:{edition}"), call, make).await {
        Ok(mut made) => Ok(made.get_mut("scores").and_then(|scores| serde_json::from_value(scores.take()).ok())),
        Err(fault) if matches!(fault.code, FaultCode::Cancelled | FaultCode::StoreUnavailable | FaultCode::Internal) => Err(fault),
        Err(_) => Ok(None),
    }
}

/// Searches, or gives back what was found before; null when the base was reindexed before it could be searched.
async fn search(
    context: &StepContext,
    query: &str,
    base: Option<String>,
    find: impl Future<Output = Result<Option<Found>, Fault>> + Send,
) -> Result<Value, Fault> {
    let call = ValueCall { kind: CallKind::Retrieval, name: "search", metered: None, warns: None };
    let moved = Fault::new(FaultCode::KnowledgeBaseFailed, "the knowledge base was reindexed meanwhile");
    let make = async {
        let found = find.await.map_err(ProviderFailure::from)?;
        let found = found.ok_or_else(|| ProviderFailure::from(moved.clone()))?;
        Ok((shown(query, base.as_deref(), &found), None))
    };
    match context.value("rag", call, |_, _| make).await {
        Err(fault) if fault == moved => Ok(Value::Null),
        other => other,
    }
}

fn shown(query: &str, base: Option<&str>, found: &Found) -> Value {
    let cite = |(n, chunk): (usize, &Chunk)| {
        let told = json!({
            "n": n, "chunk_id": chunk.id, "document_id": chunk.document_id, "source_name": chunk.source_name,
            "knowledge_base_id": base, "position": chunk.position,
        });
        let Value::Object(mut told) = told else { return Value::Null };
        chunk.add_place(&mut told);
        Value::Object(told)
    };
    let citations: Vec<Value> = (1..).zip(&found.results).map(cite).collect();
    // A whole number if there is no score.
    let top_score = if found.results.is_empty() { json!(0) } else { json!(found.top_score) };
    json!({
        "query": query, "results": found.results, "context": found.context, "knowledge_base_id": base,
        "chunk_count": found.results.len(), "top_score": top_score, "citations": citations,
    })
}

/// The result that the node writes, without the details of the trace.
fn left(node: &RagNode, mut found: Value) -> StepEnd {
    if let Value::Object(fields) = &mut found {
        fields.shift_remove("citations");
    }
    let change = Change::from_iter([(Arc::clone(&node.output_key), Arc::new(found))]);
    StepEnd::Left { handle: "default", change, turn: None, attachment_count: 0 }
}
