//! Owns storing what comes with agents of its own: those that are there are used by their slug, others are made, all or nothing.

use serde_json::{Map, Value, json};

use crate::model::Id;
use crate::store::{Tx, definitions as table};
use crate::studio::definitions::fields::Problems;
use crate::studio::definitions::resource::{Definition, Resource, Written};
use crate::studio::definitions::settle::settle;
use crate::studio::definitions::workflows::Seen;
use crate::studio::reach::Refusal;
use crate::studio::writing::{Origin, Writer};

/// What stands for the configured provider or model.
const DEFAULT: &str = "default";

/// An agent that is needed.
#[derive(Clone)]
pub(in crate::studio) struct Needed {
    pub(in crate::studio) slug: String,
    /// What it is made of where it is not there; none where nothing can be made.
    pub(in crate::studio) made: Option<(Map<String, Value>, Origin)>,
    /// Its id if it is made.
    pub(in crate::studio) id: Id,
}

/// An agent that is there.
pub(in crate::studio) struct Present {
    pub(in crate::studio) agent: Definition,
    pub(in crate::studio) reused: bool,
}

impl Present {
    /// As it is answered.
    pub(in crate::studio) fn told(&self) -> Value {
        json!({"id": self.agent.id.to_string(), "slug": self.agent.slug, "reused": self.reused})
    }
}

/// The agent, by slug, that a node of a graph refers to.
pub(in crate::studio) fn reference(node: &Value) -> Option<&str> {
    let data = node.get("data")?;
    let is_agent = node["type"] == "agent" && data["config_mode"] != "inline";
    data["agent_ref"].as_str().filter(|slug| is_agent && !slug.is_empty())
}

/// The slugs of the agents that the nodes of a graph refer to, in graph order.
pub(in crate::studio) fn references(graph: &Value) -> impl Iterator<Item = &str> {
    graph["nodes"].as_array().into_iter().flatten().filter_map(reference)
}

/// Puts the configured provider and model where `default` stands for them.
fn fill(data: &mut Map<String, Value>, (provider, model): &(String, String)) {
    for (key, usual) in [("provider", provider), ("model", model)] {
        if data.get(key).and_then(Value::as_str) == Some(DEFAULT) {
            data.insert(key.to_owned(), usual.as_str().into());
        }
    }
}

/// A graph with the ids of stored agents where it has their slugs, and with the configured provider and model.
fn settled(mut graph: Value, agents: &[Present], defaults: &(String, String)) -> Value {
    for node in graph["nodes"].as_array_mut().into_iter().flatten() {
        let agent = reference(node).and_then(|slug| agents.iter().find(|present| present.agent.slug == slug));
        let id = agent.map(|present| present.agent.id.to_string());
        let has_model = node["type"] == "agent" || node["type"] == "llm";
        let Some(data) = node.get_mut("data").and_then(Value::as_object_mut).filter(|_| has_model) else { continue };
        fill(data, defaults);
        let Some(id) = id else { continue };
        // The key takes the other's place.
        let before = std::mem::take(data);
        data.extend(before.into_iter().filter(|(key, _)| key != "agent_id").map(|(key, value)| {
            if key == "agent_ref" { ("agent_id".to_owned(), Value::from(id.as_str())) } else { (key, value) }
        }));
    }
    graph
}

impl Writer {
    /// The agents that are needed, made where there are none. All that are neither stored nor can be made are told at once.
    pub(in crate::studio) fn present(&self, tx: &mut Tx<'_>, needed: &[Needed]) -> Result<Vec<Present>, Refusal> {
        let mut problems = Problems::default();
        let mut agents = Vec::with_capacity(needed.len());
        for needed in needed {
            let stored = table::by_slug(tx, &self.tenant, Resource::Agent.kind(), &needed.slug)?;
            match (stored, &needed.made) {
                (Some(row), _) => agents.push(Present { agent: row.into(), reused: true }),
                (None, Some((body, origin))) => {
                    agents.push(Present { agent: self.make_agent(tx, needed.id, body.clone(), origin)?, reused: false });
                }
                (None, None) => {
                    problems.add("agents", format!("agents must be there: `{}` is neither stored nor a template; nothing was installed", needed.slug));
                }
            }
        }
        problems.into_result()?;
        Ok(agents)
    }

    fn make_agent(&self, tx: &mut Tx<'_>, id: Id, mut body: Map<String, Value>, origin: &Origin) -> Result<Definition, Refusal> {
        fill(&mut body, &self.catalog.default_model());
        Ok(self.make(tx, Resource::Agent, id, body, origin)?.0)
    }

    /// Stores a workflow whose graph refers to these agents.
    pub(in crate::studio) fn make_workflow(
        &self,
        tx: &mut Tx<'_>,
        id: Id,
        mut body: Map<String, Value>,
        agents: &[Present],
        origin: &Origin,
    ) -> Result<(Definition, Seen), Refusal> {
        if let Some(graph) = body.get_mut("graph") {
            *graph = settled(graph.take(), agents, &self.catalog.default_model());
        }
        self.make(tx, Resource::Workflow, id, body, origin)
    }

    /// Stores a new definition with every check.
    pub(in crate::studio) fn make(
        &self,
        tx: &mut Tx<'_>,
        resource: Resource,
        id: Id,
        body: Map<String, Value>,
        origin: &Origin,
    ) -> Result<(Definition, Seen), Refusal> {
        let mut written = Written::read(resource, &Value::Object(body), &self.catalog, None)?;
        let seen = settle(tx, &self.tenant, &self.catalog, resource, &mut written)?;
        Ok((self.insert(tx, resource, id, written, origin)?, seen))
    }
}
