//! Owns pinning: the definitions that a run uses, as they are when it starts.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::model::agent::{Agent, Definitions};
use crate::store::{StoreError, Tx};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::resource::{Definition, Resource};
use crate::studio::definitions::uses::Use;
use crate::studio::definitions::uses;
use crate::studio::definitions;

/// Collects definitions, each once, and what they use themselves.
struct Pins<'a, 't> {
    tx: &'a mut Tx<'t>,
    tenant: &'a str,
    catalog: &'a Catalog,
    pinned: Definitions,
}

/// The definitions that a graph uses, with those that they use in turn. What is not there is left out: the run says so.
pub fn pin_graph(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, graph: &Value) -> Result<Definitions, StoreError> {
    let mut pins = Pins { tx, tenant, catalog, pinned: Definitions::default() };
    pins.follow(uses::of_graph(graph))?;
    Ok(pins.pinned)
}

/// The definitions that a chat turn of a stored agent uses, itself included.
pub fn pin_agent(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, id: &str) -> Result<Definitions, StoreError> {
    let mut pins = Pins { tx, tenant, catalog, pinned: Definitions::default() };
    pins.follow(vec![Use::Stored(Resource::Agent, id.to_owned())])?;
    Ok(pins.pinned)
}

/// A stored agent as a run needs it.
pub(in crate::studio) fn agent_of(found: &Definition) -> Result<Agent> {
    serde_json::from_value(Value::Object(found.show(Resource::Agent)))
        .map_err(|error| Error::internal(format!("the stored agent `{}` cannot be read", found.slug)).caused_by(error))
}

impl Pins<'_, '_> {
    fn follow(&mut self, mut open: Vec<Use>) -> Result<(), StoreError> {
        while let Some(used) = open.pop() {
            match used {
                Use::Schema(name) => self.pin_schema(&name),
                Use::Stored(resource, name) => open.extend(self.pin(resource, &name)?),
            }
        }
        Ok(())
    }

    fn pin_schema(&mut self, name: &str) {
        if let Some(schema) = self.catalog.schema(name) {
            self.pinned.schemas.insert(name.to_owned(), schema.clone());
        }
    }

    /// Pins one definition under its id and its slug; gives what it uses when it was not pinned before.
    fn pin(&mut self, resource: Resource, name: &str) -> Result<Vec<Use>, StoreError> {
        if self.has(resource, name) {
            return Ok(Vec::new());
        }
        let Some(found) = definitions::find(self.tx, self.tenant, self.catalog, resource, name)? else { return Ok(Vec::new()) };
        match resource {
            Resource::Agent => {
                let agent = agent_of(&found).map_err(|error| StoreError::Corrupt(error.message))?;
                both(&mut self.pinned.agents, &found, agent);
            }
            Resource::Tool => both(&mut self.pinned.tools, &found, Value::Object(found.show(resource))),
            Resource::McpServer => both(&mut self.pinned.mcp_servers, &found, Value::Object(found.show(resource))),
            Resource::Workflow | Resource::KnowledgeBase => {}
        }
        Ok(uses::of_definition(resource, &found.body))
    }

    fn has(&self, resource: Resource, name: &str) -> bool {
        match resource {
            Resource::Agent => self.pinned.agents.contains_key(name),
            Resource::Tool => self.pinned.tools.contains_key(name),
            Resource::McpServer => self.pinned.mcp_servers.contains_key(name),
            Resource::Workflow | Resource::KnowledgeBase => true,
        }
    }
}

fn both<T: Clone>(map: &mut BTreeMap<String, T>, found: &Definition, value: T) {
    map.insert(found.id.to_string(), value.clone());
    map.insert(found.slug.clone(), value);
}
