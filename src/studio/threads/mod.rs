//! Owns threads for people: lists, messages, runs of a thread, deletion.

pub mod attachments;
pub(in crate::studio) mod messages;

use serde_json::{Map, Value, json};

use super::definitions::must_find;
use super::lists::{ListQuery, Page, WrittenPage};
use super::reach::{Refusal, keep_answer};
use super::{Scope, Studio};
use crate::error::{Error, Kind, Result};
use crate::model::event::EntityKind;
use crate::model::{Id, Timestamp};
use crate::store::runs::line::RunLine;
use crate::store::runs::{self, RunFilter};
use crate::store::threads::{self, ThreadFilter, ThreadRow, branches};
use crate::store::upkeep::request_keys::RequestKey;
use crate::store::{StoreError, Tx};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::fields::{Fields, Problems, object_of};
use crate::studio::definitions::resource::Resource;
use crate::studio::runs::standing::Standing;
use crate::studio::runs::summaries::RunSummary;
use crate::studio::threads::attachments::remove_files;
use crate::studio::threads::messages::shown_messages;

/// A thread as it is listed.
fn show(tx: &mut Tx<'_>, tenant: &str, thread: &ThreadRow, catalog: &Catalog) -> Result<Map<String, Value>, StoreError> {
    let pause = threads::open_pause(tx, tenant, &thread.id)?.map(|open| {
        let reason = if open.status == "awaiting_tool_approval" { "tool_approval" } else { "human" };
        json!({"trace_id": open.run.to_string(), "pause_id": open.pause.to_string(), "reason": reason})
    });
    let label = thread.preview.clone().unwrap_or_else(|| session(thread.created_at, catalog));
    let fields = [
        ("id", thread.id.to_string().into()),
        ("entity_type", thread.entity_type.as_str().into()),
        ("entity_id", thread.entity_id.to_string().into()),
        ("label", label.into()),
        ("preview", thread.preview.clone().into()),
        ("message_count", thread.message_count.into()),
        ("run_count", thread.run_count.into()),
        ("open_pause", pause.into()),
        ("created_at", thread.created_at.rfc3339().into()),
        ("updated_at", thread.updated_at.rfc3339().into()),
    ];
    Ok(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// What a thread without text is called.
fn session(at: Timestamp, catalog: &Catalog) -> String {
    let zone = catalog.config().time_zone();
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default().to_zoned(zone);
    format!("Session {}", at.strftime("%Y-%m-%d %H:%M"))
}

fn place_of(cursor: &str) -> Result<(Timestamp, i64)> {
    let parts = cursor.split_once('.').and_then(|(at, no)| Some((Timestamp(at.parse().ok()?), no.parse().ok()?)));
    parts.ok_or_else(|| Error::field("cursor", "cursor is not one that this list gave"))
}

fn list(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, filter: &ThreadFilter, query: &ListQuery) -> Result<Page, Refusal> {
    let after = query.after.as_deref().map(place_of).transpose()?;
    let found = threads::list(tx, tenant, filter, after, query.limit + 1)?;
    let mut rows = Vec::with_capacity(found.len());
    for thread in found {
        let key = format!("{}.{}", thread.updated_at.0, thread.no);
        rows.push((key, Value::Object(show(tx, tenant, &thread, catalog)?)));
    }
    Ok(Page::of(rows, query.limit, |(key, _)| key.clone(), |(_, value)| value))
}

/// A thread by the id of a path; what is no id is no thread.
fn get(tx: &mut Tx<'_>, tenant: &str, id: &str) -> Result<Option<ThreadRow>, StoreError> {
    id.parse::<Id>().map_or(Ok(None), |id| threads::get(tx, tenant, &id))
}

fn must_get(tx: &mut Tx<'_>, tenant: &str, id: &str) -> Result<ThreadRow, Refusal> {
    get(tx, tenant, id)?.ok_or_else(|| Error::not_found("thread", id).into())
}

const fn resource_of(entity: EntityKind) -> Resource {
    match entity {
        EntityKind::Agent => Resource::Agent,
        EntityKind::Workflow => Resource::Workflow,
    }
}

impl Studio {
    /// Threads of a kind of entity, or of one, latest activity first.
    pub async fn threads(&self, scope: &Scope, kind: Option<EntityKind>, entity: Option<&str>, query: ListQuery) -> Result<Page> {
        let (tenant, catalog, entity) = (scope.tenant.clone(), self.catalog(), entity.map(str::to_owned));
        self.reading(move |tx| {
            let entity_id = match entity.as_deref() {
                Some(name) => match entity_of(tx, &tenant, &catalog, kind, name)? {
                    Some(id) => Some(id),
                    None => return Ok(Page::default()),
                },
                None => None,
            };
            let filter = ThreadFilter { entity_type: kind, entity_id, q: query.q.clone() };
            list(tx, &tenant, &catalog, &filter, &query)
        })
        .await
    }

    /// A thread with its messages.
    pub async fn thread(&self, scope: &Scope, thread: &str, query: ListQuery) -> Result<Value> {
        let (tenant, catalog, id) = (scope.tenant.clone(), self.catalog(), thread.to_owned());
        self.reading(move |tx| {
            let thread = must_get(tx, &tenant, &id)?;
            let mut out = show(tx, &tenant, &thread, &catalog)?;
            let page = shown_messages(tx, &tenant, &thread.id, &query)?;
            out.insert("messages".into(), page.data.into());
            out.insert("next_cursor".into(), page.next_cursor.into());
            Ok(Value::Object(out))
        })
        .await
    }

    /// Makes a thread that begins as this one does: with its messages before one that the user said, or with all of them.
    pub async fn branch_thread(&self, scope: &Scope, thread: &str, body: &Value) -> Result<Value> {
        self.branch_thread_under(None, scope, thread, body).await
    }

    /// Makes a branch and stores the answer under the key of the request.
    pub(crate) async fn branch_thread_under(&self, key: Option<RequestKey>, scope: &Scope, thread: &str, body: &Value) -> Result<Value> {
        let body = body.clone();
        let (tenant, catalog, id, world) = (scope.tenant.clone(), self.catalog(), thread.to_owned(), self.world().clone());
        let made = world.clock.id();
        self.writing(move |tx| {
            let from = must_get(tx, &tenant, &id)?;
            let place = match &before_of(&body)? {
                Some(message) => place_in(tx, &tenant, &from.id, message)?,
                None => i64::MAX,
            };
            let now = world.clock.now();
            branches::branch(tx, &tenant, &from, &made, place, || world.clock.id(), now)?;
            let branch = must_get(tx, &tenant, &made.to_string())?;
            let answer = Value::Object(show(tx, &tenant, &branch, &catalog)?);
            keep_answer(tx, &tenant, key.as_ref(), now, || answer.clone())?;
            Ok(answer)
        })
        .await
    }

    /// Deletes a thread with its messages; its runs stay. Refused while one of its runs is active or queued.
    pub async fn delete_thread(&self, scope: &Scope, thread: &str) -> Result<()> {
        let (tenant, id) = (scope.tenant.clone(), thread.to_owned());
        let files = self
            .writing(move |tx| {
                let thread = must_get(tx, &tenant, &id)?;
                if let Some(run) = threads::busy_with(tx, &tenant, &thread.id)? {
                    return Err(still_busy(tx, &tenant, &run)?.into());
                }
                Ok(threads::delete(tx, &tenant, &thread.id)?)
            })
            .await?;
        remove_files(self, &scope.tenant, files).await;
        Ok(())
    }

    /// The threads of an agent or a workflow, latest activity first.
    pub async fn chat_threads(&self, scope: &Scope, entity: EntityKind, id: &str, query: ListQuery) -> Result<Page> {
        let (tenant, catalog, id) = (scope.tenant.clone(), self.catalog(), id.to_owned());
        self.reading(move |tx| {
            let found = must_find(tx, &tenant, &catalog, resource_of(entity), &id)?;
            let filter = ThreadFilter { entity_type: Some(entity), entity_id: Some(found.id), q: query.q.clone() };
            list(tx, &tenant, &catalog, &filter, &query)
        })
        .await
    }

    /// The messages of a thread, oldest first; none when the thread is another entity's.
    pub async fn chat_messages(&self, scope: &Scope, entity: EntityKind, id: &str, thread: &str, query: ListQuery) -> Result<Value> {
        let (tenant, catalog, id, name) = (scope.tenant.clone(), self.catalog(), id.to_owned(), thread.to_owned());
        self.reading(move |tx| {
            let found = must_find(tx, &tenant, &catalog, resource_of(entity), &id)?;
            let page = messages_of(tx, &tenant, found.id, &name, &query)?;
            Ok(json!({"thread_id": name, "messages": page.data, "next_cursor": page.next_cursor}))
        })
        .await
    }

    /// The messages of the thread of a run. Runs outlive their agent or workflow, and so do their threads.
    pub(crate) async fn messages_around(&self, scope: &Scope, run: &Standing, query: ListQuery) -> Result<Page> {
        let (tenant, entity, thread) = (scope.tenant.clone(), run.entity_id, run.thread.to_string());
        self.reading(move |tx| messages_of(tx, &tenant, entity, &thread, &query)).await
    }

    /// The runs on a thread, newest first.
    pub async fn chat_runs(&self, scope: &Scope, entity: EntityKind, id: &str, thread: &str, query: ListQuery) -> Result<WrittenPage> {
        let (tenant, catalog, id, name) = (scope.tenant.clone(), self.catalog(), id.to_owned(), thread.to_owned());
        let now = self.world().clock.now();
        self.reading(move |tx| {
            let found = must_find(tx, &tenant, &catalog, resource_of(entity), &id)?;
            let mut page = WrittenPage::default();
            let Ok(thread) = name.parse::<Id>() else { return Ok(page) };
            let cursor = match query.after.as_deref() {
                Some(key) => Some(key.parse().map_err(|_| Error::field("cursor", "cursor is not one that this list gave"))?),
                None => None,
            };
            let filter = RunFilter { entity_id: Some(found.id), thread: Some(thread), q: query.q.clone(), ..RunFilter::default() };
            let currency = catalog.config().usage.currency.as_str();
            let show = &mut |run: &RunLine<'_>| {
                page.add(|to| RunSummary::of(run, now, currency).write(to));
                Ok(())
            };
            let next = runs::list(tx, &tenant, &filter, cursor, query.limit, show)?;
            page.go_on(next);
            Ok(page)
        })
        .await
    }
}

/// A page of the messages of a thread; none when the thread is another entity's.
fn messages_of(tx: &mut Tx<'_>, tenant: &str, entity: Id, thread: &str, query: &ListQuery) -> Result<Page, Refusal> {
    match get(tx, tenant, thread)? {
        Some(thread) if thread.entity_id == entity => shown_messages(tx, tenant, &thread.id, query),
        Some(_) | None => Ok(Page::default()),
    }
}

/// The id of an agent or a workflow by id or slug; ids of what is deleted still find their threads.
fn entity_of(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, kind: Option<EntityKind>, name: &str) -> Result<Option<Id>, StoreError> {
    if let Ok(id) = name.parse() {
        return Ok(Some(id));
    }
    for entity in [EntityKind::Agent, EntityKind::Workflow] {
        if kind.is_none_or(|kind| kind == entity) {
            let found = super::definitions::find(tx, tenant, catalog, resource_of(entity), name)?;
            if let Some(found) = found {
                return Ok(Some(found.id));
            }
        }
    }
    Ok(None)
}

/// The message that a branch ends before.
fn before_of(body: &Value) -> Result<Option<Id>> {
    let mut problems = Problems::default();
    let mut fields = Fields::new(object_of(body)?, &mut problems);
    let given = fields.text("before", 100);
    let before = given.and_then(|text| text.parse().ok());
    if given.is_some() && before.is_none() {
        fields.wrong("before", "must be the id of a message");
    }
    problems.into_result().map(|()| before)
}

/// Where a branch ends: a turn is never cut in the middle.
fn place_in(tx: &mut Tx<'_>, tenant: &str, thread: &Id, message: &Id) -> Result<i64, Refusal> {
    match threads::shown_one(tx, tenant, thread, message)? {
        Some(row) if row.role == "user" => Ok(row.no),
        Some(_) | None => Err(Error::field("before", "before must be a message of the user on this thread").into()),
    }
}

fn still_busy(tx: &mut Tx<'_>, tenant: &str, run: &Id) -> Result<Error, StoreError> {
    let status = runs::get(tx, tenant, run)?.map_or_else(|| "running".to_owned(), |run| run.status);
    let text = format!("the run {run} on this thread is {status}; wait for it or cancel it, then delete the thread");
    Ok(Error::new(Kind::InvalidState, text).with("run_status", status).with("trace_id", run.to_string()))
}
