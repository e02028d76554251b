//! Owns the API family of Anthropic messages.

pub(super) mod blocks;
pub(super) mod marks;
mod model;
pub(super) mod request;
mod stream;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue, header};
use serde_json::Value;

use self::stream::MessageState;
use super::http_client::Answer;
use super::wire::{self, Framing, Header, Reading, Wire};
use super::{ChatReply, ChatRequest, Deltas, EmbedRequest, Embeddings, Provider, ProviderFailure};
use crate::model::event::FaultCode;

/// The name of the wire family, in the blocks that it wants back.
pub(crate) const FAMILY: &str = "anthropic";
/// The kind under which its models are known.
const KIND: &str = "anthropic";
/// How often an answer that pauses for the provider's own tools is asked to go on.
const PAUSES: u32 = 8;

/// A provider that speaks Anthropic's messages.
pub struct Anthropic {
    /// The way to it.
    pub wire: Wire,
    /// The version of its interface; none: the one that the request needs.
    pub version: Option<String>,
    /// Its models are asked below this URL of Vertex AI.
    pub vertex: Option<String>,
}

/// The version of the API on Vertex AI; it is part of the body, and the model is part of the URL.
const VERTEX_VERSION: &str = "vertex-2023-10-16";

impl Anthropic {
    async fn post(&self, version: &str, mut body: Value) -> Result<Answer, ProviderFailure> {
        if let (Some(models), Some(members)) = (&self.vertex, body.as_object_mut()) {
            let model = members.remove("model");
            let name = wire::segment(model.as_ref().and_then(Value::as_str).unwrap_or_default());
            let verb = if members.contains_key("stream") { "streamRawPredict" } else { "rawPredict" };
            members.insert("anthropic_version".into(), VERTEX_VERSION.into());
            let token = self.wire.authorization(header::AUTHORIZATION, "Bearer ")?;
            return self.wire.post(format!("{models}/{name}:{verb}"), token, body).await;
        }
        let key = self.wire.authorization(HeaderName::from_static("x-api-key"), "")?;
        let version = HeaderValue::from_str(version)
            .map_err(|_| ProviderFailure::new(FaultCode::ProviderBadRequest, "the configured `api_version` is not valid"))?;
        let own: Vec<Header> = key.into_iter().chain([(HeaderName::from_static("anthropic-version"), version)]).collect();
        self.wire.post(self.wire.url("v1", "messages"), own, body).await
    }

    async fn complete(&self, request: &ChatRequest, deltas: Deltas<'_>) -> Result<ChatReply, ProviderFailure> {
        let configured = self.version.as_deref().or(self.vertex.as_ref().map(|_| request::SAMPLING));
        let version = request::version(configured, request);
        let mut body = request::body(request, version);
        let mut state = MessageState::default();
        for pauses in 0.. {
            let spent = (state.tokens(), state.cost());
            let refused = |failure| if pauses > 0 { wire::with_report(failure, spent) } else { failure };
            let answer = self.post(version, body).await.map_err(refused)?;
            let framing = Framing::events(request);
            state = wire::read(answer, framing, state, wire::listeners(framing, request, deltas)).await?;
            let Some(so_far) = (pauses < PAUSES).then(|| state.pause()).flatten() else { break };
            body = request::body(request, version);
            request::go_on(&mut body, &so_far);
            self.wire.gate.again();
        }
        let report = (state.tokens(), state.cost());
        state.end(request).map_err(|failure| wire::with_report(failure, report))
    }
}

impl Provider for Anthropic {
    fn chat<'a>(&'a self, request: &'a ChatRequest, deltas: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>> {
        Box::pin(self.complete(request, deltas))
    }

    fn embed<'a>(&'a self, _: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>> {
        let text = "the provider `anthropic` makes no embeddings";
        Box::pin(async move { Err(ProviderFailure::new(FaultCode::ProviderBadRequest, text)) })
    }
}
