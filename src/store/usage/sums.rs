//! Owns the sums of usage by hour and day, collected during a transaction.
//!
//! A single run would change a dozen sums: by hour and day, by entity and in total, with and without model. As a pending row it changes none, so
//! transactions do not wait for each other. Readers add the pending rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::event::EntityKind;
use crate::model::usage::Usage;
use crate::model::{Id, Timestamp};
use crate::store::db::{Row, Tx};
use crate::store::error::StoreError;
use crate::store::usage::waiting::{Item, Of, Records};
use crate::store::usage::window::HOUR;
use crate::store::usage::{fold, waiting};

/// A number of runs or calls and their figures, added to sums or taken from them; `unpriced` counts calls. Money is kept in
/// two columns, since a sum of it in 10⁻¹² of a small currency can be larger than a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct Sum(pub(in crate::store) [i64; 9]);

/// How many of the smallest parts are one of the larger parts of a cost.
const PARTS: i64 = 1_000_000_000;

impl Sum {
    pub(in crate::store) fn new(n: i64, usage: &Usage) -> Self {
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
    pub(in crate::store) fn at(row: &Row<'_>, first: usize) -> Result<Self, StoreError> {
        let mut figures = [0; 9];
        for (column, figure) in (first..).zip(&mut figures) {
            *figure = row.int(column)?;
        }
        Ok(Self(figures))
    }

    pub(in crate::store) fn add(&mut self, other: &Self) {
        for (figure, more) in self.0.iter_mut().zip(other.0) {
            *figure = figure.saturating_add(more);
        }
    }

    /// The same with the other sign.
    pub(in crate::store) fn negated(self) -> Self {
        Self(self.0.map(|figure| -figure))
    }

    /// The figures without the number.
    pub(in crate::store) fn uncounted(mut self) -> Self {
        self.0[0] = 0;
        self
    }

    /// The cost of its two parts.
    pub(in crate::store) fn cost(&self) -> i128 {
        i128::from(self.0[7]) * i128::from(PARTS) + i128::from(self.0[8])
    }
}

/// An hour of UTC of a tenant's agent or workflow, which sums are added up from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) struct Hour {
    tenant: Arc<str>,
    entity_type: &'static str,
    entity_id: Id,
    start: i64,
}

impl Hour {
    /// The hour of a moment.
    pub(in crate::store) fn of(tenant: &Arc<str>, (kind, id): (EntityKind, Id), at: Timestamp) -> Self {
        Self { tenant: Arc::clone(tenant), entity_type: kind.as_str(), entity_id: id, start: at.0 - at.0.rem_euclid(HOUR) }
    }

    fn record(&self, model: Option<(&str, &str)>, sum: &Sum, to: &mut Records) {
        let mut id = uuid::Uuid::encode_buffer();
        let entity_id = self.entity_id.0.as_hyphenated().encode_lower(&mut id);
        to.add(&Item { of: Of { entity_type: self.entity_type, entity_id, start: self.start, model }, sum: *sum });
    }
}

/// What runs and calls add to sums.
#[derive(Debug, Default)]
pub(in crate::store) struct Counted {
    runs: BTreeMap<Hour, Sum>,
    /// By provider and model.
    calls: BTreeMap<(Hour, String, String), Sum>,
}

impl Counted {
    /// Adds to the sums of runs of the hour in which a top-level run began.
    pub(in crate::store) fn run(&mut self, hour: Hour, sum: &Sum) {
        self.runs.entry(hour).or_default().add(sum);
    }

    /// Adds to the sums of a model in the hour in which a call began.
    pub(in crate::store) fn call(&mut self, hour: Hour, (provider, model): (&str, &str), sum: &Sum) {
        self.calls.entry((hour, provider.to_owned(), model.to_owned())).or_default().add(sum);
    }

    /// What another job adds, too.
    pub(in crate::store) fn join(&mut self, other: Self) {
        for (hour, sum) in other.runs {
            self.runs.entry(hour).or_default().add(&sum);
        }
        for (of, sum) in other.calls {
            self.calls.entry(of).or_default().add(&sum);
        }
    }

    /// Lets it wait, as one row of each tenant.
    pub(in crate::store) fn store(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let mut waiting: BTreeMap<&str, Records> = BTreeMap::new();
        for (hour, sum) in &self.runs {
            hour.record(None, sum, waiting.entry(&hour.tenant).or_default());
        }
        for ((hour, provider, model), sum) in &self.calls {
            hour.record(Some((provider, model)), sum, waiting.entry(&hour.tenant).or_default());
        }
        for (tenant, records) in waiting {
            waiting::add(tx, tenant, &records)?;
        }
        fold::now_and_then(tx, self.runs.len() + self.calls.len())
    }
}
