//! Owns the end of a run whose log cannot be read: it fails or is cancelled without being folded, so that no worker claims it again and it
//! can be deleted.

use std::sync::Arc;

use crate::engine::log::{projection, recorded, spans};
use crate::engine::runs::reopen;
use crate::engine::world::World;
use crate::error::{Error, Kind, Result};
use crate::model::event::{Entry, Event, Fault};
use crate::model::run::Status;
use crate::model::{Id, Timestamp};
use crate::store::log::Append;
use crate::store::runs::{RunRow, RunUpdate, queue};
use crate::store::{StoreError, log, runs};

/// Whether a run that could not be read never can be, by this version of the studio.
pub(in crate::engine) fn is_lasting(error: &Error) -> bool {
    match error.source.as_deref().and_then(|source| source.downcast_ref::<StoreError>()) {
        Some(cause) => matches!(cause, StoreError::Corrupt(_)),
        None => matches!(error.kind, Kind::Internal | Kind::CheckpointInvalid),
    }
}

/// Ends a run that has this fence: failed with a `fault`, else cancelled. False if another worker has taken it.
pub(in crate::engine) async fn end(world: &Arc<World>, tenant: &Arc<str>, run: Id, fence: i64, fault: Option<Fault>) -> Result<bool> {
    let scope = Arc::clone(tenant);
    let row = world.store.read(move |tx| runs::get(tx, &scope, &run)).await?;
    let Some(row) = row.filter(|row| row.fence == fence && row.finished_at.is_none()) else { return Ok(false) };
    let (now, why) = (world.clock.now(), fault.clone());
    let error = fault.as_ref().map(|fault| projection::error_json(fault, None));
    let (status, events) = match fault {
        // Nobody knows whether its log says that it has begun: this may follow either, and a failure may follow this.
        Some(fault) => (Status::Failed, vec![Event::Began, Event::Failed { fault, node: None }]),
        None => (Status::Cancelled, vec![Event::Cancelled { node: None }]),
    };
    let mut update = update(&row, status, now);
    update.error.clone_from(&error);
    let mut append = Append::new(run, Arc::clone(tenant), row.head, row.fence + 1, update);
    let entry = |(seq, event)| Arc::new(Entry { seq, at: now, lane: 0, event });
    append.entries = (row.head + 1..).zip(events).map(entry).collect();
    append.outbox = recorded::of_row(world, &row, status, now);
    let name = status.as_str();
    let ended = match reopen::take(world, fence, append, None, None).await {
        Ok(taken) => taken.is_some(),
        // The log takes no entry either: the row alone says that the run has ended.
        Err(refused) if is_lasting(&refused) => world.store.write(move |tx| queue::end(tx, &run, fence, name, error.as_ref(), now)).await?,
        Err(refused) => return Err(refused),
    };
    if ended && world.observer.watches() {
        let scope = Arc::clone(tenant);
        let first = world.store.read(move |tx| log::entries(tx, &scope, &run, 0, 1)).await.unwrap_or_default().into_iter().next();
        let host = first.and_then(|entry| if let Event::Created(created) = entry.event { created.trace.clone() } else { None });
        spans::tell_unread(world, &row, host, why.as_ref(), now);
    }
    Ok(ended)
}

/// The row of a run that has ended; what it took and how long it worked stays.
fn update(row: &RunRow, status: Status, now: Timestamp) -> RunUpdate {
    RunUpdate {
        status: status.as_str(),
        started_at: row.started_at.or((status == Status::Failed).then_some(now)),
        finished_at: Some(now),
        working_ms: row.working_ms,
        waiting_ms: row.waiting_ms,
        rested_at: Some(now),
        awaiting_node: None,
        awaiting_pause: None,
        error: None,
        reply: None,
        fence: row.fence + 1,
        owner: None,
        lease_until: None,
        takeovers: row.takeovers,
        last_event_id: row.last_event_id,
        attempt: row.attempt,
        own: row.own,
        total: row.total,
        mode: if row.mode == "async" { "async" } else { "sync" },
        queue: row.queue.as_deref().map(Arc::from),
        available_at: None,
        tries: row.tries,
    }
}
