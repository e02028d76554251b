//! Owns the messages of threads: what people read there, and what histories of agents keep, decided as entries are written.

use serde_json::{Value, json};

use crate::engine::log::journal::Core;
use crate::engine::world::World;
use crate::model::chat::{Attachment, Message, Role};
use crate::model::event::{Answer, EntityKind, Entry, Event, PauseReason, StepCompleted, Turn};
use crate::model::memory::{Summary, settled};
use crate::model::run::{BranchState, Run};
use crate::model::{Id, Timestamp};
use crate::store::threads::MessageRow;

/// What people read of a workflow's beginning in the thread; `message` is masked already.
pub(in crate::engine) fn beginning(world: &World, run: &Run, message: &str) -> Option<MessageRow> {
    if run.created.entity != EntityKind::Workflow {
        return None;
    }
    let mut said = Message::text(Role::User, message);
    said.attachments.clone_from(&run.created.attachments);
    Some(message_row(world.clock.id(), run, "", &said, true, run.created_at))
}

/// What people read of an answer in the thread.
pub(in crate::engine) fn answer_message(world: &World, run: &Run, entry: &Entry) -> Vec<MessageRow> {
    let Event::Resumed(resumed) = &entry.event else { return Vec::new() };
    let (message, attachments) = match &resumed.answer {
        Answer::Human { message, attachments } => (message, attachments.as_slice()),
        Answer::Question { message, .. } => (message, [].as_slice()),
        Answer::Approval { .. } => return Vec::new(),
    };
    shown(world, run, entry, Role::User, message, attachments).into_iter().collect()
}

/// Adds what people and models will read of an entry, seen from the run before it.
pub(super) fn before(world: &World, core: &mut Core, entry: &Entry) {
    let said = |text: &str| shown(world, &core.run, entry, Role::Assistant, text, &[]);
    let row = if let Event::Paused(pause) = &entry.event {
        if let PauseReason::Human { prompt, .. } = &pause.reason { said(prompt) } else { None }
    } else if let Event::Completed { reply: Some(reply), .. } = &entry.event {
        said(reply)
    } else {
        None
    };
    core.pending.append.messages.extend(row);
    if let Event::StepCompleted(done) = &entry.event {
        turns(core, entry, done);
    }
}

/// Turns that become part of stored histories with this entry: the root's own, and those of the fork that closes.
fn turns(core: &mut Core, entry: &Entry, done: &StepCompleted) {
    if entry.lane != 0 {
        return;
    }
    let fork = core.run.lanes.get(&0).and_then(|lane| lane.fork());
    let mut found: Vec<Turn> = Vec::new();
    for branch in fork.iter().flat_map(|fork| &fork.branches) {
        if let BranchState::Done(branch) = branch {
            found.extend(branch.turns.iter().cloned());
        }
    }
    found.extend(done.turn.clone());
    let chat = core.run.created.entity == EntityKind::Agent;
    let of_run = |turn: &mut Turn| {
        // Of a chat people read also what its memory does not keep: it is in no history.
        turn.history.clear();
        turn.summary = None;
    };
    found.retain(|turn| chat || !turn.in_memory);
    found.iter_mut().filter(|turn| turn.in_memory).for_each(of_run);
    if chat && found.iter().any(|turn| !turn.messages.is_empty()) {
        core.pending.append.replaced = core.run.created.replaces;
    }
    for (turn, summary) in found.iter().zip(settled(&found)) {
        if let Some(summary) = summary {
            core.pending.append.messages.push(summed_up(summary, &core.run, turn, entry.at));
        }
        for (message, id) in turn.messages.iter().zip(&turn.ids) {
            let mut row = said(*id, &core.run, turn, message, entry.at);
            if chat && turn.reply_id == Some(*id) {
                row.meta = warned(&core.run);
            }
            core.pending.append.messages.push(row);
        }
    }
}

/// What people should know of the step that answers.
fn warned(run: &Run) -> Option<Value> {
    let step = run.lanes.get(&0)?.step.as_deref()?;
    (!step.warnings.is_empty()).then(|| json!({"warnings": step.warnings}))
}

/// A summary, which people read only where the history is what they read.
fn summed_up(summary: &Summary, run: &Run, turn: &Turn, at: Timestamp) -> MessageRow {
    let chat = run.created.entity == EntityKind::Agent;
    let row = message_row(summary.id, run, &turn.history, &Message::text(Role::System, summary.text.as_str()), chat, at);
    MessageRow { meta: Some(json!({"studio_kind": "summary"})), covers: summary.covers.clone(), ..row }
}

/// A message that people see in a workflow's thread; models do not.
fn shown(world: &World, run: &Run, entry: &Entry, role: Role, text: &str, attachments: &[Attachment]) -> Option<MessageRow> {
    if run.created.entity == EntityKind::Agent || (text.is_empty() && attachments.is_empty()) {
        return None;
    }
    let mut message = Message::text(role, text);
    message.attachments = attachments.to_vec();
    Some(message_row(world.clock.id(), run, "", &message, true, entry.at))
}

/// A message of a history; an agent's own history is also what people read in its thread.
fn said(id: Id, run: &Run, turn: &Turn, message: &Message, at: Timestamp) -> MessageRow {
    let chat = run.created.entity == EntityKind::Agent;
    let read = matches!(message.role, Role::User | Role::Assistant) && !(message.content.is_empty() && message.attachments.is_empty());
    message_row(id, run, &turn.history, message, chat && read, at)
}

fn message_row(id: Id, run: &Run, history: &str, message: &Message, shown: bool, at: Timestamp) -> MessageRow {
    MessageRow {
        id,
        thread: run.created.thread,
        history: history.to_owned(),
        shown,
        summarized: false,
        role: role_name(message.role).to_owned(),
        run: Some(run.id),
        created_at: at,
        body: serde_json::to_string(message).unwrap_or_default().into(),
        meta: None,
        covers: Vec::new(),
        files: message.attachments.iter().map(|file| file.storage_key.as_str().into()).collect(),
        no: 0,
    }
}

const fn role_name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}
