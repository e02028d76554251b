//! Owns the continuation of a paused or ended run: claim it, append one entry, drive or queue it.

use std::sync::Arc;

use serde_json::Value;

use crate::clock::Passing;
use crate::engine::leases::{Start, Taking};
use crate::engine::leases;
use crate::engine::log::journal::{Boundary, Ownership, Stored};
use crate::engine::log::{projection, thread_messages};
use crate::engine::runs::run_limit::must_have_room;
use crate::engine::runs::load::Loaded;
use crate::engine::runs::started::Started;
use crate::engine::world::World;
use crate::error::Result;
use crate::model::Id;
use crate::model::event::{Answer, EntityKind, Entry, Event, LaneId};
use crate::model::run::{Run, Status};
use crate::model::telling::Input;
use crate::store::log::{self, Append, Appended, Known};
use crate::store::runs::queue;
use crate::store::upkeep::request_keys::{self, RequestKey};
use crate::store::{StoreError, threads};

/// Appends the entry that continues a paused or ended run; none if another request was first.
pub(in crate::engine) async fn go_on(
    world: &Arc<World>,
    tenant: &Arc<str>,
    loaded: &Loaded,
    mut run: Run,
    event: Event,
    key: Option<&RequestKey>,
) -> Result<Option<Started>> {
    let (pause, queued) = asked(&event);
    must_have_room(world, queued)?;
    let ownership = Ownership {
        owner: Arc::clone(world.owner()),
        fence: loaded.row.fence + 1,
        mode: if queued { "async" } else { "sync" },
        queue: queued.then(|| world.config.queue.as_str().into()),
        tries: 0,
    };
    let mut telling = loaded.telling(world, false);
    let (after, after_live) = (telling.ordered.last, telling.live.last);
    let lane = pause.and_then(|pause| lane_of(&run, pause)).unwrap_or(0);
    let (seq, at) = (run.head + 1, world.clock.now());
    let passing = Passing::since(&*world.clock, at);
    let entry = Arc::new(Entry { seq, at, lane, event: crate::engine::log::masking::going_on(world, &run, &event) });
    let (head, messages, files) = (run.head, thread_messages::answer_message(world, &run, &entry), files_of(&event));
    let before = projection::ended_children(&run);
    run.apply(&Entry { seq, at, lane, event });
    telling.tell(&Input::Entry(Arc::clone(&entry)));
    let row = projection::row_of(world, &run, &ownership, telling.ordered.last, at);
    let mut append = Append::new(run.id, Arc::clone(tenant), head, ownership.fence, row);
    append.messages = messages;
    append.named = files;
    if let Event::Retried(retried) = &entry.event {
        append.forgotten = crate::engine::runs::forget_turns::by(loaded.row.thread, &loaded.entries, retried);
    }
    append.entries = vec![Arc::clone(&entry)];
    append.children = projection::children(&run, &before, tenant, &ownership, &loaded.definitions);
    let ended: Vec<Id> = projection::ended_children(&run).difference(&before).copied().collect();
    append.outbox = crate::engine::log::recorded::recorded(world, &run, tenant, &loaded.definitions, &ended);
    let status = if queued { Status::Queued } else { Status::Running };
    let started = Started { run: run.id, thread: run.created.thread, pause, status, after, after_live };
    let kept = key.map(|key| (key.clone(), started.accepted_json()));
    let stands = append.row.standing();
    let chat = run.created.entity == EntityKind::Agent;
    let turn = chat.then(|| ChatTurn { thread: run.created.thread, replaces: run.created.replaces.filter(|_| !had_turn(&loaded.entries)) });
    let _until_it_is_driven = Taking::new(world);
    let Some((no, hash)) = take(world, loaded.row.fence, append, kept, turn).await? else { return Ok(None) };
    if queued {
        world.wake_workers();
    } else {
        let known = Known { no, entity_type: run.created.entity, entity_id: run.created.entity_id, hash, stands };
        let rows = loaded.tokens.last().map_or(0, |tokens| tokens.n);
        let stored = Stored::Whole(Some(known));
        let start = Start { telling: loaded.telling(world, false), entries: vec![entry], failed: Vec::new(), stored, place: None, passing };
        leases::drive_here(world, run, start, rows, Arc::clone(tenant), ownership, Arc::clone(&loaded.definitions), Vec::new());
    }
    Ok(Some(started))
}

/// Files that an answer brings: they stay as long as the run.
fn files_of(event: &Event) -> Vec<Arc<str>> {
    let Event::Resumed(resumed) = event else { return Vec::new() };
    let Answer::Human { attachments, .. } = &resumed.answer else { return Vec::new() };
    attachments.iter().map(|file| file.storage_key.as_str().into()).collect()
}

/// The pause that an entry answers, and whether a worker is to go on.
fn asked(event: &Event) -> (Option<Id>, bool) {
    if let Event::Resumed(resumed) = event {
        (Some(resumed.pause), resumed.queued)
    } else {
        (None, matches!(event, Event::Retried(retried) if retried.queued))
    }
}

fn lane_of(run: &Run, pause: Id) -> Option<LaneId> {
    run.pauses().into_iter().find(|(_, open)| open.id == pause).map(|(lane, _)| lane.id)
}

/// A run of a chat that goes on: it is refused while another is at work on its thread.
pub(in crate::engine) struct ChatTurn {
    thread: Id,
    /// The run whose turn its own will replace; it is refused where another run has done that.
    replaces: Option<Id>,
}

/// Whether a run has added a turn to its thread.
fn had_turn(log: &[Arc<Entry>]) -> bool {
    let adds = |event: &Event| matches!(event, Event::StepCompleted(done) if done.turn.as_ref().is_some_and(|turn| !turn.messages.is_empty()));
    log.iter().any(|entry| adds(&entry.event))
}

/// Takes a run that nobody works on and appends to its log, with the answer to whoever asks for it again. None when somebody
/// else took it since its fence was read.
pub(in crate::engine) async fn take(
    world: &Arc<World>,
    fence: i64,
    mut append: Append,
    kept: Option<(RequestKey, Value)>,
    turn: Option<ChatTurn>,
) -> Result<Option<Appended>> {
    let (id, now, head) = (append.run, world.clock.now(), append.expect_head + append.entries.len() as u64);
    let (hook, owner) = (Arc::clone(world), Arc::clone(world.owner()));
    let write = move |tx: &mut crate::store::Tx<'_>| {
        let scope = Arc::clone(&append.tenant);
        if let Some(ChatTurn { thread, replaces }) = &turn {
            if let Some(busy) = threads::busy_with(tx, &scope, thread)? {
                return Err(if busy == id { StoreError::Fenced } else { StoreError::ThreadBusy(busy) });
            }
            if let Some(replaced) = replaces
                && threads::is_replaced(tx, &scope, thread, replaced)?
            {
                return Err(StoreError::TurnReplaced);
            }
        }
        // A write may wait for long: its lease begins when it is made.
        let until = leases::lease(&hook).unwrap_or_default();
        append.row.lease_until = append.row.lease_until.map(|_| until);
        if queue::claim(tx, &scope, &id, fence, &owner, until)?.is_none() {
            return Err(StoreError::Fenced);
        }
        hook.boundary(Boundary::Before, id, append.expect_head);
        if let Some((key, answer)) = &kept {
            request_keys::keep(tx, &scope, key, answer, now)?;
        }
        let appended = log::append(tx, &append)?;
        if append.row.finished_at.is_some() {
            queue::end_children(tx, &id, append.row.status, now)?;
        }
        Ok(appended)
    };
    match world.store.write(write).await {
        Ok(appended) => {
            world.boundary(Boundary::After, id, head);
            Ok(Some(appended))
        }
        Err(StoreError::Fenced) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
