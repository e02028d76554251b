//! Owns Google Vertex AI: Gemini and Anthropic models, each with the API of its maker, in a project and location.

mod account;
pub mod token;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;

use super::anthropic::Anthropic;
use super::gemini::Gemini;
use super::wire::Wire;
use super::{ChatReply, ChatRequest, Deltas, EmbedRequest, Embeddings, Provider, ProviderFailure};
use crate::model::event::FaultCode;

/// A provider of Vertex AI.
pub struct Vertex {
    /// The way to it; its credential is a token.
    pub wire: Wire,
    /// The project that pays.
    pub project: String,
    /// Such as `us-east5` or `global`.
    pub location: String,
}

/// Where the models of a location are.
pub fn base_url(location: &str) -> String {
    match location {
        "global" => "https://aiplatform.googleapis.com".into(),
        "us" | "eu" => format!("https://aiplatform.{location}.rep.googleapis.com"),
        _ => format!("https://{location}-aiplatform.googleapis.com"),
    }
}

/// A model of Anthropic's.
pub fn is_claude(model: &str) -> bool {
    model.contains("claude")
}

impl Vertex {
    /// The URL of the models of a maker.
    fn models(&self, maker: &str) -> String {
        let Self { wire, project, location } = self;
        format!("{}/projects/{project}/locations/{location}/publishers/{maker}/models", wire.url("v1", "").trim_end_matches('/'))
    }
}

impl Provider for Vertex {
    fn chat<'a>(&'a self, request: &'a ChatRequest, deltas: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>> {
        let wire = self.wire.clone();
        if is_claude(&request.model) {
            let anthropic = Anthropic { wire, version: None, vertex: Some(self.models("anthropic")) };
            return Box::pin(async move { anthropic.chat(request, deltas).await });
        }
        let gemini = Gemini { wire, vertex: Some(self.models("google")) };
        Box::pin(async move { gemini.chat(request, deltas).await })
    }

    fn embed<'a>(&'a self, _: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>> {
        let text = "the provider `vertex` makes no embeddings here; choose another for knowledge bases, such as `gemini`";
        Box::pin(async move { Err(ProviderFailure::new(FaultCode::ProviderBadRequest, text)) })
    }
}
