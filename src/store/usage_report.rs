//! Owns the usage of a window of time: totals and breakdowns, from sums by hour and day where they suffice.

use std::collections::BTreeMap;
use std::collections::HashSet;

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::db::{Row, Tx, params};
use super::error::StoreError;
use super::runs::entity_kind;
use super::usage::{DAY, HOUR};
use crate::model::event::EntityKind;
use crate::model::{Id, Timestamp};

/// What is asked.
#[derive(Clone, Debug)]
pub struct UsageQuery {
    /// The first day.
    pub from: Date,
    /// The last day.
    pub to: Date,
    /// Where days begin.
    pub zone: TimeZone,
    /// Of agents or workflows.
    pub entity_type: Option<EntityKind>,
    /// Of this agent or workflow.
    pub entity_id: Option<Id>,
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
    fn add(&mut self, other: &Self) {
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
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the fields are those of the usage export")]
pub enum Of {
    Model { provider: String, model: String },
    Entity { entity_type: String, entity_id: String, entity_name: Option<String> },
    Day { date: String },
    Thread { thread_id: String },
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
pub fn report(tx: &mut Tx<'_>, tenant: &str, query: &UsageQuery) -> Result<UsageReport, StoreError> {
    let window = Window { from: midnight(query.from, &query.zone)?, to: midnight(next(query.to)?, &query.zone)? };
    let (totals, breakdown) = match &query.model {
        Some(model) => of_model(tx, tenant, query, model, window)?,
        None => {
            let totals = runs_in(tx, tenant, query, window)?;
            (totals, breakdown(tx, tenant, query, window)?)
        }
    };
    Ok(UsageReport { window: (Timestamp(window.from), Timestamp(window.to - 1)), totals, breakdown })
}

fn next(day: Date) -> Result<Date, StoreError> {
    day.tomorrow().map_err(|error| StoreError::Fault(error.to_string()))
}

fn midnight(day: Date, zone: &TimeZone) -> Result<i64, StoreError> {
    let start = zone.to_zoned(day.at(0, 0, 0, 0)).map_err(|error| StoreError::Fault(error.to_string()))?;
    Ok(start.timestamp().as_millisecond())
}

fn breakdown(
    tx: &mut Tx<'_>,
    tenant: &str,
    query: &UsageQuery,
    window: Window,
) -> Result<Vec<(Of, Totals)>, StoreError> {
    match query.group_by {
        None => Ok(Vec::new()),
        Some(GroupBy::Model) => models_in(tx, tenant, query, window),
        Some(GroupBy::Entity) => entities_in(tx, tenant, query, window),
        Some(GroupBy::Day) => days_in(tx, tenant, query),
        Some(GroupBy::Thread) => threads_in(tx, tenant, query, window),
    }
}

/// From the first up to, without, the second.
#[derive(Clone, Copy)]
struct Window {
    from: i64,
    to: i64,
}

/// A window as whole days of UTC, whole hours, and the rest of hours.
#[derive(Default)]
struct Pieces {
    sums: Vec<(i64, Window)>,
    rows: Vec<Window>,
}

impl Pieces {
    fn of(window: Window) -> Self {
        let mut pieces = Self::default();
        let (from, to) = (ceil(window.from, DAY), floor(window.to, DAY));
        if from < to {
            pieces.hours(Window { from: window.from, to: from });
            pieces.sums.push((DAY, Window { from, to }));
            pieces.hours(Window { from: to, to: window.to });
        } else {
            pieces.hours(window);
        }
        pieces
    }

    fn hours(&mut self, window: Window) {
        let (from, to) = (ceil(window.from, HOUR), floor(window.to, HOUR));
        if from < to {
            self.sums.push((HOUR, Window { from, to }));
            self.rest(Window { from: window.from, to: from });
            self.rest(Window { from: to, to: window.to });
        } else {
            self.rest(window);
        }
    }

    fn rest(&mut self, window: Window) {
        if window.from < window.to {
            self.rows.push(window);
        }
    }
}

const fn floor(at: i64, width: i64) -> i64 {
    at - at.rem_euclid(width)
}

const fn ceil(at: i64, width: i64) -> i64 {
    floor(at + width - 1, width)
}

/// The sums that a query's entity leads to: type and id, an empty id for all of the type.
fn scopes(query: &UsageQuery) -> Vec<(&'static str, String)> {
    let id = query.entity_id.map(|id| id.to_string()).unwrap_or_default();
    let kinds = query.entity_type.map_or_else(|| vec!["agent", "workflow"], |kind| vec![kind.as_str()]);
    kinds.into_iter().map(|kind| (kind, id.clone())).collect()
}

/// Figures from `first` on: five counts, cost, unpriced.
fn figures(row: &Row<'_>, first: usize, run_count: u64) -> Result<Totals, StoreError> {
    let figure = |column: usize| Ok::<_, StoreError>(u64::try_from(row.int(first + column)?).unwrap_or(0));
    Ok(Totals {
        prompt: figure(0)?,
        completion: figure(1)?,
        cached: figure(2)?,
        cache_write: figure(3)?,
        reasoning: figure(4)?,
        cost: i128::from(row.int(first + 5)?),
        unpriced: row.int(first + 6)? > 0,
        run_count,
    })
}

/// Top-level runs that began in a window.
fn runs_in(tx: &mut Tx<'_>, tenant: &str, query: &UsageQuery, window: Window) -> Result<Totals, StoreError> {
    let mut totals = Totals::default();
    for (kind, id) in scopes(query) {
        totals.add(&runs_of(tx, tenant, kind, &id, window)?);
    }
    Ok(totals)
}

fn runs_of(tx: &mut Tx<'_>, tenant: &str, kind: &str, id: &str, window: Window) -> Result<Totals, StoreError> {
    let mut totals = Totals::default();
    let pieces = Pieces::of(window);
    for (width, piece) in pieces.sums {
        tx.query_each(
            "SELECT n, prompt, completion, cached, cache_write, reasoning, cost, unpriced FROM #usage_runs \
             WHERE tenant = $1 AND entity_type = $2 AND entity_id = $3 AND width = $4 AND start >= $5 AND start < $6",
            params![tenant, kind, id, width, piece.from, piece.to],
            &mut |row| {
                let runs = u64::try_from(row.int(0)?).unwrap_or(0);
                totals.add(&figures(row, 1, runs)?);
                Ok(())
            },
        )?;
    }
    for piece in pieces.rows {
        tx.query_each(
            "SELECT total_prompt, total_completion, total_cached, total_cache_write, total_reasoning, total_cost, total_unpriced \
             FROM #runs WHERE parent IS NULL AND tenant = $1 AND started_at >= $2 AND started_at < $3 \
             AND entity_type = $4 AND ($5 = '' OR entity_id = $5)",
            params![tenant, piece.from, piece.to, kind, id],
            &mut |row| {
                totals.add(&figures(row, 0, 1)?);
                Ok(())
            },
        )?;
    }
    Ok(totals)
}

/// Calls that began in a window, by model.
fn models_in(
    tx: &mut Tx<'_>,
    tenant: &str,
    query: &UsageQuery,
    window: Window,
) -> Result<Vec<(Of, Totals)>, StoreError> {
    let mut found: BTreeMap<(String, String), (i64, Totals)> = BTreeMap::new();
    let mut add = |row: &Row<'_>, calls: i64, first: usize| {
        let entry = found.entry((row.text(0)?.to_owned(), row.text(1)?.to_owned())).or_default();
        entry.0 += calls;
        entry.1.add(&figures(row, first, 0)?);
        Ok(())
    };
    let pieces = Pieces::of(window);
    for (kind, id) in scopes(query) {
        for (width, piece) in &pieces.sums {
            tx.query_each(
                "SELECT provider, model, n, prompt, completion, cached, cache_write, reasoning, cost, unpriced FROM #usage_models \
                 WHERE tenant = $1 AND entity_type = $2 AND entity_id = $3 AND width = $4 AND start >= $5 AND start < $6",
                params![tenant, kind, &id, *width, piece.from, piece.to],
                &mut |row| add(row, row.int(2)?, 3),
            )?;
        }
        for piece in &pieces.rows {
            // Every model has its own range in the index on spans.
            tx.query_each(
                "SELECT s.provider, s.model, s.prompt, s.completion, s.cached, s.cache_write, s.reasoning, s.cost, s.unpriced \
                 FROM (SELECT DISTINCT model FROM #spans WHERE tenant = $1) m \
                 JOIN #spans s ON s.tenant = $1 AND s.model = m.model AND s.started_at >= $2 AND s.started_at < $3 \
                 JOIN #runs r ON r.no = s.root WHERE r.entity_type = $4 AND ($5 = '' OR r.entity_id = $5)",
                params![tenant, piece.from, piece.to, kind, &id],
                &mut |row| add(row, 1, 2),
            )?;
        }
    }
    let entry = |((provider, model), (_, totals))| (Of::Model { provider, model }, totals);
    Ok(found.into_iter().filter(|(_, (calls, _))| *calls > 0).map(entry).collect())
}

/// Top-level runs that began in a window, by agent or workflow.
fn entities_in(
    tx: &mut Tx<'_>,
    tenant: &str,
    query: &UsageQuery,
    window: Window,
) -> Result<Vec<(Of, Totals)>, StoreError> {
    let mut found = Vec::new();
    for (kind, wanted) in scopes(query) {
        let ids = if wanted.is_empty() { entity_ids(tx, tenant, kind)? } else { vec![wanted] };
        for id in ids {
            let totals = runs_of(tx, tenant, kind, &id, window)?;
            if totals.run_count > 0 {
                let entity_name = entity_name(tx, tenant, kind, &id)?;
                found.push((Of::Entity { entity_type: kind.to_owned(), entity_id: id, entity_name }, totals));
            }
        }
    }
    Ok(found)
}

/// The entities that ever had a run, in order: one step through the index each.
fn entity_ids(tx: &mut Tx<'_>, tenant: &str, kind: &str) -> Result<Vec<String>, StoreError> {
    let mut ids = Vec::new();
    let mut last = String::new();
    while let Some(id) = tx.query_one(
        "SELECT entity_id FROM #usage_runs WHERE tenant = $1 AND entity_type = $2 AND entity_id > $3 ORDER BY entity_id LIMIT 1",
        params![tenant, kind, &last],
        |row| Ok(row.text(0)?.to_owned()),
    )? {
        last.clone_from(&id);
        ids.push(id);
    }
    Ok(ids)
}

fn entity_name(tx: &mut Tx<'_>, tenant: &str, kind: &str, id: &str) -> Result<Option<String>, StoreError> {
    tx.query_one(
        "SELECT name FROM #definitions WHERE tenant = $1 AND kind = $2 AND id = $3",
        params![tenant, kind, id],
        |row| Ok(row.text(0)?.to_owned()),
    )
}

/// Top-level runs by the day on which they began.
fn days_in(tx: &mut Tx<'_>, tenant: &str, query: &UsageQuery) -> Result<Vec<(Of, Totals)>, StoreError> {
    let mut found = Vec::new();
    let mut day = query.from;
    while day <= query.to {
        let after = next(day)?;
        let window = Window { from: midnight(day, &query.zone)?, to: midnight(after, &query.zone)? };
        let totals = runs_in(tx, tenant, query, window)?;
        if totals.run_count > 0 {
            found.push((Of::Day { date: day.to_string() }, totals));
        }
        day = after;
    }
    Ok(found)
}

/// Top-level runs by thread, in order of the first run.
fn threads_in(
    tx: &mut Tx<'_>,
    tenant: &str,
    query: &UsageQuery,
    window: Window,
) -> Result<Vec<(Of, Totals)>, StoreError> {
    let mut found = Groups::default();
    let id = query.entity_id.map(|id| id.to_string());
    tx.query_each(
        "SELECT thread, total_prompt, total_completion, total_cached, total_cache_write, total_reasoning, total_cost, total_unpriced \
         FROM #runs WHERE parent IS NULL AND tenant = $1 AND started_at >= $2 AND started_at < $3 \
         AND ($4 IS NULL OR entity_type = $4) AND ($5 IS NULL OR entity_id = $5) ORDER BY started_at, no",
        params![tenant, window.from, window.to, query.entity_type.map(EntityKind::as_str), id.as_ref()],
        &mut |row| {
            found.add(Of::Thread { thread_id: row.text(0)?.to_owned() }, &figures(row, 1, 1)?);
            Ok(())
        },
    )?;
    Ok(found.entries)
}

/// Entries in the order in which they were first seen.
#[derive(Default)]
struct Groups {
    entries: Vec<(Of, Totals)>,
    places: BTreeMap<Of, usize>,
    roots: HashSet<(usize, i64)>,
}

impl Groups {
    fn add(&mut self, of: Of, totals: &Totals) -> usize {
        let next = self.entries.len();
        let place = *self.places.entry(of.clone()).or_insert(next);
        if place == next {
            self.entries.push((of, Totals::default()));
        }
        self.entries[place].1.add(totals);
        place
    }

    /// Counts a top-level run once for each entry.
    fn count(&mut self, place: usize, root: i64) {
        if self.roots.insert((place, root)) {
            self.entries[place].1.run_count += 1;
        }
    }
}

/// Calls of one model that began in a window, nested ones too, credited to their top-level runs.
fn of_model(
    tx: &mut Tx<'_>,
    tenant: &str,
    query: &UsageQuery,
    model: &str,
    window: Window,
) -> Result<(Totals, Vec<(Of, Totals)>), StoreError> {
    let id = query.entity_id.map(|id| id.to_string());
    let mut totals = Totals::default();
    let mut groups = Groups::default();
    let mut roots = HashSet::new();
    tx.query_each(
        "SELECT s.provider, s.root, s.started_at, r.entity_type, r.entity_id, r.thread, \
         s.prompt, s.completion, s.cached, s.cache_write, s.reasoning, s.cost, s.unpriced \
         FROM #spans s JOIN #runs r ON r.no = s.root \
         WHERE s.tenant = $1 AND s.model = $2 AND s.started_at >= $3 AND s.started_at < $4 \
         AND ($5 IS NULL OR r.entity_type = $5) AND ($6 IS NULL OR r.entity_id = $6) ORDER BY s.started_at",
        params![tenant, model, window.from, window.to, query.entity_type.map(EntityKind::as_str), id.as_ref()],
        &mut |row| {
            let call = figures(row, 6, 0)?;
            totals.add(&call);
            roots.insert(row.int(1)?);
            if let Some(of) = group_of(query, model, row)? {
                let place = groups.add(of, &call);
                groups.count(place, row.int(1)?);
            }
            Ok(())
        },
    )?;
    totals.run_count = roots.len() as u64;
    let mut entries = groups.entries;
    for (of, _) in &mut entries {
        if let Of::Entity { entity_type, entity_id, entity_name: name } = of {
            *name = entity_name(tx, tenant, entity_type, entity_id)?;
        }
    }
    if query.group_by != Some(GroupBy::Thread) {
        entries.sort_by(|one, other| one.0.cmp(&other.0));
    }
    Ok((totals, entries))
}

fn group_of(query: &UsageQuery, model: &str, row: &Row<'_>) -> Result<Option<Of>, StoreError> {
    Ok(match query.group_by {
        None => None,
        Some(GroupBy::Model) => Some(Of::Model { provider: row.text(0)?.to_owned(), model: model.to_owned() }),
        Some(GroupBy::Entity) => {
            let entity_type = entity_kind(row.text(3)?)?.as_str().to_owned();
            Some(Of::Entity { entity_type, entity_id: row.text(4)?.to_owned(), entity_name: None })
        }
        Some(GroupBy::Day) => {
            let at = jiff::Timestamp::from_millisecond(row.int(2)?).map_err(StoreError::damaged)?;
            Some(Of::Day { date: at.to_zoned(query.zone.clone()).date().to_string() })
        }
        Some(GroupBy::Thread) => Some(Of::Thread { thread_id: row.text(5)?.to_owned() }),
    })
}
