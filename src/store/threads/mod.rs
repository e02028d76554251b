//! Owns threads, their messages for people, and the histories for models.

pub mod branches;
pub mod remembered;

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::db::{Row, Tx, params, to_json};
use super::error::StoreError;
use super::runs::entity_kind;
use crate::model::event::EntityKind;
use crate::model::{Id, Timestamp};
use crate::store::files::attachments;
use crate::store::runs::list::pattern;

/// Where the stored form of a summary says which messages it stands for.
const COVERS: &str = "covers";

/// The meta data of a message whose turn was replaced.
const REPLACED: &str = r#"{"replaced":true}"#;

/// A message that is stored.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct MessageRow {
    pub id: Id,
    pub thread: Id,
    /// The memory that it belongs to; empty for what only people read.
    pub history: String,
    /// People read it in the thread.
    pub shown: bool,
    /// A summary stands for it; it is no longer sent to models.
    pub summarized: bool,
    /// `user`, `assistant`, `system` or `tool`.
    pub role: String,
    /// The run that added it.
    pub run: Option<Id>,
    pub created_at: Timestamp,
    /// The message (`model::chat::Message`) as JSON.
    pub body: Arc<str>,
    /// Such as `{"studio_kind": "summary"}`.
    pub meta: Option<Value>,
    /// Of a summary: the messages that it stands for, a former summary among them. Empty of one that was stored before this was kept.
    pub covers: Vec<Id>,
    /// Storage keys of its files.
    pub files: Vec<Arc<str>>,
    /// Its place; 0 before it is stored.
    pub no: i64,
}

impl MessageRow {
    /// It stands for older messages.
    pub fn is_summary(&self) -> bool {
        self.meta.as_ref().is_some_and(|meta| meta.get("studio_kind").is_some_and(|kind| kind == "summary"))
    }

    /// What is shown of it, with what it stands for.
    fn stored_meta(&self) -> Option<Value> {
        let mut meta = self.meta.clone();
        if !self.covers.is_empty() {
            meta.get_or_insert_with(|| json!({}))[COVERS] = json!(self.covers);
        }
        meta
    }
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the thread summary")]
pub struct ThreadRow {
    pub id: Id,
    pub entity_type: EntityKind,
    pub entity_id: Id,
    pub user_id: Option<String>,
    pub preview: Option<String>,
    pub message_count: u64,
    pub run_count: u64,
    pub created_at: Timestamp,
    /// Latest activity.
    pub updated_at: Timestamp,
    /// Its number; 0 before it is stored.
    pub no: i64,
}

/// Which threads are wanted; what is absent does not matter.
#[derive(Clone, Debug, Default)]
pub struct ThreadFilter {
    /// Threads of agents or of workflows.
    pub entity_type: Option<EntityKind>,
    /// Threads of this agent or workflow.
    pub entity_id: Option<Id>,
    /// Part of the preview, whatever the case.
    pub q: Option<String>,
}

/// A run that begins on a thread.
#[derive(Clone, Copy, Debug)]
pub struct Begun<'a> {
    /// What it is a run of.
    pub entity: (EntityKind, &'a Id),
    /// Whose it is.
    pub user_id: Option<&'a str>,
    /// What people read of it, if they do.
    pub message: Option<&'a MessageRow>,
}

/// A run begins on a thread: makes the thread when it is not there. Another entity's thread is refused; a deleted thread is its entity's as long as
/// there are runs of it, for those may go on and add to it.
pub fn begin(tx: &mut Tx<'_>, tenant: &str, thread: &Id, begun: &Begun<'_>, now: Timestamp) -> Result<(), StoreError> {
    let (kind, entity_id) = (begun.entity.0.as_str(), begun.entity.1.text());
    let (read, messages) = (begun.message.and_then(preview), i64::from(begun.message.is_some()));
    let mine = tx.execute(
        "INSERT INTO #threads AS t (id, tenant, entity_type, entity_id, user_id, preview, message_count, run_count, created_at, updated_at) \
         SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS TEXT), CAST($7 AS BIGINT), 1, \
         CAST($8 AS BIGINT), CAST($8 AS BIGINT) \
         WHERE EXISTS (SELECT 1 FROM #threads WHERE tenant = $2 AND id = $1 AND entity_type = $3 AND entity_id = $4) \
         OR NOT EXISTS (SELECT 1 FROM #runs AS r {INDEXED BY #runs_thread|} WHERE r.tenant = $2 AND r.thread = $1 AND r.parent IS NULL \
         AND (r.entity_type <> $3 OR r.entity_id <> $4)) \
         ON CONFLICT (tenant, id) DO UPDATE SET run_count = t.run_count + 1, message_count = t.message_count + excluded.message_count, \
         preview = COALESCE(t.preview, excluded.preview), updated_at = excluded.updated_at \
         WHERE t.entity_type = excluded.entity_type AND t.entity_id = excluded.entity_id",
        params![&thread.text(), tenant, kind, &entity_id, begun.user_id, read.as_ref(), messages, now.0],
    )?;
    if mine == 0 {
        return Err(StoreError::Conflict("the thread belongs to another agent or workflow".to_owned()));
    }
    begun.message.map_or(Ok(()), |message| insert_message(tx, tenant, message))
}

/// Appends messages to a thread that is there.
pub fn append_messages(tx: &mut Tx<'_>, tenant: &str, messages: &[MessageRow]) -> Result<(), StoreError> {
    messages.iter().try_for_each(|message| insert_message(tx, tenant, message))?;
    let Some(last) = messages.iter().rfind(|message| message.shown) else { return Ok(()) };
    let (shown, read) = (messages.iter().filter(|message| message.shown).count() as u64, messages.iter().find_map(preview_shown));
    tx.send(
        "UPDATE #threads SET message_count = message_count + $3, updated_at = $4, preview = COALESCE(preview, $5) WHERE tenant = $1 AND id = $2",
        params![tenant, &last.thread.text(), shown, last.created_at.0, read.as_ref()],
    )
}

/// What a thread that has no name yet is called by a message.
pub(super) fn preview_shown(message: &MessageRow) -> Option<String> {
    if message.shown { preview(message) } else { None }
}

pub(super) fn insert_message(tx: &mut Tx<'_>, tenant: &str, message: &MessageRow) -> Result<(), StoreError> {
    let meta = message.stored_meta().as_ref().map(to_json).transpose()?;
    let thread = message.thread.text();
    tx.send(
        "INSERT INTO #messages (id, tenant, thread, history, shown, summarized, role, run, created_at, body, meta) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        params![
            &message.id.text(),
            tenant,
            &thread,
            &message.history,
            message.shown,
            message.summarized,
            &message.role,
            message.run.map(|run| run.text()).as_ref(),
            message.created_at.0,
            &message.body,
            meta.as_ref(),
        ],
    )?;
    message.files.iter().try_for_each(|file| attachments::refer(tx, tenant, file, "thread", &thread))
}

/// A message of which nothing but its text matters.
#[derive(Deserialize)]
struct TextMessage<'a> {
    #[serde(borrow)]
    content: Cow<'a, str>,
}

/// The beginning of the first text that a user says: at most 80 characters.
fn preview(message: &MessageRow) -> Option<String> {
    if message.role != "user" {
        return None;
    }
    let said: TextMessage<'_> = serde_json::from_str(&message.body).ok()?;
    let text: String = said.content.trim().chars().take(80).collect();
    (!text.is_empty()).then_some(text)
}

fn message_of(row: &Row<'_>) -> Result<MessageRow, StoreError> {
    let mut meta: Option<Value> = row.opt_json(10)?;
    let covers = meta.as_mut().and_then(Value::as_object_mut).and_then(|meta| meta.remove(COVERS));
    Ok(MessageRow {
        no: row.int(0)?,
        id: row.id(1)?,
        thread: row.id(2)?,
        history: row.text(3)?.to_owned(),
        shown: row.truth(4)?,
        summarized: row.truth(5)?,
        role: row.text(6)?.to_owned(),
        run: row.opt_id(7)?,
        created_at: Timestamp(row.int(8)?),
        body: row.text(9)?.into(),
        meta,
        covers: covers.and_then(|covers| serde_json::from_value(covers).ok()).unwrap_or_default(),
        files: Vec::new(),
    })
}

/// What a memory holds for models: its messages without those that a summary stands for, oldest first.
pub fn history(tx: &mut Tx<'_>, tenant: &str, thread: &Id, history: &str) -> Result<Vec<MessageRow>, StoreError> {
    tx.query(
        "SELECT no, id, thread, history, shown, summarized, role, run, created_at, body, meta FROM #messages \
         WHERE tenant = $1 AND thread = $2 AND history = $3 AND summarized = 0 ORDER BY no",
        params![tenant, &thread.text(), history],
        message_of,
    )
}

/// What people read on a thread, oldest first, after the place `after`, at most `limit`.
pub fn shown(
    tx: &mut Tx<'_>,
    tenant: &str,
    thread: &Id,
    after: i64,
    limit: usize,
) -> Result<Vec<MessageRow>, StoreError> {
    tx.query(
        "SELECT no, id, thread, history, shown, summarized, role, run, created_at, body, meta FROM #messages \
         WHERE tenant = $1 AND thread = $2 AND shown = 1 AND no > $3 ORDER BY no LIMIT $4",
        params![tenant, &thread.text(), after, limit as u64],
        message_of,
    )
}

/// What models answered and what tools gave on a thread, shown or not, oldest first, between two places.
pub fn worked(
    tx: &mut Tx<'_>,
    tenant: &str,
    thread: &Id,
    after: i64,
    before: Option<i64>,
) -> Result<Vec<MessageRow>, StoreError> {
    tx.query(
        "SELECT no, id, thread, history, shown, summarized, role, run, created_at, body, meta FROM #messages \
         WHERE tenant = $1 AND thread = $2 AND no > $3 AND no < $4 AND role IN ('assistant', 'tool') ORDER BY no",
        params![tenant, &thread.text(), after, before.unwrap_or(i64::MAX)],
        message_of,
    )
}

/// All that a thread holds before a place, shown or not, oldest first.
pub(super) fn held(tx: &mut Tx<'_>, tenant: &str, thread: &Id, before: i64) -> Result<Vec<MessageRow>, StoreError> {
    tx.query(
        "SELECT no, id, thread, history, shown, summarized, role, run, created_at, body, meta FROM #messages \
         WHERE tenant = $1 AND thread = $2 AND no < $3 ORDER BY no",
        params![tenant, &thread.text(), before],
        message_of,
    )
}

/// A message of a thread that people read.
pub fn shown_one(tx: &mut Tx<'_>, tenant: &str, thread: &Id, message: &Id) -> Result<Option<MessageRow>, StoreError> {
    tx.query_one(
        "SELECT no, id, thread, history, shown, summarized, role, run, created_at, body, meta FROM #messages \
         WHERE tenant = $1 AND thread = $2 AND id = $3 AND shown = 1",
        params![tenant, &thread.text(), &message.text()],
        message_of,
    )
}

fn thread_of(row: &Row<'_>) -> Result<ThreadRow, StoreError> {
    Ok(ThreadRow {
        no: row.int(0)?,
        id: row.id(1)?,
        entity_type: entity_kind(row.text(2)?)?,
        entity_id: row.id(3)?,
        user_id: row.opt_text(4)?.map(str::to_owned),
        preview: row.opt_text(5)?.map(str::to_owned),
        message_count: row.count(6)?,
        run_count: row.count(7)?,
        created_at: Timestamp(row.int(8)?),
        updated_at: Timestamp(row.int(9)?),
    })
}

macro_rules! thread_columns {
    () => {
        "SELECT no, id, entity_type, entity_id, user_id, preview, message_count, run_count, created_at, updated_at FROM #threads "
    };
}

/// A thread.
pub fn get(tx: &mut Tx<'_>, tenant: &str, thread: &Id) -> Result<Option<ThreadRow>, StoreError> {
    tx.query_one(
        concat!(thread_columns!(), "WHERE tenant = $1 AND id = $2"),
        params![tenant, &thread.text()],
        thread_of,
    )
}

/// Threads, latest activity first, after the place (`updated_at`, `no`), at most `limit`.
pub fn list(
    tx: &mut Tx<'_>,
    tenant: &str,
    filter: &ThreadFilter,
    after: Option<(Timestamp, i64)>,
    limit: usize,
) -> Result<Vec<ThreadRow>, StoreError> {
    let (at, no) = after.map_or((i64::MAX, i64::MAX), |(at, no)| (at.0, no));
    let q = filter.q.as_deref().map(|q| pattern(tx.is_file(), q));
    let kind = filter.entity_type.map(EntityKind::as_str);
    let entity = filter.entity_id.map(|id| id.text());
    let values = params![tenant, at, no, kind, q.as_ref(), limit as u64, entity.as_ref()];
    if entity.is_some() {
        let sql = concat!(
            thread_columns!(),
            "WHERE tenant = $1 AND entity_id = $7 AND updated_at <= $2 AND (updated_at < $2 OR no < $3) \
             AND ($4 IS NULL OR entity_type = $4) AND ($5 IS NULL OR lower(preview) {LIKE $5 ESCAPE '\\'|~ $5}) \
             ORDER BY updated_at DESC, no DESC LIMIT $6"
        );
        tx.query(sql, values, thread_of)
    } else {
        let sql = concat!(
            thread_columns!(),
            "WHERE tenant = $1 AND updated_at <= $2 AND (updated_at < $2 OR no < $3) \
             AND ($4 IS NULL OR entity_type = $4) AND ($5 IS NULL OR lower(preview) {LIKE $5 ESCAPE '\\'|~ $5}) \
             ORDER BY updated_at DESC, no DESC LIMIT $6"
        );
        tx.query(sql, &values[..6], thread_of)
    }
}

/// A pause that is open on a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPause {
    /// The run.
    pub run: Id,
    /// The pause.
    pub pause: Id,
    /// The run's status: `awaiting_input` or `awaiting_tool_approval`.
    pub status: String,
}

/// The pause of the latest run on a thread that waits for a person.
pub fn open_pause(tx: &mut Tx<'_>, tenant: &str, thread: &Id) -> Result<Option<OpenPause>, StoreError> {
    tx.query_one(
        "SELECT id, awaiting_pause, status FROM #runs WHERE tenant = $1 AND thread = $2 AND parent IS NULL \
         AND status IN ('awaiting_input', 'awaiting_tool_approval') AND awaiting_pause IS NOT NULL ORDER BY created_at DESC, no DESC LIMIT 1",
        params![tenant, &thread.text()],
        |row| Ok(OpenPause { run: row.id(0)?, pause: row.id(1)?, status: row.text(2)?.to_owned() }),
    )
}

/// How many runs of a thread may have been made while a clock was ahead: the newest run is looked for among so many.
const AHEAD: u64 = 100;

/// The newest top-level run of an agent or workflow on a thread, and its status. Clocks go back, and those of hosts differ: of the last runs by
/// their time it is the one that was stored last.
pub fn newest_run(tx: &mut Tx<'_>, tenant: &str, thread: &Id, entity: &Id) -> Result<Option<(Id, String)>, StoreError> {
    tx.query_one(
        "SELECT id, status FROM (SELECT no, id, status FROM #runs WHERE tenant = $1 AND thread = $2 AND entity_id = $3 AND parent IS NULL \
         ORDER BY created_at DESC, no DESC LIMIT $4) AS newest ORDER BY no DESC LIMIT 1",
        params![tenant, &thread.text(), &entity.text(), AHEAD],
        |row| Ok((row.id(0)?, row.text(1)?.to_owned())),
    )
}

/// Top-level runs of an agent or workflow on a thread that may have asked a pause, at most `limit`: the one that waits at it, then of the last runs
/// those that were there when the pause was made, newest first. Clocks of hosts differ: the others come after them.
pub fn runs_with_pause(tx: &mut Tx<'_>, tenant: &str, thread: &Id, entity: &Id, pause: &Id, limit: u64) -> Result<Vec<Id>, StoreError> {
    tx.query(
        "SELECT id FROM (SELECT no, id, created_at, awaiting_pause FROM #runs WHERE tenant = $1 AND thread = $2 AND entity_id = $3 \
         AND parent IS NULL ORDER BY created_at DESC, no DESC LIMIT $4) AS newest \
         ORDER BY CASE WHEN awaiting_pause = $5 THEN 0 WHEN created_at <= $6 THEN 1 ELSE 2 END, created_at DESC, no DESC LIMIT $7",
        params![tenant, &thread.text(), &entity.text(), AHEAD, &pause.text(), pause.made_at().0, limit],
        |row| row.id(0),
    )
}

/// The run of a turn, and the message of its user as JSON.
pub type Turn = (Id, Option<Arc<str>>);

/// The run of the last turn that people read on a thread, and the message of a user that it stands under, as JSON.
pub fn last_turn(tx: &mut Tx<'_>, tenant: &str, thread: &Id) -> Result<Option<Turn>, StoreError> {
    let thread = thread.text();
    let run = tx.query_one(
        "SELECT run FROM #messages WHERE tenant = $1 AND thread = $2 AND shown = 1 AND role <> 'system' ORDER BY no DESC LIMIT 1",
        params![tenant, &thread],
        |row| row.opt_id(0),
    )?;
    let Some(run) = run.flatten() else { return Ok(None) };
    let said = tx.query_one(
        "SELECT body FROM #messages WHERE tenant = $1 AND thread = $2 AND run = $3 AND shown = 1 AND role = 'user' ORDER BY no LIMIT 1",
        params![tenant, &thread, &run.text()],
        |row| Ok(Arc::from(row.text(0)?)),
    )?;
    Ok(Some((run, said)))
}

/// Whether people read a turn of a run on a thread.
pub fn shows(tx: &mut Tx<'_>, tenant: &str, thread: &Id, run: &Id) -> Result<bool, StoreError> {
    let found = tx.query_one(
        "SELECT 1 FROM #messages WHERE tenant = $1 AND thread = $2 AND run = $3 AND shown = 1 AND role <> 'system' LIMIT 1",
        params![tenant, &thread.text(), &run.text()],
        |_| Ok(()),
    )?;
    Ok(found.is_some())
}

/// Whether the turn that a run added to a thread was replaced, and none that it added since is there.
pub fn is_replaced(tx: &mut Tx<'_>, tenant: &str, thread: &Id, run: &Id) -> Result<bool, StoreError> {
    let found = tx.query_one(
        "SELECT 1 FROM #messages WHERE tenant = $1 AND thread = $2 AND run = $3 AND role <> 'system' AND meta = $4 LIMIT 1",
        params![tenant, &thread.text(), &run.text(), REPLACED],
        |_| Ok(()),
    )?;
    Ok(found.is_some() && !shows(tx, tenant, thread, run)?)
}

/// Marks the turn that a run added to a thread as replaced: people no longer read it, and models are no longer sent it. A summary that
/// was made in that turn stands for older turns, and stays.
pub(super) fn replace_turn(tx: &mut Tx<'_>, tenant: &str, thread: &Id, run: &Id) -> Result<(), StoreError> {
    let (thread, run) = (thread.text(), run.text());
    let shown = tx.query_one(
        "SELECT COUNT(*) FROM #messages WHERE tenant = $1 AND thread = $2 AND run = $3 AND shown = 1 AND role <> 'system'",
        params![tenant, &thread, &run],
        |row| row.int(0),
    )?;
    tx.execute(
        "UPDATE #messages SET shown = 0, history = '', meta = $4 \
         WHERE tenant = $1 AND thread = $2 AND run = $3 AND role <> 'system'",
        params![tenant, &thread, &run, REPLACED],
    )?;
    tx.execute(
        "UPDATE #threads SET message_count = message_count - $3 WHERE tenant = $1 AND id = $2",
        params![tenant, &thread, shown.unwrap_or(0)],
    )?;
    Ok(())
}

/// The top-level run on a thread that is queued or running, if there is one; until this transaction ends, nobody else asks.
pub fn busy_with(tx: &mut Tx<'_>, tenant: &str, thread: &Id) -> Result<Option<Id>, StoreError> {
    tx.alone("thread", &thread.text())?;
    tx.query_one(
        "SELECT id FROM #runs WHERE tenant = $1 AND thread = $2 AND parent IS NULL AND status IN ('queued', 'running') \
         ORDER BY created_at DESC LIMIT 1",
        params![tenant, &thread.text()],
        |row| row.id(0),
    )
}

/// Deletes a thread that was not used since `before`, with its messages; none if it was used meanwhile, or if a run on it has not ended.
pub fn delete_before(tx: &mut Tx<'_>, tenant: &str, thread: &Id, before: Timestamp) -> Result<Option<Vec<String>>, StoreError> {
    let removed = tx.execute(
        "DELETE FROM #threads WHERE tenant = $1 AND id = $2 AND updated_at < $3 AND NOT EXISTS (SELECT 1 FROM #runs r \
         WHERE r.tenant = $1 AND r.thread = $2 AND r.parent IS NULL AND r.status NOT IN ('completed', 'failed', 'cancelled'))",
        params![tenant, &thread.text(), before.0],
    )?;
    if removed == 0 { Ok(None) } else { delete(tx, tenant, thread).map(Some) }
}

/// Removes a thread with its messages; gives the storage keys of files that nothing refers to any more.
pub fn delete(tx: &mut Tx<'_>, tenant: &str, thread: &Id) -> Result<Vec<String>, StoreError> {
    let id = thread.text();
    // The thread first: a run that adds to it meanwhile waits for that row, or is waited for, so that no message stays behind without it.
    tx.execute("DELETE FROM #threads WHERE tenant = $1 AND id = $2", params![tenant, &id])?;
    tx.execute("DELETE FROM #messages WHERE tenant = $1 AND thread = $2", params![tenant, &id])?;
    attachments::release(tx, tenant, "thread", &id)
}
