//! Owns the family of OpenAI chat completions: OpenAI itself and everything that speaks like it.

mod answer;
pub mod dialect;
mod embed;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue, header};

pub(crate) use self::answer::tool_call;
use self::dialect::{Authorization, Dialect};
use self::stream::Reading;
use super::outbound::{Answer, Outbound, Patience, Request};
use super::sse::Events;
use super::{ChatReply, ChatRequest, Deltas, EmbedRequest, Embeddings, Provider, ProviderFailure, Secret};
use crate::model::event::FaultCode;

/// The longest event that a stream may hold.
const EVENT_LIMIT: usize = 1 << 20;
/// The name of the wire family, in the blocks that it wants back.
pub(super) const FAMILY: &str = "openai-chat";

/// A provider that speaks OpenAI's chat completions.
pub struct OpenAi {
    /// The prefix of its paths.
    pub base_url: String,
    /// How it differs.
    pub dialect: Dialect,
    /// The resolved credential.
    pub credential: Option<Secret>,
    /// Further headers, resolved.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// How long it may take.
    pub patience: Patience,
    /// The way out.
    pub outbound: Arc<Outbound>,
}

impl OpenAi {
    async fn post(&self, path: &str, model: &str, body: &serde_json::Value) -> Result<Answer, ProviderFailure> {
        let mut headers = self.headers.clone();
        if let Some(secret) = &self.credential {
            headers.push(self.authorization(secret)?);
        }
        let url = self.dialect.url(&self.base_url, path, model);
        let request = Request { url, headers, body: Bytes::from(body.to_string()) };
        self.outbound.open(&request, &self.patience).await
    }

    fn authorization(&self, secret: &Secret) -> Result<(HeaderName, HeaderValue), ProviderFailure> {
        let (name, text) = match self.dialect.authorization {
            Authorization::Bearer => (header::AUTHORIZATION, format!("Bearer {}", secret.0)),
            Authorization::ApiKey => (HeaderName::from_static("api-key"), secret.0.to_string()),
        };
        let mut value = HeaderValue::from_str(&text)
            .map_err(|_| ProviderFailure::new(FaultCode::ProviderAuth, "the credential holds characters that no header may hold"))?;
        value.set_sensitive(true);
        Ok((name, value))
    }

    async fn complete(&self, request: &ChatRequest, deltas: Deltas<'_>) -> Result<ChatReply, ProviderFailure> {
        let body = request::body(request, &self.dialect);
        let answer = self.post("chat/completions", &request.model, &body).await?;
        let reading = if request.stream {
            self.read_stream(answer, deltas).await?
        } else {
            let mut reading = Reading::new(&self.dialect);
            reading.take_whole(&answer.whole().await?)?;
            reading
        };
        reading.end(request)
    }

    async fn read_stream(&self, mut answer: Answer, deltas: Deltas<'_>) -> Result<Reading<'_>, ProviderFailure> {
        let mut events = Events::new(EVENT_LIMIT);
        let mut reading = Reading::new(&self.dialect);
        while !reading.over() {
            let piece = answer.next().await.map_err(|failure| reading.failed(failure))?;
            let Some(piece) = piece else { return Err(reading.cut_off()) };
            let found = events.feed(&piece).map_err(|long| reading.protocol(&long.to_string()))?;
            for event in found {
                reading.take_event(&event, deltas)?;
            }
        }
        Ok(reading)
    }
}

impl Provider for OpenAi {
    fn chat<'a>(&'a self, request: &'a ChatRequest, deltas: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>> {
        Box::pin(self.complete(request, deltas))
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>> {
        Box::pin(async move {
            let body = embed::body(request, &self.dialect);
            let answer = self.post("embeddings", &request.model, &body).await?;
            embed::read(&answer.whole().await?, request.texts.len())
        })
    }
}
