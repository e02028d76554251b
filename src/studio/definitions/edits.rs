//! Owns the result of an edit of a definition.

use serde_json::{Map, Value};

use crate::error::Result;
use crate::store::Tx;
use crate::studio::definitions::conflicts::{must_be_current, must_be_open};
use crate::studio::definitions::resource::{Definition, Resource, Written};
use crate::studio::definitions::database_checks::{fill_graph, settle, settle_again};
use crate::studio::definitions::workflows::Seen;
use crate::studio::definitions::{must_find, tools};
use crate::studio::reach::Refusal;
use crate::studio::definition_writes::Writer;

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

/// Lays a merge patch (RFC 7396) over a value.
pub(in crate::studio) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(map) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            map.shift_remove(key);
        } else {
            merge(map.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn merge_patches_follow_the_table_of_the_rfc() {
        for (target, patch, wanted) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            let mut merged = target.clone();
            merge(&mut merged, &patch);
            assert_eq!(merged, wanted, "{target} with {patch}");
        }
    }
}
