//! Owns the loading of a run from the database: its log, its graph, its last event number.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use crate::engine::log::journal;
use crate::engine::world::World;
use crate::error::{Error, Kind, Result};
use crate::model::Id;
use crate::model::agent::Definitions;
use crate::model::event::{Answer, Created, Entry, Event, Fault, PureOutcome, Seq};
use crate::model::plan::Plan;
use crate::model::run::Run;
use crate::model::telling::{Input, Telling, Tokens};
use crate::store::log::{Hash, Known, TokenRow, parts};
use crate::store::runs::RunRow;
use crate::store::{StoreError, Tx, log, runs};

/// A run as it is stored.
pub struct Loaded {
    /// Its row.
    pub row: RunRow,
    /// How it was made.
    pub created: Arc<Created>,
    /// Its log.
    pub entries: Vec<Arc<Entry>>,
    /// Text that was published between entries.
    pub tokens: Vec<Arc<Tokens>>,
    /// Its graph.
    pub plan: Arc<Plan>,
    /// Its definitions.
    pub definitions: Arc<Definitions>,
    /// The hash of its log's last row.
    pub(in crate::engine) hash: Option<Hash>,
    /// About the bytes of all that.
    weight: u64,
}

/// What a run was made from: its text, unless it is kept ready.
enum Pinned<T> {
    Ready(Arc<T>),
    Text(Option<Arc<str>>),
}

/// Loads a run with its whole log.
///
/// # Errors
/// An unknown run; a store that cannot be read; a log that makes no sense.
pub async fn load(world: &Arc<World>, tenant: &str, id: &str) -> Result<Loaded> {
    let run: Id = id.parse().map_err(|_| Error::not_found("run", id))?;
    let (tenant, hands) = (tenant.to_owned(), Arc::clone(world));
    let found = world.store.read(move |tx| read(tx, &hands, &tenant, run)).await?;
    let Some((row, stored)) = found else { return Err(Error::not_found("run", id)) };
    stored.loaded(world, row)
}

/// Refuses to act on a child run alone.
pub(in crate::engine) fn must_be_top(row: &RunRow) -> Result<()> {
    let Some(parent) = row.parent else { return Ok(()) };
    let text = format!("this is a child run; use its parent run {parent} instead");
    Err(Error::new(Kind::InvalidState, text).with("run_status", row.status.as_str()))
}

/// What runs may weigh that are loaded together.
const TOGETHER: u64 = 16 << 20;

/// Loads runs whose rows were just read, in one look: the first of them, and as many of the others as are small enough to be held with it.
///
/// # Errors
/// A store that is closed; each run may be unreadable for itself, and stops no other.
pub(in crate::engine) async fn load_all(world: &Arc<World>, rows: &Arc<[RunRow]>) -> Result<Vec<Result<Loaded>>> {
    let (hands, rows) = (Arc::clone(world), Arc::clone(rows));
    let all_stored = world.store.read(move |tx| {
        let (mut read, mut weight) = (Vec::new(), 0);
        for row in rows.iter() {
            if weight > TOGETHER {
                break;
            }
            let stored = StoredParts::read(tx, &hands, row);
            weight += stored.as_ref().map_or(0, |stored| stored.weight);
            read.push((row.clone(), stored));
        }
        Ok(read)
    });
    let loaded = |(row, stored): (RunRow, std::result::Result<StoredParts, StoreError>)| {
        let (run, stored) = (row.id, stored?);
        let read = std::panic::catch_unwind(AssertUnwindSafe(|| stored.loaded(world, row)));
        read.unwrap_or_else(|_| Err(unreadable(run, FAULT)))
    };
    Ok(all_stored.await?.into_iter().map(loaded).collect())
}

/// The error for a panic while a run is loaded.
pub(in crate::engine) const FAULT: &str = "reading it stopped with a fault of the studio";

pub(in crate::engine) fn unreadable(run: Id, why: &str) -> Error {
    Error::internal(format!("run {run} cannot be read: {why}; nothing was changed"))
}

fn read(tx: &mut Tx<'_>, world: &World, tenant: &str, run: Id) -> std::result::Result<Option<(RunRow, StoredParts)>, StoreError> {
    let Some(mut row) = runs::get(tx, tenant, &run)? else { return Ok(None) };
    let Some(parent) = row.parent else {
        let stored = StoredParts::read(tx, world, &row)?;
        return Ok(Some((row, stored)));
    };
    // The parent's log contains the entries of a child.
    let Some(above) = runs::get(tx, tenant, &parent)? else { return Ok(None) };
    row.parent = Some(above.id);
    let stored = StoredParts::read(tx, world, &above)?;
    Ok(Some((row, stored)))
}

/// What is stored of a run beside its row.
struct StoredParts {
    entries: Vec<Entry>,
    hash: Option<Hash>,
    tokens: Vec<TokenRow>,
    graph: Pinned<Plan>,
    definitions: Pinned<Definitions>,
    weight: u64,
}

impl StoredParts {
    fn read(tx: &mut Tx<'_>, world: &World, row: &RunRow) -> std::result::Result<Self, StoreError> {
        let (entries, hash) = log::whole(tx, row.no)?;
        // Nothing was published of a run that waits for its first worker.
        let tokens = if row.head > 1 { log::tokens(tx, &row.tenant, &row.id, 0, usize::MAX >> 1)? } else { Vec::new() };
        let (entries, tokens) = in_step(0, entries, tokens, usize::MAX);
        let told = tokens.iter().flat_map(|row| &row.deltas).map(|delta| journal::weight(delta)).sum::<u64>();
        let weight = told + entries.iter().map(|entry| entry.event.weight() as u64).sum::<u64>();
        let (mut graph, mut definitions) = (Pinned::Text(None), Pinned::Text(None));
        if let Some(Event::Created(created)) = entries.first().map(|entry| &entry.event) {
            graph = match world.known_plan(&created.graph) {
                Some(plan) => Pinned::Ready(plan),
                None => Pinned::Text(parts::part(tx, &row.tenant, &created.graph)?),
            };
            definitions = match world.known_definitions(&created.definitions) {
                Some(definitions) => Pinned::Ready(definitions),
                None => Pinned::Text(parts::part(tx, &row.tenant, &created.definitions)?),
            };
        }
        Ok(Self { entries, hash, tokens, graph, definitions, weight })
    }

    fn loaded(self, world: &World, row: RunRow) -> Result<Loaded> {
        let run = row.id;
        let entries: Vec<Arc<Entry>> = self.entries.into_iter().map(Arc::new).collect();
        let created = entries.first().and_then(|entry| {
            if let Event::Created(created) = &entry.event { Some(Arc::clone(created)) } else { None }
        });
        let created = created.ok_or_else(|| unreadable(run, "its log does not begin with its creation"))?;
        let plan = match self.graph {
            Pinned::Ready(plan) => plan,
            Pinned::Text(Some(text)) => world.plan(&created.graph, &text).map_err(|why| unreadable(run, &why))?,
            Pinned::Text(None) => return Err(unreadable(run, "its graph is missing")),
        };
        let definitions = match self.definitions {
            Pinned::Ready(definitions) => definitions,
            Pinned::Text(Some(text)) => world.definitions(&created.definitions, &text).map_err(|why| unreadable(run, &why))?,
            Pinned::Text(None) => return Err(unreadable(run, "its definitions are missing")),
        };
        let tokens = self.tokens.into_iter().map(|row| Arc::new(tokens_of(row))).collect();
        Ok(Loaded { row, created, entries, tokens, plan, definitions, hash: self.hash, weight: self.weight })
    }
}

/// Tokens as they are published.
pub fn tokens_of(row: TokenRow) -> Tokens {
    Tokens {
        n: row.n,
        after: row.after_seq,
        lane: row.lane,
        step: row.step,
        publish_reply: row.publish_reply,
        thought: row.thought,
        count: row.count,
        deltas: row.deltas,
    }
}

impl Loaded {
    /// The run that the log makes; `towards` a step that a retry goes back to.
    ///
    /// # Errors
    /// When the log makes no sense.
    pub fn fold(&self, towards: Option<Id>) -> Result<Run> {
        let id = self.row.parent.unwrap_or(self.row.id);
        let mut run = Run::fold_towards(id, &self.entries, Arc::clone(&self.plan), towards)
            .map_err(|refusal| Error::new(Kind::CheckpointInvalid, format!("run {id} cannot be read: {refusal}")))?;
        run.weight = self.weight;
        Ok(run)
    }

    /// The stored run, for its new owner; none if the log is empty.
    pub(in crate::engine) fn known(&self) -> Option<Known> {
        let (created, row) = (&self.created, &self.row);
        let known = |hash| Known { no: row.no, entity_type: created.entity, entity_id: created.entity_id, hash, stands: row.standing() };
        self.hash.map(known)
    }

    /// The steps that failed, the first before the others, if their run has not been ended because of them.
    pub fn failed(&self) -> Vec<(Fault, Arc<str>)> {
        let since = self.entries.iter().rev().take_while(|entry| !matches!(entry.event, Event::Retried(_) | Event::Requeued { .. }));
        let mut nodes = HashMap::new();
        let mut failed = Vec::new();
        for entry in self.entries.iter() {
            if let Event::StepStarted(started) = &entry.event {
                nodes.insert(started.step, Arc::clone(&started.node));
            }
        }
        for entry in since {
            if let Event::StepFailed { step, fault } = &entry.event {
                failed.extend(nodes.get(step).map(|node| (fault.clone(), Arc::clone(node))));
            } else if let Event::StepRan(ran) = &entry.event
                && let PureOutcome::Failed(fault) = &ran.outcome
            {
                failed.push((fault.clone(), Arc::clone(&ran.node)));
            }
        }
        failed.reverse();
        failed
    }

    /// The number before the newest part of the run that answers a message: its first one, what came after the newest answer to a
    /// question, or after a retry. Decisions on tool calls go on with the part that asked for them.
    pub fn newest_part(&self, world: &World) -> u64 {
        let begins = |entry: &Arc<Entry>| {
            let answers = matches!(&entry.event, Event::Resumed(resumed) if !matches!(resumed.answer, Answer::Approval { .. }));
            answers || matches!(entry.event, Event::Retried(_))
        };
        let Some(at) = self.entries.iter().rposition(begins) else { return 0 };
        let id = self.row.parent.unwrap_or(self.row.id);
        let mut telling = Telling::new(id, &self.created, &self.plan, world.wire(), false);
        let before = self.tokens.partition_point(|tokens| tokens.after < self.entries[at].seq);
        tell_all(&mut telling, &self.entries[..at], &self.tokens[..before]);
        telling.ordered.last
    }

    /// The encoder of the run's frames, after all stored entries.
    pub fn telling(&self, world: &World, live: bool) -> Telling {
        let id = self.row.parent.unwrap_or(self.row.id);
        let mut telling = Telling::new(id, &self.created, &self.plan, world.wire(), live);
        tell_all(&mut telling, &self.entries, &self.tokens);
        telling
    }
}

/// Of entries after `seq` and rows of text that were read together, at most so many of each, those that can be published in their order: text
/// behind an entry that was not read waits for it, and so do entries behind text that was not read.
pub(in crate::engine) fn in_step(seq: Seq, mut entries: Vec<Entry>, mut tokens: Vec<TokenRow>, most: usize) -> (Vec<Entry>, Vec<TokenRow>) {
    let read = entries.last().map_or(seq, |entry| entry.seq);
    let through = tokens.last().filter(|_| tokens.len() >= most).map_or(read, |last| last.after_seq.min(read));
    entries.retain(|entry| entry.seq <= through);
    tokens.retain(|row| row.after_seq <= through);
    (entries, tokens)
}

/// Encodes entries and tokens in the order in which they happened.
pub fn tell_all(telling: &mut Telling, entries: &[Arc<Entry>], tokens: &[Arc<Tokens>]) {
    let mut tokens = tokens.iter().peekable();
    for entry in entries {
        while let Some(earlier) = tokens.next_if(|tokens| tokens.after < entry.seq) {
            telling.tell(&Input::Tokens(Arc::clone(earlier)));
        }
        telling.tell(&Input::Entry(Arc::clone(entry)));
    }
    for rest in tokens {
        telling.tell(&Input::Tokens(Arc::clone(rest)));
    }
}
