//! Owns lists of definitions: newest first, those of the configuration last.

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::model::Timestamp;
use crate::store::runs::{self, RunFilter};
use crate::store::{Tx, definitions as table};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::resource::{Definition, Resource};
use crate::studio::definitions::workflows;
use crate::studio::knowledge::documents;
use crate::studio::lists::{ListQuery, Page};
use crate::studio::reach::Refusal;
use crate::studio::runs::summaries::RunSummary;
use crate::studio::{Scope, Studio};

/// Where a page begins: behind a stored definition, or behind one of the configuration.
enum Place {
    Stored(Option<i64>),
    Configured(String),
}

fn place_of(key: Option<&str>) -> Result<Place> {
    let Some(key) = key else { return Ok(Place::Stored(None)) };
    let stored = key.strip_prefix('s').and_then(|no| no.parse().ok()).map(|no| Place::Stored(Some(no)));
    let place = stored.or_else(|| key.strip_prefix('c').map(|slug| Place::Configured(slug.to_owned())));
    place.ok_or_else(|| Error::field("cursor", "cursor is not one that this list gave"))
}

/// The definitions of the configuration that fit, behind the one with the slug `after`.
fn configured(catalog: &Catalog, resource: Resource, q: Option<&str>, after: Option<&str>) -> Vec<(String, Definition)> {
    let wanted = q.map(str::to_lowercase);
    let fits = |server: &Definition| {
        let told = format!("{}\n{}\n{}", server.name, server.slug, server.body.get("description").and_then(Value::as_str).unwrap_or(""));
        wanted.as_ref().is_none_or(|wanted| told.to_lowercase().contains(wanted))
    };
    let servers = catalog.configured(resource).into_iter().filter(|server| after.is_none_or(|after| server.slug.as_str() < after));
    servers.filter(fits).map(|server| (format!("c{}", server.slug), server)).collect()
}

struct Lister<'a> {
    tenant: &'a str,
    catalog: &'a Catalog,
    now: Timestamp,
}

impl Lister<'_> {
    fn found(&self, tx: &mut Tx<'_>, resource: Resource, query: &ListQuery) -> Result<Vec<(String, Definition)>, Refusal> {
        let (q, wanted) = (query.q.as_deref(), query.limit + 1);
        let mut found = Vec::new();
        let place = place_of(query.after.as_deref())?;
        let behind = match &place {
            Place::Stored(no) => {
                let rows = table::list(tx, self.tenant, resource.kind(), q, *no, wanted)?;
                found.extend(rows.into_iter().map(|row| (format!("s{}", row.no), Definition::from(row))));
                None
            }
            Place::Configured(slug) => Some(slug.as_str()),
        };
        found.extend(configured(self.catalog, resource, q, behind));
        found.truncate(wanted);
        Ok(found)
    }

    /// A workflow as lists show it: without its graph unless that is wanted, with its latest run.
    fn workflow(&self, tx: &mut Tx<'_>, found: &Definition, with_graph: bool) -> Result<Map<String, Value>, Refusal> {
        let graph = found.body.get("graph").unwrap_or(&Value::Null);
        let mut out = found.show(Resource::Workflow);
        if !with_graph {
            out.shift_remove("graph");
        }
        out.insert("agents".into(), workflows::agents_of(tx, self.tenant, graph)?.into());
        out.insert("node_count".into(), workflows::node_count(graph).into());
        let filter = RunFilter { entity_id: Some(found.id), ..RunFilter::default() };
        let currency = self.catalog.config().usage.currency.as_str();
        let mut latest = None;
        runs::list(tx, self.tenant, &filter, None, 1, &mut |run| {
            latest = Some(RunSummary::of(run, self.now, currency).members());
            Ok(())
        })?;
        out.insert("last_run".into(), latest.into());
        Ok(out)
    }
}

impl Studio {
    /// The definitions of a kind, newest first.
    pub async fn list(&self, scope: &Scope, resource: Resource, query: ListQuery) -> Result<Page> {
        let (tenant, catalog, now) = (scope.tenant.clone(), self.catalog(), self.world().clock.now());
        self.reading(move |tx| {
            let lister = Lister { tenant: &tenant, catalog: &catalog, now };
            let found = lister.found(tx, resource, &query)?;
            let mut rows = Vec::with_capacity(found.len());
            for (key, definition) in found {
                let shown = match resource {
                    Resource::Workflow => lister.workflow(tx, &definition, query.includes("graph"))?,
                    Resource::KnowledgeBase => {
                        let mut shown = definition.show(resource);
                        documents::count(tx, &tenant, definition.id, catalog.config(), &mut shown)?;
                        shown
                    }
                    Resource::Agent | Resource::Tool | Resource::McpServer => definition.show(resource),
                };
                rows.push((key, Value::Object(shown)));
            }
            Ok(Page::of(rows, query.limit, |(key, _)| key.clone(), |(_, value)| value))
        })
        .await
    }
}
