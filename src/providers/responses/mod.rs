//! Owns the API family of OpenAI responses: items in, items out, nothing stored at the provider.

pub(super) mod items;
pub(super) mod request;
mod stream;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use http::header;

use self::stream::Response;
use super::openai::OpenAi;
use super::openai::dialect::Dialect;
use super::wire::{self, Framing, Wire};
use super::{ChatReply, ChatRequest, Deltas, EmbedRequest, Embeddings, Provider, ProviderFailure};

pub(super) use self::stream::forget_ids;

/// The name of the wire family, in the blocks that it wants back.
pub(crate) const FAMILY: &str = "openai-responses";

/// A provider that speaks OpenAI's responses.
pub struct Responses {
    /// The way to it.
    pub wire: Wire,
    /// It takes schemas that bind every token.
    pub strict: bool,
}

impl Provider for Responses {
    fn chat<'a>(&'a self, request: &'a ChatRequest, deltas: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>> {
        Box::pin(async move {
            let authorization = self.wire.authorization(header::AUTHORIZATION, "Bearer ")?;
            let body = request::body(request, self.strict);
            let answer = self.wire.post(self.wire.url("v1", "responses"), authorization, body).await?;
            wire::reply(answer, Framing::events(request), Response::default(), request, deltas).await
        })
    }

    fn embed<'a>(&'a self, request: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>> {
        Box::pin(async move {
            let base_url = self.wire.url("v1", "");
            let speaker = OpenAi { wire: Wire { base_url, ..self.wire.clone() }, dialect: Dialect::of("openai") };
            speaker.embed(request).await
        })
    }
}
