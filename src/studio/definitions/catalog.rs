//! Owns the definitions of configuration and host besides the stored ones: schemas, tools, servers, defaults.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::Config;
use crate::host::{HostDeclaration, HostOp, HostTool};
use crate::model::check::{GraphLimits, KnownTool};
use crate::model::texts::Locale;
use crate::model::{Id, Timestamp};
use crate::studio::Studio;
use crate::studio::codegen::registered::{Registered, all_of};
use crate::studio::definitions::mcp_servers;
use crate::studio::definitions::resource::{Definition, Resource};
use crate::tools::mcp::McpServers;
use crate::tools::toolkits::Toolkits;

/// How long a host may take to say whether it has a secret.
const ASKING: Duration = Duration::from_secs(5);
/// The secret that decides which provider is the default.
const OPENAI: &str = "OPENAI_API_KEY";

/// What is known without asking the database.
#[derive(Clone)]
pub struct Catalog {
    config: Arc<Config>,
    declaration: Arc<HostDeclaration>,
    toolkits: Arc<Toolkits>,
    mcp: Arc<McpServers>,
    host_has_openai: bool,
    locale: Locale,
    registered: Arc<Vec<Registered>>,
}

impl Studio {
    /// What the configuration and the host bring.
    pub fn catalog(&self) -> Catalog {
        let world = self.world();
        let toolkits = Toolkits::new(&world.config.tools.toolkits, Arc::clone(&world.clock), &world.config.timezone);
        let declaration = world.host.declaration();
        let mut catalog = Catalog {
            config: Arc::clone(&world.config),
            declaration: Arc::clone(&declaration),
            toolkits: Arc::new(toolkits),
            mcp: Arc::clone(self.mcp()),
            host_has_openai: false,
            locale: self.locale(),
            registered: Arc::default(),
        };
        if !declaration.classes.is_empty() {
            catalog.registered = self.registered(&declaration, || all_of(&catalog, &declaration));
        }
        catalog
    }

    /// Same, with the host asked for what decides the default model.
    pub(in crate::studio) async fn asked_catalog(&self, tenant: &str) -> Catalog {
        let (host, config) = (&self.world().host, self.config());
        let decided = config.default_provider.is_some() && config.rag.embeddings_provider.is_some();
        let host_has_openai = !decided && config.secret(OPENAI).is_none() && host.answers(HostOp::SecretGet) && {
            let answer = host.call(HostOp::SecretGet, json!({"name": OPENAI, "tenant": tenant}), ASKING).await;
            answer.is_ok_and(|answer| answer.get("value").and_then(Value::as_str).is_some_and(|value| !value.is_empty()))
        };
        Catalog { host_has_openai, ..self.catalog() }
    }
}

impl Catalog {
    /// Same, with definitions that are to be stored; they are found by their ids.
    pub(in crate::studio) fn with(self, resource: Resource, definitions: Vec<Definition>) -> Self {
        if definitions.is_empty() {
            return self;
        }
        let mut registered = self.registered.to_vec();
        registered.extend(definitions.into_iter().map(|definition| Registered { resource, definition, inner: true }));
        Self { registered: Arc::new(registered), ..self }
    }

    pub(in crate::studio) fn config(&self) -> &Config {
        &self.config
    }

    /// A registered output schema; the host's wins over the configuration's.
    pub fn schema(&self, name: &str) -> Option<&Value> {
        self.declaration.schemas.get(name).or_else(|| self.config.output_schemas.get(name))
    }

    /// All registered output schemas, by name.
    pub(in crate::studio) fn schemas(&self) -> Vec<Value> {
        let mut all: BTreeMap<&str, &Value> = BTreeMap::new();
        all.extend(self.config.output_schemas.iter().map(|(name, schema)| (name.as_str(), schema)));
        all.extend(self.declaration.schemas.iter().map(|(name, schema)| (name.as_str(), schema)));
        all.into_iter().map(|(name, schema)| json!({"name": name, "schema": schema})).collect()
    }

    /// Tools that the host runs.
    pub(in crate::studio) fn host_tools(&self) -> &[HostTool] {
        &self.declaration.tools
    }

    /// The toolkits that are switched on.
    pub(in crate::studio) fn toolkits(&self) -> &Toolkits {
        &self.toolkits
    }

    /// A tool that the host runs.
    pub(in crate::studio) fn host_tool(&self, name: &str) -> Option<KnownTool> {
        let tool = self.declaration.tools.iter().find(|tool| tool.name == name)?;
        Some(KnownTool {
            names: vec![tool.name.clone()],
            require_approval: tool.require_approval,
            idempotent: tool.idempotent,
            provider_native: false,
        })
    }

    /// A toolkit, or one tool of it: `calendar`, `calendar/now`.
    pub(in crate::studio) fn toolkit(&self, key: &str) -> Option<KnownTool> {
        let (toolkit, tool) = key.split_once('/').map_or((key, None), |(toolkit, tool)| (toolkit, Some(tool)));
        let all = self.toolkits.all().filter(|(found, bound)| *found == toolkit && tool.is_none_or(|tool| bound.offer.name == tool));
        let found: Vec<_> = all.map(|(_, bound)| bound).collect();
        (!found.is_empty()).then(|| KnownTool {
            names: found.iter().map(|bound| bound.offer.name.clone()).collect(),
            require_approval: found.iter().any(|bound| bound.require_approval),
            idempotent: found.iter().all(|bound| bound.idempotent),
            provider_native: false,
        })
    }

    /// How large graphs may be, and the language in which they are spoken of.
    pub(in crate::studio) fn graph_limits(&self) -> GraphLimits {
        let limits = &self.config.limits;
        let size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        GraphLimits {
            kb: limits.graph_kb,
            nodes: size(limits.graph_nodes),
            edges: size(limits.graph_edges),
            fork_branches: size(limits.fork_branches),
            loop_max_steps: limits.loop_max_steps,
            loop_default_steps: u64::from(self.config.loops.default_max_steps),
            locale: self.locale,
        }
    }

    /// Provider and model where an agent names none.
    pub(in crate::studio) fn default_model(&self) -> (String, String) {
        self.config.effective_default_model(|name| self.resolves(name))
    }

    /// Provider and model of embeddings where a base names none.
    pub(in crate::studio) fn default_embeddings(&self) -> (String, String) {
        self.config.effective_embeddings(|name| self.resolves(name))
    }

    fn resolves(&self, name: &str) -> bool {
        (name == OPENAI && self.host_has_openai) || self.config.secret(name).is_some()
    }

    /// The MCP servers that the configuration defines, by slug from the last to the first.
    pub(in crate::studio) fn servers(&self) -> Vec<Definition> {
        let mut servers: Vec<Definition> = self.config.mcp.servers.iter().map(|(slug, server)| configured(slug, server)).collect();
        servers.sort_by(|one, other| other.slug.cmp(&one.slug));
        servers
    }

    /// The known tools of an MCP server.
    pub(in crate::studio) fn server_tools(&self, tenant: &str, slug: &str) -> Vec<String> {
        self.mcp.known(tenant, slug).map(|names| names.to_vec()).unwrap_or_default()
    }

    /// What the configuration and the host define of a kind, by slug from the last to the first.
    pub(in crate::studio) fn configured(&self, resource: Resource) -> Vec<Definition> {
        if resource == Resource::McpServer {
            return self.servers();
        }
        let shown = self.registered.iter().filter(|one| one.resource == resource && !one.inner);
        let mut all: Vec<Definition> = shown.map(|one| one.definition.clone()).collect();
        all.sort_by(|one, other| other.slug.cmp(&one.slug));
        all.dedup_by(|one, other| one.slug == other.slug);
        all
    }

    /// What a class that the host registered defines under an id or a slug.
    pub(in crate::studio) fn of_class(&self, resource: Resource, id: &str) -> Option<Definition> {
        let fits = |one: &&Registered| one.resource == resource && ((!one.inner && one.definition.slug == id) || one.definition.id.to_string() == id);
        self.registered.iter().find(fits).map(|one| one.definition.clone())
    }

    /// What the configuration defines under an id or a slug.
    pub(in crate::studio) fn find(&self, resource: Resource, id: &str) -> Option<Definition> {
        if resource != Resource::McpServer {
            return None;
        }
        self.servers().into_iter().find(|server| server.slug == id || server.id.to_string() == id)
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
