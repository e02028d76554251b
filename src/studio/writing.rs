//! Owns writing definitions: their slugs, their rows, the revisions of workflows.

use std::sync::Arc;

use serde_json::Value;

use super::reach::Refusal;
use crate::error::{Error, Kind};
use crate::model::{Id, Timestamp};
use crate::store::definitions::{self as table, Changed, DefinitionRow, RevisionRow};
use crate::store::{StoreError, Tx};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::resource::{Definition, Resource, Written};
use crate::studio::definitions::{slugs, workflows};

/// Who writes, and when.
#[derive(Clone)]
pub(super) struct Writer {
    pub(super) tenant: Arc<str>,
    pub(super) user: Option<String>,
    pub(super) now: Timestamp,
    pub(super) catalog: Catalog,
}

/// Where a new definition comes from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// `studio`, `template` or `code`.
    pub(crate) source: &'static str,
    /// The template.
    pub(crate) template_id: Option<String>,
    /// The class.
    pub(crate) class_path: Option<String>,
}

impl Origin {
    /// A person made it here.
    pub(crate) const STUDIO: Self = Self { source: "studio", template_id: None, class_path: None };
}

impl Writer {
    /// Is a slug in use, by the configuration, by a path of the studio's or by a definition other than `own`?
    fn taken(&self, tx: &mut Tx<'_>, resource: Resource, slug: &str, own: Option<Id>) -> Result<bool, StoreError> {
        if self.catalog.find(resource, slug).or_else(|| self.catalog.of_class(resource, slug)).is_some_and(|found| Some(found.id) != own) {
            return Ok(true);
        }
        let found = table::by_slug(tx, &self.tenant, resource.kind(), slug)?;
        let word_of_a_path = resource == Resource::Workflow && slugs::WORDS_OF_PATHS.contains(&slug);
        Ok(found.map_or(word_of_a_path, |row| Some(row.id) != own))
    }

    /// The slug that was asked for when it is free, else the first free one of the name.
    fn slug(&self, tx: &mut Tx<'_>, resource: Resource, written: &Written, own: Option<Id>) -> Result<String, Refusal> {
        table::hold(tx, &self.tenant)?;
        if let Some(slug) = &written.slug {
            if self.taken(tx, resource, slug, own)? {
                return Err(slug_taken(slug).into());
            }
            return Ok(slug.clone());
        }
        Ok(slugs::first_free(&written.usual_slug(resource), |slug| self.taken(tx, resource, slug, own))?)
    }

    /// The slug, or the first one after it that is free.
    pub(super) fn free_slug(&self, tx: &mut Tx<'_>, resource: Resource, slug: &str) -> Result<String, Refusal> {
        table::hold(tx, &self.tenant)?;
        Ok(slugs::first_free(slug, |slug| self.taken(tx, resource, slug, None))?)
    }

    /// Stores a new definition.
    pub(super) fn insert(
        &self,
        tx: &mut Tx<'_>,
        resource: Resource,
        id: Id,
        written: Written,
        origin: &Origin,
    ) -> Result<Definition, Refusal> {
        let slug = self.slug(tx, resource, &written, None)?;
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
    pub(super) fn replace(
        &self,
        tx: &mut Tx<'_>,
        resource: Resource,
        before: &Definition,
        written: Written,
    ) -> Result<Option<Definition>, Refusal> {
        let slug = self.slug(tx, resource, &written, Some(before.id))?;
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
            Changed::SlugTaken => return Err(slug_taken(&after.slug).into()),
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

fn slug_taken(slug: &str) -> Error {
    Error::new(Kind::SlugTaken, format!("the slug `{slug}` is in use; choose another one"))
}

fn row(definition: &Definition) -> DefinitionRow {
    let Definition { id, slug, name, revision, source, created_at, updated_at, body } = definition.clone();
    DefinitionRow { id, slug, name, revision, source, created_at, updated_at, body: Value::Object(body), no: 0 }
}
