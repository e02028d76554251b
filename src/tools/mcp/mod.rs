//! Owns MCP servers as a source of tools: their definitions bound to what models and nodes call.

mod authorization;
mod bounded;
mod changes;
mod client;
mod content;
mod elicitation;
#[cfg(not(unix))]
mod elsewhere;
mod events;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod link;
mod links;
mod live;
mod open;
mod post;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod program;
mod server;
mod server_call;
mod web;
mod wire;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::{BoundTool, Origin, Tool, ToolInvocation, ToolReply, ToolSource, Wanted, names};
use crate::config::Config;
use crate::host::HostDoor;
use crate::model::event::{Fault, FaultCode};
use crate::providers::ToolOffer;
use crate::secrets::Secrets;
use crate::sync::Mutex;
use elicitation::Asker;
use links::{Links, Tried};
use server::{Server, unavailable};
use server_call::ServerCall;

/// The names of tools, by tenant and server.
type SeenToolNames = HashMap<(String, String), Arc<[String]>>;

/// The MCP servers that runs of this engine use.
pub struct McpServers {
    links: Links,
    /// The names of tools that servers listed last.
    seen_names: Mutex<SeenToolNames>,
}

/// Servers whose tools are remembered.
const REMEMBERED: usize = 1024;

impl McpServers {
    /// No server is asked yet.
    ///
    /// # Errors
    /// What is wrong with the configuration, one sentence each.
    pub fn new(config: Arc<Config>, secrets: Secrets, host: HostDoor) -> Result<Self, Vec<String>> {
        Ok(Self { links: Links::new(config, secrets, host)?, seen_names: Mutex::default() })
    }

    /// The names of the tools that a server has listed since the studio was opened.
    pub fn known(&self, tenant: &str, slug: &str) -> Option<Arc<[String]>> {
        self.seen_names.lock().get(&(tenant.to_owned(), slug.to_owned())).cloned()
    }

    fn remember(&self, tenant: &str, server: &Server, offered: &[live::ServerTool]) {
        let names = offered.iter().map(|tool| tool.name.clone()).filter(|name| server.offers(name)).collect();
        let mut seen_names = self.seen_names.lock();
        if seen_names.len() >= REMEMBERED {
            seen_names.clear();
        }
        seen_names.insert((tenant.to_owned(), server.slug.clone()), names);
    }

    /// Asks a server what it is: `{ok, protocol_version, tools, error}`. Its connection is one of its own.
    pub async fn test(&self, body: &Value, tenant: &str) -> Value {
        match self.try_out(body, tenant).await {
            Ok(tried) => {
                let told = |tool: &live::ServerTool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema});
                let tools: Vec<Value> = tried.tools.iter().map(told).collect();
                json!({"ok": true, "protocol_version": tried.version, "tools": tools, "error": null})
            }
            Err(fault) => json!({"ok": false, "protocol_version": null, "tools": [], "error": fault.message}),
        }
    }

    async fn try_out(&self, body: &Value, tenant: &str) -> Result<Tried, Fault> {
        let server = Server::read(self.links.config(), body)?;
        let tried = self.links.try_out(&server, tenant).await?;
        self.remember(tenant, &server, &tried.tools);
        Ok(tried)
    }

    /// Ends all connections in good order, within a limit.
    pub async fn close(&self, limit: Duration) {
        self.links.close(limit).await;
    }

    /// Ends all connections at once.
    pub fn kill(&self) {
        self.links.kill();
    }

    async fn find(&self, wanted: Wanted<'_>) -> Result<Vec<BoundTool>, Fault> {
        let unknown = || unavailable(wanted.key, "is not known");
        let body = wanted.definitions.mcp_server(wanted.key).ok_or_else(unknown)?;
        let server = Arc::new(Server::read(self.links.config(), body)?);
        if !server.enabled {
            return Err(unavailable(&server.slug, "is switched off"));
        }
        let offered = self.links.tools(&server, wanted.tenant).await?;
        self.remember(wanted.tenant, &server, &offered);
        let found: Vec<_> = offered.iter().filter(|tool| server.offers(&tool.name)).collect();
        if let Some(only) = wanted.reference.only.as_deref().filter(|only| !only.is_empty())
            && !only.iter().any(|name| found.iter().any(|tool| tool.name == *name))
        {
            let text = format!("the MCP server `{}` has no tool `{}`", server.slug, only.join("`, `"));
            return Err(Fault::new(FaultCode::ToolNotFound, text));
        }
        // If a server offers two tools with one name, the first counts.
        let mut seen = HashSet::new();
        let named = found.into_iter().map(|tool| (tool, names::accepted(&tool.name))).filter(|(_, name)| seen.insert(name.clone()));
        Ok(named.map(|(tool, name)| self.bound(&server, wanted.tenant, tool, name)).collect())
    }

    fn bound(&self, server: &Arc<Server>, tenant: &str, tool: &live::ServerTool, name: String) -> BoundTool {
        BoundTool {
            offer: ToolOffer { name, description: tool.description.clone(), input_schema: tool.input_schema.clone() },
            require_approval: server.require_approval,
            idempotent: false,
            timeout: server.timeout,
            fixed: Map::new(),
            config: Map::new(),
            tool: Arc::new(McpTool {
                links: self.links.clone(),
                server: Arc::clone(server),
                tenant: tenant.into(),
                name: tool.name.clone(),
            }),
        }
    }
}

impl ToolSource for McpServers {
    fn scheme(&self) -> &'static str {
        "mcp"
    }

    fn bind<'a>(&'a self, wanted: Wanted<'a>) -> BoxFuture<'a, Result<Vec<BoundTool>, Fault>> {
        Box::pin(self.find(wanted))
    }
}

/// A tool of a server.
struct McpTool {
    links: Links,
    server: Arc<Server>,
    tenant: Arc<str>,
    /// As the server calls it.
    name: String,
}

impl Tool for McpTool {
    fn call(&self, call: ToolInvocation) -> BoxFuture<'static, ToolReply> {
        let (links, server, tenant, name) = (self.links.clone(), Arc::clone(&self.server), Arc::clone(&self.tenant), self.name.clone());
        Box::pin(async move {
            let (key, asker) = (call.idempotency_key(), Asker::of(&call, &name));
            let arguments = if let Value::Object(arguments) = call.arguments { arguments } else { Map::new() };
            links.call(&server, &tenant, &ServerCall { tool: name, arguments, key, asker, asking: call.asking, trace: call.trace }).await
        })
    }

    fn origin(&self) -> Option<Origin<'_>> {
        Some(Origin { id: &self.server.id, server: &self.server.slug, name: &self.name })
    }
}
