//! Owns the storage of definitions with their agents: existing ones are reused by slug, others created, all or nothing.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::error::{Error, Kind, Result};
use crate::model::Id;
use crate::store::upkeep::request_keys::RequestKey;
use crate::store::{Tx, definitions as table};
use crate::studio::Studio;
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::fields::Problems;
use crate::studio::definitions::resource::{Definition, Resource, Written};
use crate::studio::definitions::database_checks::{settle, settle_again};
use crate::studio::definitions::workflows::{self, Seen};
use crate::studio::definitions::{ATTEMPTS, RESTLESS, slugs};
use crate::studio::reach::{Refusal, keep_answer};
use crate::studio::definition_writes::{Origin, Writer};

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
struct Present {
    agent: Definition,
    reused: bool,
}

impl Present {
    /// As it is answered.
    fn to_json(&self) -> Value {
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
fn settled(mut graph: Value, agents: &[(String, Id)], defaults: &(String, String)) -> Value {
    for node in graph["nodes"].as_array_mut().into_iter().flatten() {
        let agent = reference(node).and_then(|slug| agents.iter().find(|(known, _)| known == slug));
        let id = agent.map(|(_, id)| id.to_string());
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

/// What the agents come along with.
pub(in crate::studio) struct Wanted {
    pub(in crate::studio) resource: Resource,
    pub(in crate::studio) id: Id,
    pub(in crate::studio) body: Map<String, Value>,
    /// The slug, or the first one after it that is free.
    pub(in crate::studio) slug: Option<String>,
    pub(in crate::studio) origin: Origin,
}

/// A definition with the agents that it needs.
pub(in crate::studio) struct Installation {
    pub(in crate::studio) writer: Writer,
    pub(in crate::studio) needed: Vec<Needed>,
    pub(in crate::studio) wanted: Option<Wanted>,
    /// The answer is stored under it.
    pub(in crate::studio) key: Option<RequestKey>,
}

/// What was stored.
struct Installed {
    agents: Vec<Present>,
    made: Option<(Resource, Definition, Seen)>,
}

impl Installed {
    /// `{workflow, agents}`, `{tool, agents}`, or `{agent, reused, agents}` of an agent that came alone.
    fn to_json(&self) -> Value {
        let agents: Vec<Value> = self.agents.iter().map(Present::to_json).collect();
        match &self.made {
            Some((Resource::Workflow, made, seen)) => json!({"workflow": workflows::show(made, seen.clone()), "agents": agents}),
            Some((Resource::Agent, made, _)) => {
                let present = Present { agent: made.clone(), reused: false };
                json!({"agent": made.show(Resource::Agent), "reused": false, "agents": [present.to_json()]})
            }
            Some((resource, made, _)) => json!({resource.word(): made.show(*resource), "agents": agents}),
            None => {
                let first = self.agents.first();
                let agent = first.map(|present| present.agent.show(Resource::Agent));
                json!({"agent": agent, "reused": first.is_some_and(|present| present.reused), "agents": agents})
            }
        }
    }
}

/// An agent as it was found.
#[derive(Clone)]
enum Found {
    Stored(Id),
    /// A class of the host defines it.
    Registered(Box<Definition>),
    New(Written),
}

/// What was found and checked before the write transaction.
#[derive(Clone)]
struct Checked {
    agents: Vec<Found>,
    wanted: Option<(Written, Vec<Value>)>,
}

impl Installation {
    /// Every check, where others go on writing.
    fn check(&self, tx: &mut Tx<'_>) -> Result<Checked, Refusal> {
        let writer = &self.writer;
        let mut problems = Problems::default();
        let catalog = writer.catalog.clone();
        let (mut agents, mut ids, mut made) = (Vec::with_capacity(self.needed.len()), Vec::new(), Vec::new());
        for needed in &self.needed {
            let stored = table::by_slug(tx, &writer.tenant, Resource::Agent.kind(), &needed.slug)?;
            // As everywhere, a stored one goes before one of a class.
            match (stored, writer.catalog.of_class(Resource::Agent, &needed.slug), &needed.made) {
                (Some(row), _, _) => {
                    ids.push((needed.slug.clone(), row.id));
                    agents.push(Found::Stored(row.id));
                }
                (None, Some(agent), _) => {
                    ids.push((needed.slug.clone(), agent.id));
                    agents.push(Found::Registered(Box::new(agent)));
                }
                (None, None, Some((body, _))) => {
                    let mut body = body.clone();
                    fill(&mut body, &catalog.default_model());
                    let mut written = Written::read(Resource::Agent, &Value::Object(body), &catalog, None)?;
                    settle(tx, &writer.tenant, &catalog, Resource::Agent, &mut written)?;
                    ids.push((needed.slug.clone(), needed.id));
                    made.push(written.definition(needed.id, writer.now));
                    agents.push(Found::New(written));
                }
                (None, None, None) => {
                    problems.add("agents", format!("agents must be there: `{}` is neither stored nor a template; nothing was installed", needed.slug));
                }
            }
        }
        problems.into_result()?;
        let catalog = catalog.with(Resource::Agent, made);
        let wanted = self.wanted.as_ref().map(|wanted| wanted.check(tx, writer, &catalog, &ids)).transpose()?;
        Ok(Checked { agents, wanted })
    }

    /// Stores everything. When others came between, so that what was checked is not so any more, it is refused as a whole.
    fn write(&self, tx: &mut Tx<'_>, checked: &Checked) -> Result<Value, Refusal> {
        let installed = self.store(tx, checked)?.to_json();
        keep_answer(tx, &self.writer.tenant, self.key.as_ref(), self.writer.now, || installed.clone())?;
        Ok(installed)
    }

    fn store(&self, tx: &mut Tx<'_>, checked: &Checked) -> Result<Installed, Refusal> {
        let writer = &self.writer;
        table::hold(tx, &writer.tenant)?;
        let mut agents = Vec::with_capacity(self.needed.len());
        for (needed, found) in self.needed.iter().zip(&checked.agents) {
            let stored = table::by_slug(tx, &writer.tenant, Resource::Agent.kind(), &needed.slug)?;
            match (stored, found, &needed.made) {
                (Some(row), Found::Stored(id), _) if row.id == *id => agents.push(Present { agent: row.into(), reused: true }),
                (None, Found::Registered(agent), _) => agents.push(Present { agent: agent.as_ref().clone(), reused: true }),
                (None, Found::New(written), Some((_, origin))) => {
                    let mut written = written.clone();
                    settle_again(tx, writer, Resource::Agent, &mut written)?;
                    agents.push(Present { agent: writer.insert(tx, Resource::Agent, needed.id, written, origin)?, reused: false });
                }
                _ => return Err(restless().into()),
            }
        }
        let Some((wanted, (written, warnings))) = self.wanted.as_ref().zip(checked.wanted.as_ref()) else { return Ok(Installed { agents, made: None }) };
        let mut written = written.clone();
        if !settle_again(tx, writer, wanted.resource, &mut written)? {
            return Err(restless().into());
        }
        if let Some(slug) = &wanted.slug {
            written.slug = Some(slugs::free(tx, &writer.tenant, &writer.catalog, wanted.resource, slug)?);
        }
        let used = written.body.get("graph").map(|graph| workflows::agents_of(tx, &writer.tenant, graph)).transpose()?;
        let seen = Seen { warnings: warnings.clone(), agents: used.unwrap_or_default() };
        let made = writer.insert(tx, wanted.resource, wanted.id, written, &wanted.origin)?;
        Ok(Installed { agents, made: Some((wanted.resource, made, seen)) })
    }
}

/// Others came between; what was written is undone with the transaction.
fn restless() -> Error {
    Error::new(Kind::RevisionConflict, RESTLESS)
}

impl Wanted {
    fn check(&self, tx: &mut Tx<'_>, writer: &Writer, catalog: &Catalog, agents: &[(String, Id)]) -> Result<(Written, Vec<Value>), Refusal> {
        let mut body = self.body.clone();
        if let (Resource::Workflow, Some(graph)) = (self.resource, body.get_mut("graph")) {
            *graph = settled(graph.take(), agents, &catalog.default_model());
        }
        if self.resource == Resource::Agent {
            fill(&mut body, &catalog.default_model());
        }
        let mut written = Written::read(self.resource, &Value::Object(body), catalog, None)?;
        let seen = settle(tx, &writer.tenant, catalog, self.resource, &mut written)?;
        Ok((written, seen.warnings))
    }
}

impl Studio {
    /// Stores a definition with the agents that it needs, all or nothing; what was stored is as it is answered.
    pub(in crate::studio) async fn install(&self, installation: Installation) -> Result<Value> {
        let installation = Arc::new(installation);
        for _ in 0..ATTEMPTS {
            let one = Arc::clone(&installation);
            let checked = self.reading(move |tx| one.check(tx)).await?;
            let one = Arc::clone(&installation);
            match self.writing(move |tx| one.write(tx, &checked)).await {
                Err(error) if error.kind == Kind::RevisionConflict => {}
                done => return done,
            }
        }
        Err(restless())
    }
}
