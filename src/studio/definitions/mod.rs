//! Owns finding, making, changing and deleting definitions of all kinds.

pub(in crate::studio) mod agents;
pub mod catalog;
pub(in crate::studio) mod drafts;
pub(in crate::studio) mod edits;
pub(in crate::studio) mod fields;
pub(in crate::studio) mod installing;
pub(in crate::studio) mod knowledge;
pub(in crate::studio) mod known;
pub(in crate::studio) mod listing;
pub(in crate::studio) mod mcp_servers;
pub(in crate::studio) mod providers;
pub(in crate::studio) mod registry;
pub mod resource;
pub(in crate::studio) mod revisions;
pub(in crate::studio) mod secrets;
pub(in crate::studio) mod settle;
pub mod slugs;
pub(in crate::studio) mod sources;
pub(in crate::studio) mod tools;
pub(in crate::studio) mod uses;
pub(in crate::studio) mod workflows;

use std::sync::Arc;

use serde_json::Value;

use super::reach::{Refusal, user_id};
use super::writing::{Origin, Writer};
use super::{Scope, Studio, documents};
use crate::error::{Error, Kind, Result};
use crate::store::{StoreError, Tx, definitions as table};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::edits::{Edit, must_be_current, must_be_open, must_be_unused, prepared};
use crate::studio::definitions::fields::object_of;
use crate::studio::definitions::resource::{Definition, Resource, Written, expected_revision};
use crate::studio::definitions::settle::settle;
use crate::studio::definitions::workflows::Seen;

/// How often a change that names no revision is tried again when another one came between.
const ATTEMPTS: usize = 8;
/// So often it is checked beside other writes, which is quick for everybody; after that nobody else writes meanwhile.
const BESIDE: usize = 2;

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
        // A slug is that of the stored one, when there is one.
        None => Ok(stored(tx, tenant, resource, id)?.or_else(|| catalog.of_class(resource, &id.to_ascii_lowercase()))),
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
        Resource::KnowledgeBase => {
            let mut shown = found.show(resource);
            documents::count(tx, tenant, found.id, catalog.config(), &mut shown)?;
            Ok(Value::Object(shown))
        }
        Resource::Agent | Resource::Tool | Resource::McpServer => Ok(Value::Object(found.show(resource))),
    }
}

fn told(resource: Resource, found: &Definition, seen: Seen) -> Value {
    match resource {
        Resource::Workflow => workflows::show(found, seen),
        Resource::Agent | Resource::Tool | Resource::McpServer | Resource::KnowledgeBase => Value::Object(found.show(resource)),
    }
}

/// A change of one definition.
struct Change {
    resource: Resource,
    id: String,
    edit: Edit,
    expected: Option<i64>,
}

impl Change {
    /// Every check that comes before the write.
    fn prepare(&self, tx: &mut Tx<'_>, writer: &Writer) -> Result<(Definition, Written, Seen), Refusal> {
        prepared(tx, writer, self.resource, &self.id, &self.edit, self.expected)
    }

    /// The write; none when another one came between.
    fn make(&self, tx: &mut Tx<'_>, writer: &Writer, before: &Definition, written: Written) -> Result<Option<Definition>, Refusal> {
        let after = writer.replace(tx, self.resource, before, written)?;
        if let Some(draft) = self.edit.draft().filter(|_| after.is_some()) {
            drafts::must_drop(tx, writer, before, draft)?;
        }
        Ok(after)
    }
}

/// What was checked beside other writes, and the count of changes at which that was true.
struct Checked<T> {
    epoch: String,
    found: T,
}

impl<T: Clone> Checked<T> {
    /// It is still true, or it is checked again; until this transaction ends, nobody else writes definitions of this tenant.
    fn or_again(&self, tx: &mut Tx<'_>, tenant: &str, check: &impl Fn(&mut Tx<'_>) -> Result<T, Refusal>) -> Result<T, Refusal> {
        table::hold(tx, tenant)?;
        if table::epoch(tx)? == self.epoch { Ok(self.found.clone()) } else { check(tx) }
    }
}

impl Studio {
    /// Checks before a write, while others write; gives the check back for the write.
    async fn checked<T, C>(&self, check: C) -> Result<(Checked<T>, C)>
    where
        T: Send + 'static,
        C: Fn(&mut Tx<'_>) -> Result<T, Refusal> + Clone + Send + 'static,
    {
        let first = check.clone();
        let checked = self.reading(move |tx| Ok(Checked { epoch: table::epoch(tx)?, found: first(tx)? })).await?;
        Ok((checked, check))
    }

    pub(super) fn writer(&self, scope: &Scope) -> Writer {
        Writer { tenant: scope.tenant.clone(), user: user_id(scope), now: self.world().clock.now(), catalog: self.catalog() }
    }

    /// A writer that also knows the defaults that a kind of definition takes.
    pub(super) async fn writer_of(&self, scope: &Scope, resource: Resource) -> Writer {
        let writer = self.writer(scope);
        match resource {
            Resource::Agent | Resource::KnowledgeBase => Writer { catalog: self.asked_catalog(&scope.tenant).await, ..writer },
            Resource::Workflow | Resource::Tool | Resource::McpServer => writer,
        }
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
        let (writer, id) = (self.writer_of(scope, resource).await, self.world().clock.id());
        let written = Written::read(resource, body, &writer.catalog, None)?;
        let checker = writer.clone();
        let check = move |tx: &mut Tx<'_>| {
            let mut written = written.clone();
            let seen = settle(tx, &checker.tenant, &checker.catalog, resource, &mut written)?;
            Ok((written, seen))
        };
        let (checked, check) = self.checked(check).await?;
        let insert = move |tx: &mut Tx<'_>| {
            let (written, seen) = checked.or_again(tx, &writer.tenant, &check)?;
            Ok((writer.insert(tx, resource, id, written, &origin)?, seen))
        };
        let (made, seen) = self.writing(insert).await?;
        Ok(told(resource, &made, seen))
    }

    /// Replaces every writable field.
    pub async fn put(&self, scope: &Scope, resource: Resource, id: &str, body: &Value, if_match: Option<i64>) -> Result<Value> {
        let expected = self.read_for(scope, resource, id, expected_revision(if_match, body, "revision")).await?;
        self.change(scope, resource, id, Edit::Put(body.clone()), expected).await
    }

    /// Lays a merge patch over a definition.
    pub async fn patch(&self, scope: &Scope, resource: Resource, id: &str, body: &Value, if_match: Option<i64>) -> Result<Value> {
        let read = object_of(body).and_then(|_| expected_revision(if_match, body, "revision"));
        let expected = self.read_for(scope, resource, id, read).await?;
        self.change(scope, resource, id, Edit::Patch(body.clone()), expected).await
    }

    /// What was read of a body. What is not there is told before what is wrong with the body.
    pub(super) async fn read_for<T>(&self, scope: &Scope, resource: Resource, id: &str, read: Result<T>) -> Result<T> {
        if read.is_err() {
            self.get(scope, resource, id).await?;
        }
        read
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
        let change = Arc::new(Change { resource, id: id.to_owned(), edit, expected });
        for attempt in 0..ATTEMPTS {
            let writer = self.writer_of(scope, resource).await;
            let changed = if attempt < BESIDE {
                self.change_beside(writer, Arc::clone(&change)).await?
            } else {
                self.change_alone(writer, Arc::clone(&change)).await?
            };
            match changed {
                Some((after, _)) if resource == Resource::KnowledgeBase => return self.get(scope, resource, &after.id.to_string()).await,
                Some((after, seen)) => return Ok(told(resource, &after, seen)),
                None => {}
            }
        }
        Err(self.restless(scope, resource, id).await)
    }

    /// Checks a change while others write; none when one of them came between.
    async fn change_beside(&self, writer: Writer, change: Arc<Change>) -> Result<Option<(Definition, Seen)>> {
        let (checker, checked) = (writer.clone(), Arc::clone(&change));
        let read = move |tx: &mut Tx<'_>| Ok((table::epoch(tx)?, checked.prepare(tx, &checker)?));
        let (epoch, (before, written, seen)) = self.reading(read).await?;
        let make = move |tx: &mut Tx<'_>| {
            table::hold(tx, &writer.tenant)?;
            // What it names may be gone since it was checked.
            if table::epoch(tx)? == epoch { change.make(tx, &writer, &before, written.clone()) } else { Ok(None) }
        };
        let after = self.writing(make).await?;
        Ok(after.map(|after| (after, seen)))
    }

    /// Checks and makes a change in one piece.
    async fn change_alone(&self, writer: Writer, change: Arc<Change>) -> Result<Option<(Definition, Seen)>> {
        self.writing(move |tx| {
            table::hold(tx, &writer.tenant)?;
            let (before, written, seen) = change.prepare(tx, &writer)?;
            Ok(change.make(tx, &writer, &before, written)?.map(|after| (after, seen)))
        })
        .await
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
        let expected = self.read_for(scope, resource, id, expected_revision(if_match, body, "revision")).await?;
        for _ in 0..ATTEMPTS {
            let (reader, id, tenant) = (self.writer(scope), id.to_owned(), scope.tenant.clone());
            let check = move |tx: &mut Tx<'_>| {
                let found = must_find(tx, &reader.tenant, &reader.catalog, resource, &id)?;
                must_be_open(&found)?;
                must_be_current(tx, &reader, resource, &found, expected)?;
                if !force {
                    must_be_unused(tx, &reader.tenant, resource, &found)?;
                }
                Ok(found)
            };
            let (checked, check) = self.checked(check).await?;
            let delete = move |tx: &mut Tx<'_>| {
                let found = checked.or_again(tx, &tenant, &check)?;
                let deleted = table::delete(tx, &tenant, resource.kind(), &found.id, expected)?;
                if deleted && resource == Resource::KnowledgeBase {
                    crate::store::knowledge::documents::delete_all(tx, &tenant, &found.id)?;
                }
                Ok(deleted)
            };
            if self.writing(delete).await? {
                return Ok(());
            }
        }
        Err(self.restless(scope, resource, id).await)
    }

    /// Refuses a definition that there is not.
    pub async fn must_know(&self, scope: &Scope, resource: Resource, id: &str) -> Result<()> {
        let (tenant, catalog, id) = (scope.tenant.clone(), self.catalog(), id.to_owned());
        self.reading(move |tx| must_find(tx, &tenant, &catalog, resource, &id).map(drop)).await
    }

    /// Makes a copy with a name and a slug of its own.
    pub async fn duplicate(&self, scope: &Scope, resource: Resource, id: &str) -> Result<Value> {
        let (tenant, catalog, id) = (scope.tenant.clone(), self.catalog(), id.to_owned());
        let found = self.reading(move |tx| must_find(tx, &tenant, &catalog, resource, &id)).await?;
        let mut copy = found.writable(resource);
        if resource == Resource::McpServer && found.body.get("locked") == Some(&Value::Bool(true)) {
            mcp_servers::must_be_whole(&copy)?;
        }
        copy.shift_remove("slug");
        copy.insert("name".into(), copy_name(resource, &found.name).into());
        self.create(scope, resource, &Value::Object(copy)).await
    }

    /// The refusal of a change that others always came before.
    async fn restless(&self, scope: &Scope, resource: Resource, id: &str) -> Error {
        let text = "others keep changing this definition; nothing was changed; try again";
        match self.get(scope, resource, id).await {
            Ok(current) => Error::new(Kind::RevisionConflict, text).with("current", current),
            Err(error) => error,
        }
    }

    /// Builder tools are made and changed only where that is allowed.
    fn builder_gate(&self, resource: Resource, kind: Option<&Value>) -> Result<()> {
        if resource != Resource::Tool {
            return Ok(());
        }
        tools::builder_gate(self.config().allow_builder_tools, kind.and_then(Value::as_str))
    }
}

/// The name of a copy; names of tools are words.
fn copy_name(resource: Resource, name: &str) -> String {
    let (end, most) = if resource == Resource::Tool { ("_copy", 64) } else { (" (copy)", 255) };
    let kept: String = name.chars().take(most - end.len()).collect();
    format!("{kept}{end}")
}
