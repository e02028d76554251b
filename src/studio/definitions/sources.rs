//! Owns the sources of runs: a checked graph with its definitions, cached until a definition changes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sync::Mutex;
use serde_json::{Value, json};

use crate::engine::Pinned;
use crate::error::{Error, Result};
use crate::host::HostDeclaration;
use crate::model::Id;
use crate::model::agent::{Agent, Definitions};
use crate::model::chat::Attachment;
use crate::model::event::EntityKind;
use crate::store::Tx;
use crate::store::definitions::epoch;
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::resource::Resource;
use crate::studio::definitions::{drafts, workflows};
use crate::studio::definitions;
use crate::studio::facade::{Scope, Studio};
use crate::studio::reach::Refusal;
use crate::studio::runs::requests::{AttachmentInput, ChosenModel, RunRequest, Trial};
use crate::studio::runs::{files_of, pinning};

/// What runs of one workflow or agent are made from.
pub(in crate::studio) struct Source {
    pub(in crate::studio) id: Id,
    pub(in crate::studio) name: String,
    /// None for a draft, a trial or an agent.
    pub(in crate::studio) revision: Option<i64>,
    pub(in crate::studio) pinned: Pinned,
    /// What the initial state must fit.
    state_schema: Option<Value>,
    /// Of its texts.
    bytes: usize,
}

/// What of a request decides what its run is made from.
struct Wanted {
    draft: bool,
    chosen: Option<ChosenModel>,
    trial: Trial,
}

impl Wanted {
    /// The workflow or agent as it is stored.
    fn is_plain(&self) -> bool {
        !self.draft && self.chosen.is_none() && self.trial.is_empty()
    }
}

/// Sources that were checked, each true for one count of changes and one declaration of the host.
#[derive(Default)]
pub(in crate::studio) struct Sources(Mutex<Room>);

#[derive(Default)]
struct Room {
    kept: HashMap<Key, Kept>,
    /// Of their texts.
    bytes: usize,
}

type Key = (Arc<str>, &'static str, String);

#[derive(Clone)]
struct Kept {
    epoch: String,
    declaration: Arc<HostDeclaration>,
    source: Arc<Source>,
}

/// Sources that are kept ready.
const MOST: usize = 256;
/// Bytes of their texts; what was read of them takes some times as much.
const MOST_BYTES: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

impl Sources {
    /// What is kept, if the database still has that many changes; it is asked only when something is kept.
    fn find(&self, key: &Key, declaration: &Arc<HostDeclaration>, epoch: impl FnOnce() -> Option<String>) -> Option<Arc<Source>> {
        let kept = self.0.lock().kept.get(key).filter(|kept| Arc::ptr_eq(&kept.declaration, declaration)).cloned()?;
        (epoch()? == kept.epoch).then_some(kept.source)
    }

    /// How many are kept, and the bytes of their texts.
    #[cfg(test)]
    pub(in crate::studio) fn held(&self) -> (usize, usize) {
        let room = self.0.lock();
        (room.kept.len(), room.bytes)
    }

    fn keep(&self, key: Key, kept: Kept) {
        let (room, bytes) = (&mut *self.0.lock(), kept.source.bytes);
        if let Some(before) = room.kept.remove(&key) {
            room.bytes -= before.source.bytes;
        }
        if room.kept.len() >= MOST || room.bytes + bytes > MOST_BYTES {
            *room = Room::default();
        }
        if bytes <= MOST_BYTES {
            room.bytes += bytes;
            room.kept.insert(key, kept);
        }
    }
}

impl Studio {
    /// What a run is made from, checked again if anything changed since it was, and the files of its message.
    pub(in crate::studio) async fn source(
        &self,
        scope: &Scope,
        entity: EntityKind,
        id: &str,
        body: &RunRequest,
    ) -> Result<(Arc<Source>, Vec<Attachment>)> {
        let key = (Arc::clone(&scope.tenant), entity.as_str(), id.to_owned());
        let declaration = self.world().host.declaration();
        let wanted = Wanted { draft: body.draft, chosen: body.model.clone(), trial: body.trial.clone() };
        let plain = wanted.is_plain() && body.attachments.is_empty();
        let look = || self.world().store.look(epoch);
        let ready = if plain { self.sources().find(&key, &declaration, look) } else { None };
        let (source, attachments) = match ready {
            Some(source) => (source, Vec::new()),
            None => Box::pin(self.read_source(scope, entity, key, declaration, wanted, &body.attachments)).await?,
        };
        if let Some(schema) = &source.state_schema {
            fits(schema, &Value::Object(body.state.clone()))?;
        }
        Ok((source, attachments))
    }

    async fn read_source(
        &self,
        scope: &Scope,
        entity: EntityKind,
        key: Key,
        declaration: Arc<HostDeclaration>,
        wanted: Wanted,
        files: &[AttachmentInput],
    ) -> Result<(Arc<Source>, Vec<Attachment>)> {
        let (scope, files, catalog, studio) = (scope.clone(), files.to_vec(), self.catalog(), self.clone());
        self.reading(move |tx| {
            let attachments = files_of(tx, &scope, &files)?;
            if !wanted.is_plain() {
                return Ok((Arc::new(read(tx, &scope, &catalog, entity, &key.2, &wanted)?), attachments));
            }
            let epoch = epoch(tx)?;
            if let Some(source) = studio.sources().find(&key, &declaration, || Some(epoch.clone())) {
                return Ok((source, attachments));
            }
            let source = Arc::new(read(tx, &scope, &catalog, entity, &key.2, &wanted)?);
            let kept = Kept { epoch, declaration: declaration.clone(), source: Arc::clone(&source) };
            studio.sources().keep(key.clone(), kept);
            Ok((source, attachments))
        })
        .await
    }
}

fn read(tx: &mut Tx<'_>, scope: &Scope, catalog: &Catalog, entity: EntityKind, id: &str, wanted: &Wanted) -> Result<Source, Refusal> {
    match entity {
        EntityKind::Workflow => {
            let found = definitions::must_find(tx, &scope.tenant, catalog, Resource::Workflow, id)?;
            let graph = if wanted.draft {
                drafts::graph_of(tx, &scope.tenant, &found.id)?
            } else {
                found.body.get("graph").cloned().unwrap_or_default()
            };
            let graph = wanted.trial.apply(graph)?;
            let schema = found.body.get("state_schema").filter(|schema| !schema.is_null()).cloned();
            workflows::must_be_valid(workflows::check(tx, &scope.tenant, catalog, &graph, schema.as_ref())?)?;
            let pinned = pinned(&graph, pinning::pin_graph(tx, &scope.tenant, catalog, &graph)?)?;
            let revision = (!wanted.draft && wanted.trial.is_empty()).then_some(found.revision);
            let bytes = pinned.bytes() + schema.as_ref().map_or(0, |schema| schema.to_string().len());
            Ok(Source { id: found.id, name: found.name, revision, pinned, state_schema: schema, bytes })
        }
        EntityKind::Agent => {
            let found = definitions::must_find(tx, &scope.tenant, catalog, Resource::Agent, id)?;
            let agent = pinning::agent_of(&found)?;
            let mut definitions = pinning::pin_agent(tx, &scope.tenant, catalog, &found.id.to_string())?;
            if let Some(chosen) = &wanted.chosen {
                definitions.agents.values_mut().for_each(|agent| choose(agent, chosen));
            }
            let pinned = pinned(&chat_graph(&found.id, &agent), definitions)?;
            let bytes = pinned.bytes();
            Ok(Source { id: found.id, name: found.name, revision: None, pinned, state_schema: None, bytes })
        }
    }
}

/// The agent with another model; a credential goes with its provider.
fn choose(agent: &mut Agent, chosen: &ChosenModel) {
    if let Some(provider) = chosen.provider.as_ref().filter(|provider| **provider != agent.provider) {
        agent.provider.clone_from(provider);
        agent.credential = None;
    }
    agent.model.clone_from(&chosen.model);
}

fn pinned(graph: &Value, definitions: Definitions) -> Result<Pinned> {
    let text = serde_json::to_string(&definitions).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Pinned::new(graph.to_string().into(), Arc::new(definitions), text.into()))
}

/// Whether the initial state fits the workflow's `state_schema`.
fn fits(schema: &Value, state: &Value) -> Result<()> {
    let problems = crate::tools::schema::argument_problems(schema, state);
    if problems.is_empty() { Ok(()) } else { Err(Error::fields(problems.into_iter().map(|text| ("state".to_owned(), text)))) }
}

/// The graph that a chat turn runs on: the agent alone.
fn chat_graph(id: &Id, agent: &Agent) -> Value {
    let structured = agent.schema.is_some() || agent.output_schema.is_some();
    let streams = !agent.require_tool_approval && !structured;
    json!({
        "version": 1,
        "nodes": [
            {"id": "start", "type": "start", "position": {"x": 0, "y": 0}, "data": {}},
            {"id": "agent", "type": "agent", "position": {"x": 200, "y": 0}, "data": {
                "config_mode": "existing", "agent_id": id.to_string(), "stream": streams, "structured": structured,
            }},
        ],
        "edges": [{"id": "e", "source": "start", "target": "agent", "sourceHandle": "default", "targetHandle": "default"}],
        "annotations": [],
    })
}
