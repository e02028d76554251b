//! Owns the merge of pending usage rows: many small rows become one row, and a large backlog is added to the
//! sums.
//!
//! Each changed sum costs a lookup and a written page. The sums of an agent's hours are neighbours, so adding many hours at once writes
//! fewer pages per run. Readers add the pending rows, and merged rows are fast to read.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher as _, RandomState};

use crate::store::db::{Param, Tx, params};
use crate::store::error::StoreError;
use crate::store::usage::sums::Sum;
use crate::store::usage::waiting::{Held, Record, Records};
use crate::store::usage::waiting;
use crate::store::usage::window::{DAY, HOUR};

/// About so many records may wait, so that reading them takes less than a millisecond.
const MOST: i64 = 4096;
/// About so many of them may wait in small rows.
const MOST_LOOSE: i64 = 1024;
/// One in so many transactions looks how many wait; so does each that adds more than a small row holds.
const LOOK: u64 = 64;

/// Looks how much waits, once in a while; `added` records were added just now.
pub(in crate::store) fn now_and_then(tx: &mut Tx<'_>, added: usize) -> Result<(), StoreError> {
    let much = added > waiting::SMALL;
    let looks = much || (added > 0 && RandomState::new().hash_one(added).is_multiple_of(LOOK));
    if looks { settle(tx) } else { Ok(()) }
}

/// Draws what waits together, or puts it into the sums, when it has become much.
fn settle(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let (loose, all) = waiting::count(tx)?;
    if all >= MOST {
        fold(tx)
    } else if loose >= MOST_LOOSE {
        draw(tx)
    } else {
        Ok(())
    }
}

/// Draws what waits in small rows together: one row for each tenant, with one record for each hour of an entity. Where that leaves
/// many small rows, because there are many tenants, everything is put into the sums.
pub(in crate::store) fn draw(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.alone("usage", "")?;
    let held = Held::take(tx, waiting::SMALL)?;
    let mut rows: BTreeMap<&str, Records> = BTreeMap::new();
    for ((tenant, of), sum) in together(&held)? {
        rows.entry(tenant).or_default().keep(&Record { of, sum });
    }
    let mut loose = 0;
    for (tenant, records) in rows {
        loose += records.loose();
        waiting::add(tx, tenant, &records)?;
    }
    if loose * 2 >= MOST_LOOSE { fold(tx) } else { Ok(()) }
}

/// Records of the same hour added up, in no order; those that came to nothing are left out.
fn together(held: &Held) -> Result<HashMap<(&str, &[u8]), Sum>, StoreError> {
    let mut sums: HashMap<(&str, &[u8]), Sum> = HashMap::new();
    held.each(&mut |tenant, record| sums.entry((tenant, record.of)).or_default().add(&record.sum))?;
    sums.retain(|_, sum| *sum != Sum::default());
    Ok(sums)
}

/// A sum: tenant, type, entity or none for all of the type, width, start, provider and model or none for runs.
pub(in crate::store) type Place<'a> = (&'a str, &'a str, &'a str, i64, i64, Option<(&'a str, &'a str)>);

/// Puts everything that waits into the sums, in order: neighbours lie on the same pages.
pub(in crate::store) fn fold(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.alone("usage", "")?;
    let held = Held::take(tx, usize::MAX)?;
    let mut hours: Vec<(Place<'_>, Sum)> = Vec::new();
    let mut wider: HashMap<Place<'_>, Sum> = HashMap::new();
    for ((tenant, of), sum) in together(&held)? {
        let of = Record { of, sum }.counted()?;
        let day = of.start - of.start.rem_euclid(DAY);
        hours.push(((tenant, of.entity_type, of.entity_id, HOUR, of.start, of.model), sum));
        for (entity_id, width, start) in [(of.entity_id, DAY, day), ("", HOUR, of.start), ("", DAY, day)] {
            wider.entry((tenant, of.entity_type, entity_id, width, start, of.model)).or_default().add(&sum);
        }
    }
    hours.extend(wider);
    hours.sort_unstable_by_key(|(place, _)| *place);
    hours.iter().try_for_each(|(place, sum)| add(tx, place, sum))
}

pub(in crate::store) fn add(tx: &mut Tx<'_>, (tenant, entity_type, entity_id, width, start, model): &Place<'_>, sum: &Sum) -> Result<(), StoreError> {
    let of = params![*tenant, *entity_type, *entity_id, *width, *start];
    match model {
        None => add_runs(tx, of, sum),
        Some((provider, model)) => add_calls(tx, of, (provider, model), sum),
    }
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

fn add_calls(tx: &mut Tx<'_>, of: &[Param<'_>], (provider, model): (&str, &str), sum: &Sum) -> Result<(), StoreError> {
    let mut values = of.to_vec();
    values.extend([Param::from(provider), model.into()]);
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
