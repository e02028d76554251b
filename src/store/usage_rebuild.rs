//! Owns making the sums of usage again from the runs and calls that they were made of.

use super::db::{Tx, params};
use super::error::StoreError;
use super::usage_window::{DAY, HOUR};

/// Makes all sums of usage again at the end of the transaction.
pub const fn again(tx: &mut Tx<'_>) {
    tx.later().again();
}

/// Makes all sums again. Whoever stores a call meanwhile waits, so none is lost and none counts twice.
pub(super) fn rebuild(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    // What waits is locked first: whoever has added to it may be about to put it into the sums.
    tx.execute("{DELETE FROM #usage_waiting WHERE 0|LOCK TABLE #usage_waiting, #usage_runs, #usage_models IN EXCLUSIVE MODE}", &[])?;
    tx.execute("DELETE FROM #usage_waiting", &[])?;
    tx.execute("DELETE FROM #usage_runs", &[])?;
    tx.execute("DELETE FROM #usage_models", &[])?;
    for (width, all) in [(HOUR, false), (HOUR, true), (DAY, false), (DAY, true)] {
        tx.execute(RUNS, params![width, all])?;
        tx.execute(MODELS, params![width, all])?;
    }
    Ok(())
}

/// The columns of figures of a call, and the sums of them.
macro_rules! figures {
    ($of:literal) => {
        concat!(
            $of, "prompt AS prompt, ", $of, "completion AS completion, ", $of, "cached AS cached, ", $of, "cache_write AS cache_write, ",
            $of, "reasoning AS reasoning, ", $of, "unpriced AS unpriced, ", $of, "cost / 1000000000 AS cost_milli, ",
            $of, "cost % 1000000000 AS cost_pico"
        )
    };
}
const RUNS: &str = concat!(
    "INSERT INTO #usage_runs (width, tenant, entity_type, entity_id, start, n, \
     prompt, completion, cached, cache_write, reasoning, unpriced, cost_milli, cost_pico) \
     SELECT $1, tenant, entity_type, entity_id, start, SUM(n), SUM(prompt), SUM(completion), SUM(cached), SUM(cache_write), \
     SUM(reasoning), SUM(unpriced), SUM(cost_milli), SUM(cost_pico) FROM (\
     SELECT tenant, entity_type, CASE WHEN $2 = 1 THEN '' ELSE entity_id END AS entity_id, started_at - started_at % $1 AS start, 1 AS n, \
     0 AS prompt, 0 AS completion, 0 AS cached, 0 AS cache_write, 0 AS reasoning, 0 AS unpriced, 0 AS cost_milli, 0 AS cost_pico \
     FROM #runs WHERE parent IS NULL AND started_at IS NOT NULL UNION ALL \
     SELECT r.tenant, r.entity_type, CASE WHEN $2 = 1 THEN '' ELSE r.entity_id END, r.started_at - r.started_at % $1, 0, ",
    figures!("s."),
    " FROM #spans s JOIN #runs r ON r.no = s.root WHERE r.started_at IS NOT NULL) counted \
     GROUP BY tenant, entity_type, entity_id, start"
);

const MODELS: &str = concat!(
    "INSERT INTO #usage_models (width, tenant, entity_type, entity_id, start, provider, model, n, \
     prompt, completion, cached, cache_write, reasoning, unpriced, cost_milli, cost_pico) \
     SELECT $1, tenant, entity_type, entity_id, start, provider, model, COUNT(*), SUM(prompt), SUM(completion), SUM(cached), \
     SUM(cache_write), SUM(reasoning), SUM(unpriced), SUM(cost_milli), SUM(cost_pico) FROM (\
     SELECT r.tenant AS tenant, r.entity_type AS entity_type, CASE WHEN $2 = 1 THEN '' ELSE r.entity_id END AS entity_id, \
     s.started_at - s.started_at % $1 AS start, s.provider AS provider, s.model AS model, ",
    figures!("s."),
    " FROM #spans s JOIN #runs r ON r.no = s.root) counted \
     GROUP BY tenant, entity_type, entity_id, start, provider, model"
);
