//! Owns embeddings in OpenAI's form, also for Mistral and Voyage.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::answer;
use super::dialect::Dialect;
use crate::model::chat::Tokens;
use crate::model::event::FaultCode;
use crate::providers::{EmbedRequest, Embeddings, ProviderFailure, reply};

pub(super) fn body(request: &EmbedRequest, dialect: &Dialect) -> Value {
    let mut body = Map::new();
    body.insert("model".into(), dialect.name(&request.model).into());
    body.insert("input".into(), request.texts.iter().map(String::as_str).collect());
    if let Some(dimensions) = request.dimensions {
        body.insert(dialect.embedding.dimensions.into(), dimensions.into());
    }
    if dialect.embedding.input_type {
        body.insert("input_type".into(), if request.query { "query" } else { "document" }.into());
    }
    Value::Object(body)
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
    #[serde(default)]
    usage: Value,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

pub(super) fn read(body: &[u8], wanted: usize) -> Result<Embeddings, ProviderFailure> {
    let malformed = |text: String| ProviderFailure::new(FaultCode::ProviderProtocol, format!("the provider's answer is malformed: {text}"));
    let mut answer: Answer = serde_json::from_slice(body).map_err(|problem| malformed(problem.to_string()))?;
    answer.data.sort_by_key(|item| item.index);
    let total = || Some(Tokens { prompt: reply::count(&answer.usage, &["total_tokens"])?, ..Tokens::default() });
    let tokens = answer::tokens(&answer.usage).map(|tokens| Tokens { completion: 0, ..tokens }).or_else(total);
    if answer.data.len() != wanted {
        // The provider bills what it could not answer well, too.
        let unfit = malformed(format!("{} vectors for {wanted} texts", answer.data.len()));
        return Err(ProviderFailure { tokens, ..unfit });
    }
    Ok(Embeddings { vectors: answer.data.into_iter().map(|item| item.embedding).collect(), tokens })
}
