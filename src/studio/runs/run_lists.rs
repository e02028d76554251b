//! Owns lists of runs: all, by workflow in pages, and the counts of waiting and active ones.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::model::event::EntityKind;
use crate::model::usage::Picos;
use crate::model::{Id, Timestamp};
use crate::store::runs::list::RunFilter;
use crate::store::runs::list;
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::resource::Resource;
use crate::studio::definitions;
use crate::studio::facade::{Scope, Studio};
use crate::studio::lists::{ListQuery, WrittenPage};
use crate::studio::runs::summaries::RunSummary;

/// What the lists of runs are asked for.
#[derive(Clone, Debug, Default)]
pub struct RunsQuery {
    /// One of these; empty = any.
    pub status: Vec<String>,
    /// Runs of agents or of workflows.
    pub entity_type: Option<EntityKind>,
    /// Runs of this agent or workflow, by id or slug.
    pub entity_id: Option<String>,
    /// Runs on this thread.
    pub thread_id: Option<String>,
    /// Child runs of this run; none = top-level runs.
    pub parent_run_id: Option<String>,
    /// Made at or after.
    pub from: Option<Timestamp>,
    /// Made at or before.
    pub to: Option<Timestamp>,
    /// Of this version of its workflow.
    pub revision: Option<i64>,
    /// That cost at least this, with their child runs.
    pub min_cost: Option<Picos>,
    /// That asked this model, in a child run too.
    pub model: Option<String>,
    /// Text and page.
    pub list: ListQuery,
}

impl Studio {
    /// Runs over all entities, newest first.
    ///
    /// # Errors
    /// A bad cursor; the store.
    pub async fn runs(&self, scope: &Scope, query: RunsQuery) -> Result<WrittenPage> {
        let (tenant, limit, now) = (Arc::clone(&scope.tenant), query.list.limit, self.world().clock.now());
        let catalog = self.catalog();
        let currency = self.config().usage.currency.clone();
        let after = query.list.after.as_deref().map(str::parse).transpose();
        let after = after.map_err(|_| Error::field("cursor", "cursor is not one that a list gave"))?;
        self.reading(move |tx| {
                let mut page = WrittenPage::default();
                if let Some(filter) = filter(tx, &tenant, &catalog, &query)? {
                    let next = list::list(tx, &tenant, &filter, after, limit, &mut |run| {
                        page.add(|to| RunSummary::of(run, now, &currency).write(to));
                        Ok(())
                    })?;
                    page.go_on(next);
                }
                Ok(page)
            })
            .await
    }

    /// Runs of one workflow by numbered pages.
    pub async fn runs_page(&self, scope: &Scope, workflow: &str, page: u64, per_page: u64, status: &[String]) -> Result<Value> {
        let (tenant, workflow, status) = (Arc::clone(&scope.tenant), workflow.to_owned(), status.to_vec());
        let (catalog, now, currency) = (self.catalog(), self.world().clock.now(), self.config().usage.currency.clone());
        self.reading(move |tx| {
            let found = definitions::must_find(tx, &tenant, &catalog, Resource::Workflow, &workflow)?;
            let filter = RunFilter {
                status: status.clone(),
                entity_type: Some(EntityKind::Workflow),
                entity_id: Some(found.id),
                ..RunFilter::default()
            };
            let number = usize::try_from(page).unwrap_or(usize::MAX);
            let size = usize::try_from(per_page).unwrap_or(100);
            let mut data = Vec::new();
            let total = list::page(tx, &tenant, &filter, number, size, &mut |run| {
                data.push(RunSummary::of(run, now, &currency).members());
                Ok(())
            })?;
            let last_page = total.div_ceil(per_page.max(1)).max(1);
            let meta = json!({"current_page": page, "last_page": last_page, "per_page": per_page, "total": total});
            Ok(json!({"data": data, "meta": meta}))
        })
        .await
    }

    /// How many runs wait or work.
    pub async fn run_counts(&self, scope: &Scope) -> Result<Value> {
        let tenant = Arc::clone(&scope.tenant);
        let counts = self.world().store.read(move |tx| list::counts(tx, &tenant)).await?;
        Ok(json!({
            "queued": counts.queued, "running": counts.running, "awaiting_input": counts.awaiting_input,
            "awaiting_tool_approval": counts.awaiting_tool_approval,
        }))
    }
}

/// The filter of a query; none when it names something that cannot have runs.
fn filter(
    tx: &mut crate::store::Tx<'_>,
    tenant: &str,
    catalog: &Catalog,
    query: &RunsQuery,
) -> Result<Option<RunFilter>, crate::studio::reach::Refusal> {
    let mut entity = None;
    if let Some(name) = &query.entity_id {
        entity = name.parse::<Id>().ok();
        let kinds = [(EntityKind::Agent, Resource::Agent), (EntityKind::Workflow, Resource::Workflow)];
        for (kind, resource) in kinds {
            if entity.is_none() && query.entity_type.is_none_or(|wanted| wanted == kind) {
                entity = definitions::find(tx, tenant, catalog, resource, name)?.map(|found| found.id);
            }
        }
        if entity.is_none() {
            return Ok(None);
        }
    }
    let id = |text: &Option<String>| text.as_deref().map(str::parse::<Id>).transpose();
    let (Ok(thread), Ok(parent)) = (id(&query.thread_id), id(&query.parent_run_id)) else { return Ok(None) };
    Ok(Some(RunFilter {
        status: query.status.clone(),
        entity_type: query.entity_type,
        entity_id: entity,
        thread,
        parent,
        from: query.from,
        to: query.to,
        q: query.list.q.clone(),
        revision: query.revision,
        min_cost: query.min_cost,
        model: query.model.clone(),
    }))
}
