//! Owns the API family of Gemini: contents of parts, one URL for each model.

mod embed;
mod model;
pub(super) mod parts;
pub(super) mod request;
mod stream;
mod unsigned;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use http::{HeaderName, header};
use serde_json::Value;

use self::stream::Candidate;
use super::http_client::Answer;
use super::wire::{self, Framing, Wire};
use super::{ChatReply, ChatRequest, Deltas, EmbedRequest, Embeddings, Provider, ProviderFailure};

/// The name of the wire family, in the parts that it wants back, and the kind under which its models are known.
const FAMILY: &str = "gemini";

/// A provider that speaks Gemini's interface.
pub struct Gemini {
    /// The way to it.
    pub wire: Wire,
    /// Its models are asked below this URL of Vertex AI.
    pub vertex: Option<String>,
}

impl Gemini {
    async fn post(&self, model: &str, verb: &str, mut body: Value) -> Result<Answer, ProviderFailure> {
        if let Some(models) = &self.vertex {
            parts::without_ids(&mut body);
            request::without_invocations(&mut body);
            let name = wire::segment(model.rsplit_once('/').map_or(model, |(_, name)| name));
            let token = self.wire.authorization(header::AUTHORIZATION, "Bearer ")?;
            return self.wire.post(format!("{models}/{name}:{verb}"), token, body).await;
        }
        let key = self.wire.authorization(HeaderName::from_static("x-goog-api-key"), "")?;
        let url = self.wire.url("v1beta", &format!("{}:{verb}", model::path(model)));
        self.wire.post(url, key, body).await
    }
}

impl Provider for Gemini {
    fn chat<'a>(&'a self, request: &'a ChatRequest, deltas: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>> {
        Box::pin(async move {
            let verb = if request.stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
            let answer = self.post(&request.model, verb, request::body(request)).await?;
            wire::reply(answer, Framing::events(request), Candidate::default(), request, deltas).await
        })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>> {
        Box::pin(embed::embed(self, request))
    }
}
