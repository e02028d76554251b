//! Owns the saved revisions of workflows: list, read, restore.

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::model::Timestamp;
use crate::store::definitions as table;
use crate::studio::definitions::edits::Edit;
use crate::studio::definitions::resource::{Definition, Resource};
use crate::studio::definitions::{answer, must_find};
use crate::studio::lists::{ListQuery, Page};
use crate::studio::{Scope, Studio};

fn as_it_was(workflow: &Definition, revision: i64, kept: Value) -> Definition {
    let mut body = match kept {
        Value::Object(body) => body,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    let saved_at = body.shift_remove("saved_at").and_then(|at| at.as_i64()).map_or(workflow.updated_at, Timestamp);
    let mut text = |key: &str, now: &str| match body.shift_remove(key) {
        Some(Value::String(text)) => text,
        Some(_) | None => now.to_owned(),
    };
    let (name, slug) = (text("name", &workflow.name), text("slug", &workflow.slug));
    Definition { name, slug, revision, updated_at: saved_at, body, ..workflow.clone() }
}

fn no_revision(number: i64) -> Error {
    Error::not_found("revision", &number.to_string())
}

impl Studio {
    /// The revisions of a workflow, newest first: `{revision, created_at, user_id, node_count}`.
    pub async fn revisions(&self, scope: &Scope, workflow: &str, query: ListQuery) -> Result<Page> {
        let (tenant, catalog, id) = (scope.tenant.clone(), self.catalog(), workflow.to_owned());
        let before = match &query.after {
            Some(key) => Some(key.parse().map_err(|_| Error::field("cursor", "cursor is not one that this list gave"))?),
            None => None,
        };
        self.reading(move |tx| {
            let workflow = must_find(tx, &tenant, &catalog, Resource::Workflow, &id)?;
            let found = table::revisions(tx, &tenant, &workflow.id, before, query.limit + 1)?;
            Ok(Page::of(found, query.limit, |row| row.revision.to_string(), |row| {
                json!({"revision": row.revision, "created_at": row.created_at.rfc3339(), "user_id": row.user_id, "node_count": row.node_count})
            }))
        })
        .await
    }

    /// The workflow as it was in a revision.
    pub async fn revision(&self, scope: &Scope, workflow: &str, number: i64) -> Result<Value> {
        let (tenant, catalog, id) = (scope.tenant.clone(), self.catalog(), workflow.to_owned());
        self.reading(move |tx| {
            let workflow = must_find(tx, &tenant, &catalog, Resource::Workflow, &id)?;
            let row = table::revision(tx, &tenant, &workflow.id, number)?.ok_or_else(|| no_revision(number))?;
            answer(tx, &tenant, &catalog, Resource::Workflow, &as_it_was(&workflow, number, row))
        })
        .await
    }

    /// Makes a new revision of an old one. The workflow keeps its slug.
    pub async fn restore_revision(&self, scope: &Scope, workflow: &str, number: i64) -> Result<Value> {
        let (tenant, catalog, id) = (scope.tenant.clone(), self.catalog(), workflow.to_owned());
        let fields: Map<String, Value> = self
            .reading(move |tx| {
                let workflow = must_find(tx, &tenant, &catalog, Resource::Workflow, &id)?;
                let row = table::revision(tx, &tenant, &workflow.id, number)?.ok_or_else(|| no_revision(number))?;
                let mut fields = as_it_was(&workflow, number, row).writable(Resource::Workflow);
                fields.shift_remove("slug");
                Ok(fields)
            })
            .await?;
        self.change(scope, Resource::Workflow, workflow, Edit::Set { fields, draft: None }, None).await
    }
}
