//! Owns the references between definitions: agents, tools, servers, bases and schemas.

use serde_json::{Map, Value};

use crate::studio::definitions::resource::{Definition, Resource};

/// One definition that names another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::studio) enum Use {
    /// A stored definition, by id or slug.
    Stored(Resource, String),
    /// A registered output schema, by name.
    Schema(String),
}

/// What a graph names, in graph order.
pub(in crate::studio) fn of_graph(graph: &Value) -> Vec<Use> {
    let mut found = Vec::new();
    for node in graph.get("nodes").and_then(Value::as_array).into_iter().flatten() {
        let Some(data) = node.get("data").and_then(Value::as_object) else { continue };
        match node.get("type").and_then(Value::as_str).unwrap_or_default() {
            "agent" => of_agent_node(data, &mut found),
            "llm" => named(data, "output_schema", Use::Schema, &mut found),
            "tool" => of_ref(data.get("tool_ref"), &mut found),
            "mcp" => stored(data, "mcp_server", Resource::McpServer, &mut found),
            "rag" => stored(data, "knowledge_base_id", Resource::KnowledgeBase, &mut found),
            _ => {}
        }
    }
    found
}

/// Does an agent node use a stored agent?
fn is_existing(data: &Map<String, Value>) -> bool {
    match data.get("config_mode").and_then(Value::as_str) {
        Some(mode) => mode == "existing",
        None => data.get("agent_id").is_some_and(|id| !id.is_null()),
    }
}

fn of_agent_node(data: &Map<String, Value>, found: &mut Vec<Use>) {
    named(data, "output_schema", Use::Schema, found);
    if is_existing(data) {
        stored(data, "agent_id", Resource::Agent, found);
    } else {
        of_refs(data.get("tools"), found);
    }
}

/// What a definition names.
pub(in crate::studio) fn of_definition(resource: Resource, body: &Map<String, Value>) -> Vec<Use> {
    let mut found = Vec::new();
    match resource {
        Resource::Agent => {
            named(body, "output_schema", Use::Schema, &mut found);
            of_refs(body.get("tools"), &mut found);
        }
        Resource::Workflow => found = body.get("graph").map(of_graph).unwrap_or_default(),
        Resource::Tool => {
            if let Some(config) = body.get("config").and_then(Value::as_object) {
                stored(config, "knowledge_base_id", Resource::KnowledgeBase, &mut found);
            }
        }
        Resource::McpServer | Resource::KnowledgeBase => {}
    }
    found
}

/// Does a definition name this one?
pub(in crate::studio) fn names(resource: Resource, body: &Map<String, Value>, wanted: Resource, target: &Definition) -> bool {
    let id = target.id.to_string();
    of_definition(resource, body).iter().any(|used| match used {
        // As definitions are found: whatever the case.
        Use::Stored(kind, name) => *kind == wanted && (name.eq_ignore_ascii_case(&id) || name.eq_ignore_ascii_case(&target.slug)),
        Use::Schema(_) => false,
    })
}

fn of_refs(refs: Option<&Value>, found: &mut Vec<Use>) {
    for item in refs.and_then(Value::as_array).into_iter().flatten() {
        of_ref(item.get("ref").or(Some(item)), found);
    }
}

/// The stored definition behind a tool reference.
fn of_ref(reference: Option<&Value>, found: &mut Vec<Use>) {
    let Some((scheme, name)) = reference.and_then(Value::as_str).and_then(|text| text.split_once(':')) else { return };
    match scheme {
        "tool" => found.push(Use::Stored(Resource::Tool, name.to_owned())),
        "mcp" => found.push(Use::Stored(Resource::McpServer, name.to_owned())),
        _ => {}
    }
}

fn stored(data: &Map<String, Value>, key: &str, resource: Resource, found: &mut Vec<Use>) {
    named(data, key, |name| Use::Stored(resource, name), found);
}

fn named(data: &Map<String, Value>, key: &str, make: impl FnOnce(String) -> Use, found: &mut Vec<Use>) {
    let name = data.get(key).and_then(Value::as_str).filter(|name| !name.is_empty());
    found.extend(name.map(|name| make(name.to_owned())));
}
