//! Owns what the configuration and the host bring beside the stored definitions: schemas, host tools, toolkits, servers, defaults.

use std::sync::Arc;

use serde_json::{Value, json};

use super::mcp_servers;
use super::resource::{Definition, Resource};
use crate::config::Config;
use crate::host::{HostDeclaration, HostTool};
use crate::model::check::GraphLimits;
use crate::model::{Id, Timestamp};

/// What is known without asking the database.
#[derive(Clone)]
pub struct Catalog {
    config: Arc<Config>,
    declaration: Arc<HostDeclaration>,
}

impl Catalog {
    /// Of a configuration and what the host declared.
    #[must_use]
    pub const fn new(config: Arc<Config>, declaration: Arc<HostDeclaration>) -> Self {
        Self { config, declaration }
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// A registered output schema; the host's wins over the configuration's.
    #[must_use]
    pub fn schema(&self, name: &str) -> Option<&Value> {
        self.declaration.schemas.get(name).or_else(|| self.config.output_schemas.get(name))
    }

    /// All registered output schemas, by name.
    pub(super) fn schemas(&self) -> Vec<Value> {
        let mut all: std::collections::BTreeMap<&str, &Value> = std::collections::BTreeMap::new();
        all.extend(self.config.output_schemas.iter().map(|(name, schema)| (name.as_str(), schema)));
        all.extend(self.declaration.schemas.iter().map(|(name, schema)| (name.as_str(), schema)));
        all.into_iter().map(|(name, schema)| json!({"name": name, "schema": schema})).collect()
    }

    /// Tools that the host runs.
    pub(super) fn host_tools(&self) -> &[HostTool] {
        &self.declaration.tools
    }

    /// One of them.
    pub(super) fn host_tool(&self, name: &str) -> Option<&HostTool> {
        self.declaration.tools.iter().find(|tool| tool.name == name)
    }

    /// Is a toolkit switched on?
    pub(super) fn has_toolkit(&self, key: &str) -> bool {
        self.config.tools.toolkits.iter().any(|one| one == key)
    }

    /// How large graphs may be.
    pub(super) fn graph_limits(&self) -> GraphLimits {
        GraphLimits::default()
    }

    /// Provider and model where an agent names none.
    pub(super) fn default_model(&self) -> (String, String) {
        self.config.effective_default_model()
    }

    /// Provider and model of embeddings where a base names none.
    pub(super) fn default_embeddings(&self) -> (String, String) {
        self.config.effective_embeddings_model()
    }

    /// The MCP servers that the configuration defines, by slug from the last to the first.
    pub(super) fn servers(&self) -> impl Iterator<Item = Definition> {
        self.config.mcp.servers.iter().rev().map(|(slug, server)| configured(slug, server))
    }

    /// What the configuration defines under an id or a slug.
    pub(super) fn find(&self, resource: Resource, id: &str) -> Option<Definition> {
        if resource != Resource::McpServer {
            return None;
        }
        self.servers().find(|server| server.slug == id || server.id.to_string() == id)
    }
}

/// A server of the configuration, with an id that follows from its slug.
fn configured(slug: &str, server: &Value) -> Definition {
    let id = Id(uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, format!("studio:mcp:{slug}").as_bytes()));
    let mut body = mcp_servers::configured(server);
    body.insert("locked".into(), true.into());
    Definition {
        id,
        slug: slug.to_owned(),
        name: server.get("name").and_then(Value::as_str).unwrap_or(slug).to_owned(),
        revision: 1,
        source: "host".to_owned(),
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
        body,
    }
}
