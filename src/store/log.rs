//! Owns a run's log in the database: the one append, the hash chain, and reading it back.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::checkpoints::{self, CheckpointRow};
use super::db::{Row, Tx, params, to_json};
use super::error::StoreError;
use super::parts;
use super::idempotency::{self, RequestKey};
use super::runs::{self, RunRow, RunUpdate, Standing, Updated};
use super::threads::{self, Begun, MessageRow, Unsaid};
use super::usage::{self, SpanRow};
use super::{attachments, outbox};
use crate::model::event::{EntityKind, Entry, LaneId, PartHash, Seq};
use crate::model::{Id, Timestamp};

/// A run's rows have the keys from its number times this on.
const PLACES: i64 = 1 << 26;

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
    /// Told text that is kept for tails.
    pub tokens: Vec<TokenRow>,
    /// Messages for the thread.
    pub messages: Vec<MessageRow>,
    /// Messages that a summary stands for from now on.
    pub summarized: Vec<Id>,
    /// Messages that memory loses again.
    pub unsaid: Unsaid,
    /// Child runs, made or changed.
    pub children: Vec<RunRow>,
    /// Node results that may be used again.
    pub checkpoints: Vec<CheckpointRow>,
    /// Storage keys of files that the run refers to.
    pub files: Vec<Arc<str>>,
    /// What the host is told until it has answered.
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
            summarized: Vec::new(),
            unsaid: Unsaid::none(),
            children: Vec::new(),
            checkpoints: Vec::new(),
            files: Vec::new(),
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
}

/// The hash of an entry: of its text, its place and the hash before it.
pub type Hash = [u8; 32];

/// A run as its owner stored it last. That nobody else has changed it since, head and fence say.
#[derive(Clone, Debug)]
pub struct Known {
    /// The number of a top-level run.
    pub no: i64,
    /// `agent` or `workflow`.
    pub entity_type: EntityKind,
    /// Its id.
    pub entity_id: Id,
    /// The hash of the last entry.
    pub hash: Hash,
    /// Whether the columns are those of the next append.
    pub stands: Standing,
}

/// Text deltas that were told between two entries.
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
    threads::unsay(tx, &append.tenant, &append.unsaid)?;
    if !append.messages.is_empty() || !append.summarized.is_empty() {
        threads::append_messages(tx, &append.tenant, &append.messages, &append.summarized)?;
    }
    for checkpoint in &append.checkpoints {
        checkpoints::store(tx, &append.tenant, checkpoint)?;
    }
    for file in &append.files {
        attachments::refer(tx, &append.tenant, file, "run", &append.run.text())?;
    }
    let now = append.entries.last().map_or(Timestamp(0), |entry| entry.at);
    append.outbox.iter().try_for_each(|event| outbox::add(tx, &append.tenant, event, now))?;
    Ok((run.no, hash))
}

/// A run begins on its thread, with its row and the answer to whoever asks for it again.
fn begin(tx: &mut Tx<'_>, tenant: &str, made: &Made, head: Seq) -> Result<Updated, StoreError> {
    let row = &made.row;
    if row.entity_type == EntityKind::Agent
        && let Some(busy) = threads::busy_with(tx, tenant, &row.thread)?
    {
        return Err(StoreError::ThreadBusy(busy));
    }
    let begun = Begun { entity: (row.entity_type, &row.entity_id), user_id: row.user_id.as_deref(), message: made.message.as_ref() };
    match threads::begin(tx, tenant, &row.thread, &begun, row.created_at) {
        Err(StoreError::Conflict(_)) => return Err(StoreError::OtherThread),
        touched => touched?,
    }
    if let Some((key, answer)) = &made.key {
        idempotency::keep(tx, tenant, key, answer, row.created_at)?;
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
    if known { Ok((row.no, hash_at(tx, row.no, &again.run, head)?)) } else { append(tx, again) }
}

fn place(run: i64, n: u64) -> Result<i64, StoreError> {
    i64::try_from(n)
        .ok()
        .filter(|n| *n < PLACES)
        .map(|n| run * PLACES + n)
        .ok_or_else(|| StoreError::Conflict(format!("a run's log cannot have more than {PLACES} entries")))
}

fn append_entries(tx: &mut Tx<'_>, run: i64, append: &Append) -> Result<Hash, StoreError> {
    let mut hash = match &append.known {
        Some(known) => known.hash,
        None => hash_at(tx, run, &append.run, append.expect_head)?,
    };
    let mut body = Vec::with_capacity(512);
    for (seq, entry) in (append.expect_head + 1..).zip(&append.entries) {
        if entry.seq != seq {
            return Err(StoreError::Fault(format!("entry {} was appended at place {seq}", entry.seq)));
        }
        body.clear();
        serde_json::to_writer(&mut body, &entry.event)
            .map_err(|error| StoreError::Fault(format!("an entry has no JSON form: {error}")))?;
        let text = std::str::from_utf8(&body).map_err(|error| StoreError::Fault(error.to_string()))?;
        hash = chained(&hash, seq, entry.at.0, entry.lane, text);
        tx.send(
            "INSERT INTO #log (key, at, lane, body, hash) VALUES ($1, $2, $3, $4, $5)",
            params![place(run, seq)?, entry.at.0, entry.lane, text, &hash[..]],
        )?;
    }
    Ok(hash)
}

/// The hash of an entry; before the first it is made of the run's id.
fn hash_at(tx: &mut Tx<'_>, run: i64, id: &Id, seq: Seq) -> Result<Hash, StoreError> {
    if seq == 0 {
        return Ok(Sha256::digest(id.0.as_bytes()).into());
    }
    tx.query_one("SELECT hash FROM #log WHERE key = $1", params![place(run, seq)?], |row| hash_of(row.blob(0)?))?
        .ok_or_else(|| broken(id, seq))
}

fn hash_of(bytes: &[u8]) -> Result<Hash, StoreError> {
    bytes.try_into().map_err(|_| StoreError::damaged("a hash of the log is not 32 bytes long"))
}

fn chained(before: &Hash, seq: Seq, at: i64, lane: LaneId, body: &str) -> Hash {
    let mut hash = Sha256::new();
    hash.update(before);
    hash.update(seq.to_le_bytes());
    hash.update(at.to_le_bytes());
    hash.update(lane.to_le_bytes());
    hash.update(body.as_bytes());
    hash.finalize().into()
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
                &to_json(&row.deltas)?
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
    tx.query(
        "SELECT l.key, l.at, l.lane, l.body FROM #log l
         WHERE l.key > (SELECT no * 67108864 + $3 FROM #runs WHERE id = $1 AND tenant = $2)
           AND l.key < (SELECT (no + 1) * 67108864 FROM #runs WHERE id = $1 AND tenant = $2)
         ORDER BY l.key LIMIT $4",
        params![&run.text(), tenant, after, limit as u64],
        entry_of,
    )
}

/// The whole log of the run of a number, and the hash of its last entry.
pub fn whole(tx: &mut Tx<'_>, run: i64) -> Result<(Vec<Entry>, Option<Hash>), StoreError> {
    let (mut entries, mut hash) = (Vec::new(), None);
    tx.query_each(
        "SELECT key, at, lane, body, hash FROM #log WHERE key > $1 AND key < $2 ORDER BY key",
        params![run * PLACES, (run + 1) * PLACES],
        &mut |row| {
            hash = Some(hash_of(row.blob(4)?)?);
            entries.push(entry_of(row)?);
            Ok(())
        },
    )?;
    Ok((entries, hash))
}

fn entry_of(row: &Row<'_>) -> Result<Entry, StoreError> {
    Ok(Entry { seq: row.count(0)? % PLACES as u64, at: Timestamp(row.int(1)?), lane: lane(row.int(2)?)?, event: row.json(3)? })
}

fn lane(number: i64) -> Result<LaneId, StoreError> {
    LaneId::try_from(number).map_err(|_| StoreError::damaged("a lane's number is out of range"))
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
            Ok(TokenRow {
                n: row.count(0)? % PLACES as u64,
                after_seq: row.count(1)?,
                lane: lane(row.int(2)?)?,
                step: row.id(3)?,
                publish_reply: row.truth(4)?,
                count: row.count(5)?,
                deltas: row.json(6)?,
            })
        },
    )
}

/// A run rests since before a time and its streamed text is still kept.
pub fn any_tokens(tx: &mut Tx<'_>, before: Timestamp) -> Result<bool, StoreError> {
    let found = tx.query_one("SELECT 1 FROM #runs WHERE tokens_kept = 1 AND rested_at < $1 LIMIT 1", params![before.0], |_| Ok(()))?;
    Ok(found.is_some())
}

/// Drops the text of runs that came to rest before `before`; the counts stay, so numbers do not change.
pub fn expire_tokens(tx: &mut Tx<'_>, before: Timestamp, limit: usize) -> Result<u64, StoreError> {
    let runs = tx.query(
        "SELECT no FROM #runs WHERE tokens_kept = 1 AND rested_at < $1 ORDER BY rested_at LIMIT $2",
        params![before.0, limit as u64],
        |row| row.int(0),
    )?;
    for run in &runs {
        tx.execute(
            "UPDATE #progress SET deltas = '[]' WHERE key > $1 AND key < $2",
            params![run * PLACES, (run + 1) * PLACES],
        )?;
        tx.execute("UPDATE #runs SET tokens_kept = 0 WHERE no = $1", params![*run])?;
    }
    Ok(runs.len() as u64)
}

/// Walks the hash chain of a run's whole log; names the first entry that is missing or altered.
pub fn verify(tx: &mut Tx<'_>, tenant: &str, run: &Id) -> Result<(), StoreError> {
    let Some((no, head)) = tx.query_one(
        "SELECT no, head FROM #runs WHERE id = $1 AND tenant = $2",
        params![&run.text(), tenant],
        |row| Ok((row.int(0)?, row.count(1)?)),
    )?
    else {
        return Ok(());
    };
    let mut hash = hash_at(tx, no, run, 0)?;
    let mut next = 1;
    tx.query_each(
        "SELECT key, at, lane, body, hash FROM #log WHERE key > $1 AND key < $2 ORDER BY key",
        params![no * PLACES, (no + 1) * PLACES],
        &mut |row| {
            hash = chained(&hash, next, row.int(1)?, lane(row.int(2)?)?, row.text(3)?);
            if row.int(0)? != place(no, next)? || row.blob(4)? != hash {
                return Err(broken(run, next));
            }
            next += 1;
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
