//! Owns reranking: search results sorted by a model that reads question and passage together.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::search::{Question, SearchFailure};
use super::Knowledge;
use crate::model::chat::Tokens;
use crate::model::event::{FaultCode, Warning};
use crate::model::node::rerank::Rerank;
use crate::model::trace_context::TraceContext;
use crate::providers::{Made, ProviderFailure, RerankRequest};
use crate::tools::SpentList;
use crate::tools::knowledge_search::{Chunk, Found};

/// How long an order is waited for: without it there is an answer too.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes of a passage that are judged. Models read about as much.
const BYTES: usize = 16 << 10;

/// What a reranker says of candidates, by document and position: so they are known again when the document was read anew meanwhile.
pub type Scores = HashMap<String, f64>;

fn name(chunk: &Chunk) -> String {
    format!("{}:{}", chunk.document_id, chunk.position)
}

impl Question {
    /// Candidates in the order of their scores; those without one keep theirs, behind the others.
    fn ranked(&self, candidates: Vec<Chunk>, scores: &Scores) -> Found {
        let scored = |mut chunk: Chunk| {
            let score = scores.get(&name(&chunk)).copied();
            chunk.score = score.map_or(0.0, |score| (score * 1e6).round() / 1e6);
            (score, chunk)
        };
        let mut scored: Vec<(Option<f64>, Chunk)> = candidates.into_iter().map(scored).collect();
        scored.sort_by(|(one, _), (other, _)| other.unwrap_or(-1.0).total_cmp(&one.unwrap_or(-1.0)));
        self.best_of(scored.into_iter().map(|(_, chunk)| chunk).collect())
    }
}

impl Knowledge {
    /// What a reranker is shown. None when the base was reindexed since it was asked.
    pub async fn candidates(&self, question: &Question, vector: Option<Vec<f32>>) -> Result<Option<Vec<Chunk>>, SearchFailure> {
        let Some((_, rerank)) = question.reranker() else { return Ok(Some(Vec::new())) };
        self.chunks(question.wider(rerank.candidates), vector).await
    }

    /// What is there now of the candidates, in the order of their scores: what was deleted meanwhile is not.
    pub async fn find_ranked(&self, question: &Question, vector: Option<Vec<f32>>, scores: &Scores) -> Result<Option<Found>, SearchFailure> {
        Ok(self.candidates(question, vector).await?.map(|candidates| question.ranked(candidates, scores)))
    }

    /// Asks a reranker.
    pub async fn rank(
        &self,
        tenant: &str,
        rerank: &Rerank,
        query: &str,
        candidates: &[Chunk],
        trace: Option<Arc<TraceContext>>,
        made: Made<'_>,
    ) -> Result<(Scores, Option<Tokens>), ProviderFailure> {
        let text = |chunk: &Chunk| chunk.content[..chunk.content.floor_char_boundary(BYTES)].to_owned();
        let texts = candidates.iter().map(text).collect();
        let request = RerankRequest { model: rerank.model.clone(), query: query.to_owned(), texts, tenant: tenant.to_owned(), trace };
        let provider = self.providers.get(&rerank.provider)?;
        let cut = AtomicBool::new(false);
        let begun = || {
            cut.store(true, Ordering::Relaxed);
            made();
        };
        let asked = tokio::time::timeout(PATIENCE, provider.rerank_telling(&request, &begun)).await;
        let ranking = asked.unwrap_or_else(|_| {
            let text = format!("the reranker `{}` did not answer within {} s", rerank.model, PATIENCE.as_secs());
            Err(ProviderFailure { cut: cut.load(Ordering::Relaxed), ..ProviderFailure::new(FaultCode::ProviderTimeout, text) })
        })?;
        let scores = ranking.order.iter().filter_map(|(index, score)| Some((name(candidates.get(*index)?), *score)));
        Ok((scores.collect(), ranking.tokens))
    }

    /// As [`Knowledge::find`], in the order of the reranker, if there is one and it answers.
    pub(super) async fn find_in_order(
        &self,
        tenant: &str,
        question: &Question,
        vector: Option<Vec<f32>>,
        (trace, spent): (Option<Arc<TraceContext>>, &SpentList),
    ) -> Result<Option<Found>, SearchFailure> {
        let Some((_, rerank)) = question.reranker() else { return self.find(question, vector).await };
        let Some(candidates) = self.candidates(question, vector.clone()).await? else { return Ok(None) };
        if candidates.is_empty() {
            return Ok(Some(question.best_of(candidates)));
        }
        let at = spent.begin(&rerank.provider, &rerank.model, true);
        match self.rank(tenant, rerank, &question.query, &candidates, trace, &|| spent.made(at)).await {
            Ok((scores, tokens)) => {
                spent.end(at, tokens, true);
                self.find_ranked(question, vector, &scores).await
            }
            Err(failure) => {
                let warning = Warning::new(Warning::RERANK_FAILED, failure.fault.message.clone());
                let tokens = (failure.tokens.is_some() || failure.cut).then_some(failure.tokens);
                spent.failed(at, tokens, (failure.fault.code, failure.fault.message));
                Ok(self.find(question, vector).await?.map(|found| Found { warnings: vec![warning], ..found }))
            }
        }
    }
}
