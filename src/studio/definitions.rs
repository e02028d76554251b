//! Owns finding, making, changing and deleting definitions of all kinds.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::catalog::Catalog;
use super::reach::{Refusal, user_id};
use super::resource::{Definition, Resource, Written, expected_revision, merge};
use super::settle::settle;
use super::workflows::Seen;
use super::{Scope, Studio, slugs, tools, uses, workflows};
use crate::error::{Error, Kind, Result};
use crate::model::{Id, Timestamp};
use crate::store::definitions::{self as table, Changed, DefinitionRow, RevisionRow};
use crate::store::{StoreError, Tx};

/// How often a change that names no revision is tried again when another one came between.
const ATTEMPTS: usize = 8;
/// Definitions that are looked through at once.
const PAGE: usize = 100;

/// A stored definition by id or slug.
pub(super) fn stored(tx: &mut Tx<'_>, tenant: &str, resource: Resource, id: &str) -> Result<Option<Definition>, StoreError> {
    Ok(table::find(tx, tenant, resource.kind(), &id.to_ascii_lowercase())?.map(Definition::from))
}

/// A definition by id or slug, stored or of the configuration.
pub(super) fn find(
    tx: &mut Tx<'_>,
    tenant: &str,
    catalog: &Catalog,
    resource: Resource,
    id: &str,
) -> Result<Option<Definition>, StoreError> {
    match catalog.find(resource, id) {
        Some(found) => Ok(Some(found)),
        None => stored(tx, tenant, resource, id),
    }
}

/// Same; not found is a refusal.
pub(super) fn must_find(
    tx: &mut Tx<'_>,
    tenant: &str,
    catalog: &Catalog,
    resource: Resource,
    id: &str,
) -> Result<Definition, Refusal> {
    let found = find(tx, tenant, catalog, resource, id)?;
    found.ok_or_else(|| Error::not_found(resource.word(), id).into())
}

/// A definition as it is answered.
pub(super) fn answer(
    tx: &mut Tx<'_>,
    tenant: &str,
    catalog: &Catalog,
    resource: Resource,
    found: &Definition,
) -> Result<Value, Refusal> {
    match resource {
        Resource::Workflow => Ok(workflows::show(found, workflows::seen(tx, tenant, catalog, &found.body)?)),
        Resource::Agent | Resource::Tool | Resource::McpServer | Resource::KnowledgeBase => Ok(Value::Object(found.show(resource))),
    }
}

fn told(resource: Resource, found: &Definition, seen: Seen) -> Value {
    match resource {
        Resource::Workflow => workflows::show(found, seen),
        Resource::Agent | Resource::Tool | Resource::McpServer | Resource::KnowledgeBase => Value::Object(found.show(resource)),
    }
}

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
    /// `studio` or `template`.
    pub(crate) source: &'static str,
    /// The template.
    pub(crate) template_id: Option<String>,
}

impl Origin {
    /// A person made it here.
    pub(crate) const STUDIO: Self = Self { source: "studio", template_id: None };
}

impl Writer {
    /// Is a slug in use, by the configuration or by a definition other than `own`?
    fn taken(&self, tx: &mut Tx<'_>, resource: Resource, slug: &str, own: Option<Id>) -> Result<bool, StoreError> {
        if self.catalog.find(resource, slug).is_some() {
            return Ok(true);
        }
        let found = table::by_slug(tx, &self.tenant, resource.kind(), slug)?;
        Ok(found.is_some_and(|row| Some(row.id) != own))
    }

    /// The slug that was asked for when it is free, else the first free one of the name.
    fn slug(&self, tx: &mut Tx<'_>, resource: Resource, written: &Written, own: Option<Id>) -> Result<String, Refusal> {
        if let Some(slug) = &written.slug {
            if self.taken(tx, resource, slug, own)? {
                return Err(slug_taken(slug).into());
            }
            return Ok(slug.clone());
        }
        Ok(slugs::first_free(&written.usual_slug(resource), |slug| self.taken(tx, resource, slug, own))?)
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
            let value = if *key == "locked" { false.into() } else { Value::Null };
            body.insert((*key).into(), if *key == "template_id" { origin.template_id.clone().into() } else { value });
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

/// How a definition is changed.
#[derive(Clone, Debug)]
pub(super) enum Edit {
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
    const fn draft(&self) -> Option<i64> {
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

/// A draft that was saved goes, unless another hand went on with it meanwhile.
fn must_drop_draft(tx: &mut Tx<'_>, tenant: &str, workflow: Id, revision: i64) -> Result<(), Refusal> {
    if table::delete_draft(tx, tenant, &workflow, Some(revision))? {
        return Ok(());
    }
    let text = "the draft was changed while it was saved; nothing was changed; try again";
    Err(Error::new(Kind::RevisionConflict, text).into())
}

/// A definition keeps its slug when a body names none: others refer to it.
fn keep_slug(body: &mut Map<String, Value>, before: &Definition) {
    if body.get("slug").is_none_or(Value::is_null) {
        body.insert("slug".into(), before.slug.as_str().into());
    }
}

impl Studio {
    pub(super) async fn writer(&self, scope: &Scope) -> Writer {
        let catalog = self.asked_catalog(&scope.tenant).await;
        Writer { tenant: scope.tenant.clone(), user: user_id(scope), now: self.world().clock.now(), catalog }
    }

    /// One definition, by id or slug.
    pub async fn get(&self, scope: &Scope, resource: Resource, id: &str) -> Result<Value> {
        let (tenant, catalog, id) = (scope.tenant.clone(), self.catalog(), id.to_owned());
        self.reading(move |tx| {
            let found = must_find(tx, &tenant, &catalog, resource, &id)?;
            answer(tx, &tenant, &catalog, resource, &found)
        })
        .await
    }

    /// Makes a definition.
    pub async fn create(&self, scope: &Scope, resource: Resource, body: &Value) -> Result<Value> {
        self.create_from(scope, resource, body, Origin::STUDIO).await
    }

    /// Makes a definition that comes from somewhere.
    pub(crate) async fn create_from(&self, scope: &Scope, resource: Resource, body: &Value, origin: Origin) -> Result<Value> {
        self.builder_gate(resource, body.get("kind"))?;
        let (writer, id) = (self.writer(scope).await, self.world().clock.id());
        let mut written = Written::read(resource, body, &writer.catalog, None)?;
        let checker = writer.clone();
        let (written, seen) = self
            .reading(move |tx| {
                let seen = settle(tx, &checker.tenant, &checker.catalog, resource, &mut written)?;
                Ok((written, seen))
            })
            .await?;
        let made = self.writing(move |tx| writer.insert(tx, resource, id, written, &origin)).await?;
        Ok(told(resource, &made, seen))
    }

    /// Replaces every writable field.
    pub async fn put(&self, scope: &Scope, resource: Resource, id: &str, body: &Value, if_match: Option<i64>) -> Result<Value> {
        let expected = expected_revision(if_match, body, "revision")?;
        self.change(scope, resource, id, Edit::Put(body.clone()), expected).await
    }

    /// Lays a merge patch over a definition.
    pub async fn patch(&self, scope: &Scope, resource: Resource, id: &str, body: &Value, if_match: Option<i64>) -> Result<Value> {
        if !body.is_object() {
            return Err(Error::field("body", "the body must be a JSON object"));
        }
        let expected = expected_revision(if_match, body, "revision")?;
        self.change(scope, resource, id, Edit::Patch(body.clone()), expected).await
    }

    /// Changes a definition; tried again when another write came between and the caller named no revision.
    pub(super) async fn change(
        &self,
        scope: &Scope,
        resource: Resource,
        id: &str,
        edit: Edit,
        expected: Option<i64>,
    ) -> Result<Value> {
        let (id, edit) = (Arc::<str>::from(id), Arc::new(edit));
        for _ in 0..ATTEMPTS {
            let (writer, id, edit) = (self.writer(scope).await, Arc::clone(&id), Arc::clone(&edit));
            let checker = writer.clone();
            let draft = edit.draft();
            let (before, written, seen) = self.reading(move |tx| prepared(tx, &checker, resource, &id, &edit, expected)).await?;
            let after = self
                .writing(move |tx| {
                    let after = writer.replace(tx, resource, &before, written)?;
                    if let Some(draft) = draft.filter(|_| after.is_some()) {
                        must_drop_draft(tx, &writer.tenant, before.id, draft)?;
                    }
                    Ok(after)
                })
                .await?;
            if let Some(after) = after {
                return Ok(told(resource, &after, seen));
            }
        }
        Err(Error::new(Kind::RevisionConflict, "others keep changing this definition; nothing was changed; try again"))
    }

    /// Deletes a definition; refused while others refer to it, unless forced.
    pub async fn delete(
        &self,
        scope: &Scope,
        resource: Resource,
        id: &str,
        body: &Value,
        if_match: Option<i64>,
        force: bool,
    ) -> Result<()> {
        let expected = expected_revision(if_match, body, "revision")?;
        let (writer, id) = (self.writer(scope).await, id.to_owned());
        self.writing(move |tx| {
            let found = must_find(tx, &writer.tenant, &writer.catalog, resource, &id)?;
            must_be_open(&found)?;
            must_be_current(tx, &writer, resource, &found, expected)?;
            if !force {
                must_be_unused(tx, &writer.tenant, resource, &found)?;
            }
            table::delete(tx, &writer.tenant, resource.kind(), &found.id, None)?;
            Ok(())
        })
        .await
    }

    /// Makes a copy with a name and a slug of its own.
    pub async fn duplicate(&self, scope: &Scope, resource: Resource, id: &str) -> Result<Value> {
        let (tenant, catalog, id) = (scope.tenant.clone(), self.catalog(), id.to_owned());
        let found = self.reading(move |tx| must_find(tx, &tenant, &catalog, resource, &id)).await?;
        let mut copy = found.writable(resource);
        copy.shift_remove("slug");
        copy.insert("name".into(), copy_name(resource, &found.name).into());
        self.create(scope, resource, &Value::Object(copy)).await
    }

    /// Builder tools are made and changed only where that is allowed.
    fn builder_gate(&self, resource: Resource, kind: Option<&Value>) -> Result<()> {
        if resource != Resource::Tool {
            return Ok(());
        }
        tools::builder_gate(self.config().allow_builder_tools, kind.and_then(Value::as_str))
    }
}

/// Reads what an edit makes of a definition, with every check that comes before the write.
fn prepared(
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

fn must_be_open(found: &Definition) -> Result<()> {
    if found.locked() {
        let text = format!("`{}` is defined by the host and cannot be changed here", found.slug);
        return Err(Error::new(Kind::Locked, text));
    }
    Ok(())
}

fn must_be_current(
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
fn must_be_unused(tx: &mut Tx<'_>, tenant: &str, resource: Resource, found: &Definition) -> Result<(), Refusal> {
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

/// The name of a copy; names of tools are words.
fn copy_name(resource: Resource, name: &str) -> String {
    let (end, most) = if resource == Resource::Tool { ("_copy", 64) } else { (" (copy)", 255) };
    let kept: String = name.chars().take(most - end.len()).collect();
    format!("{kept}{end}")
}
