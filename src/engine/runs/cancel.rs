//! Owns cancels: at once if no worker holds the run, else by a request to its owner.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::engine::drive::node_at_work;
use crate::engine::log::journal::Ownership;
use crate::engine::log::spans::{self, Watch};
use crate::engine::log::{projection, recorded};
use crate::engine::runs::load::Loaded;
use crate::engine::runs::{load, reopen, unreadable};
use crate::engine::world::{Active, World};
use crate::error::{Error, Kind, Result};
use crate::model::Id;
use crate::model::event::{Entry, Event};
use crate::model::run::{Run, Status};
use crate::model::telling::Input;
use crate::store::log::Append;
use crate::store::runs;
use crate::store::runs::{RunRow, queue};
use crate::store::upkeep::request_keys::RequestKey;

/// Cancels a run: at once if no worker holds it, else by a request to its owner. Returns the status afterwards.
///
/// # Errors
/// An unknown run, a child run, a run that is over.
pub async fn cancel(world: &Arc<World>, tenant: &Arc<str>, run: &str) -> Result<(Id, Status)> {
    let id: Id = run.parse().map_err(|_| Error::not_found("run", run))?;
    for _ in 0..5 {
        let scope = Arc::clone(tenant);
        let row = world.store.read(move |tx| runs::get(tx, &scope, &id)).await?;
        let row = row.ok_or_else(|| Error::not_found("run", run))?;
        load::must_be_top(&row)?;
        let status = Status::named(&row.status).unwrap_or(Status::Failed);
        match status {
            Status::Cancelled => return Ok((id, status)),
            Status::Completed | Status::Failed => {
                let text = format!("the run is {}; it cannot be cancelled", status.as_str());
                return Err(Error::new(Kind::InvalidState, text).with("run_status", status.as_str()));
            }
            Status::Running if is_held(world, &row) => {
                if let Some(status) = cancel_working(world, tenant, id, None).await? {
                    return Ok((id, status));
                }
            }
            Status::Running | Status::Queued | Status::AwaitingInput | Status::AwaitingToolApproval => {
                if cancel_resting(world, tenant, &row, None).await? {
                    return Ok((id, Status::Cancelled));
                }
            }
        }
    }
    Err(Error::new(Kind::StoreUnavailable, "the run changes too fast; nothing was changed; try again"))
}

/// The key of a request, and the answer to whoever sends it again.
type Kept = Option<(RequestKey, Value)>;

/// Cancels a run that is paused with this fence; false when somebody answered, cancelled or removed it meanwhile. The answer to its request
/// is kept with it.
///
/// # Errors
/// The store; a log that cannot be read now.
pub async fn cancel_paused(world: &Arc<World>, tenant: &Arc<str>, run: Id, fence: i64, kept: Kept) -> Result<bool> {
    let scope = Arc::clone(tenant);
    let row = world.store.read(move |tx| runs::get(tx, &scope, &run)).await?;
    let is_paused = |row: &RunRow| row.fence == fence && Status::named(&row.status).is_some_and(Status::paused);
    match row.filter(is_paused) {
        Some(row) => cancel_resting(world, tenant, &row, kept).await,
        None => Ok(false),
    }
}

/// The fence under which this process drives a run, if it does.
pub fn fence_here(world: &World, run: &str) -> Option<i64> {
    let id: Id = run.parse().ok()?;
    world.active.lock().get(&id).map(|active| active.journal.ownership().fence)
}

/// Cancels a run whose reader has left, while it is at work under the fence with which that reader's stream began. A run that paused, or
/// that somebody else has continued since then, stays as it is.
///
/// # Errors
/// The store; a run that ended meanwhile.
pub async fn cancel_left(world: &Arc<World>, tenant: &Arc<str>, run: &str, fence: i64) -> Result<()> {
    let Ok(id) = run.parse::<Id>() else { return Ok(()) };
    let is_paused = |run: &Run| !run.pauses().is_empty() && !run.has_work();
    let journal = world.active.lock().get(&id).map(|active| Arc::clone(&active.journal));
    match journal.filter(|journal| journal.ownership().fence == fence && !journal.with(is_paused)) {
        Some(_) => cancel_working(world, tenant, id, Some(fence)).await.map(drop),
        None => Ok(()),
    }
}

/// A running run is driven here, or its owner's lease has not expired.
fn is_held(world: &World, row: &RunRow) -> bool {
    row.lease_until.is_some_and(|until| until >= world.common_time()) || world.active.lock().contains_key(&row.id)
}

/// Requests a cancel from the owner, with a fence only from the owner that has it; none if the run has paused, ended or is queued meanwhile.
async fn cancel_working(world: &Arc<World>, tenant: &Arc<str>, id: Id, fence: Option<i64>) -> Result<Option<Status>> {
    let scope = Arc::clone(tenant);
    if !world.store.write(move |tx| queue::request_cancel(tx, &scope, &id, fence)).await? {
        return Ok(None);
    }
    let is_it = |active: &&Active| fence.is_none_or(|fence| active.journal.ownership().fence == fence);
    let here = world.active.lock().get(&id).filter(is_it).cloned();
    if let Some(active) = here {
        active.signals.cancel.cancel();
        let patience = Duration::from_millis(world.config.timeouts.cancel_grace_ms + 500);
        let _still_at_work = tokio::time::timeout(patience, active.over.cancelled()).await;
    }
    let scope = Arc::clone(tenant);
    let row = world.store.read(move |tx| runs::get(tx, &scope, &id)).await?;
    let status = row.and_then(|row| Status::named(&row.status)).unwrap_or(Status::Running);
    match status {
        Status::Completed | Status::Failed => {
            let text = format!("the run was {} before the cancel reached it", status.as_str());
            Err(Error::new(Kind::InvalidState, text).with("run_status", status.as_str()))
        }
        Status::Cancelled | Status::Running => Ok(Some(status)),
        Status::Queued | Status::AwaitingInput | Status::AwaitingToolApproval => Ok(None),
    }
}


/// Ends a run without an owner; false if a worker has taken it meanwhile.
async fn cancel_resting(world: &Arc<World>, tenant: &Arc<str>, row: &RunRow, kept: Kept) -> Result<bool> {
    let loaded = load::load(world, tenant, &row.id.to_string()).await;
    let folded = loaded.and_then(|loaded| loaded.fold(None).map(|run| (loaded, run)));
    match folded {
        Ok((loaded, run)) if loaded.row.fence == row.fence => cancel_loaded(world, tenant, &loaded, run, kept).await,
        Ok(_) => Ok(false),
        Err(error) if unreadable::is_lasting(&error) => unreadable::end(world, tenant, row.id, row.fence, None).await,
        Err(error) => Err(error),
    }
}

async fn cancel_loaded(world: &Arc<World>, tenant: &Arc<str>, loaded: &Loaded, mut run: Run, kept: Kept) -> Result<bool> {
    let ownership = Ownership {
        owner: Arc::clone(world.owner()),
        fence: loaded.row.fence + 1,
        mode: if loaded.row.mode == "async" { "async" } else { "sync" },
        queue: None,
        tries: loaded.row.tries,
    };
    let (head, now, before) = (run.head, world.clock.now(), projection::ended_children(&run));
    let mut events = Vec::with_capacity(2);
    // The time since its owner left does not count as working time.
    if run.status == Status::Running {
        events.push(Event::TakenOver { count: queue::takeovers(loaded.row.takeovers), worked_ms: Some(loaded.row.working_ms) });
        events.push(Event::Cancelled { node: node_at_work(&run) });
    } else {
        events.push(Event::Cancelled { node: run.pauses().first().map(|(_, pause)| Arc::clone(&pause.node)) });
    }
    let mut telling = loaded.telling(world, false);
    let (mut entries, watch) = (Vec::with_capacity(events.len()), Watch::default());
    for (seq, event) in (head + 1..).zip(events) {
        let entry = Arc::new(Entry { seq, at: now, lane: 0, event });
        telling.tell(&Input::Entry(Arc::clone(&entry)));
        spans::tell_resting(world, &run, &entry, tenant, &watch, &loaded.definitions);
        run.apply(&entry);
        entries.push(entry);
    }
    let row = projection::row_of(world, &run, &ownership, telling.ordered.last, now);
    let mut append = Append::new(run.id, Arc::clone(tenant), head, ownership.fence, row);
    append.entries = entries;
    append.children = projection::children(&run, &before, tenant, &ownership, &loaded.definitions);
    let cut = recorded::cut(&run, run.finished_at.unwrap_or_default());
    append.outbox = recorded::recorded(world, &run, tenant, &loaded.definitions, &cut);
    let taken = reopen::take(world, loaded.row.fence, append, kept, None).await?.is_some();
    if taken {
        watch.begun(world);
    }
    Ok(taken)
}
