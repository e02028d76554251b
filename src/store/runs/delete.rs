//! Owns the deletion of runs with everything that only they use.

use std::sync::Arc;

use crate::model::{Id, Timestamp};
use crate::store::db::{Tx, params};
use crate::store::error::StoreError;
use crate::store::files::attachments;
use crate::store::log::{checkpoints, parts};
use crate::store::runs::entity_kind;
use crate::store::usage::Root;
use crate::store::{log, usage};

/// Locks an ended run against continuation while it is deleted; false if it has been continued.
pub fn claim(tx: &mut Tx<'_>, tenant: &str, run: &Id) -> Result<bool, StoreError> {
    let claimed = tx.execute(
        "UPDATE #runs SET fence = fence + 1 WHERE id = $1 AND tenant = $2 AND parent IS NULL AND status IN ('completed', 'failed', 'cancelled')",
        params![&run.to_string(), tenant],
    )?;
    Ok(claimed > 0)
}

/// The same for a run that has been at rest since before a time; false if it has been continued since then, also if that has ended.
pub fn claim_old(tx: &mut Tx<'_>, tenant: &str, run: &Id, before: Timestamp) -> Result<bool, StoreError> {
    let claimed = tx.execute(
        "UPDATE #runs SET fence = fence + 1 WHERE id = $1 AND tenant = $2 AND parent IS NULL AND status IN ('completed', 'failed', 'cancelled') \
         AND rested_at < $3",
        params![&run.to_string(), tenant, before.0],
    )?;
    Ok(claimed > 0)
}

/// Removes a run and its child runs; gives the storage keys of files that nothing refers to any more.
pub fn delete(tx: &mut Tx<'_>, tenant: &str, run: &Id) -> Result<Vec<String>, StoreError> {
    tx.alone("run", &run.to_string())?;
    let mut family = vec![*run];
    let mut seen = 0;
    while let Some(parent) = family.get(seen).map(Id::to_string) {
        seen += 1;
        family.extend(tx.query("SELECT id FROM #runs WHERE parent = $1 AND tenant = $2", params![&parent, tenant], |row| {
            row.id(0)
        })?);
    }
    let mut files = Vec::new();
    // Children go first: taking their usage from the sums needs the row of their top-level run.
    for id in family.iter().rev() {
        files.extend(delete_one(tx, tenant, id)?);
    }
    Ok(files)
}

fn delete_one(tx: &mut Tx<'_>, tenant: &str, id: &Id) -> Result<Vec<String>, StoreError> {
    let found = tx.query_one(
        "SELECT no, parent IS NULL, entity_type, entity_id, started_at FROM #runs WHERE id = $1 AND tenant = $2",
        params![&id.to_string(), tenant],
        |row| {
            let root = Root {
                entity: (entity_kind(row.text(2)?)?, row.id(3)?),
                started_at: row.opt_int(4)?.map(Timestamp),
            };
            Ok((row.int(0)?, row.truth(1)?, root))
        },
    )?;
    let Some((no, top, root)) = found else { return Ok(Vec::new()) };
    log::remove(tx, no)?;
    parts::release(tx, no)?;
    let of: Arc<str> = tenant.into();
    usage::remove_spans(tx, &of, no)?;
    if let Some(started) = root.started_at.filter(|_| top) {
        usage::count_run(tx, &of, started, root.entity, -1);
    }
    checkpoints::delete_of_run(tx, tenant, id)?;
    tx.execute("DELETE FROM #run_replies WHERE run = $1", params![no])?;
    tx.execute("DELETE FROM #runs WHERE no = $1", params![no])?;
    attachments::release(tx, tenant, "run", &id.to_string())
}
