//! Owns making a run: one transaction with its row, its graph, its first entries and its thread.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::journal::{Boundary, Tenure};
use super::load::tell_all;
use super::names;
use super::tenure;
use super::world::World;
use crate::error::{Error, Kind, Result};
use crate::model::Id;
use crate::model::agent::{Definitions, Parameters};
use crate::model::chat::Attachment;
use crate::model::event::{Created, EntityKind, Entry, Event, PartHash};
use crate::model::run::Run;
use crate::model::telling::Telling;
use crate::store::log::{self, Append};
use crate::store::runs::{self, RunRow, RunUpdate};
use crate::store::{StoreError, Tx, threads};

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
        let hash = super::projection::hash;
        Self { graph: (hash(&graph), graph), definitions: (hash(&definitions), definitions), read }
    }
}

/// What a new run is made of; everything in it was checked.
pub struct NewRun {
    /// The tenant.
    pub tenant: Arc<str>,
    /// What the host said of the user.
    pub user: Option<Value>,
    /// What it is a run of.
    pub entity: EntityKind,
    /// Its id.
    pub entity_id: Id,
    /// Its name.
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
}

/// A run that goes on, as its caller is told.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// The run.
    pub run: Id,
    /// Its thread.
    pub thread: Id,
    /// What it is a run of.
    pub entity: EntityKind,
    /// The position before the first event of this answer.
    pub after: u64,
}

/// Makes a run; a sync one goes to work at once.
///
/// # Errors
/// A thread of another entity, a busy chat thread, too many runs, the store.
pub async fn create(world: &Arc<World>, new: NewRun) -> Result<Ticket> {
    let limit = usize::try_from(world.config.limits.runs).unwrap_or(usize::MAX);
    if !new.queued && world.sync_runs() >= limit {
        return Err(Error::new(Kind::TooManyRuns, format!("{limit} runs are at work (`limits.runs`); try again soon")));
    }
    let id = world.clock.id();
    let thread = new.thread.unwrap_or_else(|| world.clock.id());
    let now = world.clock.now();
    let Pinned { graph, definitions, read } = new.pinned;
    let plan = world.plan(&graph.0, &graph.1).map_err(Error::internal)?;
    let created = Created {
        entity: new.entity,
        entity_id: new.entity_id,
        entity_name: new.entity_name,
        revision: new.revision,
        graph: Arc::clone(&graph.0),
        definitions: Arc::clone(&definitions.0),
        message: new.message,
        state: new.state,
        attachments: new.attachments,
        thread,
        queued: new.queued,
        cancel_on_disconnect: new.cancel_on_disconnect,
        user: new.user,
        instructions: new.instructions,
        context: new.context,
        parameters: new.parameters,
    };
    let mut entries = vec![Arc::new(Entry { seq: 1, at: now, lane: 0, event: Event::Created(Box::new(created.clone())) })];
    if !new.queued {
        entries.push(Arc::new(Entry { seq: 2, at: now, lane: 0, event: Event::Began }));
    }
    let created = Arc::new(created);
    let mut run = Run::new(id, &entries[0], Arc::clone(&created), Arc::clone(&plan));
    for entry in &entries[1..] {
        run.apply(entry);
    }
    let tenure = Tenure {
        owner: Arc::clone(&world.owner),
        fence: 1,
        mode: if new.queued { "async" } else { "sync" },
        queue: new.queued.then(|| world.config.queue.as_str().into()),
        tries: 0,
    };
    let mut telling = Telling::new(id, &created, &plan, world.wire(), false);
    tell_all(&mut telling, &entries, &[]);
    let row = first_row(world, &run, &new.tenant, &tenure, &graph.0);
    let update = first_update(world, &run, &tenure, telling.ordered.last);
    let mut append = Append::new(id, Arc::clone(&new.tenant), 0, tenure.fence, update);
    append.entries.clone_from(&entries);
    append.parts = vec![graph, definitions];
    append.files = created.attachments.iter().map(|file| file.storage_key.as_str().into()).collect();
    if created.entity == EntityKind::Workflow {
        let mut message = crate::model::chat::Message::text(crate::model::chat::Role::User, created.message.clone());
        message.attachments.clone_from(&created.attachments);
        append.messages = vec![super::projection::message_row(world.clock.id(), &run, "", &message, true, now)];
    }
    let tenant = Arc::clone(&new.tenant);
    if world.keeps_nothing() && !new.queued {
        let ticket = Ticket { run: id, thread, entity: created.entity, after: 0 };
        let start = telling_from_start(world, id, &created, &plan, &entries);
        tenure::drive_here(world, run, start, 0, new.tenant, tenure, read, Vec::new());
        return Ok(ticket);
    }
    let hook = Arc::clone(world);
    let write = move |tx: &mut Tx<'_>| {
        hook.boundary(Boundary::Before, id, 0);
        store(tx, &tenant, &row, &append)
    };
    refused(&world.store.write(write).await?)?;
    world.boundary(Boundary::After, id, run.head);
    let ticket = Ticket { run: id, thread, entity: created.entity, after: 0 };
    if new.queued {
        world.wake_workers();
    } else {
        tenure::drive_here(world, run, telling_from_start(world, id, &created, &plan, &entries), 0, new.tenant, tenure, read, Vec::new());
    }
    Ok(ticket)
}

/// A feed of a new run begins before its first frame, so that its starting reader misses none.
fn telling_from_start(
    world: &World,
    id: Id,
    created: &Arc<Created>,
    plan: &Arc<crate::model::plan::Plan>,
    entries: &[Arc<Entry>],
) -> tenure::Start {
    tenure::Start { telling: Telling::new(id, created, plan, world.wire(), false), told: entries.to_vec(), failed: None }
}

enum Stored {
    Yes,
    OtherThread,
    Busy(Id),
}

fn store(tx: &mut Tx<'_>, tenant: &str, row: &RunRow, append: &Append) -> Result<Stored, StoreError> {
    if row.entity_type == EntityKind::Agent
        && let Some(busy) = threads::busy_with(tx, tenant, &row.thread)?
    {
        return Ok(Stored::Busy(busy));
    }
    let touched = threads::touch(tx, tenant, &row.thread, (row.entity_type, &row.entity_id), row.user_id.as_deref(), row.created_at);
    if let Err(StoreError::Conflict(_)) = touched {
        return Ok(Stored::OtherThread);
    }
    touched?;
    runs::insert(tx, row)?;
    log::append(tx, append)?;
    Ok(Stored::Yes)
}

fn refused(stored: &Stored) -> Result<()> {
    match stored {
        Stored::Yes => Ok(()),
        Stored::OtherThread => Err(Error::field("thread_id", "the thread belongs to another agent or workflow")),
        Stored::Busy(run) => Err(Error::new(Kind::ThreadBusy, "a turn is running on this thread; wait for its end or stop it")
            .with("trace_id", run.to_string())),
    }
}

fn first_row(world: &World, run: &Run, tenant: &Arc<str>, tenure: &Tenure, graph: &Arc<str>) -> RunRow {
    let created = &run.created;
    RunRow {
        id: run.id,
        tenant: Arc::clone(tenant),
        entity_type: created.entity,
        entity_id: created.entity_id,
        entity_name: created.entity_name.clone(),
        revision: created.revision,
        thread: created.thread,
        parent: None,
        status: run.status.as_str().to_owned(),
        mode: tenure.mode.to_owned(),
        user_id: created.user.as_ref().and_then(names::user_id),
        input_preview: names::preview(&created.message),
        graph: Some(Arc::clone(graph)),
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
        fence: tenure.fence,
        owner: (!created.queued).then(|| tenure.owner.to_string()),
        lease_until: tenure::lease(world),
        takeovers: 0,
        last_event_id: 0,
        attempt: 1,
        own: run.own,
        total: run.own,
        queue: tenure.queue.as_deref().map(str::to_owned),
        available_at: created.queued.then_some(run.created_at),
        tries: 0,
        cancel_requested: false,
        no: 0,
    }
}

fn first_update(world: &World, run: &Run, tenure: &Tenure, last_event_id: u64) -> RunUpdate {
    RunUpdate {
        status: run.status.as_str(),
        started_at: run.started_at,
        finished_at: None,
        working_ms: 0,
        waiting_ms: 0,
        rested_at: None,
        awaiting_node: None,
        awaiting_pause: None,
        error: None,
        reply: None,
        fence: tenure.fence,
        owner: (!run.created.queued).then(|| Arc::clone(&tenure.owner)),
        lease_until: if run.created.queued { None } else { tenure::lease(world) },
        takeovers: 0,
        last_event_id,
        attempt: 1,
        own: run.own,
        total: run.own,
        mode: tenure.mode,
        queue: tenure.queue.clone(),
        available_at: run.created.queued.then_some(run.created_at),
        tries: 0,
    }
}
