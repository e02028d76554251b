//! Owns reranking: search results sorted by a model that reads question and passage together.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::search::{Question, Trouble};
use super::Knowledge;
use crate::model::chat::Tokens;
use crate::model::event::{FaultCode, Warning};
use crate::model::node::rerank::Rerank;
use crate::model::trace_context::TraceContext;
use crate::providers::{Provider as _, ProviderFailure, RerankRequest};
use crate::tools::SpentList;
use crate::tools::search::{Chunk, Found};

/// How long an order is waited for: without it there is an answer too.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes of a passage that are judged. Models read about as much.
const BYTES: usize = 16 << 10;

/// What a reranker says of candidates, by document and position: so they are known again when the document was read anew meanwhile.
pub type Scores = HashMap<String, Judged>;

/// What a reranker says of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "(usize, f64)")]
pub struct Judged {
    /// Its place in the reranker's order, which tells scores apart that are equal at an end of the scale.
    place: usize,
    score: f64,
}

/// Older logs have the score alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Placed(usize, f64),
    Score(f64),
}

impl From<Stored> for Judged {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Placed(place, score) => Self { place, score },
            Stored::Score(score) => Self { place: 0, score },
        }
    }
}

impl From<Judged> for (usize, f64) {
    fn from(judged: Judged) -> Self {
        (judged.place, judged.score)
    }
}

/// A higher score comes first; of equal ones, the one that the reranker put first.
fn by_rank(one: Option<Judged>, other: Option<Judged>) -> Ordering {
    let score = |judged: Option<Judged>| judged.map_or(-1.0, |judged| judged.score);
    let place = |judged: Option<Judged>| judged.map_or(usize::MAX, |judged| judged.place);
    score(other).total_cmp(&score(one)).then_with(|| place(one).cmp(&place(other)))
}

fn name(chunk: &Chunk) -> String {
    format!("{}:{}", chunk.document_id, chunk.position)
}

impl Question {
    /// Candidates in the order of their scores; those without one keep theirs, behind the others.
    fn ranked(&self, candidates: Vec<Chunk>, scores: &Scores) -> Found {
        let scored = |mut chunk: Chunk| {
            let judged = scores.get(&name(&chunk)).copied();
            chunk.score = judged.map_or(0.0, |judged| (judged.score * 1e6).round() / 1e6);
            (judged, chunk)
        };
        let mut scored: Vec<(Option<Judged>, Chunk)> = candidates.into_iter().map(scored).collect();
        scored.sort_by(|(one, _), (other, _)| by_rank(*one, *other));
        self.best_of(scored.into_iter().map(|(_, chunk)| chunk).collect())
    }
}

impl Knowledge {
    /// What a reranker is shown. None when the base was reindexed since it was asked.
    ///
    /// # Errors
    /// As [`Knowledge::find`].
    pub async fn candidates(&self, question: &Question, vector: Option<Vec<f32>>) -> Result<Option<Vec<Chunk>>, Trouble> {
        let Some((_, rerank)) = question.reranker() else { return Ok(Some(Vec::new())) };
        self.chunks(question.wider(rerank.candidates), vector).await
    }

    /// What is there now of the candidates, in the order of their scores: what was deleted meanwhile is not.
    ///
    /// # Errors
    /// As [`Knowledge::find`].
    pub async fn find_ranked(&self, question: &Question, vector: Option<Vec<f32>>, scores: &Scores) -> Result<Option<Found>, Trouble> {
        Ok(self.candidates(question, vector).await?.map(|candidates| question.ranked(candidates, scores)))
    }

    /// Asks a reranker.
    ///
    /// # Errors
    /// The provider's failure.
    pub async fn rank(
        &self,
        tenant: &str,
        rerank: &Rerank,
        query: &str,
        candidates: &[Chunk],
        trace: Option<Arc<TraceContext>>,
    ) -> Result<(Scores, Option<Tokens>), ProviderFailure> {
        let text = |chunk: &Chunk| chunk.content[..chunk.content.floor_char_boundary(BYTES)].to_owned();
        let texts = candidates.iter().map(text).collect();
        let request = RerankRequest { model: rerank.model.clone(), query: query.to_owned(), texts, tenant: tenant.to_owned(), trace };
        let provider = self.providers.get(&rerank.provider)?;
        let asked = tokio::time::timeout(PATIENCE, provider.rerank(&request)).await;
        let ranking = asked.unwrap_or_else(|_| {
            let text = format!("the reranker `{}` did not answer within {} s", rerank.model, PATIENCE.as_secs());
            Err(ProviderFailure::cut(FaultCode::ProviderTimeout, text))
        })?;
        let judged = ranking.order.iter().enumerate();
        let scores = judged.filter_map(|(place, (index, score))| Some((name(candidates.get(*index)?), Judged { place, score: *score })));
        Ok((scores.collect(), ranking.tokens))
    }

    /// As [`Knowledge::find`], in the order of the reranker, if there is one and it answers.
    pub(super) async fn find_in_order(
        &self,
        tenant: &str,
        question: &Question,
        vector: Option<Vec<f32>>,
        (trace, spent): (Option<Arc<TraceContext>>, &SpentList),
    ) -> Result<Option<Found>, Trouble> {
        let Some((_, rerank)) = question.reranker() else { return self.find(question, vector).await };
        let Some(candidates) = self.candidates(question, vector.clone()).await? else { return Ok(None) };
        if candidates.is_empty() {
            return Ok(Some(question.best_of(candidates)));
        }
        let at = spent.begin(&rerank.provider, &rerank.model, true);
        match self.rank(tenant, rerank, &question.query, &candidates, trace).await {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_judged_is_read_back_with_its_place_and_older_scores_without() {
        let scores = Scores::from([("a:0".to_owned(), Judged { place: 2, score: 0.5 })]);
        let stored = serde_json::to_value(&scores).expect("JSON");
        assert_eq!(stored, json!({"a:0": [2, 0.5]}));
        assert_eq!(serde_json::from_value::<Scores>(stored).expect("scores"), scores);
        let older: Scores = serde_json::from_value(json!({"a:0": 1, "b:0": 0.25})).expect("scores");
        assert_eq!((older["a:0"], older["b:0"]), (Judged { place: 0, score: 1.0 }, Judged { place: 0, score: 0.25 }));
        let placed = |place, score| Some(Judged { place, score });
        assert_eq!(by_rank(placed(1, 0.0), placed(0, 0.0)), Ordering::Greater, "as the reranker put them");
        assert_eq!(by_rank(placed(1, 0.9), placed(0, 0.2)), Ordering::Less);
        assert_eq!(by_rank(placed(9, 0.0), None), Ordering::Less, "what was not judged comes last");
        assert_eq!(by_rank(None, None), Ordering::Equal);
    }
}
