//! Owns usage reports: totals and breakdowns, from sums by hour and day if possible.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::model::event::EntityKind;
use crate::model::{Id, Timestamp};
use crate::store::db::{Row, Tx, params};
use crate::store::error::StoreError;
use crate::store::usage::by_model::{models_in, of_model};
use crate::store::usage::sums::Sum;
use crate::store::usage::waiting::{Item, Waiting};
use crate::store::usage::window::{HOUR, Pieces, Window};

/// What is asked.
#[derive(Clone, Debug)]
pub struct UsageQuery {
    /// The first day.
    pub from: Date,
    /// The last day.
    pub to: Date,
    /// Where days begin.
    pub zone: TimeZone,
    /// Whose top-level runs count: all of a type, or one agent or workflow. In order; nothing = nobody's.
    pub of: Vec<(EntityKind, Option<Id>)>,
    /// Of this model alone.
    pub model: Option<String>,
    /// A breakdown.
    pub group_by: Option<GroupBy>,
}

/// How usage is broken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum GroupBy {
    Model,
    Entity,
    Day,
    Thread,
}

/// Exact figures of several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the usage export")]
pub struct Totals {
    pub prompt: u64,
    pub completion: u64,
    pub cached: u64,
    pub cache_write: u64,
    pub reasoning: u64,
    /// In 10⁻¹² of the currency unit.
    pub cost: i128,
    pub unpriced: bool,
    pub run_count: u64,
}

impl Totals {
    /// The figures of a sum; what it counts are runs.
    pub(in crate::store) fn of(sum: &Sum) -> Result<Self, StoreError> {
        let count = |at: usize| {
            u64::try_from(sum.0[at]).map_err(|_| StoreError::damaged("a sum of usage is negative; make them again with `usage.rebuild`"))
        };
        Ok(Self {
            prompt: count(1)?,
            completion: count(2)?,
            cached: count(3)?,
            cache_write: count(4)?,
            reasoning: count(5)?,
            unpriced: count(6)? > 0,
            cost: sum.cost(),
            run_count: count(0)?,
        })
    }

    pub(in crate::store) fn add(&mut self, other: &Self) {
        self.prompt += other.prompt;
        self.completion += other.completion;
        self.cached += other.cached;
        self.cache_write += other.cache_write;
        self.reasoning += other.reasoning;
        self.cost += other.cost;
        self.unpriced |= other.unpriced;
        self.run_count += other.run_count;
    }
}

/// What an entry of a breakdown is of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the fields are those of the usage export")]
pub enum Of {
    Model { provider: String, model: String },
    Entity { entity_type: &'static str, entity_id: String },
    Day { date: String },
    Thread { thread_id: String },
}

/// What is asked of a window of time, and what waits to be put into the sums.
#[derive(Clone, Copy)]
pub(in crate::store) struct Asked<'a> {
    pub(in crate::store) tenant: &'a str,
    pub(in crate::store) query: &'a UsageQuery,
    pub(in crate::store) window: Window,
    /// What is of hours that reach into the window, oldest first.
    pub(in crate::store) waiting: &'a [Item<'a>],
}

impl Asked<'_> {
    /// The same of one day.
    pub(in crate::store) fn on(&self, day: Date) -> Result<Self, StoreError> {
        let window = Window::days(day, day, &self.query.zone)?;
        Ok(Self { window, waiting: within(self.waiting, window), ..*self })
    }
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageReport {
    /// First and last millisecond of the window.
    pub window: (Timestamp, Timestamp),
    /// Everything together.
    pub totals: Totals,
    /// The breakdown, in order.
    pub breakdown: Vec<(Of, Totals)>,
}

/// The usage of a window.
///
/// # Errors
/// The database; a day that is too far away.
pub fn report(tx: &mut Tx<'_>, tenant: &str, query: &UsageQuery) -> Result<UsageReport, StoreError> {
    let window = Window::days(query.from, query.to, &query.zone)?;
    let waiting = Waiting::read(tx, tenant)?;
    let items = waiting.items()?;
    let asked = Asked { tenant, query, window, waiting: within(&items, window) };
    let (totals, breakdown) = match &query.model {
        Some(model) => of_model(tx, &asked, model)?,
        None => (runs_in(tx, &asked)?, breakdown(tx, &asked)?),
    };
    Ok(UsageReport { window: (Timestamp(window.from), Timestamp(window.to - 1)), totals, breakdown })
}

/// What of records, oldest first, is of hours that reach into a window.
fn within<'a>(items: &'a [Item<'a>], window: Window) -> &'a [Item<'a>] {
    let before = |time: i64| items.partition_point(|item| item.of.start < time);
    &items[before(window.from - HOUR + 1)..before(window.to)]
}

fn breakdown(tx: &mut Tx<'_>, asked: &Asked<'_>) -> Result<Vec<(Of, Totals)>, StoreError> {
    match asked.query.group_by {
        None => Ok(Vec::new()),
        Some(GroupBy::Model) => models_in(tx, asked),
        Some(GroupBy::Entity) => entities_in(tx, asked),
        Some(GroupBy::Day) => days_in(tx, asked),
        Some(GroupBy::Thread) => threads_in(tx, asked),
    }
}

/// Whose sums are read: a type and an id, empty for all of the type.
pub(in crate::store) fn scopes(query: &UsageQuery) -> Vec<(EntityKind, String)> {
    query.of.iter().map(|(kind, id)| (*kind, id.map(|id| id.to_string()).unwrap_or_default())).collect()
}

/// Figures of one run or call: five counts, whether unpriced, cost.
pub(in crate::store) fn figures(row: &Row<'_>, first: usize, run_count: u64) -> Result<Totals, StoreError> {
    Ok(Totals {
        prompt: row.count(first)?,
        completion: row.count(first + 1)?,
        cached: row.count(first + 2)?,
        cache_write: row.count(first + 3)?,
        reasoning: row.count(first + 4)?,
        unpriced: row.int(first + 5)? > 0,
        cost: i128::from(row.int(first + 6)?),
        run_count,
    })
}

/// Top-level runs that began in a window.
fn runs_in(tx: &mut Tx<'_>, asked: &Asked<'_>) -> Result<Totals, StoreError> {
    let mut totals = Totals::default();
    for (kind, id) in scopes(asked.query) {
        totals.add(&runs_of(tx, asked, kind, &id)?);
    }
    Ok(totals)
}

fn runs_of(tx: &mut Tx<'_>, asked: &Asked<'_>, kind: EntityKind, id: &str) -> Result<Totals, StoreError> {
    let mut sum = Sum::default();
    let pieces = Pieces::of(asked.window);
    for (width, piece) in &pieces.sums {
        tx.query_each(
            "SELECT n, prompt, completion, cached, cache_write, reasoning, unpriced, cost_milli, cost_pico FROM #usage_runs \
             WHERE tenant = $1 AND entity_type = $2 AND entity_id = $3 AND width = $4 AND start >= $5 AND start < $6",
            params![asked.tenant, kind.as_str(), id, *width, piece.from, piece.to],
            &mut |row| {
                sum.add(&Sum::at(row, 0)?);
                Ok(())
            },
        )?;
    }
    let runs = asked.waiting.iter().filter(|item| item.of.model.is_none() && pieces.sum_up(item.of.start) && item.is_of(kind, id));
    runs.for_each(|item| sum.add(&item.sum));
    let mut totals = Totals::of(&sum)?;
    for piece in pieces.rows {
        tx.query_each(
            "SELECT total_prompt, total_completion, total_cached, total_cache_write, total_reasoning, total_unpriced, total_cost \
             FROM #runs WHERE parent IS NULL AND tenant = $1 AND started_at >= $2 AND started_at < $3 \
             AND entity_type = $4 AND ($5 = '' OR entity_id = $5)",
            params![asked.tenant, piece.from, piece.to, kind.as_str(), id],
            &mut |row| {
                totals.add(&figures(row, 0, 1)?);
                Ok(())
            },
        )?;
    }
    Ok(totals)
}

/// Top-level runs that began in a window, by agent or workflow.
fn entities_in(tx: &mut Tx<'_>, asked: &Asked<'_>) -> Result<Vec<(Of, Totals)>, StoreError> {
    let mut found = Vec::new();
    for (kind, wanted) in scopes(asked.query) {
        let ids = if wanted.is_empty() { entity_ids(tx, asked, kind)? } else { BTreeSet::from([wanted]) };
        for entity_id in ids {
            let totals = runs_of(tx, asked, kind, &entity_id)?;
            if totals.run_count > 0 {
                found.push((Of::Entity { entity_type: kind.as_str(), entity_id }, totals));
            }
        }
    }
    Ok(found)
}

/// The entities that ever had a run, in order: one step through the index each.
fn entity_ids(tx: &mut Tx<'_>, asked: &Asked<'_>, kind: EntityKind) -> Result<BTreeSet<String>, StoreError> {
    let mut ids: BTreeSet<String> = asked.waiting.iter().filter(|item| item.is_of(kind, "")).map(|item| item.of.entity_id.to_owned()).collect();
    let mut last = String::new();
    while let Some(id) = tx.query_one(
        "SELECT entity_id FROM #usage_runs WHERE tenant = $1 AND entity_type = $2 AND entity_id > $3 ORDER BY entity_id LIMIT 1",
        params![asked.tenant, kind.as_str(), &last],
        |row| Ok(row.text(0)?.to_owned()),
    )? {
        last.clone_from(&id);
        ids.insert(id);
    }
    Ok(ids)
}

/// Top-level runs by the day on which they began.
fn days_in(tx: &mut Tx<'_>, asked: &Asked<'_>) -> Result<Vec<(Of, Totals)>, StoreError> {
    let mut found = Vec::new();
    for day in days(asked.query) {
        let totals = runs_in(tx, &asked.on(day)?)?;
        if totals.run_count > 0 {
            found.push((Of::Day { date: day.to_string() }, totals));
        }
    }
    Ok(found)
}

/// The days of a window.
pub(in crate::store) fn days(query: &UsageQuery) -> impl Iterator<Item = Date> {
    let to = query.to;
    query.from.series(jiff::Span::new().days(1)).take_while(move |day| *day <= to)
}

/// Top-level runs by thread, in order of the first run.
fn threads_in(tx: &mut Tx<'_>, asked: &Asked<'_>) -> Result<Vec<(Of, Totals)>, StoreError> {
    let mut found: Vec<(Of, Totals)> = Vec::new();
    let mut places = BTreeMap::new();
    let wanted = scopes(asked.query);
    tx.query_each(
        "SELECT thread, entity_type, entity_id, \
         total_prompt, total_completion, total_cached, total_cache_write, total_reasoning, total_unpriced, total_cost \
         FROM #runs WHERE parent IS NULL AND tenant = $1 AND started_at >= $2 AND started_at < $3 ORDER BY started_at, no",
        params![asked.tenant, asked.window.from, asked.window.to],
        &mut |row| {
            if !is_wanted(&wanted, row.text(1)?, row.text(2)?) {
                return Ok(());
            }
            let thread = row.text(0)?.to_owned();
            let place = *places.entry(thread.clone()).or_insert(found.len());
            if place == found.len() {
                found.push((Of::Thread { thread_id: thread }, Totals::default()));
            }
            found[place].1.add(&figures(row, 3, 1)?);
            Ok(())
        },
    )?;
    Ok(found)
}

/// Whether a top-level run counts.
pub(in crate::store) fn is_wanted(scopes: &[(EntityKind, String)], kind: &str, id: &str) -> bool {
    scopes.iter().any(|(wanted, one)| wanted.as_str() == kind && (one.is_empty() || one == id))
}
