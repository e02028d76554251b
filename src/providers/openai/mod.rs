//! Owns the API family of OpenAI chat completions: OpenAI and compatible servers.

mod answer;
pub mod dialect;
mod embed;
mod leading_thought;
mod marks;
mod own;
pub(super) mod request;
mod stream;
#[cfg(test)]
mod quirks_tests;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use http::{HeaderName, header};

use self::dialect::{Authorization, Dialect};
use self::stream::CompletionState;
use super::http_client::Answer;
use super::wire::{self, Framing, Wire};
use super::{ChatReply, ChatRequest, Deltas, EmbedRequest, Embeddings, Provider, ProviderFailure, Ranking, RerankRequest, rerank};

/// The name of the wire family, in the blocks that it wants back.
pub(super) const FAMILY: &str = "openai-chat";

/// A provider that speaks OpenAI's chat completions.
pub struct OpenAi {
    /// The way to it.
    pub wire: Wire,
    /// How it differs.
    pub dialect: Dialect,
}

impl OpenAi {
    async fn post(&self, path: &str, model: &str, body: serde_json::Value) -> Result<Answer, ProviderFailure> {
        let authorization = match self.dialect.authorization {
            Authorization::Bearer => self.wire.authorization(header::AUTHORIZATION, "Bearer ")?,
            Authorization::ApiKey => self.wire.authorization(HeaderName::from_static("api-key"), "")?,
        };
        let url = self.dialect.url(&self.wire.base_url, path, model);
        self.wire.post(url, authorization, body).await
    }
}

impl Provider for OpenAi {
    fn chat<'a>(&'a self, request: &'a ChatRequest, deltas: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>> {
        Box::pin(async move {
            let body = request::body(request, &self.dialect);
            let answer = self.post("chat/completions", &request.model, body).await?;
            let framing = if request::streams(request, &self.dialect) { Framing::Events } else { Framing::Whole };
            let state = CompletionState::new(&self.dialect, &request.model).among(self.wire.options.contains_key("n"));
            wire::reply(answer, framing, state, request, deltas).await
        })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>> {
        Box::pin(async move {
            let body = embed::body(request, &self.dialect);
            let answer = self.post("embeddings", &request.model, body).await?;
            embed::read(&answer.whole().await?, request.texts.len())
        })
    }

    fn rerank<'a>(&'a self, request: &'a RerankRequest) -> BoxFuture<'a, Result<Ranking, ProviderFailure>> {
        Box::pin(async move {
            let mut body = rerank::body(request, if self.dialect.kind == "voyage" { "top_k" } else { "top_n" });
            body.insert("return_documents".into(), false.into());
            let answer = self.post("rerank", &request.model, body.into()).await?;
            rerank::read(&answer.whole().await?, request.texts.len())
        })
    }
}
