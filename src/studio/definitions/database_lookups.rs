//! Owns the lookups of validation in stored definitions, inside a transaction.

use std::cell::RefCell;
use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::model::check::{Known, KnownAgent, KnownServer, KnownTool};
use crate::store::{StoreError, Tx};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::find;
use crate::studio::definitions::resource::{Definition, Resource};
use crate::tools::stored;

/// What was looked up, by name: each name is looked up once, however often a graph or an agent says it.
type Seen<T> = RefCell<HashMap<String, Option<T>>>;

fn once<T: Clone>(seen: &Seen<T>, name: &str, look: impl FnOnce() -> Option<T>) -> Option<T> {
    if let Some(found) = seen.borrow().get(name) {
        return found.clone();
    }
    let found = look();
    seen.borrow_mut().insert(name.to_owned(), found.clone());
    found
}

/// The definitions of a tenant, looked up when they are asked for.
pub(in crate::studio) struct KnownInStore<'a, 't> {
    tx: RefCell<&'a mut Tx<'t>>,
    failed: RefCell<Option<StoreError>>,
    agents: Seen<KnownAgent>,
    tools: Seen<KnownTool>,
    servers: Seen<KnownServer>,
    bases: Seen<()>,
    tenant: &'a str,
    catalog: &'a Catalog,
    state_schema: Option<&'a Value>,
}

impl<'a, 't> KnownInStore<'a, 't> {
    pub(in crate::studio) fn new(tx: &'a mut Tx<'t>, tenant: &'a str, catalog: &'a Catalog, state_schema: Option<&'a Value>) -> Self {
        Self {
            tx: RefCell::new(tx),
            failed: RefCell::new(None),
            agents: Seen::default(),
            tools: Seen::default(),
            servers: Seen::default(),
            bases: Seen::default(),
            tenant,
            catalog,
            state_schema,
        }
    }

    /// What the database failed with while it was asked.
    pub(in crate::studio) fn into_result(self) -> Result<(), StoreError> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }

    fn find(&self, resource: Resource, name: &str) -> Option<Definition> {
        match find(&mut self.tx.borrow_mut(), self.tenant, self.catalog, resource, name) {
            Ok(found) => found,
            Err(error) => {
                self.failed.borrow_mut().get_or_insert(error);
                None
            }
        }
    }

    /// Does a reference of an agent lead to a tool whose calls a person approves?
    fn is_gated(&self, reference: &Value) -> bool {
        let own = reference.get("require_approval").and_then(Value::as_bool) == Some(true);
        let tool = reference.get("ref").and_then(Value::as_str).and_then(|name| self.tool(name)).unwrap_or_default();
        (own || tool.require_approval) && !tool.provider_native
    }

    fn find_agent(&self, name: &str) -> Option<KnownAgent> {
        let found = self.find(Resource::Agent, name)?;
        let tools = found.body.get("tools").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is_native = |tool: &Value| tool.get("ref").and_then(Value::as_str).is_some_and(|name| name.starts_with("provider:"));
        Some(KnownAgent {
            require_tool_approval: flag(&found.body, "require_tool_approval"),
            stream_approval: flag(&found.body, "stream_approval"),
            gated_tool: tools.iter().any(|tool| self.is_gated(tool)),
            schema: is_set(&found.body, "schema") || is_set(&found.body, "output_schema"),
            provider_native: tools.iter().any(is_native),
        })
    }

    fn find_tool(&self, reference: &str) -> Option<KnownTool> {
        let (scheme, name) = reference.split_once(':')?;
        match scheme {
            "tool" => self.find(Resource::Tool, name).as_ref().map(stored_tool),
            "mcp" => self.mcp_server(name).map(|server| KnownTool {
                names: self.catalog.server_tools(self.tenant, name),
                require_approval: server.require_approval,
                ..KnownTool::default()
            }),
            "provider" if !name.is_empty() => Some(KnownTool { provider_native: true, ..KnownTool::default() }),
            "host" => self.catalog.host_tool(name),
            "toolkit" => self.catalog.toolkit(name),
            _ => None,
        }
    }

    fn find_server(&self, name: &str) -> Option<KnownServer> {
        let found = self.find(Resource::McpServer, name)?;
        Some(KnownServer { require_approval: flag(&found.body, "require_approval") })
    }
}

fn flag(body: &Map<String, Value>, key: &str) -> bool {
    body.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn is_set(body: &Map<String, Value>, key: &str) -> bool {
    body.get(key).is_some_and(|value| !value.is_null())
}

fn stored_tool(found: &Definition) -> KnownTool {
    let reads = stored::only_reads(&found.body);
    KnownTool {
        names: vec![found.name.clone()],
        require_approval: flag(&found.body, "require_approval"),
        idempotent: reads || flag(&found.body, "idempotent"),
        provider_native: false,
    }
}

impl Known for KnownInStore<'_, '_> {
    fn agent(&self, name: &str) -> Option<KnownAgent> {
        once(&self.agents, name, || self.find_agent(name))
    }

    fn tool(&self, reference: &str) -> Option<KnownTool> {
        once(&self.tools, reference, || self.find_tool(reference))
    }

    fn mcp_server(&self, name: &str) -> Option<KnownServer> {
        once(&self.servers, name, || self.find_server(name))
    }

    fn knowledge_base(&self, name: &str) -> bool {
        once(&self.bases, name, || self.find(Resource::KnowledgeBase, name).map(drop)).is_some()
    }

    fn schema(&self, name: &str) -> Option<Value> {
        self.catalog.schema(name).cloned()
    }

    fn state_keys(&self) -> Vec<String> {
        let properties = self.state_schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        properties.into_iter().flat_map(|properties| properties.keys().cloned()).collect()
    }
}
