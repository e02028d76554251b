//! Owns the API family of Ollama: lines of JSON, whole tool calls, images next to the text.

pub(super) mod request;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use http::header;
use serde::Deserialize;
use serde_json::{Map, Value};

use self::stream::Talk;
use super::http_client::Answer;
use super::vectors::Batches;
use super::wire::{self, Framing, Wire};
use super::{ChatReply, ChatRequest, Deltas, EmbedRequest, Embeddings, Provider, ProviderFailure, vectors};

/// The name of the wire family, in what it wants back.
const FAMILY: &str = "ollama";
/// The most texts of one request.
const BATCH: usize = 256;

/// A provider that speaks Ollama's interface.
pub struct Ollama {
    /// The way to it.
    pub wire: Wire,
    /// The context window of each configured model: without one it reads no more than a few thousand tokens and forgets the rest.
    pub windows: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct Vectors {
    embeddings: Vec<Vec<f32>>,
    #[serde(default)]
    prompt_eval_count: Option<u64>,
}

impl Ollama {
    async fn post(&self, path: &str, body: Value) -> Result<Answer, ProviderFailure> {
        let authorization = self.wire.authorization(header::AUTHORIZATION, "Bearer ")?;
        self.wire.post(self.wire.url("api", path), authorization, body).await
    }

    async fn embed_some(&self, request: &EmbedRequest, texts: &[String]) -> Result<Embeddings, ProviderFailure> {
        let mut body = Map::new();
        body.insert("model".into(), request.model.as_str().into());
        body.insert("input".into(), texts.into());
        if let Some(dimensions) = request.dimensions {
            body.insert("dimensions".into(), dimensions.into());
        }
        let answer = self.post("embed", Value::Object(body)).await?;
        let found: Vectors = vectors::parse(&answer.whole().await?)?;
        vectors::batch(found.embeddings, texts.len(), found.prompt_eval_count)
    }
}

impl Provider for Ollama {
    fn chat<'a>(&'a self, request: &'a ChatRequest, deltas: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>> {
        Box::pin(async move {
            let body = request::body(request, self.windows.get(&request.model).copied());
            let framing = if request.stream { Framing::Lines } else { Framing::Whole };
            let answer = self.post("chat", body).await?;
            wire::reply(answer, framing, Talk::default(), request, deltas).await
        })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>> {
        Box::pin(async move {
            let mut batches = Batches::default();
            for at in 0.. {
                let texts = batches.next(&request.texts, BATCH, request.dimensions, self.wire.time_limits.answer_bytes);
                if texts.is_empty() {
                    break;
                }
                self.wire.gate.again_after(at);
                batches.take(self.embed_some(request, texts).await)?;
            }
            Ok(batches.all())
        })
    }
}
