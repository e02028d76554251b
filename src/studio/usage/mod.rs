//! Owns the usage export: the usage of a window of days, and of one run.

pub(in crate::studio) mod query;

use std::sync::Arc;

use jiff::tz::TimeZone;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use super::definitions;
use super::facade::{Scope, Studio};
use super::reach::Refusal;
use crate::error::{Error, Result};
use crate::model::event::EntityKind;
use crate::model::usage::show_picos;
use crate::model::{Id, Timestamp};
use crate::store::runs::RunRow;
use crate::store::usage::report::{Of, Totals, UsageQuery, UsageReport};
use crate::store::usage::{StoredSpan, rebuild, report};
use crate::store::{Tx, runs, usage};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::resource::Resource;
use crate::studio::runs::summaries::add_usage;
use crate::studio::usage::query::UsageWindow;

const KINDS: [(EntityKind, Resource); 2] = [(EntityKind::Agent, Resource::Agent), (EntityKind::Workflow, Resource::Workflow)];

impl Studio {
    /// What runs used in a window of days.
    pub async fn usage(&self, scope: &Scope, asked: UsageWindow) -> Result<WindowUsage> {
        let (tenant, catalog, currency) = (Arc::clone(&scope.tenant), self.catalog(), self.config().usage.currency.clone());
        let zone = self.config().time_zone();
        self.reading(move |tx| {
            let of = whose(tx, &tenant, &catalog, &asked)?;
            let UsageWindow { from, to, group_by, ref model, .. } = asked;
            let (zone, model) = (zone.clone(), model.clone());
            let report = report::report(tx, &tenant, &UsageQuery { from, to, zone: zone.clone(), of, model, group_by })?;
            let names = report.breakdown.iter().map(|(of, _)| name_of(tx, &tenant, &catalog, of)).collect::<Result<_, _>>()?;
            Ok(WindowUsage { currency: currency.clone(), zone, report, names })
        })
        .await
    }

    /// What one run used, with its descendants, and its own calls.
    pub async fn usage_run(&self, scope: &Scope, run: &str) -> Result<Value> {
        let id: Id = run.parse().map_err(|_| Error::not_found("run", run))?;
        let (tenant, currency) = (Arc::clone(&scope.tenant), self.config().usage.currency.clone());
        let native = self.config().observability.native_tracing;
        self.reading(move |tx| {
            let row = runs::get(tx, &tenant, &id)?.ok_or_else(|| Error::not_found("run", &id.to_string()))?;
            let spans = usage::spans_of(tx, &tenant, &id)?;
            let shown = spans.iter().filter(|span| native && span.traced && span.kind == "llm");
            Ok(of_run(&row, &currency, shown.map(of_span).collect()))
        })
        .await
    }

    /// Makes the sums that windows are read from right again, of all tenants, from what is stored of runs and calls. Runs go on meanwhile.
    pub async fn rebuild_usage(&self) -> Result<()> {
        Ok(rebuild::rebuild(&self.world().store).await?)
    }
}

/// The runs that a query counts; none if it names an unknown entity.
fn whose(
    tx: &mut Tx<'_>,
    tenant: &str,
    catalog: &Catalog,
    asked: &UsageWindow,
) -> Result<Vec<(EntityKind, Option<Id>)>, Refusal> {
    let mut of = Vec::new();
    for (kind, resource) in KINDS.into_iter().filter(|(kind, _)| asked.entity_type.is_none_or(|wanted| wanted == *kind)) {
        match &asked.entity_id {
            None => of.push((kind, None)),
            Some(name) => match name.parse::<Id>() {
                Ok(id) => of.push((kind, Some(id))),
                Err(_) => {
                    let found = definitions::find(tx, tenant, catalog, resource, name)?;
                    of.extend(found.map(|found| (kind, Some(found.id))));
                }
            },
        }
    }
    Ok(of)
}

/// The usage of a window of days as JSON; a breakdown may have one entry for each thread.
#[derive(Clone, Debug)]
pub struct WindowUsage {
    currency: String,
    /// In which days begin and end.
    zone: TimeZone,
    report: UsageReport,
    /// The names that agents and workflows have today, entry by entry; none when one was deleted.
    names: Vec<Option<String>>,
}

impl WindowUsage {
    /// The breakdown.
    pub fn entries(&self) -> impl Iterator<Item = UsageEntry<'_>> {
        self.report.breakdown.iter().zip(&self.names).map(|((of, totals), name)| UsageEntry { of, totals, name: name.as_deref() })
    }

    /// Everything but the breakdown.
    pub fn summary(&self) -> Map<String, Value> {
        let UsageReport { window: (from, to), totals, .. } = &self.report;
        let mut figures = Map::new();
        add_totals(&mut figures, totals);
        figures.insert("run_count".into(), totals.run_count.into());
        let told = [
            ("currency", self.currency.as_str().into()),
            ("from", from.rfc3339_in(&self.zone).into()),
            ("to", to.rfc3339_in(&self.zone).into()),
            ("totals", Value::Object(figures)),
        ];
        told.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// As it is answered: JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl Serialize for WindowUsage {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut told = to.serialize_map(None)?;
        self.summary().iter().try_for_each(|(name, value)| told.serialize_entry(name, value))?;
        told.serialize_entry("breakdown", &Entries(self))?;
        told.end()
    }
}

struct Entries<'a>(&'a WindowUsage);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.entries())
    }
}

/// One entry of a breakdown, its members in the order of the columns.
#[derive(Clone, Copy, Debug)]
pub struct UsageEntry<'a> {
    of: &'a Of,
    totals: &'a Totals,
    name: Option<&'a str>,
}

impl Serialize for UsageEntry<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut entry = to.serialize_map(None)?;
        match self.of {
            Of::Model { provider, model } => {
                entry.serialize_entry("provider", provider)?;
                entry.serialize_entry("model", model)?;
            }
            Of::Entity { entity_type, entity_id } => {
                entry.serialize_entry("entity_type", entity_type)?;
                entry.serialize_entry("entity_id", entity_id)?;
                entry.serialize_entry("entity_name", &self.name)?;
            }
            Of::Day { date } => entry.serialize_entry("date", date)?,
            Of::Thread { thread_id } => entry.serialize_entry("thread_id", thread_id)?,
        }
        if !matches!(self.of, Of::Model { .. }) {
            entry.serialize_entry("run_count", &self.totals.run_count)?;
        }
        let mut figures = Map::new();
        add_totals(&mut figures, self.totals);
        figures.iter().try_for_each(|(name, figure)| entry.serialize_entry(name, figure))?;
        entry.end()
    }
}

fn add_totals(to: &mut Map<String, Value>, totals: &Totals) {
    let counts = [
        ("prompt_tokens", totals.prompt),
        ("completion_tokens", totals.completion),
        ("total_tokens", totals.prompt + totals.completion),
        ("cached_tokens", totals.cached),
        ("cache_write_tokens", totals.cache_write),
        ("reasoning_tokens", totals.reasoning),
    ];
    to.extend(counts.map(|(name, count)| (name.to_owned(), count.into())));
    to.insert("estimated_cost".into(), show_picos(totals.cost).into());
    to.insert("unpriced".into(), totals.unpriced.into());
}

/// The name that an agent or workflow has today; none when it was deleted.
fn name_of(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, of: &Of) -> Result<Option<String>, Refusal> {
    let Of::Entity { entity_type, entity_id } = of else { return Ok(None) };
    let Some((_, resource)) = KINDS.into_iter().find(|(known, _)| known.as_str() == *entity_type) else { return Ok(None) };
    Ok(definitions::find(tx, tenant, catalog, resource, entity_id)?.map(|found| found.name))
}

fn of_run(row: &RunRow, currency: &str, spans: Vec<Value>) -> Value {
    let time = |at: Option<Timestamp>| at.map(Timestamp::rfc3339);
    let mut run = Map::new();
    let head = [
        ("id", json!(row.id.to_string())),
        ("thread_id", json!(row.thread.to_string())),
        ("parent_run_id", json!(row.parent.map(|parent| parent.to_string()))),
        ("is_child", json!(row.parent.is_some())),
        ("entity", json!({"type": row.entity_type.as_str(), "id": row.entity_id.to_string(), "name": row.entity_name})),
        ("status", json!(row.status)),
    ];
    run.extend(head.map(|(name, value)| (name.to_owned(), value)));
    add_usage(&mut run, &row.total, currency);
    run.insert("started_at".into(), json!(time(row.started_at)));
    run.insert("finished_at".into(), json!(time(row.finished_at)));
    run.insert("spans".into(), spans.into());
    Value::Object(run)
}

fn of_span(span: &StoredSpan) -> Value {
    let mut shown = Map::new();
    shown.insert("id".into(), span.id.to_string().into());
    shown.insert("provider".into(), span.provider.as_str().into());
    shown.insert("model".into(), span.model.as_str().into());
    let tokens = &span.usage.tokens;
    let totals = Totals {
        prompt: tokens.prompt,
        completion: tokens.completion,
        cached: tokens.cached,
        cache_write: tokens.cache_write,
        reasoning: tokens.reasoning,
        cost: i128::from(span.usage.cost.0),
        unpriced: span.usage.unpriced,
        run_count: 0,
    };
    add_totals(&mut shown, &totals);
    shown.insert("started_at".into(), span.started_at.rfc3339().into());
    Value::Object(shown)
}
