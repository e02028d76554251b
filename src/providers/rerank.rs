//! Owns reranking: the request, and answers in the form of Cohere, Voyage, Jina and compatible servers.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::wire::malformed;
use super::{ProviderFailure, reply, vectors};
use crate::model::chat::Tokens;
use crate::model::trace_context::TraceContext;

/// How far scores may leave the scale by the rounding of short numbers.
const ROUNDING: f64 = 0.01;

/// Texts are put in the order in which they answer a question.
#[derive(Clone, Debug)]
pub struct RerankRequest {
    /// The model's name.
    pub model: String,
    /// The question.
    pub query: String,
    /// The texts.
    pub texts: Vec<String>,
    /// The tenant.
    pub tenant: String,
    /// The span that the call is made in.
    pub trace: Option<Arc<TraceContext>>,
}

/// The order of the texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// Places of texts with their scores, 0 to 1, best first; texts that are not among them were not judged.
    pub order: Vec<(usize, f64)>,
    /// Token counts; none when the provider reported none.
    pub tokens: Option<Tokens>,
}

/// The body of a request; `most` is the name of how many are wanted.
pub(super) fn body(request: &RerankRequest, most: &str) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    body.insert("query".into(), request.query.as_str().into());
    body.insert("documents".into(), request.texts.iter().map(String::as_str).collect());
    body.insert(most.into(), request.texts.len().into());
    body
}

/// Reads `{results|data: [{index, relevance_score}]}` of so many texts.
pub(super) fn read(body: &[u8], texts: usize) -> Result<Ranking, ProviderFailure> {
    order(&vectors::parse(body)?, texts)
}

pub(super) fn order(answer: &Value, texts: usize) -> Result<Ranking, ProviderFailure> {
    let count = |path: &[&str]| reply::count(answer, path);
    // Cohere bills searches and reports their number: each counts as one token. It bills some models by tokens.
    let searches = count(&["meta", "billed_units", "search_units"]);
    let billed = || searches.filter(|searches| *searches > 0).or_else(|| count(&["meta", "billed_units", "input_tokens"])).or(searches);
    let counted = count(&["usage", "total_tokens"]).or_else(|| count(&["usage", "prompt_tokens"])).or_else(billed);
    let tokens = counted.map(|prompt| Tokens { prompt, ..Tokens::default() });
    // The provider bills what it could not answer well, too.
    let refuse = |text: &str| ProviderFailure { tokens, ..malformed(text) };
    let list = answer.get("results").or_else(|| answer.get("data")).and_then(Value::as_array);
    let list = list.filter(|list| !list.is_empty()).ok_or_else(|| refuse("no results"))?;
    let (mut order, mut seen) = (Vec::with_capacity(list.len()), vec![false; texts]);
    for item in list {
        let index = item.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
        let score = item.get("relevance_score").or_else(|| item.get("score")).and_then(Value::as_f64);
        let (Some(index), Some(score)) = (index, score) else { return Err(refuse("a result without `index` and `relevance_score`")) };
        match seen.get_mut(index) {
            Some(seen) if !*seen => *seen = true,
            _ => return Err(refuse("a result for a text that was not sent, or two for one")),
        }
        order.push((index, score));
    }
    // Some servers return unscaled scores: the logistic function keeps their order. Others leave the scale by the rounding of their numbers.
    let unbounded = order.iter().any(|(_, score): &(usize, f64)| !(-ROUNDING..=1.0 + ROUNDING).contains(score));
    order.sort_by(|one, other| other.1.total_cmp(&one.1));
    order.iter_mut().for_each(|(_, score)| *score = if unbounded { 1.0 / (1.0 + (-*score).exp()) } else { score.clamp(0.0, 1.0) });
    Ok(Ranking { order, tokens })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tokens(prompt: u64) -> Option<Tokens> {
        Some(Tokens { prompt, ..Tokens::default() })
    }

    fn shown(ranking: &Ranking) -> String {
        ranking.order.iter().map(|(at, score)| format!("{at}: {score:.3}")).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn answers_of_all_makers_are_read() {
        let item = |index: u32, score: f64| json!({"index": index, "relevance_score": score});
        let wanted = vec![(1, 0.75), (0, 0.25)];
        // https://docs.cohere.com/reference/rerank, https://docs.voyageai.com/docs/reranker, https://api.jina.ai/redoc
        let cohere = json!({"id": "x", "results": [item(1, 0.75), item(0, 0.25)], "meta": {"billed_units": {"search_units": 1}}});
        let by_tokens = json!({"results": [item(1, 0.75), item(0, 0.25)], "meta": {"billed_units": {"search_units": 0, "input_tokens": 40}}});
        let voyage = json!({"object": "list", "data": [item(1, 0.75), item(0, 0.25)], "model": "rerank-2.5", "usage": {"total_tokens": 26}});
        let jina = json!({"model": "j", "usage": {"total_tokens": 15}, "results": [item(0, 0.25), item(1, 0.75)]});
        for (answer, count) in [(cohere, 1), (by_tokens, 40), (voyage, 26), (jina, 15)] {
            assert_eq!(order(&answer, 2).expect("an order"), Ranking { order: wanted.clone(), tokens: tokens(count) });
        }
        let odd = order(&json!({"results": [item(0, -3.0), item(2, 7.5)]}), 3).expect("an order");
        assert_eq!((odd.tokens, shown(&odd).as_str()), (None, "2: 0.999, 0: 0.047"));
        let unbounded = order(&json!({"results": [item(0, -3.0), item(1, -8.0), item(2, -0.5)]}), 3).expect("an order");
        assert_eq!(shown(&unbounded), "2: 0.378, 0: 0.047, 1: 0.000");
        assert!(unbounded.order.is_sorted_by(|one, other| one.1 > other.1 && (0.0..=1.0).contains(&other.1)), "{unbounded:?}");
    }

    #[test]
    fn scores_that_are_over_the_scale_by_their_rounding_stay_on_it() {
        let item = |index: u32, score: f64| json!({"index": index, "relevance_score": score});
        let rounded = order(&json!({"results": [item(0, 1.000_000_1), item(1, 0.25), item(2, -0.000_000_1)]}), 3).expect("an order");
        assert_eq!(rounded.order, [(0, 1.0), (1, 0.25), (2, 0.0)]);
    }

    #[test]
    fn what_is_no_order_is_refused_with_what_it_took() {
        for results in [
            json!([]), json!("x"), json!([{"index": 2, "relevance_score": 1}]), json!([{"index": -1, "relevance_score": 1}]), json!([{"index": 0}]),
            json!([{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 0.5}]), json!([{"index": 0, "relevance_score": "1"}]), json!([null]),
        ] {
            let failure = order(&json!({"results": results, "usage": {"total_tokens": 9}}), 2).expect_err("refused");
            assert_eq!((failure.fault.code.as_str(), failure.tokens), ("provider_protocol", tokens(9)), "{results}");
        }
        assert!(read(b"<html>", 2).is_err());
    }
}
