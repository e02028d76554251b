//! Owns what an edit makes of a definition, and what stands in the way of one.

use serde_json::{Map, Value, json};

use crate::error::{Error, Kind, Result};
use crate::store::{Tx, definitions as table};
use crate::studio::definitions::resource::{Definition, Resource, Written, merge};
use crate::studio::definitions::settle::{fill_graph, settle, settle_again};
use crate::studio::definitions::workflows::Seen;
use crate::studio::definitions::{answer, must_find, tools, uses};
use crate::studio::reach::Refusal;
use crate::studio::writing::Writer;

/// Definitions that are looked through at once.
const PAGE: usize = 100;

/// How a definition is changed.
#[derive(Clone, Debug)]
pub(in crate::studio) enum Edit {
    /// Every writable field is replaced; absent ones take their defaults.
    Put(Value),
    /// A merge patch.
    Patch(Value),
    /// Some fields are put in place of those that there are; the draft that they come from goes.
    Set {
        /// The fields.
        fields: Map<String, Value>,
        /// The revision of the draft.
        draft: Option<i64>,
    },
}

impl Edit {
    /// The revision of the draft that goes with it.
    pub(in crate::studio) const fn draft(&self) -> Option<i64> {
        match self {
            Self::Put(_) | Self::Patch(_) => None,
            Self::Set { fields: _, draft } => *draft,
        }
    }

    /// The body that the edit amounts to.
    fn body(&self, resource: Resource, before: &Definition) -> Value {
        match self {
            Self::Put(body) => {
                let mut body = body.clone();
                if let Value::Object(map) = &mut body {
                    keep_slug(map, before);
                }
                body
            }
            Self::Patch(patch) => {
                let mut body = Value::Object(before.writable(resource));
                merge(&mut body, patch);
                body
            }
            Self::Set { fields, draft: _ } => {
                let mut body = before.writable(resource);
                body.extend(fields.clone());
                Value::Object(body)
            }
        }
    }
}

/// A definition keeps its slug when a body names none: others refer to it.
fn keep_slug(body: &mut Map<String, Value>, before: &Definition) {
    if body.get("slug").is_none_or(Value::is_null) {
        body.insert("slug".into(), before.slug.as_str().into());
    }
}

/// Reads what an edit makes of a definition, with every check that comes before the write.
pub(in crate::studio) fn prepared(
    tx: &mut Tx<'_>,
    writer: &Writer,
    resource: Resource,
    id: &str,
    edit: &Edit,
    expected: Option<i64>,
) -> Result<(Definition, Written, Seen), Refusal> {
    let before = must_find(tx, &writer.tenant, &writer.catalog, resource, id)?;
    must_be_open(&before)?;
    if resource == Resource::Tool {
        let kind = before.body.get("kind").and_then(Value::as_str);
        tools::builder_gate(writer.catalog.config().allow_builder_tools, kind)?;
    }
    must_be_current(tx, writer, resource, &before, expected)?;
    let mut written = Written::read(resource, &edit.body(resource, &before), &writer.catalog, Some(&before))?;
    let seen = settle(tx, &writer.tenant, &writer.catalog, resource, &mut written)?;
    Ok((before, written, seen))
}

/// Reads it again where others wait for the end of the transaction; none when its graph is not the one that was checked, or names what is
/// gone. Whether the revision is the expected one is for the caller to say.
pub(in crate::studio) fn prepared_again(
    tx: &mut Tx<'_>,
    writer: &Writer,
    resource: Resource,
    id: &str,
    edit: &Edit,
    checked: &Written,
) -> Result<Option<(Definition, Written)>, Refusal> {
    let before = must_find(tx, &writer.tenant, &writer.catalog, resource, id)?;
    must_be_open(&before)?;
    let mut written = Written::read(resource, &edit.body(resource, &before), &writer.catalog, Some(&before))?;
    if resource == Resource::Workflow {
        fill_graph(&mut written);
        if written.body.get("graph") != checked.body.get("graph") {
            return Ok(None);
        }
    }
    Ok(settle_again(tx, writer, resource, &mut written)?.then_some((before, written)))
}

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
