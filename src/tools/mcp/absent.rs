//! Owns the errors about MCP servers in a build without the MCP client.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{BoundTool, ToolSource, Wanted};
use crate::config::Config;
use crate::host::HostDoor;
use crate::model::event::{Fault, FaultCode};
use crate::secrets::Secrets;

const ABSENT: &str = "this build has no client of MCP servers (feature `mcp`)";

/// The MCP servers, none of which can be asked.
pub struct McpServers;

impl McpServers {
    /// No server is ever asked.
    ///
    /// # Errors
    /// None.
    pub fn new(_: Arc<Config>, _: Secrets, _: HostDoor) -> Result<Self, Vec<String>> {
        Ok(Self)
    }

    /// Nothing is known of any server.
    pub fn known(&self, _: &str, _: &str) -> Option<Arc<[String]>> {
        None
    }

    /// Says that nothing can be asked.
    pub async fn test(&self, _: &Value, _: &str) -> Value {
        json!({"ok": false, "protocol_version": null, "tools": [], "error": ABSENT})
    }

    /// There is nothing to end.
    pub async fn close(&self, _: Duration) {}

    /// There is nothing to end.
    pub fn kill(&self) {}
}

impl ToolSource for McpServers {
    fn scheme(&self) -> &'static str {
        "mcp"
    }

    fn bind<'a>(&'a self, _: Wanted<'a>) -> BoxFuture<'a, Result<Vec<BoundTool>, Fault>> {
        Box::pin(async { Err(Fault::new(FaultCode::McpUnavailable, ABSENT)) })
    }
}
