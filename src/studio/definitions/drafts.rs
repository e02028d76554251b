//! Owns drafts: an unsaved graph of a workflow, valid or not, with its own revision.

use serde_json::{Map, Value, json};

use crate::error::{Error, Kind, Result};
use crate::model::Id;
use crate::store::Tx;
use crate::store::definitions::{self as table, DraftRow};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::conflicts::must_be_open;
use crate::studio::definitions::edits::Edit;
use crate::studio::definitions::fields::{Fields, Problems, object_of};
use crate::studio::definitions::resource::{Definition, Resource, expected_revision};
use crate::studio::definitions::{must_find, workflows};
use crate::studio::reach::Refusal;
use crate::studio::definition_writes::Writer;
use crate::studio::{Scope, Studio};

/// A draft as it is answered.
fn show(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, workflow: &Definition, draft: &DraftRow) -> Result<Value, Refusal> {
    let issues = workflows::check(tx, tenant, catalog, &draft.graph, workflow.body.get("state_schema"))?;
    Ok(json!({
        "graph": draft.graph, "draft_revision": draft.draft_revision, "based_on_revision": draft.based_on_revision,
        "updated_at": draft.updated_at.rfc3339(), "issues": issues.iter().map(workflows::shown).collect::<Vec<_>>(),
    }))
}

/// A draft need not be valid; its shape and its size must be right.
fn read_graph(body: &Value, catalog: &Catalog) -> Result<Value> {
    let mut problems = Problems::default();
    let mut fields = Fields::new(object_of(body)?, &mut problems);
    if fields.value("graph").is_none() {
        fields.wrong("graph", "is required");
    }
    let graph = fields.object("graph");
    let limits = &catalog.config().limits;
    for (key, most) in [("nodes", limits.graph_nodes), ("edges", limits.graph_edges)] {
        let count = graph.get(key).map(|items| items.as_array().map(Vec::len));
        match count {
            Some(None) => fields.wrong(&format!("graph.{key}"), "must be an array"),
            Some(Some(count)) if count as u64 > most => {
                fields.wrong(&format!("graph.{key}"), &format!("must have at most {most} items"));
            }
            Some(Some(_)) | None => {}
        }
    }
    let graph = Value::Object(graph);
    if graph.to_string().len() as u64 > limits.graph_kb * 1024 {
        fields.wrong("graph", &format!("must have at most {} KiB", limits.graph_kb));
    }
    problems.into_result().map(|()| graph)
}

/// Refuses what began from another draft than the one that there is. The refusal does not show that one: see `Studio::with_draft`.
fn must_be_current_draft(draft: Option<&DraftRow>, expected: Option<i64>) -> Result<()> {
    let found = draft.map_or(0, |draft| draft.draft_revision);
    if expected.is_none_or(|expected| expected == found) { Ok(()) } else { Err(stale_draft(draft)) }
}

fn stale_draft(draft: Option<&DraftRow>) -> Error {
    let text = match draft {
        Some(draft) => format!("the draft was changed meanwhile; it has revision {}", draft.draft_revision),
        None => "the draft was saved or deleted meanwhile".to_owned(),
    };
    Error::new(Kind::RevisionConflict, text)
}

/// Removes a draft of this revision; refused when another hand went on with it meanwhile.
pub(in crate::studio) fn must_drop(tx: &mut Tx<'_>, writer: &Writer, workflow: &Definition, revision: i64) -> Result<(), Refusal> {
    if table::delete_draft(tx, &writer.tenant, &workflow.id, Some(revision))? {
        return Ok(());
    }
    Err(stale_draft(writer.draft(tx, workflow)?.as_ref()).into())
}

impl Writer {
    fn workflow(&self, tx: &mut Tx<'_>, id: &str) -> Result<Definition, Refusal> {
        must_find(tx, &self.tenant, &self.catalog, Resource::Workflow, id)
    }

    fn draft(&self, tx: &mut Tx<'_>, workflow: &Definition) -> Result<Option<DraftRow>, Refusal> {
        Ok(table::draft(tx, &self.tenant, &workflow.id)?)
    }
}

/// The graph of a draft, for a run of it.
pub(in crate::studio) fn graph_of(tx: &mut Tx<'_>, tenant: &str, workflow: &Id) -> Result<Value, Refusal> {
    let draft = table::draft(tx, tenant, workflow)?;
    draft.map(|draft| draft.graph).ok_or_else(|| no_draft(&workflow.to_string()))
}

/// The revision of the workflow that a draft goes over unseen: the one there is when its graph is still that which the draft is based on.
fn base_of(tx: &mut Tx<'_>, tenant: &str, workflow: &Definition, draft: &DraftRow) -> Result<Option<i64>, Refusal> {
    let Some(base) = draft.based_on_revision.filter(|base| *base != workflow.revision) else { return Ok(draft.based_on_revision) };
    let was = table::revision(tx, tenant, &workflow.id, base)?;
    let same = was.is_some_and(|was| was.get("graph").is_some_and(|graph| Some(graph) == workflow.body.get("graph")));
    Ok(Some(if same { workflow.revision } else { base }))
}

fn no_draft(id: &str) -> Refusal {
    Error::not_found("draft", id).into()
}

impl Studio {
    /// What is refused because of another draft, with that draft. It is checked here, not in the transaction that was refused: while a
    /// graph is checked, others write.
    async fn with_draft<T>(&self, scope: &Scope, workflow: &str, done: Result<T>) -> Result<T> {
        match done {
            Err(error) if error.kind == Kind::RevisionConflict && !error.members.contains_key("current") => {
                let current = self.draft(scope, workflow).await?;
                Err(error.with("current", current))
            }
            done => done,
        }
    }

    /// The draft of a workflow, if it has one.
    pub async fn draft(&self, scope: &Scope, workflow: &str) -> Result<Option<Value>> {
        let (reader, id) = (self.writer(scope), workflow.to_owned());
        self.reading(move |tx| {
            let workflow = reader.workflow(tx, &id)?;
            let Some(draft) = reader.draft(tx, &workflow)? else { return Ok(None) };
            show(tx, &reader.tenant, &reader.catalog, &workflow, &draft).map(Some)
        })
        .await
    }

    /// Stores the draft of a workflow: `{graph, draft_revision?}`.
    pub async fn put_draft(&self, scope: &Scope, workflow: &str, body: &Value, if_match: Option<i64>) -> Result<Value> {
        let (writer, id) = (self.writer(scope), workflow.to_owned());
        let read = read_graph(body, &writer.catalog).and_then(|graph| Ok((expected_revision(if_match, body, "draft_revision")?, graph)));
        let (expected, graph) = self.read_for(scope, Resource::Workflow, workflow, read).await?;
        let reader = writer.clone();
        let stored = self.writing(move |tx| {
            let workflow = writer.workflow(tx, &id)?;
            must_be_open(&workflow)?;
            let before = writer.draft(tx, &workflow)?;
            must_be_current_draft(before.as_ref(), expected)?;
            if table::put_draft(tx, &writer.tenant, &workflow.id, &graph, expected, Some(workflow.revision), writer.now)?.is_none() {
                let now = writer.draft(tx, &workflow)?;
                return Err(stale_draft(now.as_ref()).into());
            }
            let draft = writer.draft(tx, &workflow)?.ok_or_else(|| no_draft(&id))?;
            Ok((workflow, draft))
        });
        let stored = stored.await;
        let (workflow, draft) = self.with_draft(scope, workflow, stored).await?;
        self.reading(move |tx| show(tx, &reader.tenant, &reader.catalog, &workflow, &draft)).await
    }

    /// Throws the draft of a workflow away: `{draft_revision?}`.
    pub async fn delete_draft(&self, scope: &Scope, workflow: &str, body: &Value, if_match: Option<i64>) -> Result<()> {
        let (writer, id) = (self.writer(scope), workflow.to_owned());
        let read = expected_revision(if_match, body, "draft_revision");
        let expected = self.read_for(scope, Resource::Workflow, workflow, read).await?;
        let deleted = self.writing(move |tx| {
            let workflow = writer.workflow(tx, &id)?;
            match expected {
                Some(revision) => must_drop(tx, &writer, &workflow, revision),
                None if table::delete_draft(tx, &writer.tenant, &workflow.id, None)? => Ok(()),
                None => Err(no_draft(&id)),
            }
        });
        let deleted = deleted.await;
        self.with_draft(scope, workflow, deleted).await
    }

    /// Makes the draft the next revision of its workflow. Refused when the workflow has another graph by now than in the revision that the
    /// draft is based on, unless `revision` says that the caller has seen the one there is.
    pub async fn save_draft(&self, scope: &Scope, workflow: &str, body: &Value, if_match: Option<i64>) -> Result<Value> {
        let (reader, id) = (self.writer(scope), workflow.to_owned());
        let read = || Ok((expected_revision(if_match, body, "draft_revision")?, expected_revision(None, body, "revision")?));
        let (of_draft, of_workflow) = self.read_for(scope, Resource::Workflow, workflow, read()).await?;
        let found = self.reading(move |tx| {
            let workflow = reader.workflow(tx, &id)?;
            let draft = reader.draft(tx, &workflow)?;
            must_be_current_draft(draft.as_ref(), of_draft)?;
            let draft = draft.ok_or_else(|| no_draft(&id))?;
            let base = base_of(tx, &reader.tenant, &workflow, &draft)?;
            Ok((draft, base))
        });
        let found = found.await;
        let (draft, base) = self.with_draft(scope, workflow, found).await?;
        let edit = Edit::Set { fields: Map::from_iter([("graph".to_owned(), draft.graph)]), draft: Some(draft.draft_revision) };
        let saved = self.change(scope, Resource::Workflow, workflow, edit, of_workflow.or(base)).await;
        self.with_draft(scope, workflow, saved).await
    }
}
