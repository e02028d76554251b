//! Owns definitions of all kinds: find, create, change, delete.

pub(in crate::studio) mod agents;
pub mod catalog;
pub(in crate::studio) mod conflicts;
pub(in crate::studio) mod database_checks;
pub(in crate::studio) mod database_lookups;
pub(in crate::studio) mod drafts;
pub(in crate::studio) mod edits;
pub(in crate::studio) mod fields;
pub(in crate::studio) mod knowledge;
pub(in crate::studio) mod listing;
pub(in crate::studio) mod mcp_servers;
pub(in crate::studio) mod providers_and_models;
pub(in crate::studio) mod registry;
pub mod resource;
pub(in crate::studio) mod revisions;
pub(in crate::studio) mod save_with_agents;
pub(in crate::studio) mod secrets;
pub mod slugs;
pub(in crate::studio) mod sources;
pub(in crate::studio) mod tools;
pub(in crate::studio) mod uses;
pub(in crate::studio) mod workflows;

use std::sync::Arc;

use serde_json::Value;

use super::reach::{Refusal, keep_answer, user_id};
use super::{Scope, Studio};
use crate::error::{Error, Kind, Result};
use crate::store::upkeep::request_keys::RequestKey;
use crate::store::{StoreError, Tx, definitions as table};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::conflicts::{must_be_current, must_be_open, must_be_unused};
use crate::studio::definitions::database_checks::{settle, settle_again};
use crate::studio::definitions::edits::{Edit, prepared, prepared_again};
use crate::studio::definitions::fields::object_of;
use crate::studio::definitions::resource::{Definition, Resource, Written, expected_revision};
use crate::studio::definitions::workflows::Seen;
use crate::studio::definition_writes::{Origin, Writer};
use crate::studio::knowledge::documents;

/// The error if other writes were always first.
pub(in crate::studio) const RESTLESS: &str = "others keep changing this definition; nothing was changed; try again";
/// How often a write is tried again when another one came between.
pub(in crate::studio) const ATTEMPTS: usize = 8;

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

fn definition_json(resource: Resource, found: &Definition, seen: Seen) -> Value {
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

    /// Same, where others wait for the end: none when its graph is not the one that was checked.
    fn prepare_again(&self, tx: &mut Tx<'_>, writer: &Writer, checked: &Written) -> Result<Option<(Definition, Written)>, Refusal> {
        prepared_again(tx, writer, self.resource, &self.id, &self.edit, checked)
    }

    /// The write; none when another one came between.
    fn make(&self, tx: &mut Tx<'_>, writer: &Writer, before: &Definition, written: Written) -> Result<Option<Definition>, Refusal> {
        if self.expected.is_some_and(|expected| expected != before.revision) {
            return Ok(None);
        }
        let after = writer.replace(tx, self.resource, before, written)?;
        if let Some(draft) = self.edit.draft().filter(|_| after.is_some()) {
            drafts::must_drop(tx, writer, before, draft)?;
        }
        Ok(after)
    }
}

impl Studio {
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
        self.create_under(None, scope, resource, body).await
    }

    /// Makes a definition and stores the answer under the key of the request.
    pub(crate) async fn create_under(&self, key: Option<RequestKey>, scope: &Scope, resource: Resource, body: &Value) -> Result<Value> {
        self.builder_gate(resource, body.get("kind"))?;
        let (writer, id) = (self.writer_of(scope, resource).await, self.world().clock.id());
        let written = Written::read(resource, body, &writer.catalog, None)?;
        for _ in 0..ATTEMPTS {
            let (checker, mut checked) = (writer.clone(), written.clone());
            let check = move |tx: &mut Tx<'_>| {
                let seen = settle(tx, &checker.tenant, &checker.catalog, resource, &mut checked)?;
                Ok((table::epoch(tx)?, checked.clone(), seen))
            };
            let (epoch, checked, seen) = self.reading(check).await?;
            let (writer, key) = (writer.clone(), key.clone());
            let insert = move |tx: &mut Tx<'_>| {
                table::hold(tx, &writer.tenant)?;
                let mut written = checked.clone();
                if table::epoch(tx)? != epoch && !settle_again(tx, &writer, resource, &mut written)? {
                    return Ok(None);
                }
                let made = writer.insert(tx, resource, id, written, &Origin::STUDIO)?;
                let answer = definition_json(resource, &made, seen.clone());
                keep_answer(tx, &writer.tenant, key.as_ref(), writer.now, || answer.clone())?;
                Ok(Some(answer))
            };
            if let Some(made) = self.writing(insert).await? {
                return Ok(made);
            }
        }
        Err(Error::new(Kind::RevisionConflict, RESTLESS))
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

    /// A parsed body. A missing object is reported before an invalid body.
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
        for _ in 0..ATTEMPTS {
            let writer = self.writer_of(scope, resource).await;
            match self.change_once(writer, Arc::clone(&change)).await? {
                Some((after, _)) if resource == Resource::KnowledgeBase => return self.get(scope, resource, &after.id.to_string()).await,
                Some((after, seen)) => return Ok(definition_json(resource, &after, seen)),
                None => {}
            }
        }
        Err(self.restless(scope, resource, id).await)
    }

    /// Checks a change while others write, and makes it; none when another one came between.
    async fn change_once(&self, writer: Writer, change: Arc<Change>) -> Result<Option<(Definition, Seen)>> {
        let (checker, checked) = (writer.clone(), Arc::clone(&change));
        let read = move |tx: &mut Tx<'_>| Ok((table::epoch(tx)?, checked.prepare(tx, &checker)?));
        let (epoch, (before, written, seen)) = self.reading(read).await?;
        let make = move |tx: &mut Tx<'_>| {
            table::hold(tx, &writer.tenant)?;
            if table::epoch(tx)? == epoch {
                return change.make(tx, &writer, &before, written.clone());
            }
            // What it names may be gone since it was checked, and it may have been changed itself.
            let Some((before, written)) = change.prepare_again(tx, &writer, &written)? else { return Ok(None) };
            change.make(tx, &writer, &before, written)
        };
        let after = self.writing(make).await?;
        Ok(after.map(|after| (after, seen)))
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
            let (reader, key) = (self.writer(scope), id.to_owned());
            let look = move |tx: &mut Tx<'_>| {
                let found = must_find(tx, &reader.tenant, &reader.catalog, resource, &key)?;
                must_be_open(&found)?;
                must_be_current(tx, &reader, resource, &found, expected)?;
                if !force {
                    must_be_unused(tx, &reader.tenant, resource, &found)?;
                }
                Ok((table::epoch(tx)?, found))
            };
            let (epoch, found) = self.reading(look).await?;
            let (writer, key) = (self.writer(scope), id.to_owned());
            let delete = move |tx: &mut Tx<'_>| {
                let (tenant, mut found) = (&writer.tenant, found.clone());
                table::hold(tx, tenant)?;
                if table::epoch(tx)? != epoch {
                    found = must_find(tx, tenant, &writer.catalog, resource, &key)?;
                    must_be_open(&found)?;
                    if !force {
                        must_be_unused(tx, tenant, resource, &found)?;
                    }
                }
                let deleted = table::delete(tx, tenant, resource.kind(), &found.id, expected)?;
                if deleted && resource == Resource::KnowledgeBase {
                    crate::store::knowledge::documents::delete_all(tx, tenant, &found.id)?;
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
        self.duplicate_under(None, scope, resource, id).await
    }

    /// Makes a copy and stores the answer under the key of the request.
    pub(crate) async fn duplicate_under(&self, key: Option<RequestKey>, scope: &Scope, resource: Resource, id: &str) -> Result<Value> {
        let (tenant, catalog, id) = (scope.tenant.clone(), self.catalog(), id.to_owned());
        let found = self.reading(move |tx| must_find(tx, &tenant, &catalog, resource, &id)).await?;
        let mut copy = found.writable(resource);
        if resource == Resource::McpServer && found.body.get("locked") == Some(&Value::Bool(true)) {
            mcp_servers::must_be_whole(&copy)?;
        }
        copy.shift_remove("slug");
        copy.insert("name".into(), copy_name(resource, &found.name).into());
        self.create_under(key, scope, resource, &Value::Object(copy)).await
    }

    /// The refusal of a change that others always came before.
    async fn restless(&self, scope: &Scope, resource: Resource, id: &str) -> Error {
        match self.get(scope, resource, id).await {
            Ok(current) => Error::new(Kind::RevisionConflict, RESTLESS).with("current", current),
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
