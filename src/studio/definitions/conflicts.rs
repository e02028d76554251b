//! Owns the conflicts of a write: a stale revision, a definition of the host, a definition in use.

use serde_json::json;

use crate::error::{Error, Kind, Result};
use crate::store::Tx;
use crate::store::definitions as table;
use crate::studio::definitions::resource::{Definition, Resource};
use crate::studio::definitions::{answer, uses};
use crate::studio::reach::Refusal;
use crate::studio::definition_writes::Writer;

/// Definitions that are looked through at once.
const PAGE: usize = 100;

/// Refuses to write what the configuration defines.
pub(in crate::studio) fn must_be_open(found: &Definition) -> Result<()> {
    if found.locked() {
        let text = format!("`{}` is defined by the host and cannot be changed here", found.slug);
        return Err(Error::new(Kind::Locked, text));
    }
    Ok(())
}

/// Refuses a write that began from another revision.
pub(in crate::studio) fn must_be_current(
    tx: &mut Tx<'_>,
    writer: &Writer,
    resource: Resource,
    found: &Definition,
    expected: Option<i64>,
) -> Result<(), Refusal> {
    if expected.is_none_or(|expected| expected == found.revision) {
        return Ok(());
    }
    let current = answer(tx, &writer.tenant, &writer.catalog, resource, found)?;
    let text = format!("`{}` was changed meanwhile; it has revision {}", found.slug, found.revision);
    Err(Error::new(Kind::RevisionConflict, text).with("current", current).into())
}

/// Refuses to delete what other definitions name.
pub(in crate::studio) fn must_be_unused(tx: &mut Tx<'_>, tenant: &str, resource: Resource, found: &Definition) -> Result<(), Refusal> {
    let mut used_by = Vec::new();
    for kind in [Resource::Agent, Resource::Workflow, Resource::Tool] {
        let mut place = None;
        loop {
            let rows = table::list(tx, tenant, kind.kind(), None, place, PAGE)?;
            place = rows.last().map(|row| row.no);
            let users = rows.into_iter().map(Definition::from).filter(|user| uses::names(kind, &user.body, resource, found));
            used_by.extend(users.map(|user| json!({"kind": kind.word(), "id": user.id.to_string(), "name": user.name})));
            if place.is_none() {
                break;
            }
        }
    }
    if used_by.is_empty() {
        return Ok(());
    }
    let text = format!("`{}` is used by {} other definitions; delete those first, or force it", found.slug, used_by.len());
    Err(Error::new(Kind::InUse, text).with("used_by", used_by).into())
}
