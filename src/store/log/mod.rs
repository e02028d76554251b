//! Owns a run's log in the database: appending, reading, and the hash chain.

pub mod checkpoints;
mod deltas;
pub mod parts;
pub(in crate::store) mod row;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::db::{Tx, params};
use super::error::StoreError;
use crate::store::log::checkpoints::CheckpointRow;
use crate::store::log::deltas::Deltas;
use crate::store::log::row::{PLACES, Stored, lane, place};

use super::runs::{self, RunRow, RunUpdate, Standing, Updated};
use super::threads::{self, Begun, MessageRow};
use super::usage::{self, SpanRow};
use crate::model::event::{EntityKind, Entry, LaneId, PartHash, Seq};
use crate::model::{Id, Timestamp};
use crate::store::files::attachments::{self, KeptFile};
use crate::store::threads::remembered::Forgotten;
use crate::store::threads::remembered;
use crate::store::upkeep::request_keys::RequestKey;
use crate::store::upkeep::{outbox, request_keys};

pub use crate::store::log::row::Hash;

/// Everything that one append makes true, or nothing of it.
#[derive(Clone, Debug)]
pub struct Append {
    /// The run.
    pub run: Id,
    /// Its tenant.
    pub tenant: Arc<str>,
    /// The log ends here, or the append is refused.
    pub expect_head: Seq,
    /// The writer's token, or the append is refused.
    pub expect_fence: i64,
    /// The entries, numbered from `expect_head` + 1; may be none.
    pub entries: Vec<Arc<Entry>>,
    /// What is made beside the log, when the run begins with this append; its row holds what `row` says.
    pub made: Option<Box<Made>>,
    /// What its owner knows of the run as it is stored; what is not known is read.
    pub known: Option<Known>,
    /// What the run is now.
    pub row: RunUpdate,
    /// Texts that the entries name by hash; may be stored already.
    pub parts: Vec<(PartHash, Arc<str>)>,
    /// Metered calls that ended.
    pub spans: Vec<SpanRow>,
    /// Streamed text that is kept for tails.
    pub tokens: Vec<TokenRow>,
    /// Messages for the thread.
    pub messages: Vec<MessageRow>,
    /// The run whose turn on the thread the messages replace.
    pub replaced: Option<Id>,
    /// What memory loses again.
    pub forgotten: Forgotten,
    /// Child runs, made or changed.
    pub children: Vec<RunRow>,
    /// Node results that may be used again.
    pub checkpoints: Vec<CheckpointRow>,
    /// Files that are made with these entries.
    pub kept: Vec<KeptFile>,
    /// Storage keys of files that the run refers to.
    pub files: Vec<Arc<str>>,
    /// Storage keys of files that a request names; it is refused when one was removed since.
    pub named: Vec<Arc<str>>,
    /// Events for the host, kept until it answers.
    pub outbox: Vec<Value>,
}

impl Append {
    /// An append that only sets the row.
    #[must_use]
    pub const fn new(run: Id, tenant: Arc<str>, expect_head: Seq, expect_fence: i64, row: RunUpdate) -> Self {
        Self {
            run,
            tenant,
            expect_head,
            expect_fence,
            entries: Vec::new(),
            made: None,
            known: None,
            row,
            parts: Vec::new(),
            spans: Vec::new(),
            tokens: Vec::new(),
            messages: Vec::new(),
            replaced: None,
            forgotten: Forgotten::none(),
            children: Vec::new(),
            checkpoints: Vec::new(),
            kept: Vec::new(),
            files: Vec::new(),
            named: Vec::new(),
            outbox: Vec::new(),
        }
    }
}

/// What is made when a run begins.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its row.
    pub row: RunRow,
    /// Its answer, if it has one already.
    pub reply: Option<Arc<str>>,
    /// What people read of the beginning in the thread.
    pub message: Option<MessageRow>,
    /// The key of a request that may be sent again, and its answer.
    pub key: Option<(RequestKey, Value)>,
    /// The run whose turn it is to replace; refused when another run has replaced it.
    pub replaces: Option<Id>,
}

/// A run as its owner stored it last. Head and fence prove that no other worker has changed it since.
#[derive(Clone, Debug)]
pub struct Known {
    /// The number of a top-level run.
    pub no: i64,
    /// `agent` or `workflow`.
    pub entity_type: EntityKind,
    /// Its id.
    pub entity_id: Id,
    /// The hash of the log's last row.
    pub hash: Hash,
    /// Whether the columns are those of the next append.
    pub stands: Standing,
}

/// Text deltas that were published between two entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    /// Order in the run, from 1.
    pub n: u64,
    /// The last entry before it.
    pub after_seq: Seq,
    /// The lane.
    pub lane: LaneId,
    /// The step.
    pub step: Id,
    /// The text is meant for the chat user.
    pub publish_reply: bool,
    /// It is what a model thinks. Not known of deltas that have expired.
    pub thought: bool,
    /// How many deltas there were, also when they have expired.
    pub count: u64,
    /// The deltas; none when they have expired.
    pub deltas: Vec<Arc<str>>,
}

/// What is known of a run after an append.
pub type Appended = (i64, Hash);

/// Appends to a run's log, or refuses: the run has another owner or its log went on. Gives the run's number and its last hash.
pub fn append(tx: &mut Tx<'_>, append: &Append) -> Result<Appended, StoreError> {
    let head = append.expect_head + append.entries.len() as u64;
    let run = match &append.made {
        Some(made) => begin(tx, &append.tenant, made, head)?,
        None => runs::update(tx, append, head)?,
    };
    let hash = append_entries(tx, run.no, append)?;
    match append.made {
        Some(_) => parts::keep_first(tx, &append.tenant, run.no, &append.parts)?,
        None => parts::keep(tx, &append.tenant, run.no, &append.parts)?,
    }
    for child in &append.children {
        runs::upsert(tx, child)?;
    }
    for span in &append.spans {
        usage::insert_span(tx, &append.tenant, &append.run, &run, span)?;
    }
    append_tokens(tx, run.no, &append.tokens)?;
    remembered::forget(tx, &append.tenant, &append.forgotten)?;
    if let (Some(replaced), Some(message)) = (&append.replaced, append.messages.first()) {
        threads::replace_turn(tx, &append.tenant, &message.thread, replaced)?;
    }
    remembered::append(tx, &append.tenant, run.no, &append.messages)?;
    for checkpoint in &append.checkpoints {
        checkpoints::store(tx, &append.tenant, checkpoint)?;
    }
    for file in &append.kept {
        attachments::insert(tx, &append.tenant, &file.row, file.content.as_deref())?;
    }
    for file in &append.named {
        attachments::must_be_kept(tx, &append.tenant, file)?;
    }
    for file in append.files.iter().chain(&append.named) {
        attachments::refer(tx, &append.tenant, file, "run", &append.run.text())?;
    }
    let now = append.entries.last().map_or(Timestamp(0), |entry| entry.at);
    append.outbox.iter().try_for_each(|event| outbox::add(tx, &append.tenant, event, now))?;
    Ok((run.no, hash))
}

/// Stores a new run on its thread, with its row and the answer to its idempotency key.
fn begin(tx: &mut Tx<'_>, tenant: &str, made: &Made, head: Seq) -> Result<Updated, StoreError> {
    let row = &made.row;
    if row.entity_type == EntityKind::Agent
        && let Some(busy) = threads::busy_with(tx, tenant, &row.thread)?
    {
        return Err(StoreError::ThreadBusy(busy));
    }
    // One that rests meanwhile is asked the same when it goes on.
    if let Some(replaced) = &made.replaces
        && threads::is_replaced(tx, tenant, &row.thread, replaced)?
    {
        return Err(StoreError::TurnReplaced);
    }
    let begun = Begun { entity: (row.entity_type, &row.entity_id), user_id: row.user_id.as_deref(), message: made.message.as_ref() };
    match threads::begin(tx, tenant, &row.thread, &begun, row.created_at) {
        Err(StoreError::Conflict(_)) => return Err(StoreError::OtherThread),
        touched => touched?,
    }
    if let Some((key, answer)) = &made.key {
        request_keys::keep(tx, tenant, key, answer, row.created_at)?;
    }
    let run = runs::make(tx, row, head)?;
    runs::keep_reply(tx, run.no, made.reply.as_deref())?;
    Ok(run)
}

/// Appends what an earlier try may have stored without being able to say so.
pub fn append_again(tx: &mut Tx<'_>, again: &Append) -> Result<Appended, StoreError> {
    let Some(row) = runs::get(tx, &again.tenant, &again.run)? else {
        return if again.made.is_some() { append(tx, again) } else { Err(StoreError::Fenced) };
    };
    let head = again.expect_head + again.entries.len() as u64;
    if row.fence != again.expect_fence || row.head != head {
        return append(tx, again);
    }
    let known = match again.tokens.first() {
        Some(token) if again.entries.is_empty() => {
            let key = place(row.no, token.n)?;
            tx.query_one("SELECT key FROM #progress WHERE key = $1", params![key], |row| row.int(0))?.is_some()
        }
        Some(_) | None => !again.entries.is_empty(),
    };
    if known { Ok((row.no, last_hash(tx, row.no, &again.run, head)?)) } else { append(tx, again) }
}

fn append_entries(tx: &mut Tx<'_>, run: i64, append: &Append) -> Result<Hash, StoreError> {
    let last = match &append.known {
        Some(known) => known.hash,
        None => last_hash(tx, run, &append.run, append.expect_head)?,
    };
    if let Some((seq, entry)) = (append.expect_head + 1..).zip(&append.entries).find(|(seq, entry)| entry.seq != *seq) {
        return Err(StoreError::Fault(format!("entry {} was appended at place {seq}", entry.seq)));
    }
    place(run, append.expect_head + append.entries.len() as u64)?;
    row::store(tx, run, last, append.entries.iter().map(Arc::as_ref))
}

/// The hash of the row that ends with the last entry, `head`; of the run's id before the first.
fn last_hash(tx: &mut Tx<'_>, run: i64, id: &Id, head: Seq) -> Result<Hash, StoreError> {
    if head == 0 {
        return Ok(row::root(id));
    }
    tx.query_one(
        "SELECT key, at, lane, body, hash FROM #log WHERE key > $1 AND key <= $2 ORDER BY key DESC LIMIT 1",
        params![run * PLACES, place(run, head)?],
        |row| Ok((Stored::of(row)?.last() == head).then_some(row::hash_of(row.blob(4)?)?)),
    )?
    .flatten()
    .ok_or_else(|| broken(id, head))
}

fn broken(run: &Id, seq: Seq) -> StoreError {
    StoreError::Corrupt(format!("entry {seq} of run {run} is missing or was altered"))
}

fn append_tokens(tx: &mut Tx<'_>, run: i64, tokens: &[TokenRow]) -> Result<(), StoreError> {
    for row in tokens {
        tx.send(
            "INSERT INTO #progress (key, after_seq, lane, step, publish_reply, count, deltas) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            params![
                place(run, row.n)?,
                row.after_seq,
                row.lane,
                &row.step.text(),
                row.publish_reply,
                row.count,
                &deltas::written(row)?
            ],
        )?;
    }
    if !tokens.is_empty() {
        tx.send("UPDATE #runs SET tokens_kept = 1 WHERE no = $1 AND tokens_kept = 0", params![run])?;
    }
    Ok(())
}

/// Entries after `after`, in order, at most `limit`.
pub fn entries(tx: &mut Tx<'_>, tenant: &str, run: &Id, after: Seq, limit: usize) -> Result<Vec<Entry>, StoreError> {
    let after = after.min(PLACES as u64);
    let to = after.saturating_add(limit as u64).min(PLACES as u64 - 1);
    let mut entries = Vec::new();
    tx.query_each(
        "SELECT l.key, l.at, l.lane, l.body FROM #log l
         WHERE l.key >= (SELECT MAX(f.key) FROM #log f
                         WHERE f.key > (SELECT no * 67108864 FROM #runs WHERE id = $1 AND tenant = $2)
                           AND f.key <= (SELECT no * 67108864 + $3 + 1 FROM #runs WHERE id = $1 AND tenant = $2))
           AND l.key <= (SELECT no * 67108864 + $4 FROM #runs WHERE id = $1 AND tenant = $2)
         ORDER BY l.key",
        params![&run.text(), tenant, after, to],
        &mut |row| Stored::of(row)?.each(after + 1, to, &mut |entry| entries.push(entry)),
    )?;
    Ok(entries)
}

/// The whole log of the run of a number, and the hash of its last row.
pub fn whole(tx: &mut Tx<'_>, run: i64) -> Result<(Vec<Entry>, Option<Hash>), StoreError> {
    let (mut entries, mut hash) = (Vec::new(), None);
    tx.query_each(
        "SELECT key, at, lane, body, hash FROM #log WHERE key > $1 AND key < $2 ORDER BY key",
        params![run * PLACES, (run + 1) * PLACES],
        &mut |row| {
            hash = Some(row::hash_of(row.blob(4)?)?);
            Stored::of(row)?.each(0, Seq::MAX, &mut |entry| entries.push(entry))
        },
    )?;
    Ok((entries, hash))
}

/// Kept text after `after`, in order, at most `limit` rows.
pub fn tokens(tx: &mut Tx<'_>, tenant: &str, run: &Id, after: u64, limit: usize) -> Result<Vec<TokenRow>, StoreError> {
    tx.query(
        "SELECT p.key, p.after_seq, p.lane, p.step, p.publish_reply, p.count, p.deltas FROM #progress p
         WHERE p.key > (SELECT no * 67108864 + $3 FROM #runs WHERE id = $1 AND tenant = $2)
           AND p.key < (SELECT (no + 1) * 67108864 FROM #runs WHERE id = $1 AND tenant = $2)
         ORDER BY p.key LIMIT $4",
        params![&run.text(), tenant, after, limit as u64],
        |row| {
            let deltas: Deltas = row.json(6)?;
            Ok(TokenRow {
                n: row.count(0)? % PLACES as u64,
                after_seq: row.count(1)?,
                lane: lane(row.int(2)?)?,
                step: row.id(3)?,
                publish_reply: row.truth(4)?,
                thought: deltas.thought,
                count: row.count(5)?,
                deltas: deltas.texts,
            })
        },
    )
}

/// A run that paused or ended before a time and still has streamed text.
pub fn any_tokens(tx: &mut Tx<'_>, before: Timestamp) -> Result<bool, StoreError> {
    let found = tx.query_one("SELECT 1 FROM #runs WHERE tokens_kept = 1 AND rested_at < $1 LIMIT 1", params![before.0], |_| Ok(()))?;
    Ok(found.is_some())
}

/// How long the text of several runs is deleted in one transaction: others wait for it.
const HELD: Duration = Duration::from_millis(50);

/// Deletes the text of runs that paused or ended before `before`; the counts stay, so numbers do not change. A run that continues meanwhile keeps its text.
/// Of how many: none when there are none.
pub fn expire_tokens(tx: &mut Tx<'_>, before: Timestamp, limit: usize) -> Result<u64, StoreError> {
    let runs = tx.query(
        "SELECT no FROM #runs WHERE tokens_kept = 1 AND rested_at < $1 ORDER BY rested_at LIMIT $2{| FOR UPDATE SKIP LOCKED}",
        params![before.0, limit as u64],
        |row| row.int(0),
    )?;
    let until = Instant::now() + HELD;
    for (at, run) in runs.iter().enumerate() {
        if at > 0 && Instant::now() >= until {
            return Ok(at as u64);
        }
        tx.execute(
            "UPDATE #progress SET deltas = '[]' WHERE key > $1 AND key < $2",
            params![run * PLACES, (run + 1) * PLACES],
        )?;
        tx.execute("UPDATE #runs SET tokens_kept = 0 WHERE no = $1 AND rested_at < $2", params![*run, before.0])?;
    }
    Ok(runs.len() as u64)
}

/// Walks the hash chain of a run's whole log; names the first entry that is missing, or that of the row that was altered.
pub fn verify(tx: &mut Tx<'_>, tenant: &str, run: &Id) -> Result<(), StoreError> {
    let Some((no, head)) = tx.query_one(
        "SELECT no, head FROM #runs WHERE id = $1 AND tenant = $2",
        params![&run.text(), tenant],
        |row| Ok((row.int(0)?, row.count(1)?)),
    )?
    else {
        return Ok(());
    };
    let (mut hash, mut next) = (row::root(run), 1);
    tx.query_each(
        "SELECT key, at, lane, body, hash FROM #log WHERE key > $1 AND key < $2 ORDER BY key",
        params![no * PLACES, (no + 1) * PLACES],
        &mut |row| {
            let stored = Stored::of(row)?;
            hash = stored.behind(&hash);
            if stored.first() != next || row.blob(4)? != hash {
                return Err(broken(run, next));
            }
            next = stored.last() + 1;
            Ok(())
        },
    )?;
    if next == head + 1 { Ok(()) } else { Err(broken(run, next)) }
}

/// Removes the log and the kept text of a run.
pub(super) fn remove(tx: &mut Tx<'_>, run: i64) -> Result<(), StoreError> {
    let (first, last) = (run * PLACES, (run + 1) * PLACES);
    tx.send("DELETE FROM #log WHERE key >= $1 AND key < $2", params![first, last])?;
    tx.send("DELETE FROM #progress WHERE key >= $1 AND key < $2", params![first, last])?;
    Ok(())
}
