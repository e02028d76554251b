//! Owns the creation of a run: one transaction with its row, its graph, its first entries and its thread, and for a run that starts at once
//! everything up to its first wait.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::clock::Passing;
use crate::engine::leases;
use crate::engine::log::journal::{Beginning, Boundary, Ownership, Stored};
use crate::engine::log::thread_messages;
use crate::engine::runs::load::tell_all;
use crate::engine::runs::names;
use crate::engine::runs::run_limit::must_have_room;
use crate::engine::runs::started::{Begun, Started};
use crate::engine::world::World;
use crate::error::{Error, Result};
use crate::model::Id;
use crate::model::agent::{Definitions, Parameters};
use crate::model::chat::Attachment;
use crate::model::event::{Created, EntityKind, Entry, Event, PartHash};
use crate::model::run::{Run, Status};
use crate::model::telling::Telling;
use crate::model::trace_context::TraceContext;
use crate::store::log::{self, Append, Made};
use crate::store::runs::{RunRow, RunUpdate};
use crate::store::upkeep::request_keys::{self, RequestKey};
use crate::store::{StoreError, Tx};

/// A graph and the definitions that it uses, as they are kept with a run.
#[derive(Clone)]
pub struct Pinned {
    graph: (PartHash, Arc<str>),
    definitions: (PartHash, Arc<str>),
    read: Arc<Definitions>,
}

impl Pinned {
    /// Of a graph and its definitions as JSON texts.
    #[must_use]
    pub fn new(graph: Arc<str>, read: Arc<Definitions>, definitions: Arc<str>) -> Self {
        let hash = crate::engine::log::projection::hash;
        Self { graph: (hash(&graph), graph), definitions: (hash(&definitions), definitions), read }
    }

    /// The bytes of both texts.
    pub fn bytes(&self) -> usize {
        self.graph.1.len() + self.definitions.1.len()
    }
}

/// What a new run is made of; everything in it was checked.
#[expect(missing_docs, reason = "the names say it")]
pub struct NewRun {
    pub tenant: Arc<str>,
    /// What the host said of the user.
    pub user: Option<Value>,
    /// What it is a run of.
    pub entity: EntityKind,
    pub entity_id: Id,
    pub entity_name: String,
    /// The workflow's revision; none for a draft or an agent.
    pub revision: Option<i64>,
    /// Its graph and the definitions that it uses.
    pub pinned: Pinned,
    /// The user's message.
    pub message: String,
    /// The initial state.
    pub state: Map<String, Value>,
    /// Files sent along.
    pub attachments: Vec<Attachment>,
    /// The thread; none = a new one.
    pub thread: Option<Id>,
    /// A worker drives it.
    pub queued: bool,
    /// The starting stream breaking cancels it.
    pub cancel_on_disconnect: bool,
    /// Of a chat turn.
    pub instructions: Option<String>,
    /// Of a chat turn.
    pub context: Option<Value>,
    /// Of a chat turn.
    pub parameters: Option<Parameters>,
    /// The key of a request that may be sent again.
    pub key: Option<RequestKey>,
    /// The run whose turn on the thread this one replaces.
    pub replaces: Option<Id>,
    /// The span of the host that it is started in.
    pub trace: Option<Arc<TraceContext>>,
}

/// Makes a run; a sync one goes to work at once.
///
/// # Errors
/// A thread of another entity, a busy chat thread, too many runs, a key that is being accepted, the store.
pub async fn create(world: &Arc<World>, new: NewRun) -> Result<Begun> {
    must_have_room(world, new.queued)?;
    let fresh = Fresh::make(world, new)?;
    let started = fresh.started();
    if started.status == Status::Queued {
        fresh.store(world, &started).await?;
        world.wake_workers();
    } else if world.keeps_nothing() {
        fresh.keep_key(world, &started).await?;
        fresh.drive(world, Stored::Whole(None));
    } else {
        let (told, stored) = oneshot::channel();
        let beginning = fresh.beginning(world, &started, told);
        fresh.drive(world, Stored::Nothing(Box::new(beginning)));
        return Ok(Begun { started, stored: Some(stored), world: Arc::clone(world) });
    }
    Ok(Begun { started, stored: None, world: Arc::clone(world) })
}

/// A run as it begins, not stored yet.
struct Fresh {
    run: Run,
    entries: Vec<Arc<Entry>>,
    tenant: Arc<str>,
    ownership: Ownership,
    pinned: Pinned,
    key: Option<RequestKey>,
    passing: Passing,
}

impl Fresh {
    fn make(world: &World, new: NewRun) -> Result<Self> {
        let (tenant, pinned, key, queued) = (Arc::clone(&new.tenant), new.pinned.clone(), new.key.clone(), new.queued);
        let plan = world.plan(&pinned.graph.0, &pinned.graph.1).map_err(Error::internal)?;
        let now = world.clock.now();
        let passing = Passing::since(&*world.clock, now);
        let created = Arc::new(created(world, new));
        let event = crate::engine::log::masking::created(world, Arc::clone(&created));
        let mut entries = vec![Arc::new(Entry { seq: 1, at: now, lane: 0, event })];
        if !queued {
            entries.push(Arc::new(Entry { seq: 2, at: now, lane: 0, event: Event::Began }));
        }
        let mut run = Run::new(world.clock.id(), &entries[0], created, plan);
        for entry in &entries[1..] {
            run.apply(entry);
        }
        let ownership = Ownership {
            owner: Arc::clone(world.owner()),
            fence: 1,
            mode: if queued { "async" } else { "sync" },
            queue: queued.then(|| world.config.queue.as_str().into()),
            tries: 0,
        };
        Ok(Self { run, entries, tenant, ownership, pinned, key, passing })
    }

    fn started(&self) -> Started {
        let run = &self.run;
        Started { run: run.id, thread: run.created.thread, pause: None, status: run.status, after: 0, after_live: 0 }
    }

    /// One transaction: a queued run, and the stored answer to its idempotency key.
    async fn store(&self, world: &Arc<World>, started: &Started) -> Result<()> {
        let run = &self.run;
        let mut append = Append::new(run.id, Arc::clone(&self.tenant), 0, self.ownership.fence, RunUpdate::default());
        append.made = Some(Box::new(self.made(world, started)));
        append.entries.clone_from(&self.entries);
        append.parts = self.parts();
        append.named = self.files();
        let (hook, id) = (Arc::clone(world), run.id);
        let write = move |tx: &mut Tx<'_>| {
            hook.boundary(Boundary::Before, id, 0);
            log::append(tx, &append)
        };
        world.store.write(write).await?;
        world.boundary(Boundary::After, id, run.head);
        Ok(())
    }

    /// What is stored of a run that goes to work at once, with all that it does until it has to wait.
    fn beginning(&self, world: &World, started: &Started, told: oneshot::Sender<Result<(), StoreError>>) -> Beginning {
        Beginning { entries: self.entries.clone(), made: Some(Box::new(self.made(world, started))), parts: self.parts(), files: self.files(), told }
    }

    fn made(&self, world: &World, started: &Started) -> Made {
        let key = self.key.clone().map(|key| (key, started.accepted_json()));
        let message = thread_messages::beginning(world, &self.run, &self.created_event().message);
        Made { row: self.row(world), reply: None, message, key, replaces: self.run.created.replaces }
    }

    fn parts(&self) -> Vec<(PartHash, Arc<str>)> {
        vec![self.pinned.graph.clone(), self.pinned.definitions.clone()]
    }

    fn files(&self) -> Vec<Arc<str>> {
        self.run.created.attachments.iter().map(|file| file.storage_key.as_str().into()).collect()
    }

    fn row(&self, world: &World) -> RunRow {
        let (run, ownership, created) = (&self.run, &self.ownership, &self.run.created);
        RunRow {
            id: run.id,
            tenant: Arc::clone(&self.tenant),
            entity_type: created.entity,
            entity_id: created.entity_id,
            entity_name: created.entity_name.clone(),
            revision: created.revision,
            thread: created.thread,
            parent: None,
            status: run.status.as_str().to_owned(),
            mode: ownership.mode.to_owned(),
            user_id: created.user.as_ref().and_then(names::user_id),
            input_preview: names::preview(&self.created_event().message),
            graph: Some(Arc::clone(&self.pinned.graph.0)),
            created_at: run.created_at,
            started_at: run.started_at,
            finished_at: None,
            working_ms: 0,
            waiting_ms: 0,
            rested_at: None,
            awaiting_node: None,
            awaiting_pause: None,
            error: None,
            head: 0,
            fence: ownership.fence,
            owner: (!created.queued).then(|| ownership.owner.to_string()),
            lease_until: if created.queued { None } else { leases::lease(world) },
            takeovers: 0,
            last_event_id: if created.queued { self.telling_with_entries(world).ordered.last } else { 0 },
            attempt: 1,
            own: run.own,
            total: run.own,
            queue: ownership.queue.as_deref().map(str::to_owned),
            available_at: created.queued.then(|| world.common_time()),
            tries: 0,
            cancel_requested: false,
            no: 0,
        }
    }

    /// The first entry as it is stored and published.
    fn created_event(&self) -> &Created {
        match self.entries.first().map(|entry| &entry.event) {
            Some(Event::Created(created)) => created,
            Some(_) | None => &self.run.created,
        }
    }

    fn telling_with_entries(&self, world: &World) -> Telling {
        let mut telling = self.telling(world);
        tell_all(&mut telling, &self.entries, &[]);
        telling
    }

    fn telling(&self, world: &World) -> Telling {
        Telling::new(self.run.id, &self.run.created, &self.run.plan, world.wire(), false)
    }

    /// Of a run that leaves nothing behind, only its key is kept.
    async fn keep_key(&self, world: &World, started: &Started) -> Result<()> {
        let Some(key) = self.key.clone() else { return Ok(()) };
        let (tenant, answer, now) = (Arc::clone(&self.tenant), started.accepted_json(), self.run.created_at);
        Ok(world.store.write(move |tx| request_keys::keep(tx, &tenant, &key, &answer, now)).await?)
    }

    /// Goes to work; the feed begins before the first frame, so that the starting reader misses none.
    fn drive(self, world: &Arc<World>, stored: Stored) {
        let (telling, passing) = (self.telling(world), self.passing);
        let start = leases::Start { telling, entries: self.entries, failed: Vec::new(), stored, place: None, passing };
        leases::drive_here(world, self.run, start, 0, self.tenant, self.ownership, self.pinned.read, Vec::new());
    }
}

fn created(world: &World, new: NewRun) -> Created {
    Created {
        entity: new.entity,
        entity_id: new.entity_id,
        entity_name: new.entity_name,
        revision: new.revision,
        graph: new.pinned.graph.0,
        definitions: new.pinned.definitions.0,
        message: new.message,
        state: new.state,
        attachments: new.attachments,
        thread: new.thread.unwrap_or_else(|| world.clock.id()),
        queued: new.queued,
        cancel_on_disconnect: new.cancel_on_disconnect,
        user: new.user,
        instructions: new.instructions,
        context: new.context,
        parameters: new.parameters,
        replaces: new.replaces,
        trace: new.trace,
    }
}
