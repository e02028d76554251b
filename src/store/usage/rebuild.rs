//! Owns the rebuild of the sums of usage: it computes them from runs and calls in one view of the database and then adds the differences to the
//! stored sums, a few at a time.
//!
//! Concurrent writers of runs, calls and sums can continue: they do not change the differences.

use std::collections::HashMap;
use std::sync::Arc;

use crate::store::Store;
use crate::store::db::{Tx, params};
use crate::store::error::StoreError;
use crate::store::usage::fold::Place;
use crate::store::usage::sums::Sum;
use crate::store::usage::window::{DAY, HOUR};
use crate::store::usage::{fold, waiting};

/// Runs that are added up with one statement.
const RUNS: i64 = 10_000;
/// Sums that are changed in one transaction.
const PIECE: usize = 500;

/// Makes all sums right again. Another one that begins later takes this one's place.
///
/// # Errors
/// The store; what was made right stays so.
pub async fn rebuild(store: &Store) -> Result<(), StoreError> {
    let mine: Arc<str> = uuid::Uuid::new_v4().to_string().into();
    let name = Arc::clone(&mine);
    store.write(move |tx| begin(tx, &name)).await?;
    let off = Arc::new(store.read(Off::read).await?.sums());
    for first in (0..off.len()).step_by(PIECE) {
        let (off, name) = (Arc::clone(&off), Arc::clone(&mine));
        store.write(move |tx| correct(tx, &name, off.iter().skip(first).take(PIECE))).await?;
    }
    Ok(())
}

/// Says that this one makes the sums right from here on. It is said before they are looked at: whatever another one changes is seen, or not done.
pub(in crate::store) fn begin(tx: &mut Tx<'_>, name: &str) -> Result<(), StoreError> {
    tx.alone("usage", "")?;
    tx.send(
        "INSERT INTO #meta (key, value) VALUES ('usage_rebuild', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        params![name],
    )
}

/// Adds to sums what they are off by, as long as no other one has begun.
pub(in crate::store) fn correct<'a>(tx: &mut Tx<'_>, name: &str, off: impl Iterator<Item = &'a WrongSum>) -> Result<(), StoreError> {
    tx.alone("usage", "")?;
    let begun = tx.query_one("SELECT value FROM #meta WHERE key = 'usage_rebuild'", &[], |row| Ok(row.text(0)?.to_owned()))?;
    if begun.as_deref() != Some(name) {
        return Err(StoreError::Conflict("another `usage.rebuild` began after this one and makes the sums right; wait for its end".to_owned()));
    }
    for wrong in off {
        let place = wrong.place();
        fold::add(tx, &place, &wrong.sum)?;
        remove_empty(tx, &place)?;
    }
    Ok(())
}

/// A sum of nothing need not be there.
fn remove_empty(tx: &mut Tx<'_>, (tenant, entity_type, entity_id, width, start, model): &Place<'_>) -> Result<(), StoreError> {
    let mut values = params![*tenant, *entity_type, *entity_id, *width, *start].to_vec();
    let Some((provider, model)) = model else {
        return tx.send(
            "DELETE FROM #usage_runs WHERE tenant = $1 AND entity_type = $2 AND entity_id = $3 AND width = $4 AND start = $5 AND n = 0 \
             AND prompt = 0 AND completion = 0 AND cached = 0 AND cache_write = 0 AND reasoning = 0 AND unpriced = 0 AND cost_milli = 0 \
             AND cost_pico = 0",
            &values,
        );
    };
    values.extend(params![*provider, *model]);
    tx.send(
        "DELETE FROM #usage_models WHERE tenant = $1 AND entity_type = $2 AND entity_id = $3 AND width = $4 AND start = $5 \
         AND provider = $6 AND model = $7 AND n = 0 AND prompt = 0 AND completion = 0 AND cached = 0 AND cache_write = 0 AND reasoning = 0 \
         AND unpriced = 0 AND cost_milli = 0 AND cost_pico = 0",
        &values,
    )
}

/// What a sum is of, but for its time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Of {
    tenant: String,
    entity_type: String,
    /// Empty = all of the type.
    entity_id: String,
    /// Provider and model; none = runs.
    model: Option<(String, String)>,
}

/// A sum that is off, and by how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct WrongSum {
    of: Arc<Of>,
    width: i64,
    start: i64,
    sum: Sum,
}

impl WrongSum {
    fn place(&self) -> Place<'_> {
        let Of { tenant, entity_type, entity_id, model } = &*self.of;
        let model = model.as_ref().map(|(provider, model)| (provider.as_str(), model.as_str()));
        (tenant, entity_type, entity_id, self.width, self.start, model)
    }
}

/// By how much sums are off, as far as it was added up.
#[derive(Default)]
pub(in crate::store) struct Off {
    known: HashMap<Arc<Of>, usize>,
    all: Vec<Arc<Of>>,
    sums: HashMap<(usize, i64, i64), Sum>,
}

impl Off {
    /// By how much all sums are off.
    pub(in crate::store) fn read(tx: &mut Tx<'_>) -> Result<Self, StoreError> {
        let mut off = Self::default();
        let newest = tx.query_one("SELECT MAX(no) FROM #runs", &[], |row| row.opt_int(0))?.flatten().unwrap_or(0);
        for first in (0..newest).step_by(RUNS as usize) {
            off.add_runs(tx, first)?;
            off.add_calls(tx, first)?;
        }
        waiting::each(tx, &mut |tenant, item| {
            let model = item.of.model.map(|(provider, model)| (provider.to_owned(), model.to_owned()));
            off.hour(tenant, item.of.entity_type, item.of.entity_id, item.of.start, model.as_ref(), item.sum.negated());
        })?;
        off.take_sums(tx)?;
        Ok(off)
    }

    /// What is off, in order: neighbours lie on the same pages.
    pub(in crate::store) fn sums(self) -> Vec<WrongSum> {
        let all = self.all;
        let found = self.sums.into_iter().filter(|(_, sum)| *sum != Sum::default());
        let mut found: Vec<WrongSum> = found.map(|((of, width, start), sum)| WrongSum { of: Arc::clone(&all[of]), width, start, sum }).collect();
        found.sort_unstable_by(|one, other| one.place().cmp(&other.place()));
        found
    }

    fn add(&mut self, of: Of, width: i64, start: i64, sum: &Sum) {
        let at = match self.known.get(&of) {
            Some(at) => *at,
            None => {
                let of = Arc::new(of);
                self.all.push(Arc::clone(&of));
                self.known.insert(of, self.all.len() - 1);
                self.all.len() - 1
            }
        };
        self.sums.entry((at, width, start)).or_default().add(sum);
    }

    /// What counts in an hour counts in its day and for all entities, too.
    fn hour(&mut self, tenant: &str, entity_type: &str, entity_id: &str, start: i64, model: Option<&(String, String)>, sum: Sum) {
        for entity in [entity_id, ""] {
            for (width, start) in [(HOUR, start), (DAY, start - start.rem_euclid(DAY))] {
                let of = Of { tenant: tenant.to_owned(), entity_type: entity_type.to_owned(), entity_id: entity.to_owned(), model: model.cloned() };
                self.add(of, width, start, &sum);
            }
        }
    }

    /// Top-level runs count in the hour in which they began.
    fn add_runs(&mut self, tx: &mut Tx<'_>, first: i64) -> Result<(), StoreError> {
        tx.query_each(
            "SELECT tenant, entity_type, entity_id, started_at - started_at % $3 AS hour, COUNT(*) FROM #runs \
             WHERE no > $1 AND no <= $2 AND parent IS NULL AND started_at IS NOT NULL GROUP BY tenant, entity_type, entity_id, hour",
            params![first, first + RUNS, HOUR],
            &mut |row| {
                let mut sum = Sum::default();
                sum.0[0] = row.int(4)?;
                self.hour(row.text(0)?, row.text(1)?, row.text(2)?, row.int(3)?, None, sum);
                Ok(())
            },
        )
    }

    /// Calls count for their model in the hour in which they began, and for their top-level run in the hour in which that began.
    fn add_calls(&mut self, tx: &mut Tx<'_>, first: i64) -> Result<(), StoreError> {
        tx.query_each(
            "SELECT r.tenant, r.entity_type, r.entity_id, r.started_at - r.started_at % $3 AS began, s.started_at - s.started_at % $3 AS called, \
             s.provider, s.model, COUNT(*), CAST(SUM(s.prompt) AS BIGINT), CAST(SUM(s.completion) AS BIGINT), CAST(SUM(s.cached) AS BIGINT), \
             CAST(SUM(s.cache_write) AS BIGINT), CAST(SUM(s.reasoning) AS BIGINT), CAST(SUM(s.unpriced) AS BIGINT), \
             CAST(SUM(s.cost / 1000000000) AS BIGINT), CAST(SUM(s.cost % 1000000000) AS BIGINT) \
             FROM #spans s JOIN #runs r ON r.no = s.root WHERE s.run > $1 AND s.run <= $2 \
             GROUP BY r.tenant, r.entity_type, r.entity_id, began, called, s.provider, s.model",
            params![first, first + RUNS, HOUR],
            &mut |row| {
                let (tenant, entity_type, entity_id, sum) = (row.text(0)?, row.text(1)?, row.text(2)?, Sum::at(row, 7)?);
                let model = Some((row.text(5)?.to_owned(), row.text(6)?.to_owned()));
                self.hour(tenant, entity_type, entity_id, row.int(4)?, model.as_ref(), sum);
                if let Some(began) = row.opt_int(3)? {
                    self.hour(tenant, entity_type, entity_id, began, None, sum.uncounted());
                }
                Ok(())
            },
        )
    }

    /// Takes away what the sums are.
    fn take_sums(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let mut take = |row: &crate::store::Row<'_>, model: Option<(String, String)>| {
            let text = |column| row.text(column).map(str::to_owned);
            let of = Of { tenant: text(0)?, entity_type: text(1)?, entity_id: text(2)?, model };
            self.add(of, row.int(3)?, row.int(4)?, &Sum::at(row, 5)?.negated());
            Ok(())
        };
        tx.query_each(
            "SELECT tenant, entity_type, entity_id, width, start, n, prompt, completion, cached, cache_write, reasoning, unpriced, cost_milli, \
             cost_pico FROM #usage_runs",
            &[],
            &mut |row| take(row, None),
        )?;
        tx.query_each(
            "SELECT tenant, entity_type, entity_id, width, start, n, prompt, completion, cached, cache_write, reasoning, unpriced, cost_milli, \
             cost_pico, provider, model FROM #usage_models",
            &[],
            &mut |row| take(row, Some((row.text(14)?.to_owned(), row.text(15)?.to_owned()))),
        )
    }
}
