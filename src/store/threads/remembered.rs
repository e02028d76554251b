//! Owns what a run adds to its thread and its memory, and what a retry removes from memory.

use std::collections::HashSet;

use crate::model::Id;
use crate::store::db::{Tx, params};
use crate::store::error::StoreError;
use crate::store::threads::MessageRow;
use crate::store::threads;

/// What memory loses again: a retry makes the steps obsolete that added it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// The thread.
    pub thread: Id,
    /// What was said.
    pub gone: Vec<Id>,
    /// Summaries that were made with it, and what each was to stand for.
    pub summaries: Vec<(Id, Vec<Id>)>,
}

impl Forgotten {
    /// Nothing is lost.
    #[must_use]
    pub const fn none() -> Self {
        Self { thread: Id(uuid::Uuid::nil()), gone: Vec::new(), summaries: Vec::new() }
    }
}

/// The newest messages of a memory before a place, newest first, at most `limit`; without those that a summary stands for.
pub fn newest(tx: &mut Tx<'_>, tenant: &str, thread: &Id, history: &str, before: i64, limit: usize) -> Result<Vec<MessageRow>, StoreError> {
    tx.query(
        "SELECT no, id, thread, history, shown, summarized, role, run, created_at, body, meta FROM #messages {INDEXED BY #messages_memory|} \
         WHERE tenant = $1 AND thread = $2 AND history = $3 AND summarized = 0 AND no < $4 ORDER BY no DESC LIMIT $5",
        params![tenant, &thread.text(), history, before, limit as u64],
        threads::message_of,
    )
}

/// The summaries of a memory before a place, oldest first; without those that a later one stands for.
pub fn summaries(tx: &mut Tx<'_>, tenant: &str, thread: &Id, history: &str, before: i64) -> Result<Vec<MessageRow>, StoreError> {
    tx.query(
        "SELECT no, id, thread, history, shown, summarized, role, run, created_at, body, meta FROM #messages {INDEXED BY #messages_summaries|} \
         WHERE tenant = $1 AND thread = $2 AND history = $3 AND role = 'system' AND summarized = 0 AND no < $4 ORDER BY no",
        params![tenant, &thread.text(), history, before],
        threads::message_of,
    )
}

/// How many messages a memory holds before a place; without those that a summary stands for.
pub fn count(tx: &mut Tx<'_>, tenant: &str, thread: &Id, history: &str, before: i64) -> Result<usize, StoreError> {
    let found = tx.query_one(
        "SELECT COUNT(*) FROM #messages {INDEXED BY #messages_memory|} WHERE tenant = $1 AND thread = $2 AND history = $3 AND summarized = 0 AND no < $4",
        params![tenant, &thread.text(), history, before],
        |row| row.count(0),
    )?;
    Ok(found.map_or(0, |count| usize::try_from(count).unwrap_or(usize::MAX)))
}

/// Appends the messages of a run. A thread that was deleted meanwhile is there again with what is added: no message is without its thread.
pub(in crate::store) fn append(tx: &mut Tx<'_>, tenant: &str, run: i64, messages: &[MessageRow]) -> Result<(), StoreError> {
    let mut kept: Vec<&MessageRow> = Vec::with_capacity(messages.len());
    for message in messages {
        if message.covers.is_empty() {
            threads::insert_message(tx, tenant, message)?;
        } else if covers_whole(tx, tenant, message)? {
            threads::insert_message(tx, tenant, message)?;
            message.covers.iter().try_for_each(|id| mark(tx, tenant, &message.thread, id, true))?;
        } else {
            continue;
        }
        kept.push(message);
    }
    let Some(last) = kept.last() else { return Ok(()) };
    let (shown, read) = (kept.iter().filter(|message| message.shown).count() as u64, kept.iter().find_map(|message| threads::preview_shown(message)));
    tx.send(
        "INSERT INTO #threads AS t (id, tenant, entity_type, entity_id, user_id, preview, message_count, run_count, created_at, updated_at) \
         SELECT r.thread, r.tenant, r.entity_type, r.entity_id, r.user_id, CAST($2 AS TEXT), CAST($3 AS BIGINT), 1, CAST($4 AS BIGINT), CAST($4 AS BIGINT) \
         FROM #runs r WHERE r.no = $1 \
         ON CONFLICT (tenant, id) DO UPDATE SET message_count = t.message_count + excluded.message_count, \
         preview = COALESCE(t.preview, excluded.preview), updated_at = excluded.updated_at",
        params![run, read.as_ref(), shown, last.created_at.0],
    )
}

/// Nothing that a summary stands for has another summary by now, or is gone: of two summaries of the same message, the first stays.
fn covers_whole(tx: &mut Tx<'_>, tenant: &str, summary: &MessageRow) -> Result<bool, StoreError> {
    tx.alone("summary", &summary.thread.text())?;
    let there = tx.query(
        "SELECT id FROM #messages WHERE tenant = $1 AND thread = $2 AND history = $3 AND summarized = 0",
        params![tenant, &summary.thread.text(), &summary.history],
        |row| row.id(0),
    )?;
    let there: HashSet<Id> = there.into_iter().collect();
    Ok(summary.covers.iter().all(|id| there.contains(id)))
}

fn mark(tx: &mut Tx<'_>, tenant: &str, thread: &Id, message: &Id, summarized: bool) -> Result<(), StoreError> {
    tx.send(
        "UPDATE #messages {INDEXED BY #messages_id|} SET summarized = $4 WHERE tenant = $1 AND thread = $2 AND id = $3",
        params![tenant, &thread.text(), &message.text(), summarized],
    )
}

/// Takes messages out of memory again. People never read those: what they read of a workflow is kept beside it.
pub(in crate::store) fn forget(tx: &mut Tx<'_>, tenant: &str, forgotten: &Forgotten) -> Result<(), StoreError> {
    let thread = forgotten.thread.text();
    let gone = "DELETE FROM #messages {INDEXED BY #messages_id|} WHERE tenant = $1 AND thread = $2 AND id = $3 AND shown = 0";
    for id in &forgotten.gone {
        tx.send(gone, params![tenant, &thread, &id.text()])?;
    }
    for (id, covers) in &forgotten.summaries {
        let found = tx.query_one(
            "SELECT summarized FROM #messages {INDEXED BY #messages_id|} WHERE tenant = $1 AND thread = $2 AND id = $3 AND shown = 0",
            params![tenant, &thread, &id.text()],
            |row| row.truth(0),
        )?;
        tx.send(gone, params![tenant, &thread, &id.text()])?;
        // What a later summary stands for, through this one, it goes on standing for.
        if found == Some(false) {
            covers.iter().try_for_each(|id| mark(tx, tenant, &forgotten.thread, id, false))?;
        }
    }
    Ok(())
}

/// Whether a message is stored.
pub fn is_said(tx: &mut Tx<'_>, tenant: &str, thread: &Id, message: &Id) -> Result<bool, StoreError> {
    let found = tx.query_one(
        "SELECT 1 FROM #messages {INDEXED BY #messages_id|} WHERE tenant = $1 AND thread = $2 AND id = $3",
        params![tenant, &thread.text(), &message.text()],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}
