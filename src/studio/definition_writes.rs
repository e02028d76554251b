//! Owns the writes of definitions: their rows, and the revisions of workflows.

use std::sync::Arc;

use serde_json::Value;

use crate::model::{Id, Timestamp};
use crate::store::definitions::{self as table, Changed, DefinitionRow, RevisionRow};
use crate::store::{StoreError, Tx};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::resource::{Definition, Resource, Written};
use crate::studio::definitions::{slugs, workflows};
use crate::studio::reach::Refusal;

/// Who writes, and when.
#[derive(Clone)]
pub(in crate::studio) struct Writer {
    pub(in crate::studio) tenant: Arc<str>,
    pub(in crate::studio) user: Option<String>,
    pub(in crate::studio) now: Timestamp,
    pub(in crate::studio) catalog: Catalog,
}

/// Where a new definition comes from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// `studio`, `template` or `code`.
    pub(crate) source: &'static str,
    pub(crate) template_id: Option<String>,
    pub(crate) class_path: Option<String>,
}

impl Origin {
    /// A person made it here.
    pub(crate) const STUDIO: Self = Self { source: "studio", template_id: None, class_path: None };
}

impl Writer {
    pub(in crate::studio) fn insert(
        &self,
        tx: &mut Tx<'_>,
        resource: Resource,
        id: Id,
        written: Written,
        origin: &Origin,
    ) -> Result<Definition, Refusal> {
        let slug = slugs::of_written(tx, &self.tenant, &self.catalog, resource, &written, None)?;
        let mut body = written.body;
        for key in resource.kept() {
            let value = match *key {
                "template_id" => origin.template_id.clone().into(),
                "class_path" => origin.class_path.clone().into(),
                "locked" => false.into(),
                _ => Value::Null,
            };
            body.insert((*key).into(), value);
        }
        let made = Definition {
            id,
            slug,
            name: written.name,
            revision: 1,
            source: origin.source.to_owned(),
            created_at: self.now,
            updated_at: self.now,
            body,
        };
        table::insert(tx, &self.tenant, resource.kind(), &row(&made))?;
        self.keep_revision(tx, resource, &made)?;
        Ok(made)
    }

    /// Replaces a definition; none when another write came between.
    pub(in crate::studio) fn replace(
        &self,
        tx: &mut Tx<'_>,
        resource: Resource,
        before: &Definition,
        written: Written,
    ) -> Result<Option<Definition>, Refusal> {
        let slug = slugs::of_written(tx, &self.tenant, &self.catalog, resource, &written, Some(before.id))?;
        let after = Definition {
            slug,
            name: written.name,
            revision: before.revision + 1,
            updated_at: self.now,
            body: written.body,
            ..before.clone()
        };
        match table::update(tx, &self.tenant, resource.kind(), before.revision, &row(&after))? {
            Changed::Done => {}
            Changed::SlugTaken => return Err(slugs::in_use(&after.slug).into()),
            Changed::Stale(_) => return Ok(None),
        }
        self.keep_revision(tx, resource, &after)?;
        Ok(Some(after))
    }

    /// Every saved revision of a workflow is kept.
    fn keep_revision(&self, tx: &mut Tx<'_>, resource: Resource, saved: &Definition) -> Result<(), StoreError> {
        if resource != Resource::Workflow {
            return Ok(());
        }
        let mut body = saved.body.clone();
        body.insert("name".into(), saved.name.as_str().into());
        body.insert("slug".into(), saved.slug.as_str().into());
        body.insert("saved_at".into(), saved.updated_at.0.into());
        let node_count = body.get("graph").map_or(0, workflows::node_count) as u64;
        let kept = RevisionRow { revision: saved.revision, created_at: self.now, user_id: self.user.clone(), node_count };
        table::keep_revision(tx, &self.tenant, &saved.id, &kept, &Value::Object(body))
    }
}

fn row(definition: &Definition) -> DefinitionRow {
    let Definition { id, slug, name, revision, source, created_at, updated_at, body } = definition.clone();
    DefinitionRow { id, slug, name, revision, source, created_at, updated_at, body: Value::Object(body), no: 0 }
}
