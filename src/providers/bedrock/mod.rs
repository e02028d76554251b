//! Owns the API family of Amazon Bedrock (Converse), for models of many makers.

pub(super) mod blocks;
pub(super) mod request;
pub mod sign;
mod stream;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue, header};
use reqwest::Url;

use self::sign::{Keys, Scope, Signed};
use self::stream::ConverseState;
use super::http_client::Answer;
use super::wire::{self, Framing, Header, Wire};
use super::{ChatReply, ChatRequest, Deltas, EmbedRequest, Embeddings, Provider, ProviderFailure};
use crate::model::event::FaultCode;

/// The name of the wire family, in the blocks that it wants back.
pub(crate) const FAMILY: &str = "bedrock";
/// The kind under which its models are known.
const KIND: &str = "bedrock";
/// The tool that a model calls to give an answer that has a form.
pub(super) const ANSWER: &str = "give_answer";

/// A provider that speaks Bedrock's Converse.
pub struct Bedrock {
    /// The way to it; its credential is an API key.
    pub wire: Wire,
    /// Where its models are.
    pub region: String,
    /// What requests are signed with, where there is no API key.
    pub keys: Option<Keys>,
}

/// Where the models of a region are.
pub fn base_url(region: &str) -> String {
    let zone = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://bedrock-runtime.{region}.{zone}")
}

impl Bedrock {
    async fn post(&self, request: &ChatRequest) -> Result<Answer, ProviderFailure> {
        let verb = if request.stream { "converse-stream" } else { "converse" };
        let model = percent_encoding::utf8_percent_encode(&request.model, &SEGMENT);
        let url = format!("{}/model/{model}/{verb}", self.wire.base_url.trim_end_matches('/'));
        let body = self.wire.written(request::body(request))?;
        match &self.keys {
            Some(keys) if self.wire.credential.is_none() => {
                let to = url.clone();
                self.wire.send_signed(url, &|body| self.signed(keys, &to, body), body).await
            }
            Some(_) | None => self.wire.send(url, self.wire.authorization(header::AUTHORIZATION, "Bearer ")?, body).await,
        }
    }

    fn signed(&self, keys: &Keys, url: &str, body: &[u8]) -> Result<Vec<Header>, ProviderFailure> {
        let wrong = |what: &str| ProviderFailure::new(FaultCode::ProviderAuth, format!("the request cannot be signed: {what}"));
        let url = Url::parse(url).map_err(|_| wrong("the configured `base_url` is no URL"))?;
        let host = url.host_str().ok_or_else(|| wrong("the configured `base_url` names no host"))?;
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let at = sign::moment(self.wire.outbound.now());
        let mut headers = vec![("host", host.as_str()), ("x-amz-date", at.as_str())];
        headers.extend(keys.session.as_ref().map(|token| ("x-amz-security-token", &*token.0)));
        let scope = Scope { region: &self.region, service: "bedrock", at: &at };
        let signed = Signed { method: "POST", path: url.path(), query: url.query().unwrap_or_default(), headers: &headers, body };
        let authorization = sign::authorization(keys, &scope, &signed);
        let told = headers[1..].iter().copied().chain([("authorization", authorization.as_str())]);
        let header = |(name, value): (&str, &str)| {
            let mut value = HeaderValue::from_str(value).map_err(|_| wrong("a key holds characters that no header may hold"))?;
            value.set_sensitive(name != "x-amz-date");
            Ok((HeaderName::try_from(name).map_err(|_| wrong("a header has no name"))?, value))
        };
        told.map(header).collect()
    }
}

/// What stands in a part of a path as it is.
const SEGMENT: percent_encoding::AsciiSet =
    percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

impl Provider for Bedrock {
    fn chat<'a>(&'a self, request: &'a ChatRequest, deltas: Deltas<'a>) -> BoxFuture<'a, Result<ChatReply, ProviderFailure>> {
        Box::pin(async move {
            let answer = self.post(request).await?;
            let framing = if request.stream { Framing::Frames } else { Framing::Whole };
            let speech = ConverseState::new(request, answer.id());
            wire::reply(answer, framing, speech, request, deltas).await
        })
    }

    fn embed<'a>(&'a self, _: &'a EmbedRequest) -> BoxFuture<'a, Result<Embeddings, ProviderFailure>> {
        let text = "the provider `bedrock` makes no embeddings here; choose another for knowledge bases";
        Box::pin(async move { Err(ProviderFailure::new(FaultCode::ProviderBadRequest, text)) })
    }
}
