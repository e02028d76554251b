//! Owns the checks of a body that need the database: references, and the graph of a workflow.

use std::collections::HashSet;

use serde_json::Value;

use crate::error::Error;
use crate::model::check::Known as _;
use crate::model::graph::Graph;
use crate::store::{Tx, definitions as table};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::fields::Problems;
use crate::studio::definitions::database_lookups::KnownInStore;
use crate::studio::definitions::resource::{Resource, Written};
use crate::studio::definitions::workflows::Seen;
use crate::studio::definitions::uses::Use;
use crate::studio::definitions::{find, uses, workflows};
use crate::studio::reach::Refusal;
use crate::studio::definition_writes::Writer;

/// Checks what a body says of others, and puts ids where it has slugs.
pub(in crate::studio) fn settle(
    tx: &mut Tx<'_>,
    tenant: &str,
    catalog: &Catalog,
    resource: Resource,
    written: &mut Written,
) -> Result<Seen, Refusal> {
    match resource {
        Resource::Agent => settle_agent(tx, tenant, catalog, written)?,
        Resource::Tool => settle_tool(tx, tenant, catalog, written)?,
        Resource::Workflow => return settle_workflow(tx, tenant, catalog, written),
        Resource::McpServer | Resource::KnowledgeBase => {}
    }
    Ok(Seen::default())
}

/// Stored tools, servers and toolkits that an agent names must be there. Host tools may be declared later.
fn settle_agent(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, written: &Written) -> Result<(), Refusal> {
    let mut problems = Problems::default();
    let known = KnownInStore::new(tx, tenant, catalog, None);
    let refs = written.body.get("tools").and_then(Value::as_array);
    for (at, item) in refs.into_iter().flatten().enumerate() {
        let reference = item["ref"].as_str().unwrap_or_default();
        if !reference.starts_with("host:") && known.tool(reference).is_none() {
            problems.add(format!("tools.{at}.ref"), format!("tools.{at}.ref names nothing that is known: `{reference}`"));
        }
    }
    known.into_result()?;
    Ok(problems.into_result()?)
}

/// The base that a search tool looks in must be there; it is kept by its id.
fn settle_tool(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, written: &mut Written) -> Result<(), Refusal> {
    let Some(Value::Object(config)) = written.body.get_mut("config") else { return Ok(()) };
    let Some(name) = config.get("knowledge_base_id").and_then(Value::as_str) else { return Ok(()) };
    let path = "config.knowledge_base_id";
    let Some(base) = find(tx, tenant, catalog, Resource::KnowledgeBase, name)? else {
        return Err(Error::field(path, format!("{path} names no knowledge base: `{name}`")).into());
    };
    config.insert("knowledge_base_id".into(), base.id.to_string().into());
    Ok(())
}

/// A graph with errors is refused; one without is stored in its full form.
fn settle_workflow(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, written: &mut Written) -> Result<Seen, Refusal> {
    let graph = written.body.get("graph").cloned().unwrap_or_default();
    let issues = workflows::check(tx, tenant, catalog, &graph, written.body.get("state_schema"))?;
    let warnings = workflows::must_be_valid(issues)?;
    fill_graph(written);
    Ok(Seen { warnings, agents: workflows::agents_of(tx, tenant, &graph)? })
}

/// Puts a graph into its full form.
pub(in crate::studio) fn fill_graph(written: &mut Written) {
    if let Some(graph) = written.body.get_mut("graph")
        && let Ok(full) = Graph::parse(graph)
    {
        *graph = full.to_json().clone();
    }
}

/// Settles what was settled before other writes came between, where others wait for the end of the transaction: a graph is not checked
/// again, only whether what it names is there. False when it is not.
pub(in crate::studio) fn settle_again(tx: &mut Tx<'_>, writer: &Writer, resource: Resource, written: &mut Written) -> Result<bool, Refusal> {
    if resource != Resource::Workflow {
        settle(tx, &writer.tenant, &writer.catalog, resource, written)?;
        return Ok(true);
    }
    let mut seen = HashSet::new();
    for used in written.body.get("graph").map(uses::of_graph).unwrap_or_default() {
        let Use::Stored(kind, name) = used else { continue };
        if !seen.insert((kind, name.clone())) {
            continue;
        }
        let (catalog, lower) = (&writer.catalog, name.to_ascii_lowercase());
        let configured = catalog.find(kind, &name).or_else(|| catalog.of_class(kind, &lower)).is_some();
        if !configured && !table::is_there(tx, &writer.tenant, kind.kind(), &lower)? {
            return Ok(false);
        }
    }
    Ok(true)
}
