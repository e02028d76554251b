//! Owns branches of threads: a new thread with copies of the messages before one message.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::model::chat::Message;
use crate::model::{Id, Timestamp};
use crate::store::db::{Tx, params};
use crate::store::error::StoreError;
use crate::store::threads::{MessageRow, ThreadRow};
use crate::store::threads;

/// Makes the thread `to` with copies of what `from` holds before the place `before`. A message whose summary stays behind
/// counts as not summarised.
pub fn branch(
    tx: &mut Tx<'_>,
    tenant: &str,
    from: &ThreadRow,
    to: &Id,
    before: i64,
    new_id: impl Fn() -> Id,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO #threads (id, tenant, entity_type, entity_id, user_id, preview, message_count, run_count, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, NULL, 0, 0, $6, $6)",
        params![&to.to_string(), tenant, from.entity_type.as_str(), &from.entity_id.to_string(), from.user_id.as_ref(), now.0],
    )?;
    let held = threads::held(tx, tenant, &from.id, before)?;
    threads::append_messages(tx, tenant, &copies(&held, to, new_id))?;
    // A copy keeps the time of its message; the thread was active now.
    tx.execute("UPDATE #threads SET updated_at = $3 WHERE tenant = $1 AND id = $2", params![tenant, &to.to_string(), now.0])?;
    Ok(())
}

fn copies(held: &[MessageRow], to: &Id, new_id: impl Fn() -> Id) -> Vec<MessageRow> {
    let ids: HashMap<Id, Id> = held.iter().map(|row| (row.id, new_id())).collect();
    let covered: HashSet<Id> = held.iter().flat_map(|row| &row.covers).copied().collect();
    // Of a summary that does not say what it stands for, all before it is taken to be that.
    let silent = |other: &&MessageRow| other.is_summary() && other.covers.is_empty();
    let silent: Vec<&MessageRow> = held.iter().filter(silent).collect();
    let has_summary = |row: &MessageRow| {
        covered.contains(&row.id) || silent.iter().any(|other| other.history == row.history && other.no > row.no)
    };
    let copy = |row: &MessageRow| MessageRow {
        id: ids[&row.id],
        thread: *to,
        summarized: row.summarized && has_summary(row),
        covers: row.covers.iter().filter_map(|id| ids.get(id)).copied().collect(),
        files: files_of(row),
        no: 0,
        ..row.clone()
    };
    held.iter().map(copy).collect()
}

/// The files that a message names.
fn files_of(row: &MessageRow) -> Vec<Arc<str>> {
    let message: Option<Message> = serde_json::from_str(&row.body).ok();
    message.into_iter().flat_map(|message| message.attachments).map(|file| file.storage_key.as_str().into()).collect()
}
