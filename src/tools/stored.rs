//! Owns stored tools (webhooks, builder functions, searches), as pinned by their run.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::builder::Builders;
use super::rag::RagTool;
use super::knowledge_search::SearchDoor;
use super::webhook::{Webhook, Webhooks};
use super::{BoundTool, Tool, ToolInvocation, ToolReply, ToolSource, Wanted};
use crate::model::event::Fault;
use crate::providers::ToolOffer;

/// What stored tools are made of.
pub struct StoredTools {
    /// Webhooks.
    pub webhooks: Arc<Webhooks>,
    /// Builder functions.
    pub builders: Builders,
    /// Searches.
    pub search: SearchDoor,
    /// How long a webhook may take that does not say so itself.
    pub webhook_timeout: Duration,
    /// How long a search may take that does not say so itself.
    pub search_timeout: Duration,
}

impl StoredTools {
    /// The tool of a definition, from its resource JSON.
    pub fn bound(&self, definition: &Value) -> BoundTool {
        let text = |key: &str| definition.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let flag = |key: &str| definition.get(key).and_then(Value::as_bool).unwrap_or(false);
        let (tool, timeout) = self.tool(definition);
        let input_schema = definition.get("input_schema").cloned().unwrap_or_else(|| serde_json::json!({"type": "object"}));
        BoundTool {
            offer: ToolOffer { name: text("name"), description: text("description"), input_schema },
            require_approval: flag("require_approval"),
            idempotent: flag("idempotent") || definition.as_object().is_some_and(only_reads),
            timeout,
            fixed: Map::new(),
            config: Map::new(),
            tool,
        }
    }

    fn tool(&self, definition: &Value) -> (Arc<dyn Tool>, Duration) {
        let config = definition.get("config").unwrap_or(&Value::Null);
        let own = definition.get("timeout_ms").and_then(Value::as_u64).map(Duration::from_millis);
        match definition.get("kind").and_then(Value::as_str) {
            Some("webhook") => {
                let timeout = own.unwrap_or(self.webhook_timeout);
                match Webhook::read(config, &self.webhooks) {
                    Ok(webhook) => (Arc::new(webhook), timeout),
                    Err(text) => (Arc::new(Broken(format!("the webhook cannot be called: {text}"))), timeout),
                }
            }
            Some("builder") => self.builders.tool(config, own),
            Some("rag") => (Arc::new(RagTool::read(config, &self.search)), own.unwrap_or(self.search_timeout)),
            Some(_) | None => (Arc::new(Broken("the stored tool is of no known kind".into())), self.webhook_timeout),
        }
    }
}

/// Does a stored tool, as it is stored or shown, only read? Then calling it twice does no harm, whatever it says of itself.
pub fn only_reads(definition: &Map<String, Value>) -> bool {
    match definition.get("kind").and_then(Value::as_str) {
        Some("rag") => true,
        Some("webhook") => definition.get("config").and_then(|config| config.get("method")).is_some_and(|method| method == "GET"),
        Some(_) | None => false,
    }
}

impl ToolSource for StoredTools {
    fn scheme(&self) -> &'static str {
        "tool"
    }

    fn bind<'a>(&'a self, wanted: Wanted<'a>) -> BoxFuture<'a, Result<Vec<BoundTool>, Fault>> {
        let found = wanted.definitions.tool(wanted.key);
        let found = found.map(|definition| self.bound(definition)).into_iter().collect();
        Box::pin(async move { Ok(found) })
    }
}

/// A definition that cannot work; its callers learn why.
struct Broken(String);

impl Tool for Broken {
    fn call(&self, _: ToolInvocation) -> BoxFuture<'static, ToolReply> {
        let reply = ToolReply::error(self.0.clone());
        Box::pin(async move { reply })
    }
}
