//! Owns the fields of a workflow, the graph of a new one, and the validation result of its graph.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::error::{Error, Kind, Result};
use crate::model::check::{self, Issue, Severity};
use crate::model::graph_schema;
use crate::store::Tx;
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::fields::{Fields, object_of};
use crate::studio::definitions::database_lookups::KnownInStore;
use crate::studio::definitions::resource::{Definition, Resource};
use crate::studio::definitions::uses::Use;
use crate::studio::definitions::uses;
use crate::studio::reach::Refusal;
use crate::studio::{Scope, Studio, definitions};

/// What is known of a graph beside itself.
#[derive(Clone, Debug, Default)]
pub(in crate::studio) struct Seen {
    /// Issues that do not stand in the way.
    pub(in crate::studio) warnings: Vec<Value>,
    /// The stored agents that it uses.
    pub(in crate::studio) agents: Vec<Value>,
}

/// Reads the writable fields of a workflow, in the order in which they are shown.
pub(in crate::studio) fn read(fields: &mut Fields<'_>) -> Map<String, Value> {
    let graph = fields.maybe_object("graph").map_or_else(first_graph, |graph| Value::Object(graph.clone()));
    let mut body = Map::new();
    body.insert("description".into(), fields.text("description", 10_000).unwrap_or_default().into());
    body.insert("graph".into(), graph);
    body.insert("state_schema".into(), fields.schema("state_schema").cloned().into());
    body.insert("tags".into(), fields.texts("tags").into());
    body.insert("metadata".into(), fields.object("metadata").into());
    body
}

/// The graph of a workflow that says nothing of one: from start to stop.
pub(crate) fn first_graph() -> Value {
    json!({"version": 1, "nodes": [
            {"id": "start_1", "type": "start", "position": {"x": 100, "y": 200}, "data": {}, "title": "Start"},
            {"id": "stop_1", "type": "stop", "position": {"x": 500, "y": 200}, "data": {"reply": ""}, "title": "Stop"}],
        "edges": [{"id": "e1", "source": "start_1", "target": "stop_1", "sourceHandle": "default", "targetHandle": "default"}],
        "annotations": [], "viewport": {"x": 0, "y": 0, "zoom": 1}})
}

/// Nodes that a graph has, notes left out.
pub(in crate::studio) fn node_count(graph: &Value) -> usize {
    let nodes = graph.get("nodes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    nodes.iter().filter(|node| node.get("type").and_then(Value::as_str) != Some("note")).count()
}

/// The tenants whose graphs were checked, and the threads that did it.
#[cfg(test)]
pub(in crate::studio) static CHECKED_BY: std::sync::LazyLock<crate::sync::Mutex<Vec<(String, String)>>> = std::sync::LazyLock::new(Default::default);

/// What validation says of a graph, in the language of the catalog.
pub(in crate::studio) fn check(
    tx: &mut Tx<'_>,
    tenant: &str,
    catalog: &Catalog,
    graph: &Value,
    state_schema: Option<&Value>,
) -> Result<Vec<Issue>, Refusal> {
    #[cfg(test)]
    CHECKED_BY.lock().push((tenant.to_owned(), std::thread::current().name().unwrap_or_default().to_owned()));
    let known = KnownInStore::new(tx, tenant, catalog, state_schema);
    let issues = check::check(graph, &known, &catalog.graph_limits());
    known.into_result()?;
    Ok(issues)
}

/// Refuses a graph with errors; gives the warnings of the others.
pub(in crate::studio) fn must_be_valid(issues: Vec<Issue>) -> Result<Vec<Value>> {
    if issues.iter().any(|issue| issue.severity == Severity::Error) {
        return Err(graph_refusal(&issues));
    }
    Ok(issues.into_iter().map(|issue| shown(&issue)).collect())
}

/// The problem of a graph that fails validation.
pub(crate) fn graph_refusal(issues: &[Issue]) -> Error {
    let errors = || issues.iter().filter(|issue| issue.severity == Severity::Error);
    let texts: Vec<&str> = errors().map(|issue| issue.message.as_str()).collect();
    let message = texts.first().copied().unwrap_or("the graph is invalid").to_owned();
    Error::new(Kind::GraphInvalid, message)
        .with("errors", json!({"graph": texts}))
        .with("issues", issues.iter().map(shown).collect::<Vec<_>>())
}

pub(in crate::studio) fn shown(issue: &Issue) -> Value {
    serde_json::to_value(issue).unwrap_or_default()
}

/// The stored agents that a graph uses, each once, in graph order.
pub(in crate::studio) fn agents_of(tx: &mut Tx<'_>, tenant: &str, graph: &Value) -> Result<Vec<Value>, Refusal> {
    let (mut found, mut named) = (Vec::<Value>::new(), HashSet::new());
    for used in uses::of_graph(graph) {
        let Use::Stored(Resource::Agent, name) = used else { continue };
        if !named.insert(name.clone()) {
            continue;
        }
        let Some(agent) = definitions::stored(tx, tenant, Resource::Agent, &name)? else { continue };
        let agent = json!({"id": agent.id.to_string(), "slug": agent.slug, "name": agent.name});
        if !found.contains(&agent) {
            found.push(agent);
        }
    }
    Ok(found)
}

/// What a stored workflow's graph is worth today.
pub(in crate::studio) fn seen(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, body: &Map<String, Value>) -> Result<Seen, Refusal> {
    let graph = body.get("graph").unwrap_or(&Value::Null);
    let issues = check(tx, tenant, catalog, graph, body.get("state_schema"))?;
    let warnings = issues.iter().filter(|issue| issue.severity == Severity::Warning).map(shown).collect();
    Ok(Seen { warnings, agents: agents_of(tx, tenant, graph)? })
}

/// A workflow as it is answered.
pub(in crate::studio) fn show(workflow: &Definition, seen: Seen) -> Value {
    let mut out = workflow.show(Resource::Workflow);
    out.insert("warnings".into(), seen.warnings.into());
    out.insert("agents".into(), seen.agents.into());
    Value::Object(out)
}

impl Studio {
    /// What validation says of a graph that need not be stored: `{valid, errors, warnings, issues}`.
    pub async fn validate_graph(&self, scope: &Scope, body: &Value) -> Result<Value> {
        let (tenant, catalog, body) = (scope.tenant.clone(), self.catalog(), body.clone());
        self.reading(move |tx| {
            let given = object_of(&body)?;
            let Some(graph) = given.get("graph").filter(|graph| graph.is_object()) else {
                return Err(Error::field("graph", "graph must be an object").into());
            };
            let schema = match given.get("workflow_id").and_then(Value::as_str) {
                Some(id) => definitions::must_find(tx, &tenant, &catalog, Resource::Workflow, id)?.body.shift_remove("state_schema"),
                None => None,
            };
            let issues = check(tx, &tenant, &catalog, graph, schema.as_ref())?;
            Ok(verdict(&issues))
        })
        .await
    }
}

impl Studio {
    /// Node types with their keys and handles, connection rules and operators, as data.
    pub fn graph_schema(&self) -> Value {
        graph_schema::graph_schema(&self.catalog().graph_limits())
    }
}

fn verdict(issues: &[Issue]) -> Value {
    let texts = |severity: Severity| {
        let chosen = issues.iter().filter(move |issue| issue.severity == severity);
        chosen.map(|issue| issue.message.as_str()).collect::<Vec<_>>()
    };
    let errors = texts(Severity::Error);
    json!({"valid": errors.is_empty(), "errors": errors, "warnings": texts(Severity::Warning),
        "issues": issues.iter().map(shown).collect::<Vec<_>>()})
}
