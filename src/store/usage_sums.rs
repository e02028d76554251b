//! Owns the sums of usage by hour and day: what is added waits as one row of a transaction, until much is put into the sums at once.
//!
//! A run stored alone would change a dozen sums: its hour and its day, of its entity and of all, by model and not. As rows that wait it
//! changes none, and nobody waits for another's sums. Whoever reads a sum adds what waits.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};

use super::db::{Param, Row, Tx, params};
use super::error::StoreError;
use super::usage_waiting::{self, Item};
use super::usage_window::{DAY, HOUR};
use crate::model::Timestamp;
use crate::model::usage::Usage;

/// About so many records may wait, so that reading them takes less than a millisecond.
const MOST: i64 = 1024;
/// One in so many transactions looks how many wait; so does each that adds more than so many.
const LOOK: u64 = 64;
/// Records of one row.
const CHUNK: usize = 64;

/// A number of runs or calls and their figures, added to sums or taken from them; `unpriced` counts calls. Money is kept in
/// two columns, since a sum of it in 10⁻¹² of a small currency can be larger than a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum(pub(super) [i64; 9]);

/// How many of the smallest parts are one of the larger parts of a cost.
const PARTS: i64 = 1_000_000_000;

impl Sum {
    pub(super) fn new(n: i64, usage: &Usage) -> Self {
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let tokens = &usage.tokens;
        Self([
            n,
            count(tokens.prompt),
            count(tokens.completion),
            count(tokens.cached),
            count(tokens.cache_write),
            count(tokens.reasoning),
            i64::from(usage.unpriced),
            usage.cost.0 / PARTS,
            usage.cost.0 % PARTS,
        ])
    }

    /// Nine columns from `first` on.
    pub(super) fn at(row: &Row<'_>, first: usize) -> Result<Self, StoreError> {
        let mut figures = [0; 9];
        for (column, figure) in (first..).zip(&mut figures) {
            *figure = row.int(column)?;
        }
        Ok(Self(figures))
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (figure, more) in self.0.iter_mut().zip(other.0) {
            *figure = figure.saturating_add(more);
        }
    }

    /// The same with the other sign.
    pub(super) fn negated(self) -> Self {
        Self(self.0.map(|figure| -figure))
    }

    /// The figures without the number.
    pub(super) fn uncounted(mut self) -> Self {
        self.0[0] = 0;
        self
    }

    /// The cost of its two parts.
    pub(super) fn cost(&self) -> i128 {
        i128::from(self.0[7]) * i128::from(PARTS) + i128::from(self.0[8])
    }
}

/// An hour of UTC of a tenant's agent or workflow, which sums are added up from; of a sum also a day, and no entity for all of the type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hour {
    pub(super) tenant: String,
    pub(super) entity_type: String,
    pub(super) entity_id: String,
    pub(super) start: i64,
}

impl Hour {
    /// The hour of a moment.
    pub(super) fn of(tenant: &str, entity: (&str, &str), at: Timestamp) -> Self {
        let start = at.0 - at.0.rem_euclid(HOUR);
        Self { tenant: tenant.to_owned(), entity_type: entity.0.to_owned(), entity_id: entity.1.to_owned(), start }
    }
}

/// What runs and calls add to sums.
#[derive(Debug, Default)]
pub(super) struct Counted {
    runs: BTreeMap<Hour, Sum>,
    /// By provider and model.
    calls: BTreeMap<(Hour, String, String), Sum>,
}

impl Counted {
    /// Adds to the sums of runs of the hour in which a top-level run began.
    pub(super) fn run(&mut self, hour: Hour, sum: &Sum) {
        self.runs.entry(hour).or_default().add(sum);
    }

    /// Adds to the sums of a model in the hour in which a call began.
    pub(super) fn call(&mut self, hour: Hour, (provider, model): (&str, &str), sum: &Sum) {
        self.calls.entry((hour, provider.to_owned(), model.to_owned())).or_default().add(sum);
    }

    /// What another job adds, too.
    pub(super) fn join(&mut self, other: Self) {
        for (hour, sum) in other.runs {
            self.runs.entry(hour).or_default().add(&sum);
        }
        for (of, sum) in other.calls {
            self.calls.entry(of).or_default().add(&sum);
        }
    }

    /// Lets it wait; puts what waits into the sums when that has become much.
    pub(super) fn store(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let mut waiting: BTreeMap<&str, Vec<Item<'_>>> = BTreeMap::new();
        for (hour, sum) in &self.runs {
            waiting.entry(&hour.tenant).or_default().push(Item::new(hour, None, *sum));
        }
        for ((hour, provider, model), sum) in &self.calls {
            waiting.entry(&hour.tenant).or_default().push(Item::new(hour, Some((provider, model)), *sum));
        }
        let mut added = 0;
        for (tenant, items) in waiting {
            added += items.len();
            for chunk in items.chunks(CHUNK) {
                usage_waiting::add(tx, tenant, chunk)?;
            }
        }
        let looks = added >= CHUNK || (added > 0 && RandomState::new().hash_one(added).is_multiple_of(LOOK));
        if looks && usage_waiting::count(tx)? >= MOST { fold(tx) } else { Ok(()) }
    }
}

/// Puts everything that waits into the sums.
pub(super) fn fold(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.alone("usage", "")?;
    let (mut runs, mut calls) = (BTreeMap::new(), BTreeMap::new());
    usage_waiting::take(tx, &mut |tenant, item| {
        for (entity_id, width) in [(item.entity_id, HOUR), (item.entity_id, DAY), ("", HOUR), ("", DAY)] {
            let of = Hour {
                tenant: tenant.to_owned(),
                entity_type: item.entity_type.to_owned(),
                entity_id: entity_id.to_owned(),
                start: item.start - item.start.rem_euclid(width),
            };
            let sum: &mut Sum = match item.model {
                None => runs.entry((of, width)).or_default(),
                Some((provider, model)) => calls.entry((of, width, provider.to_owned(), model.to_owned())).or_default(),
            };
            sum.add(&item.sum);
        }
    })?;
    for ((of, width), sum) in &runs {
        add_runs(tx, params![&of.tenant, &of.entity_type, &of.entity_id, *width, of.start], sum)?;
    }
    for ((of, width, provider, model), sum) in &calls {
        add_calls(tx, params![&of.tenant, &of.entity_type, &of.entity_id, *width, of.start, provider, model], sum)?;
    }
    Ok(())
}

fn add_runs(tx: &mut Tx<'_>, of: &[Param<'_>], sum: &Sum) -> Result<(), StoreError> {
    let mut values = of.to_vec();
    values.extend(sum.0.map(Param::from));
    tx.send(
        "INSERT INTO #usage_runs AS s (tenant, entity_type, entity_id, width, start, n, \
         prompt, completion, cached, cache_write, reasoning, unpriced, cost_milli, cost_pico) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) \
         ON CONFLICT (tenant, entity_type, entity_id, width, start) DO UPDATE SET n = s.n + excluded.n, \
         prompt = s.prompt + excluded.prompt, completion = s.completion + excluded.completion, \
         cached = s.cached + excluded.cached, cache_write = s.cache_write + excluded.cache_write, \
         reasoning = s.reasoning + excluded.reasoning, unpriced = s.unpriced + excluded.unpriced, \
         cost_milli = s.cost_milli + excluded.cost_milli, cost_pico = s.cost_pico + excluded.cost_pico",
        &values,
    )
}

fn add_calls(tx: &mut Tx<'_>, of: &[Param<'_>], sum: &Sum) -> Result<(), StoreError> {
    let mut values = of.to_vec();
    values.extend(sum.0.map(Param::from));
    tx.send(
        "INSERT INTO #usage_models AS s (tenant, entity_type, entity_id, width, start, provider, model, n, \
         prompt, completion, cached, cache_write, reasoning, unpriced, cost_milli, cost_pico) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) \
         ON CONFLICT (tenant, entity_type, entity_id, width, start, provider, model) DO UPDATE SET n = s.n + excluded.n, \
         prompt = s.prompt + excluded.prompt, completion = s.completion + excluded.completion, \
         cached = s.cached + excluded.cached, cache_write = s.cache_write + excluded.cache_write, \
         reasoning = s.reasoning + excluded.reasoning, unpriced = s.unpriced + excluded.unpriced, \
         cost_milli = s.cost_milli + excluded.cost_milli, cost_pico = s.cost_pico + excluded.cost_pico",
        &values,
    )
}
