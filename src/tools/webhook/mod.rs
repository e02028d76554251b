//! Owns webhooks: stored tools that send an HTTP request.

mod address;
mod answer;
mod headers;
mod sending;

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Map, Value};

pub use address::url_problem;
pub use headers::header_problem;

use super::guard::GuardedClient;
use super::{Tool, ToolInvocation, ToolReply};
use crate::secrets::Secrets;

/// Says that a repeat of this call is the same call.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Who calls.
const AGENT: HeaderValue = HeaderValue::from_static(concat!("workflow-studio/", env!("CARGO_PKG_VERSION")));
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What every webhook needs.
pub struct Webhooks {
    /// The way out.
    pub client: GuardedClient,
    /// Where secrets are found.
    pub secrets: Secrets,
}

/// One stored webhook.
pub struct Webhook {
    shared: Arc<Webhooks>,
    method: Method,
    url: String,
    headers: Map<String, Value>,
}

impl Webhook {
    /// The webhook of a stored configuration.
    pub fn read(config: &Value, shared: &Arc<Webhooks>) -> Result<Self, String> {
        let text = |key: &str| config.get(key).and_then(Value::as_str).unwrap_or_default();
        let method = Method::from_bytes(text("method").as_bytes()).map_err(|_| "its method is no HTTP method".to_owned())?;
        if let Some(problem) = url_problem(text("url")) {
            return Err(format!("its URL {problem}"));
        }
        let headers = config.get("headers").and_then(Value::as_object).cloned().unwrap_or_default();
        Ok(Self { shared: Arc::clone(shared), method, url: text("url").to_owned(), headers })
    }

    async fn request(&self, call: &ToolInvocation) -> Result<(sending::Request, headers::Headers), ToolReply> {
        let inputs = call.arguments.as_object().cloned().unwrap_or_default();
        let mut used = BTreeSet::new();
        let mut url = address::fill(&self.url, &inputs, &mut used).map_err(ToolReply::error)?;
        let mut headers = headers::fill(&self.headers, &inputs, &mut used, (&self.shared.secrets, &call.tenant)).await?;
        let others = inputs.iter().filter(|(name, _)| !used.contains(*name));
        let mut common = HeaderMap::new();
        let body = if matches!(self.method, Method::GET | Method::DELETE) {
            address::add_query(&mut url, others);
            None
        } else {
            let others: Map<String, Value> = others.map(|(name, value)| (name.clone(), value.clone())).collect();
            common.insert(CONTENT_TYPE, JSON);
            Some(Value::Object(others).to_string().into())
        };
        common.insert(USER_AGENT, AGENT);
        let key = HeaderValue::from_str(&call.idempotency_key()).map_err(|_| ToolReply::error("the call has no key"))?;
        common.insert(IDEMPOTENCY_KEY, key);
        for (name, value) in call.trace.iter().flat_map(|trace| trace.members()) {
            common.extend(HeaderValue::from_str(&value).ok().map(|value| (HeaderName::from_static(name), value)));
        }
        let own = std::mem::take(&mut headers.map);
        for name in own.keys() {
            common.remove(name);
        }
        Ok((sending::Request { method: self.method.clone(), url, own, common, body }, headers))
    }

    async fn answer(&self, call: &ToolInvocation) -> ToolReply {
        let (request, headers) = match self.request(call).await {
            Ok(ready) => ready,
            Err(refused) => return refused,
        };
        let reply = match sending::send(&self.shared.client, request).await {
            Ok(answer) => answer::reply(&answer),
            Err(failed) => failed,
        };
        answer::masked(reply, &headers.secrets)
    }
}

impl Clone for Webhook {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), method: self.method.clone(), url: self.url.clone(), headers: self.headers.clone() }
    }
}

impl Tool for Webhook {
    fn call(&self, call: ToolInvocation) -> BoxFuture<'static, ToolReply> {
        let webhook = self.clone();
        Box::pin(async move { webhook.answer(&call).await })
    }
}
