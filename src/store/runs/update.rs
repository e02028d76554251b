//! Owns the change of a run's row by an append: one statement if the owner knows the row, two if it is read first, and one more when the run
//! begins.

use std::sync::Arc;

use serde_json::Value;

use crate::model::event::{EntityKind, Seq};
use crate::model::usage::Usage;
use crate::model::{Id, IdText, Timestamp};
use crate::store::db::{Param, Tx, params};
use crate::store::error::StoreError;
use crate::store::log::{Append, Known};
use crate::store::runs::{RunRow, entity_kind, json_of, usage_params};
use crate::store::usage;

/// What an append makes of a run's row.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the run's row")]
pub struct RunUpdate {
    pub status: &'static str,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    pub working_ms: u64,
    pub waiting_ms: u64,
    pub rested_at: Option<Timestamp>,
    pub awaiting_node: Option<Arc<str>>,
    pub awaiting_pause: Option<Id>,
    pub error: Option<Value>,
    /// Told when the run completed; kept for search.
    pub reply: Option<Arc<str>>,
    pub fence: i64,
    pub owner: Option<Arc<str>>,
    pub lease_until: Option<Timestamp>,
    pub takeovers: u32,
    pub last_event_id: u64,
    pub attempt: u32,
    pub own: Usage,
    pub total: Usage,
    /// `sync` or `async`: how the run goes on.
    pub mode: &'static str,
    pub queue: Option<Arc<str>>,
    pub available_at: Option<Timestamp>,
    pub tries: u32,
}

/// Columns that are written only when they change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the run's row")]
pub struct Standing {
    pub status: String,
    pub owner: Option<Arc<str>>,
    pub started_at: Option<Timestamp>,
    pub rested_at: Option<Timestamp>,
    pub awaiting_pause: Option<Id>,
}

impl RunUpdate {
    /// What it makes of the columns that are written only when they change.
    pub fn standing(&self) -> Standing {
        Standing {
            status: self.status.to_owned(),
            owner: self.owner.clone(),
            started_at: self.started_at,
            rested_at: self.rested_at,
            awaiting_pause: self.awaiting_pause,
        }
    }
}

impl RunRow {
    /// The columns that are written only when they change.
    pub fn standing(&self) -> Standing {
        Standing {
            status: self.status.clone(),
            owner: self.owner.as_deref().map(Arc::from),
            started_at: self.started_at,
            rested_at: self.rested_at,
            awaiting_pause: self.awaiting_pause,
        }
    }

    /// The run went on before it was stored.
    pub fn go_on(&mut self, now: &RunUpdate) {
        now.status.clone_into(&mut self.status);
        self.started_at = now.started_at;
        self.finished_at = now.finished_at;
        self.working_ms = now.working_ms;
        self.waiting_ms = now.waiting_ms;
        self.rested_at = now.rested_at;
        replace(&mut self.awaiting_node, now.awaiting_node.as_deref());
        self.awaiting_pause = now.awaiting_pause;
        self.error.clone_from(&now.error);
        self.fence = now.fence;
        replace(&mut self.owner, now.owner.as_deref());
        self.lease_until = now.lease_until;
        self.takeovers = now.takeovers;
        self.last_event_id = now.last_event_id;
        self.attempt = now.attempt;
        self.own = now.own;
        self.total = now.total;
        now.mode.clone_into(&mut self.mode);
        replace(&mut self.queue, now.queue.as_deref());
        self.available_at = now.available_at;
        self.tries = now.tries;
    }
}

fn replace(text: &mut Option<String>, now: Option<&str>) {
    if text.as_deref() != now {
        *text = now.map(str::to_owned);
    }
}

/// What the rest of an append needs to know of its run.
pub(in crate::store) struct Updated {
    pub(in crate::store) no: i64,
    pub(in crate::store) root: i64,
    pub(in crate::store) entity: (EntityKind, Id),
    pub(in crate::store) top: bool,
    pub(in crate::store) started_at: Option<Timestamp>,
}

/// Sets a run's row, or refuses: another owner, or another head.
///
/// Columns with indexes, and those that change together with the status, owner or pause, are written only then. A write may be held up while its
/// owner renews the lease: the lease of one owner only moves on.
pub(in crate::store) fn update(tx: &mut Tx<'_>, append: &Append, head: Seq) -> Result<Updated, StoreError> {
    match &append.known {
        Some(known) => update_known(tx, append, known, head),
        None => update_read(tx, append, head),
    }
}

/// The row of a run that its owner knows: one statement, and one more when it begins.
fn update_known(tx: &mut Tx<'_>, append: &Append, known: &Known, head: Seq) -> Result<Updated, StoreError> {
    let row = &append.row;
    let mut values = Vec::with_capacity(37);
    let id = append.run.text();
    values.extend([Param::from(known.no), (&id).into()]);
    values.extend(counters(append, head));
    // The number leads to the row; by the id it is this run's, whatever became of the number since.
    let changed = if known.stands == row.standing() && row.error.is_none() && row.reply.is_none() {
        tx.execute(
            "UPDATE #runs SET head = $5, fence = $6, working_ms = $7, waiting_ms = $8, takeovers = $9, last_event_id = $10, attempt = $11, \
             own_prompt = $12, own_completion = $13, own_cached = $14, own_cache_write = $15, own_reasoning = $16, own_cost = $17, \
             own_unpriced = $18, total_prompt = $19, total_completion = $20, total_cached = $21, total_cache_write = $22, \
             total_reasoning = $23, total_cost = $24, total_unpriced = $25 WHERE no = $1 AND id = $2 AND head = $3 AND fence = $4",
            &values,
        )?
    } else {
        let texts = Texts::of(row)?;
        values.extend(indexed(row, &texts));
        tx.execute(
            "UPDATE #runs SET head = $5, fence = $6, working_ms = $7, waiting_ms = $8, takeovers = $9, last_event_id = $10, attempt = $11, \
             own_prompt = $12, own_completion = $13, own_cached = $14, own_cache_write = $15, own_reasoning = $16, own_cost = $17, \
             own_unpriced = $18, total_prompt = $19, total_completion = $20, total_cached = $21, total_cache_write = $22, \
             total_reasoning = $23, total_cost = $24, total_unpriced = $25, \
             status = $26, finished_at = $27, rested_at = $28, awaiting_node = $29, awaiting_pause = $30, error = $31, \
             owner = $32, \
             lease_until = CASE WHEN owner = $32 AND lease_until > $33 THEN lease_until ELSE $33 END, \
             mode = $34, queue = $35, available_at = $36, tries = $37, \
             cancel_requested = CASE WHEN $27 IS NULL THEN cancel_requested ELSE 0 END WHERE no = $1 AND id = $2 AND head = $3 AND fence = $4",
            &values,
        )?
    };
    if changed == 0 {
        return Err(StoreError::Fenced);
    }
    if known.stands.started_at != row.started_at {
        start(tx, known.no, row)?;
    }
    let updated = Updated {
        no: known.no,
        root: known.no,
        entity: (known.entity_type, known.entity_id),
        top: true,
        started_at: row.started_at,
    };
    keep_reply(tx, known.no, row.reply.as_deref())?;
    count_beginning(tx, append, &updated, known.stands.started_at);
    Ok(updated)
}

/// A run counts for usage from its beginning.
fn count_beginning(tx: &mut Tx<'_>, append: &Append, updated: &Updated, before: Option<Timestamp>) {
    if let Some(started) = updated.started_at.filter(|_| before.is_none() && updated.top) {
        usage::count_run(tx, &append.tenant, started, updated.entity, 1);
    }
}

/// What is expected of a row, and what every append changes in it.
fn counters(append: &Append, head: Seq) -> Vec<Param<'static>> {
    let row = &append.row;
    let mut values = vec![
        Param::from(append.expect_head),
        append.expect_fence.into(),
        head.into(),
        row.fence.into(),
        row.working_ms.into(),
        row.waiting_ms.into(),
        row.takeovers.into(),
        row.last_event_id.into(),
        row.attempt.into(),
    ];
    values.extend(usage_params(&row.own));
    values.extend(usage_params(&row.total));
    values
}

/// The row of a run of which only the id is known.
fn update_read(tx: &mut Tx<'_>, append: &Append, head: Seq) -> Result<Updated, StoreError> {
    let row = &append.row;
    let id = append.run.text();
    let mut values = vec![Param::from(&id), (&append.tenant).into()];
    values.extend(counters(append, head));
    let pause = row.awaiting_pause.as_ref().map(Id::text);
    let found = tx.query_one(
        "UPDATE #runs SET head = $5, fence = $6, working_ms = $7, waiting_ms = $8, takeovers = $9, last_event_id = $10, attempt = $11, \
         own_prompt = $12, own_completion = $13, own_cached = $14, own_cache_write = $15, own_reasoning = $16, own_cost = $17, \
         own_unpriced = $18, total_prompt = $19, total_completion = $20, total_cached = $21, total_cache_write = $22, \
         total_reasoning = $23, total_cost = $24, total_unpriced = $25 \
         WHERE id = $1 AND tenant = $2 AND head = $3 AND fence = $4 \
         RETURNING no, root, entity_type, entity_id, parent, status, owner, started_at, awaiting_pause, rested_at",
        &values,
        |found| {
            let same = found.text(5)? == row.status
                && found.opt_text(6)? == row.owner.as_deref()
                && found.opt_int(7)?.map(Timestamp) == row.started_at
                && found.opt_text(8)? == pause.as_deref()
                && found.opt_int(9)?.map(Timestamp) == row.rested_at
                && row.error.is_none()
                && row.reply.is_none();
            let updated = Updated {
                no: found.int(0)?,
                root: found.opt_int(1)?.map_or_else(|| found.int(0), Ok)?,
                entity: (entity_kind(found.text(2)?)?, found.id(3)?),
                top: found.opt_text(4)?.is_none(),
                started_at: row.started_at,
            };
            Ok((updated, same, found.opt_int(7)?.map(Timestamp)))
        },
    )?;
    let Some((updated, same, began)) = found else { return Err(StoreError::Fenced) };
    if !same {
        update_indexed(tx, updated.no, row)?;
    }
    if began != row.started_at {
        start(tx, updated.no, row)?;
    }
    count_beginning(tx, append, &updated, began);
    Ok(updated)
}

/// Columns that are kept as text.
struct Texts {
    error: Option<String>,
    pause: Option<IdText>,
}

impl Texts {
    fn of(row: &RunUpdate) -> Result<Self, StoreError> {
        Ok(Self { error: json_of(row.error.as_ref())?, pause: row.awaiting_pause.as_ref().map(Id::text) })
    }
}

/// Columns that change with where the run stands.
fn indexed<'a>(row: &'a RunUpdate, texts: &'a Texts) -> [Param<'a>; 12] {
    let time = |at: Option<Timestamp>| Param::from(at.map(|at| at.0));
    [
        row.status.into(),
        time(row.finished_at),
        time(row.rested_at),
        row.awaiting_node.as_ref().into(),
        texts.pause.as_ref().into(),
        texts.error.as_ref().into(),
        row.owner.as_ref().into(),
        time(row.lease_until),
        row.mode.into(),
        row.queue.as_ref().into(),
        time(row.available_at),
        row.tries.into(),
    ]
}

fn update_indexed(tx: &mut Tx<'_>, no: i64, row: &RunUpdate) -> Result<(), StoreError> {
    let texts = Texts::of(row)?;
    let mut values = vec![Param::from(no)];
    values.extend(indexed(row, &texts));
    tx.send(
        "UPDATE #runs SET \
         cancel_requested = CASE WHEN $3 IS NULL THEN cancel_requested ELSE 0 END, \
         status = $2, finished_at = $3, rested_at = $4, awaiting_node = $5, awaiting_pause = $6, error = $7, \
         owner = $8, lease_until = CASE WHEN owner = $8 AND lease_until > $9 THEN lease_until ELSE $9 END, \
         mode = $10, queue = $11, available_at = $12, tries = $13 WHERE no = $1",
        &values,
    )?;
    keep_reply(tx, no, row.reply.as_deref())
}

/// Apart from the rest: what is set moves in its index, also when it stays the same.
fn start(tx: &mut Tx<'_>, no: i64, row: &RunUpdate) -> Result<(), StoreError> {
    tx.send("UPDATE #runs SET started_at = $2 WHERE no = $1", params![no, row.started_at.map(|at| at.0)])
}

/// Keeps the reply for search.
pub(in crate::store) fn keep_reply(tx: &mut Tx<'_>, no: i64, reply: Option<&str>) -> Result<(), StoreError> {
    let Some(reply) = reply else { return Ok(()) };
    tx.send(
        "INSERT INTO #run_replies (run, reply) VALUES ($1, $2) ON CONFLICT (run) DO UPDATE SET reply = excluded.reply",
        params![no, reply],
    )
}
