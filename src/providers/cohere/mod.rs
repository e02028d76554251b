//! Owns the API family of Cohere (version 2).

pub(super) mod request;
mod stream;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use http::header;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use self::stream::Talk;
use super::http_client::Answer;
use super::vectors::Batches;
use super::wire::{self, Framing, Wire};
use super::{ChatReply, ChatRequest, Deltas, EmbedRequest, Embeddings, Provider, ProviderFailure, Ranking, RerankRequest, rerank, vectors};

/// The name of the wire family, in what it wants back.
const FAMILY: &str = "cohere";
/// The most texts of one request.
const BATCH: usize = 96;

/// A provider that speaks Cohere's interface.
pub struct Cohere {
    /// The way to it.
    pub wire: Wire,
}

#[derive(Deserialize)]
struct Vectors {
    embeddings: Floats,
    #[serde(default)]
    meta: Value,
}

#[derive(Deserialize)]
struct Floats {
    float: Vec<Vec<f32>>,
}

impl Cohere {
    async fn post(&self, path: &str, body: Value) -> Result<Answer, ProviderFailure> {
        let authorization = self.wire.authorization(header::AUTHORIZATION, "Bearer ")?;
        self.wire.post(self.wire.url("v2", path), authorization, body).await
    }

    async fn embed_some(&self, request: &EmbedRequest, texts: &[String]) -> Result<Embeddings, ProviderFailure> {
        let mut body = Map::new();
        body.insert("model".into(), request.model.as_str().into());
        body.insert("texts".into(), texts.into());
        body.insert("input_type".into(), if request.query { "search_query" } else { "search_document" }.into());
        body.insert("embedding_types".into(), json!(["float"]));
        if let Some(dimensions) = request.dimensions {
            body.insert("output_dimension".into(), dimensions.into());
        }
        let answer = self.post("embed", Value::Object(body)).await?;
        let found: Vectors = vectors::parse(&answer.whole().await?)?;
        let tokens = super::reply::count(&found.meta, &["billed_units", "input_tokens"]);
        vectors::batch(found.embeddings.float, texts.len(), tokens)
    }
}

impl Provider for Cohere {
    fn chat<'a>(&'a self, request: &'a ChatRequest, deltas: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>> {
        Box::pin(async move {
            let answer = self.post("chat", request::body(request)).await?;
            wire::reply(answer, Framing::events(request), Talk::default(), request, deltas).await
        })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>> {
        Box::pin(async move {
            let mut batches = Batches::default();
            for (at, texts) in request.texts.chunks(BATCH).enumerate() {
                self.wire.gate.again_after(at);
                batches.take(self.embed_some(request, texts).await)?;
            }
            Ok(batches.all())
        })
    }

    fn rerank<'a>(&'a self, request: &'a RerankRequest) -> BoxFuture<'a, Result<Ranking, ProviderFailure>> {
        Box::pin(async move {
            let answer = self.post("rerank", Value::Object(rerank::body(request, "top_n"))).await?;
            rerank::read(&answer.whole().await?, request.texts.len())
        })
    }
}
