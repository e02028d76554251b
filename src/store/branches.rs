//! Owns branching: a thread that begins with what another one held before one of its messages.

use std::sync::Arc;

use super::db::{Tx, params};
use super::error::StoreError;
use super::threads::{self, MessageRow, ThreadRow};
use crate::model::chat::Message;
use crate::model::{Id, Timestamp};

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
    let copies: Vec<MessageRow> = held.iter().map(|row| copy(row, &held, to, new_id())).collect();
    threads::append_messages(tx, tenant, &copies, &[])?;
    // A copy keeps the time of its message; the thread was active now.
    tx.execute("UPDATE #threads SET updated_at = $3 WHERE tenant = $1 AND id = $2", params![tenant, &to.to_string(), now.0])?;
    Ok(())
}

fn copy(row: &MessageRow, held: &[MessageRow], to: &Id, id: Id) -> MessageRow {
    let stands_for_it = |other: &MessageRow| other.is_summary() && other.history == row.history && other.no > row.no;
    MessageRow {
        id,
        thread: *to,
        summarized: row.summarized && held.iter().any(stands_for_it),
        files: files_of(row),
        no: 0,
        ..row.clone()
    }
}

/// The files that a message names.
fn files_of(row: &MessageRow) -> Vec<Arc<str>> {
    let message: Option<Message> = serde_json::from_str(&row.body).ok();
    message.into_iter().flat_map(|message| message.attachments).map(|file| file.storage_key.as_str().into()).collect()
}
