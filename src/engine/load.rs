//! Owns reading a run back from the database: its log, its graph, what was told of it.

use std::collections::HashMap;
use std::sync::Arc;

use super::world::World;
use crate::error::{Error, Kind, Result};
use crate::model::Id;
use crate::model::agent::Definitions;
use crate::model::event::{Created, Entry, Event, Fault, PartHash, PureOutcome};
use crate::model::plan::Plan;
use crate::model::run::Run;
use crate::model::telling::{Telling, Told, Tokens};
use crate::store::log::TokenRow;
use crate::store::runs::RunRow;
use crate::store::{StoreError, Tx, log, parts, runs};

/// A run as it is stored.
pub struct Loaded {
    /// Its row.
    pub row: RunRow,
    /// How it was made.
    pub created: Arc<Created>,
    /// Its log.
    pub entries: Vec<Arc<Entry>>,
    /// Text that was told between entries.
    pub tokens: Vec<Arc<Tokens>>,
    /// Its graph.
    pub plan: Arc<Plan>,
    /// Its definitions.
    pub definitions: Arc<Definitions>,
}

struct Texts {
    graph: Option<Arc<str>>,
    definitions: Option<Arc<str>>,
}

/// Loads a run with its whole log.
///
/// # Errors
/// An unknown run; a store that cannot be read; a log that makes no sense.
pub async fn load(world: &World, tenant: &str, id: &str) -> Result<Loaded> {
    let run: Id = id.parse().map_err(|_| Error::not_found("run", id))?;
    let tenant = tenant.to_owned();
    let found = world.store.read(move |tx| read(tx, &tenant, run)).await?;
    let Some((row, entries, tokens, texts)) = found else { return Err(Error::not_found("run", id)) };
    let entries: Vec<Arc<Entry>> = entries.into_iter().map(Arc::new).collect();
    let created = entries.first().and_then(|entry| {
        if let Event::Created(created) = &entry.event { Some(Arc::new((**created).clone())) } else { None }
    });
    let created = created.ok_or_else(|| unreadable(run, "its log does not begin with its creation"))?;
    let graph = texts.graph.ok_or_else(|| unreadable(run, "its graph is missing"))?;
    let plan = world.plan(&created.graph, &graph).map_err(|why| unreadable(run, &why))?;
    let definitions = texts.definitions.ok_or_else(|| unreadable(run, "its definitions are missing"))?;
    let definitions = serde_json::from_str(&definitions).map_err(|error| unreadable(run, &error.to_string()))?;
    let tokens = tokens.into_iter().map(|row| Arc::new(tokens_of(row))).collect();
    Ok(Loaded { row, created, entries, tokens, plan, definitions: Arc::new(definitions) })
}

fn unreadable(run: Id, why: &str) -> Error {
    Error::internal(format!("run {run} cannot be read: {why}; nothing was changed"))
}

type Found = (RunRow, Vec<Entry>, Vec<TokenRow>, Texts);

fn read(tx: &mut Tx<'_>, tenant: &str, run: Id) -> Result<Option<Found>, StoreError> {
    let Some(mut row) = runs::get(tx, tenant, &run)? else { return Ok(None) };
    if let Some(parent) = row.parent {
        // A child's story is told in its parent's log.
        let Some(above) = runs::get(tx, tenant, &parent)? else { return Ok(None) };
        row.parent = Some(above.id);
        let (entries, tokens, texts) = story(tx, tenant, parent)?;
        return Ok(Some((row, entries, tokens, texts)));
    }
    let (entries, tokens, texts) = story(tx, tenant, run)?;
    Ok(Some((row, entries, tokens, texts)))
}

fn story(tx: &mut Tx<'_>, tenant: &str, run: Id) -> Result<(Vec<Entry>, Vec<TokenRow>, Texts), StoreError> {
    let entries = log::entries(tx, tenant, &run, 0, usize::MAX >> 1)?;
    let tokens = log::tokens(tx, tenant, &run, 0, usize::MAX >> 1)?;
    let mut texts = Texts { graph: None, definitions: None };
    if let Some(Event::Created(created)) = entries.first().map(|entry| &entry.event) {
        texts.graph = text(tx, tenant, &created.graph)?;
        texts.definitions = text(tx, tenant, &created.definitions)?;
    }
    Ok((entries, tokens, texts))
}

fn text(tx: &mut Tx<'_>, tenant: &str, hash: &PartHash) -> Result<Option<Arc<str>>, StoreError> {
    parts::part(tx, tenant, hash)
}

/// Tokens as they are told.
#[must_use]
pub fn tokens_of(row: TokenRow) -> Tokens {
    Tokens {
        n: row.n,
        after: row.after_seq,
        lane: row.lane,
        step: row.step,
        publish_reply: row.publish_reply,
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
        Run::fold_towards(id, &self.entries, Arc::clone(&self.plan), towards)
            .map_err(|refusal| Error::new(Kind::CheckpointInvalid, format!("run {id} cannot be read: {refusal}")))
    }

    /// The first step that failed, if its run has not been ended because of it.
    #[must_use]
    pub fn failed(&self) -> Option<(Fault, Arc<str>)> {
        let since = self.entries.iter().rev().take_while(|entry| !matches!(entry.event, Event::Retried(_) | Event::Requeued { .. }));
        let mut nodes = HashMap::new();
        let mut first = None;
        for entry in self.entries.iter() {
            if let Event::StepStarted(started) = &entry.event {
                nodes.insert(started.step, Arc::clone(&started.node));
            }
        }
        for entry in since {
            if let Event::StepFailed { step, fault } = &entry.event {
                first = nodes.get(step).map(|node| (fault.clone(), Arc::clone(node))).or(first);
            } else if let Event::StepRan(ran) = &entry.event
                && let PureOutcome::Failed(fault) = &ran.outcome
            {
                first = Some((fault.clone(), Arc::clone(&ran.node)));
            }
        }
        first
    }

    /// The teller of the run, with everything stored told.
    #[must_use]
    pub fn telling(&self, world: &World, live: bool) -> Telling {
        let id = self.row.parent.unwrap_or(self.row.id);
        let mut telling = Telling::new(id, &self.created, &self.plan, world.wire(), live);
        tell_all(&mut telling, &self.entries, &self.tokens);
        telling
    }
}

/// Tells entries and tokens in the order in which they happened.
pub fn tell_all(telling: &mut Telling, entries: &[Arc<Entry>], tokens: &[Arc<Tokens>]) {
    let mut tokens = tokens.iter().peekable();
    for entry in entries {
        while let Some(earlier) = tokens.next_if(|tokens| tokens.after < entry.seq) {
            telling.tell(&Told::Tokens(Arc::clone(earlier)));
        }
        telling.tell(&Told::Entry(Arc::clone(entry)));
    }
    for rest in tokens {
        telling.tell(&Told::Tokens(Arc::clone(rest)));
    }
}
