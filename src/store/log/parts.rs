//! Owns the texts that entries refer to by hash: each is stored once per tenant while a run uses it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::Id;
use crate::model::event::PartHash;
use crate::model::hex::{self, hex};
use crate::store::db::{Tx, params};
use crate::store::error::StoreError;

/// The numbers of parts that this transaction found or inserted; they cannot be deleted before it ends.
pub(in crate::store) type Found = HashMap<[u8; 32], (Arc<str>, i64)>;

/// Makes sure that the texts are stored and that a run counts as their user that used none before.
pub(in crate::store) fn keep_first(tx: &mut Tx<'_>, tenant: &Arc<str>, run: i64, parts: &[(PartHash, Arc<str>)]) -> Result<(), StoreError> {
    let mut used = Vec::with_capacity(parts.len());
    for (hash, body) in parts {
        let part = found_or_made(tx, tenant, bytes_of(hash)?, body)?;
        if !used.contains(&part) {
            used.push(part);
            tx.later().part(part, 1);
        }
    }
    let (threes, rest) = used.as_chunks::<3>();
    for [one, two, three] in threes {
        tx.send("INSERT {OR FAIL |}INTO #run_parts (run, part) VALUES ($1, $2), ($1, $3), ($1, $4)", params![run, *one, *two, *three])?;
    }
    rest.iter().try_for_each(|part| use_part(tx, run, *part))
}

fn found_or_made(tx: &mut Tx<'_>, tenant: &Arc<str>, hash: [u8; 32], body: &Arc<str>) -> Result<i64, StoreError> {
    if let Some((_, part)) = tx.found_parts().get(&hash).filter(|(of, _)| of == tenant) {
        return Ok(*part);
    }
    let part = match find(tx, tenant, 0, &hash)? {
        Some((part, _)) => part,
        None => make(tx, tenant, &hash, body)?,
    };
    tx.found_parts().insert(hash, (Arc::clone(tenant), part));
    Ok(part)
}

/// Makes sure that the texts are stored and that the run counts as their user.
pub(in crate::store) fn keep(tx: &mut Tx<'_>, tenant: &str, run: i64, parts: &[(PartHash, Arc<str>)]) -> Result<(), StoreError> {
    for (hash, body) in parts {
        let hash = bytes_of(hash)?;
        let part = match find(tx, tenant, run, &hash)? {
            Some((_, true)) => continue,
            Some((part, false)) => part,
            None => make(tx, tenant, &hash, body)?,
        };
        use_part(tx, run, part)?;
        tx.later().part(part, 1);
    }
    Ok(())
}

fn use_part(tx: &mut Tx<'_>, run: i64, part: i64) -> Result<(), StoreError> {
    tx.send("INSERT INTO #run_parts (run, part) VALUES ($1, $2)", params![run, part])
}

/// A stored part, locked against deletion, and whether the run uses it.
fn find(tx: &mut Tx<'_>, tenant: &str, run: i64, hash: &[u8; 32]) -> Result<Option<(i64, bool)>, StoreError> {
    tx.query_one(
        "SELECT p.no, (SELECT COUNT(*) FROM #run_parts u WHERE u.run = $1 AND u.part = p.no) \
         FROM #parts p WHERE p.tenant = $2 AND p.hash = $3{| FOR KEY SHARE OF p}",
        params![run, tenant, &hash[..]],
        |row| Ok((row.int(0)?, row.truth(1)?)),
    )
}

/// Inserts a missing part, unless another transaction has inserted it since.
fn make(tx: &mut Tx<'_>, tenant: &str, hash: &[u8; 32], body: &Arc<str>) -> Result<i64, StoreError> {
    tx.insert(
        "INSERT INTO #parts AS p (tenant, hash, uses, body) VALUES ($1, $2, 0, $3)\
         {| ON CONFLICT (tenant, hash) DO UPDATE SET uses = p.uses RETURNING no}",
        params![tenant, &hash[..], body],
    )
}

/// The text of a part.
pub fn part(tx: &mut Tx<'_>, tenant: &str, hash: &str) -> Result<Option<Arc<str>>, StoreError> {
    let bytes = bytes_of(hash)?;
    tx.query_one("SELECT body FROM #parts WHERE tenant = $1 AND hash = $2", params![tenant, &bytes[..]], |row| {
        Ok(Arc::from(row.text(0)?))
    })
}

/// The hashes and texts of all parts that a run uses.
pub fn of_run(tx: &mut Tx<'_>, tenant: &str, run: &Id) -> Result<Vec<(PartHash, Arc<str>)>, StoreError> {
    tx.query(
        "SELECT p.hash, p.body FROM #runs r JOIN #run_parts u ON u.run = r.no JOIN #parts p ON p.no = u.part
         WHERE r.id = $1 AND r.tenant = $2",
        params![&run.text(), tenant],
        |row| Ok((hex(row.blob(0)?).into(), Arc::from(row.text(1)?))),
    )
}

/// A run no longer uses its parts; those without a user are removed.
pub(in crate::store) fn release(tx: &mut Tx<'_>, run: i64) -> Result<(), StoreError> {
    let parts = tx.query("DELETE FROM #run_parts WHERE run = $1 RETURNING part", params![run], |row| row.int(0))?;
    for part in parts {
        tx.later().part(part, -1);
    }
    Ok(())
}

/// Changes the use count of a part, and deletes an unused one.
pub(in crate::store) fn count_uses(tx: &mut Tx<'_>, part: i64, more: i64) -> Result<(), StoreError> {
    tx.send("UPDATE #parts SET uses = uses + $2 WHERE no = $1", params![part, more])?;
    if more > 0 { Ok(()) } else { tx.send("DELETE FROM #parts WHERE no = $1 AND uses <= 0", params![part]) }
}

fn bytes_of(hash: &str) -> Result<[u8; 32], StoreError> {
    hex::bytes(hash).ok_or_else(|| StoreError::Fault(format!("`{hash}` is not the hash of a part")))
}
