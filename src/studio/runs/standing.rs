//! Owns the position of a run for chat clients: open pauses, given answers, last event.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::engine::{Loaded, load};
use crate::error::{Kind, Result};
use crate::model::Id;
use crate::model::chat::Message;
use crate::model::event::{Answer, EntityKind, Event, Pause, PauseReason};
use crate::model::run::Status;
use crate::model::state::is_internal;
use crate::store::threads;
use crate::studio::definitions::must_find;
use crate::studio::definitions::resource::Resource;
use crate::studio::facade::{Scope, Studio};

/// Where a run stands.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Standing {
    pub run: Id,
    pub thread: Id,
    /// What it is a run of.
    pub entity: EntityKind,
    pub entity_id: Id,
    pub status: Status,
    /// Who may write to it now.
    pub(crate) fence: i64,
    /// Its open pauses, in the order of branches.
    pub pauses: Vec<Pause>,
    /// Pauses that were answered.
    pub answered: Vec<Id>,
    /// The run whose turn it replaces.
    pub replaces: Option<Id>,
    /// What the user said at its beginning.
    pub message: String,
    /// What the user said to it last: at its beginning, or to a question.
    pub said: String,
    /// The state that it began with, without internal keys.
    pub state: Map<String, Value>,
    /// The number of the last event.
    pub last: u64,
    /// The number before the newest part that answers a message.
    pub newest_part: u64,
}

/// The turns of a thread that a new answer may take the place of.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// The last one that people read: its run, and what the user said in it.
    pub last: Option<(Id, String)>,
    /// The one that a client named.
    pub named: Option<NamedTurn>,
}

/// A turn that a client named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedTurn {
    /// People read it: its run.
    Shown(Id),
    /// Its run ended without one; the run whose turn it was to replace.
    Missing(Option<Id>),
}

impl Standing {
    /// The earliest open question to a person.
    pub fn question(&self) -> Option<&Pause> {
        self.pauses.iter().find(|pause| matches!(pause.reason, PauseReason::Human { .. }))
    }

    /// It has this pause, or had it.
    pub fn knows(&self, pause: &str) -> bool {
        pause.parse().is_ok_and(|id: Id| self.answered.contains(&id) || self.pauses.iter().any(|open| open.id == id))
    }
}

/// Runs of a thread whose logs are read for a pause.
const LOOKED_AT: u64 = 3;

/// What a person said to a question.
fn said(event: &Event) -> Option<&str> {
    let Event::Resumed(resumed) = event else { return None };
    match &resumed.answer {
        Answer::Human { message, .. } | Answer::Question { message, .. } => Some(message),
        Answer::Approval { .. } => None,
    }
}

/// The id that a client's id of a message begins with.
fn id_in(message: &str) -> Option<Id> {
    let id = message.get(..36)?;
    if matches!(message.as_bytes().get(36), None | Some(b'-')) { id.parse().ok() } else { None }
}

impl Studio {
    /// The id of a workflow or an agent.
    pub async fn entity_id(&self, scope: &Scope, entity: EntityKind, id: &str) -> Result<Id> {
        let resource = match entity {
            EntityKind::Workflow => Resource::Workflow,
            EntityKind::Agent => Resource::Agent,
        };
        let (tenant, catalog, id) = (scope.tenant.clone(), self.catalog(), id.to_owned());
        self.reading(move |tx| Ok(must_find(tx, &tenant, &catalog, resource, &id)?.id)).await
    }

    /// Where the newest run of a workflow or an agent on a thread stands; none when there is no run.
    pub async fn newest_on(&self, scope: &Scope, entity: &Id, thread: &Id) -> Result<Option<Standing>> {
        let (tenant, entity, thread) = (scope.tenant.clone(), *entity, *thread);
        let found = self.reading(move |tx| Ok(threads::newest_run(tx, &tenant, &thread, &entity)?)).await?;
        match found {
            Some((run, _)) => self.standing(scope, &run.to_string()).await.map(Some),
            None => Ok(None),
        }
    }

    /// Where the run of a workflow or an agent on a thread stands that asked this pause, open or not: a paused run does not block newer ones.
    /// None when none of those did that most likely have it.
    pub async fn paused_at(&self, scope: &Scope, entity: &Id, thread: &Id, pause: &str) -> Result<Option<Standing>> {
        let Some(id) = pause.parse::<Id>().ok().filter(Id::is_timed) else { return Ok(None) };
        let (tenant, entity, thread) = (scope.tenant.clone(), *entity, *thread);
        let runs = self.reading(move |tx| Ok(threads::runs_with_pause(tx, &tenant, &thread, &entity, &id, LOOKED_AT)?)).await?;
        for run in runs {
            match self.standing(scope, &run.to_string()).await {
                Ok(found) if found.knows(pause) => return Ok(Some(found)),
                Ok(_) => {}
                // It was deleted meanwhile.
                Err(error) if error.kind == Kind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The last turn that people read on a thread, and the one of the message that a client names: by the id of a message, or by that of
    /// a part of a run, which begins with the run's.
    pub async fn turns_on(&self, scope: &Scope, entity: &Id, thread: &Id, message: Option<&str>) -> Result<Turns> {
        let (tenant, thread, named) = (scope.tenant.clone(), *thread, message.and_then(id_in));
        let found = self.reading(move |tx| {
            let last = threads::last_turn(tx, &tenant, &thread)?;
            let Some(id) = named else { return Ok((last, None, false)) };
            let run = threads::shown_one(tx, &tenant, &thread, &id)?.and_then(|message| message.run).unwrap_or(id);
            Ok((last, Some(run), threads::shows(tx, &tenant, &thread, &run)?))
        });
        let (last, run, shown) = found.await?;
        let said = |body: Option<Arc<str>>| body.and_then(|body| Some(serde_json::from_str::<Message>(&body).ok()?.content)).unwrap_or_default();
        let last = last.map(|(run, body)| (run, said(body)));
        let named = match run {
            Some(run) if shown => Some(NamedTurn::Shown(run)),
            Some(run) => match self.standing(scope, &run.to_string()).await {
                Ok(found) if found.thread == thread && found.entity_id == *entity && found.status != Status::Completed => {
                    Some(NamedTurn::Missing(found.replaces))
                }
                Ok(_) => None,
                Err(error) if error.kind == Kind::NotFound => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        Ok(Turns { last, named })
    }

    /// Where a run stands.
    pub async fn standing(&self, scope: &Scope, run: &str) -> Result<Standing> {
        let (world, tenant, run) = (self.world().clone(), scope.tenant.clone(), run.to_owned());
        self.on_runtime(async move {
            let loaded: Loaded = Box::pin(load(&world, &tenant, &run)).await?;
            let folded = loaded.fold(None)?;
            let created = &loaded.created;
            let mut state: Map<String, Value> =
                created.state.iter().filter(|(key, _)| !is_internal(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
            state.insert("input".into(), created.message.as_str().into());
            if !created.attachments.is_empty() {
                state.insert("attachments".into(), json!(created.attachments));
            }
            Ok(Standing {
                run: folded.id,
                thread: created.thread,
                entity: created.entity,
                entity_id: created.entity_id,
                status: folded.status,
                fence: loaded.row.fence,
                pauses: folded.pauses().into_iter().map(|(_, pause)| pause.clone()).collect(),
                answered: folded.answered.keys().copied().collect(),
                replaces: created.replaces,
                message: created.message.clone(),
                said: loaded.entries.iter().rev().find_map(|entry| said(&entry.event)).unwrap_or(&created.message).to_owned(),
                state,
                last: loaded.telling(&world, false).ordered.last,
                newest_part: loaded.newest_part(&world),
            })
        })
        .await
    }
}
