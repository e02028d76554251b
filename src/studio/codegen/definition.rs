//! Owns a stored definition as a class and as a JSON file.

use std::collections::HashMap;
use std::convert::Infallible;

use serde_json::{Map, Value, json};

use super::resource_of;
use super::super::definitions::find;
use super::super::reach::Refusal;
use crate::codegen::{ClassKind, ordered};
use crate::model::Id;
use crate::store::{StoreError, Tx};
use crate::studio::definitions::catalog::Catalog;
use crate::studio::definitions::resource::{Definition, Resource};
use crate::studio::definitions::slugs::first_free;

/// What `definition()` of a class returns.
pub(super) fn of(tx: &mut Tx<'_>, tenant: &str, catalog: &Catalog, kind: ClassKind, found: &Definition) -> Result<Value, Refusal> {
    let mut out = plain(kind, found);
    if kind == ClassKind::Workflow {
        let mut agents = Map::new();
        if let Some(graph) = out.get_mut("graph") {
            refer(tx, tenant, catalog, graph, &mut agents)?;
        }
        out.insert("agents".into(), agents.into());
    }
    Ok(ordered(kind, &Value::Object(out)))
}

/// The exported keys of a definition, without defaults.
fn plain(kind: ClassKind, found: &Definition) -> Map<String, Value> {
    let mut out = found.writable(resource_of(kind));
    if out.get("on_length").and_then(Value::as_str) == Some("keep") {
        out.shift_remove("on_length");
    }
    out
}

/// Puts the slugs of stored agents where a graph has their ids, and keeps those agents.
fn refer(
    tx: &mut Tx<'_>,
    tenant: &str,
    catalog: &Catalog,
    graph: &mut Value,
    agents: &mut Map<String, Value>,
) -> Result<(), StoreError> {
    // An agent of a registered class may have the slug of a stored one.
    let mut named: HashMap<Id, String> = HashMap::new();
    for node in graph.get_mut("nodes").and_then(Value::as_array_mut).into_iter().flatten() {
        if node["type"] != "agent" || node["data"]["config_mode"] == "inline" {
            continue;
        }
        let Some(data) = node.get_mut("data").and_then(Value::as_object_mut) else { continue };
        let Some(id) = data.get("agent_id").and_then(Value::as_str).filter(|id| !id.is_empty()) else { continue };
        let Some(agent) = find(tx, tenant, catalog, Resource::Agent, id)? else { continue };
        let slug = match named.get(&agent.id) {
            Some(slug) => slug.clone(),
            None => {
                let slug = first_free(&agent.slug, |slug| Ok::<_, Infallible>(agents.contains_key(slug))).unwrap_or_else(|never| match never {});
                let mut own = plain(ClassKind::Agent, &agent);
                own.insert("slug".into(), slug.as_str().into());
                agents.insert(slug.clone(), ordered(ClassKind::Agent, &Value::Object(own)));
                named.insert(agent.id, slug.clone());
                slug
            }
        };
        let before = std::mem::take(data);
        data.extend(before.into_iter().filter(|(key, _)| key != "agent_ref").map(|(key, value)| {
            if key == "agent_id" { ("agent_ref".to_owned(), Value::from(slug.as_str())) } else { (key, value) }
        }));
    }
    Ok(())
}

/// The file of a workflow: `meta`, the graph, the agents that it uses.
pub(super) fn json_file(definition: &Value) -> Value {
    let empty = Map::new();
    let agents = definition["agents"].as_object().unwrap_or(&empty);
    let meta = json!({
        "name": definition["name"], "description": definition["description"], "slug": definition["slug"],
        "agents": agents.keys().collect::<Vec<_>>(), "tags": definition["tags"],
    });
    let mut out = json!({"meta": meta, "graph": definition["graph"], "agents": agents});
    for key in ["state_schema", "metadata"] {
        if let Some(value) = definition.get(key).filter(|value| !value.is_null() && **value != json!({})) {
            out[key] = value.clone();
        }
    }
    out
}

/// The file of an agent, as agent templates have it.
pub(super) fn json_file_of_agent(definition: &Value) -> Value {
    let meta = json!({
        "id": definition["slug"], "name": definition["name"], "description": definition["description"], "tags": definition["tags"],
    });
    let mut rest = definition.as_object().cloned().unwrap_or_default();
    for key in ["slug", "name", "description", "tags"] {
        rest.shift_remove(key);
    }
    json!({"meta": meta, "definition": rest})
}
