//! Owns Gemini's embeddings: one text by itself, more in batches.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Gemini, model};
use crate::providers::vectors::Batches;
use crate::providers::{EmbedRequest, Embeddings, ProviderFailure, vectors};

/// The most texts of one request.
const BATCH: usize = 100;

#[derive(Deserialize)]
struct Vector {
    values: Vec<f32>,
}

#[derive(Deserialize)]
struct One {
    embedding: Vector,
}

#[derive(Deserialize)]
struct Many {
    embeddings: Vec<Vector>,
}

pub(super) async fn embed(gemini: &Gemini, request: &EmbedRequest) -> Result<Embeddings, ProviderFailure> {
    if let [text] = request.texts.as_slice() {
        let body = content(request, &model::path(&request.model), text);
        let answer = gemini.post(&request.model, "embedContent", body).await?;
        let one: One = vectors::parse(&answer.whole().await?)?;
        return vectors::batch(vec![one.embedding.values], 1, None);
    }
    let mut batches = Batches::default();
    for (at, texts) in request.texts.chunks(BATCH).enumerate() {
        gemini.wire.gate.again_after(at);
        batches.take(embed_some(gemini, request, texts).await)?;
    }
    Ok(batches.all())
}

async fn embed_some(gemini: &Gemini, request: &EmbedRequest, texts: &[String]) -> Result<Embeddings, ProviderFailure> {
    let model = model::path(&request.model);
    let requests: Vec<Value> = texts.iter().map(|text| content(request, &model, text)).collect();
    let answer = gemini.post(&request.model, "batchEmbedContents", json!({ "requests": requests })).await?;
    let many: Many = vectors::parse(&answer.whole().await?)?;
    vectors::batch(many.embeddings.into_iter().map(|vector| vector.values).collect(), texts.len(), None)
}

fn content(request: &EmbedRequest, model: &str, text: &str) -> Value {
    let mut content = Map::new();
    content.insert("model".into(), model.into());
    content.insert("content".into(), json!({"parts": [{"text": text}]}));
    content.insert("taskType".into(), if request.query { "RETRIEVAL_QUERY" } else { "RETRIEVAL_DOCUMENT" }.into());
    if let Some(dimensions) = request.dimensions {
        content.insert("outputDimensionality".into(), dimensions.into());
    }
    Value::Object(content)
}
