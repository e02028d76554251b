//! Owns metered calls: storing one, and its part of the sums.

pub(in crate::store) mod by_model;
pub(in crate::store) mod fold;
pub mod rebuild;
pub mod report;
pub(in crate::store) mod sums;
pub(in crate::store) mod waiting;
pub(in crate::store) mod window;

use std::sync::Arc;

use super::db::{Param, Tx, params};
use super::error::StoreError;
use super::runs::{Updated, entity_kind, usage_at, usage_params};
use crate::model::event::EntityKind;
use crate::model::usage::Usage;
use crate::model::{Id, Timestamp};
use crate::store::usage::sums::{Hour, Sum};

/// A model or embedding call that ended; also one that failed or had no report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanRow {
    /// Its span.
    pub id: Id,
    /// The run that made it: the appending run, or a child run of it.
    pub run: Id,
    /// `llm` or `embedding`.
    pub kind: &'static str,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// When it began.
    pub started_at: Timestamp,
    /// It is shown as a span.
    pub traced: bool,
    /// What it took.
    pub usage: Usage,
}

/// Stores a call and adds it to the sums of its model, and of its top-level run.
pub(super) fn insert_span(
    tx: &mut Tx<'_>,
    tenant: &Arc<str>,
    appending: &Id,
    run: &Updated,
    span: &SpanRow,
) -> Result<(), StoreError> {
    let owner = if span.run == *appending { Some(run.no) } else { number(tx, tenant, &span.run)? };
    let owner = owner.ok_or_else(|| StoreError::Fault(format!("a call belongs to run {}, which is not stored", span.run)))?;
    let id = span.id.text();
    let mut values = vec![
        Param::from(&id),
        tenant.into(),
        owner.into(),
        run.root.into(),
        span.kind.into(),
        (&span.provider).into(),
        (&span.model).into(),
        span.started_at.0.into(),
        span.traced.into(),
    ];
    values.extend(usage_params(&span.usage));
    tx.send(
        "INSERT INTO #spans (id, tenant, run, root, kind, provider, model, started_at, traced, \
         prompt, completion, cached, cache_write, reasoning, cost, unpriced) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
        &values,
    )?;
    let root = root_of(tx, run)?;
    add_call(tx, tenant, &root, (&span.provider, &span.model), span.started_at, Sum::new(1, &span.usage));
    Ok(())
}

fn add_call(
    tx: &mut Tx<'_>,
    tenant: &Arc<str>,
    root: &Root,
    model: (&str, &str),
    at: Timestamp,
    sum: Sum,
) {
    tx.later().counted().call(Hour::of(tenant, root.entity, at), model, &sum);
    if let Some(started) = root.started_at {
        tx.later().counted().run(Hour::of(tenant, root.entity, started), &sum.uncounted());
    }
}

fn number(tx: &mut Tx<'_>, tenant: &str, run: &Id) -> Result<Option<i64>, StoreError> {
    tx.query_one("SELECT no FROM #runs WHERE id = $1 AND tenant = $2", params![&run.text(), tenant], |row| row.int(0))
}

/// What a call's sums are kept under: its top-level run.
pub(super) struct Root {
    pub(super) entity: (EntityKind, Id),
    pub(super) started_at: Option<Timestamp>,
}

fn root_of(tx: &mut Tx<'_>, run: &Updated) -> Result<Root, StoreError> {
    if run.top {
        return Ok(Root { entity: run.entity, started_at: run.started_at });
    }
    read_root(tx, run.root)?.ok_or_else(|| StoreError::damaged("the top-level run of a child run is missing"))
}

pub(super) fn read_root(tx: &mut Tx<'_>, no: i64) -> Result<Option<Root>, StoreError> {
    tx.query_one("SELECT entity_type, entity_id, started_at FROM #runs WHERE no = $1", params![no], |row| {
        Ok(Root { entity: (entity_kind(row.text(0)?)?, row.id(1)?), started_at: row.opt_int(2)?.map(Timestamp) })
    })
}

/// A top-level run began, or is removed (`count` = -1).
pub(super) fn count_run(
    tx: &mut Tx<'_>,
    tenant: &Arc<str>,
    started: Timestamp,
    entity: (EntityKind, Id),
    count: i64,
) {
    tx.later().counted().run(Hour::of(tenant, entity, started), &Sum::new(count, &Usage::default()));
}

/// A stored call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of `SpanRow`")]
pub struct StoredSpan {
    pub id: Id,
    pub kind: String,
    pub provider: String,
    pub model: String,
    pub started_at: Timestamp,
    pub traced: bool,
    pub usage: Usage,
}

/// The calls that a run itself made, oldest first.
pub fn spans_of(tx: &mut Tx<'_>, tenant: &str, run: &Id) -> Result<Vec<StoredSpan>, StoreError> {
    tx.query(
        "SELECT s.id, s.kind, s.provider, s.model, s.started_at, s.traced, s.prompt, s.completion, s.cached, s.cache_write, \
         s.reasoning, s.cost, s.unpriced FROM #runs r JOIN #spans s ON s.run = r.no \
         WHERE r.id = $1 AND r.tenant = $2 ORDER BY s.started_at, s.id",
        params![&run.text(), tenant],
        |row| {
            Ok(StoredSpan {
                id: row.id(0)?,
                kind: row.text(1)?.to_owned(),
                provider: row.text(2)?.to_owned(),
                model: row.text(3)?.to_owned(),
                started_at: Timestamp(row.int(4)?),
                traced: row.truth(5)?,
                usage: usage_at(row, 6)?,
            })
        },
    )
}

/// Removes the calls of a run and takes them from the sums.
pub(super) fn remove_spans(tx: &mut Tx<'_>, tenant: &Arc<str>, run: i64) -> Result<(), StoreError> {
    let spans = tx.query(
        "SELECT root, provider, model, started_at, prompt, completion, cached, cache_write, reasoning, cost, unpriced \
         FROM #spans WHERE run = $1",
        params![run],
        |row| Ok((row.int(0)?, row.text(1)?.to_owned(), row.text(2)?.to_owned(), Timestamp(row.int(3)?), usage_at(row, 4)?)),
    )?;
    for (root, provider, model, at, usage) in spans {
        let Some(root) = read_root(tx, root)? else { continue };
        add_call(tx, tenant, &root, (&provider, &model), at, Sum::new(1, &usage).negated());
    }
    tx.send("DELETE FROM #spans WHERE run = $1", params![run])?;
    Ok(())
}
