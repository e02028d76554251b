//! Owns pinning: the definitions of a run as they are at its start.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::model::Id;
use crate::model::agent::{Agent, Definitions};
use crate::store::Tx;
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::resource::{Definition, Resource};
use crate::studio::definitions::uses::Use;
use crate::studio::definitions::uses;
use crate::studio::definitions;
use crate::studio::reach::Refusal;

/// Collects definitions, each once, and what they use themselves.
struct Pins<'a, 't> {
    tx: &'a mut Tx<'t>,
    tenant: &'a str,
    catalog: &'a Catalog,
    pinned: Definitions,
    /// The names that were looked up.
    seen: HashSet<(Resource, String)>,
    /// What was found.
    found: HashSet<(Resource, Id)>,
    /// The bytes of what was found.
    bytes: u64,
}

/// The definitions that a graph uses, with those that they use in turn. What is not there is left out: the run says so.
pub(in crate::studio) fn pin_graph(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, graph: &Value) -> Result<Definitions, Refusal> {
    pin_all(tx, tenant, catalog, uses::of_graph(graph))
}

/// The definitions that a chat turn of a stored agent uses, itself included.
pub(in crate::studio) fn pin_agent(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, id: &str) -> Result<Definitions, Refusal> {
    pin_all(tx, tenant, catalog, vec![Use::Stored(Resource::Agent, id.to_owned())])
}

fn pin_all(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, used: Vec<Use>) -> Result<Definitions, Refusal> {
    let mut pins = Pins { tx, tenant, catalog, pinned: Definitions::default(), seen: HashSet::new(), found: HashSet::new(), bytes: 0 };
    pins.follow(used)?;
    Ok(pins.pinned)
}

/// A stored agent as a run needs it.
pub(in crate::studio) fn agent_of(found: &Definition) -> Result<Agent> {
    serde_json::from_value(Value::Object(found.show(Resource::Agent)))
        .map_err(|error| Error::internal(format!("the stored agent `{}` cannot be read", found.slug)).caused_by(error))
}

impl Pins<'_, '_> {
    fn follow(&mut self, mut open: Vec<Use>) -> Result<(), Refusal> {
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
    fn pin(&mut self, resource: Resource, name: &str) -> Result<Vec<Use>, Refusal> {
        let pinned = matches!(resource, Resource::Agent | Resource::Tool | Resource::McpServer);
        if !pinned || !self.seen.insert((resource, name.to_ascii_lowercase())) {
            return Ok(Vec::new());
        }
        let Some(found) = definitions::find(self.tx, self.tenant, self.catalog, resource, name)? else { return Ok(Vec::new()) };
        let (fresh, by_slug) = (self.found.insert((resource, found.id)), name.eq_ignore_ascii_case(&found.slug));
        if !fresh && !by_slug {
            return Ok(Vec::new());
        }
        if resource == Resource::Agent {
            let agent = agent_of(&found)?;
            self.weigh(&agent, fresh)?;
            both(&mut self.pinned.agents, (&found, by_slug), agent);
        } else {
            let shown = Value::Object(found.show(resource));
            self.weigh(&shown, fresh)?;
            let map = if resource == Resource::Tool { &mut self.pinned.tools } else { &mut self.pinned.mcp_servers };
            both(map, (&found, by_slug), shown);
        }
        Ok(if fresh { uses::of_definition(resource, &found.body) } else { Vec::new() })
    }

    /// Refuses a run whose definitions are too large together: they are kept with the run, and in memory while it goes on.
    fn weigh(&mut self, found: &impl Serialize, fresh: bool) -> Result<(), Refusal> {
        let most = self.catalog.config().limits.definitions_kb;
        self.bytes += if fresh { serde_json::to_string(found).map_or(0, |text| text.len()) as u64 } else { 0 };
        if self.bytes <= most.saturating_mul(1024) {
            return Ok(());
        }
        let text = format!(
            "the agents, tools and servers that it uses have more than {most} KiB together; nothing was started; use fewer or raise `limits.definitions_kb`"
        );
        Err(Error::field("definitions", text).into())
    }
}

/// An id wins over a slug of the same letters. A slug that two have, a stored server and one of the configuration, leads to the one that is found by it.
fn both<T: Clone>(map: &mut BTreeMap<String, T>, (found, by_slug): (&Definition, bool), value: T) {
    map.insert(found.id.to_string(), value.clone());
    if by_slug {
        map.insert(found.slug.clone(), value);
    } else {
        map.entry(found.slug.clone()).or_insert(value);
    }
}
