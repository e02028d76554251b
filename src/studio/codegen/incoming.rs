//! Owns incoming code: the definition of a class or a JSON file in one form, with positions for problems.

use indexmap::IndexSet;
use serde_json::{Map, Value, json};

use super::import_problems::Spot;
use crate::codegen::{ClassKind, FoundClass, Target, unknown};
use crate::error::Result;
use crate::studio::definitions::save_with_agents::references;

/// Objects and arrays inside each other: as deep as in the body of a request.
const DEPTH: usize = 64;

/// What a JSON file with `meta` may have beside it.
const MEMBERS: [&str; 6] = ["meta", "graph", "agents", "definition", "state_schema", "metadata"];

/// So many agents come along with a workflow: all of them are written at once.
const MOST_AGENTS: usize = 500;

/// The limit of unknown keys in one message.
const MOST_UNKNOWN_KEYS: usize = 20;

fn not_known(key: &str) -> String {
    format!("`{key}` is not known here; remove it, or correct its name")
}

/// A definition that is not stored yet.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    pub(super) kind: ClassKind,
    /// As `definition()` of a class returns it.
    pub(super) definition: Map<String, Value>,
    /// Agents that it names beside those of its graph.
    named: Vec<String>,
    /// The class; none for JSON.
    pub(super) class_path: Option<String>,
    pub(super) spot: Spot,
}

impl Incoming {
    /// The definition of a class; without a language that of a registered one, which may be of PHP.
    pub(super) fn of_class(found: FoundClass, target: Option<Target>, class_path: Option<String>, spot: Spot) -> Result<Self> {
        let Value::Object(mut definition) = found.definition else { return Err(spot.invalid(["the definition must be a map"])) };
        if target.is_none_or(|target| target == Target::Php) {
            with_maps(&mut definition);
        }
        let incoming = Self { kind: found.kind, definition, named: Vec::new(), class_path, spot };
        incoming.checked()
    }

    /// A JSON file: `meta` with a graph, an agent or a tool, a bare graph, or what a class would return; `name` is that of the file.
    pub(super) fn of_json(file: &Value, name: &str, spot: Spot) -> Result<Self> {
        let Some(members) = file.as_object() else { return Err(spot.invalid(["it must be a JSON object"])) };
        let Some(meta) = members.get("meta").filter(|meta| !meta.is_null()) else {
            let bare = members.contains_key("nodes") && !members.contains_key("graph");
            let definition = if bare { json!({"name": name, "graph": file}).as_object().cloned().unwrap_or_default() } else { members.clone() };
            let incoming = Self { kind: kind_of(&definition), definition, named: Vec::new(), class_path: None, spot };
            return incoming.checked();
        };
        let Some(meta) = meta.as_object() else { return Err(spot.invalid(["meta must be an object"])) };
        let strange: Vec<String> = members.keys().filter(|key| !MEMBERS.contains(&key.as_str())).take(MOST_UNKNOWN_KEYS).map(|key| not_known(key)).collect();
        if !strange.is_empty() {
            return Err(spot.invalid(strange));
        }
        let mut definition = Map::new();
        let slug = meta.get("slug").or_else(|| meta.get("id")).cloned();
        definition.extend(slug.map(|slug| ("slug".to_owned(), slug)));
        for key in ["name", "description", "tags"] {
            definition.extend(meta.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        definition.entry("name").or_insert_with(|| name.into());
        let agent = members.get("definition").and_then(Value::as_object).filter(|_| !members.contains_key("graph"));
        if let Some(agent) = agent {
            definition.extend(agent.iter().map(|(key, value)| (key.clone(), value.clone())));
        } else {
            for key in ["graph", "state_schema", "metadata", "agents"] {
                definition.extend(members.get(key).map(|value| (key.to_owned(), value.clone())));
            }
        }
        let named = meta.get("agents").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        let kind = match agent {
            Some(definition) if definition.contains_key("kind") => ClassKind::Tool,
            Some(_) => ClassKind::Agent,
            None => ClassKind::Workflow,
        };
        Self { kind, definition, named: named.collect(), class_path: None, spot }.checked()
    }

    /// What is of the right kind, as far as that can be seen without the database.
    fn checked(self) -> Result<Self> {
        let mut problems: Vec<String> = Vec::new();
        // Agents are definitions of their own, each below its slug.
        let deep = |key: &str| if key == "agents" { DEPTH + 2 } else { DEPTH };
        if !self.definition.iter().all(|(key, value)| fits(value, deep(key))) {
            problems.push(format!("it has more than {DEPTH} objects and arrays inside each other"));
        }
        problems.extend(unknown(self.kind, &self.definition).iter().take(MOST_UNKNOWN_KEYS).map(|key| not_known(key)));
        if self.kind == ClassKind::Workflow && !self.definition.get("graph").is_some_and(Value::is_object) {
            problems.push("graph must be an object".to_owned());
        }
        match self.definition.get("agents") {
            None | Some(Value::Null) => {}
            Some(Value::Object(agents)) if agents.len() > MOST_AGENTS => problems.push(format!("it has more than {MOST_AGENTS} agents")),
            Some(Value::Object(agents)) if agents.values().all(Value::is_object) => {}
            Some(_) => problems.push("agents must map slugs to objects".to_owned()),
        }
        if problems.is_empty() { Ok(self) } else { Err(self.spot.invalid(problems)) }
    }

    /// A text of the definition.
    pub(super) fn text(&self, key: &str) -> &str {
        self.definition.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The agent that it brings along under a slug.
    pub(super) fn agent(&self, slug: &str) -> Option<Map<String, Value>> {
        let mut body = self.definition.get("agents")?.get(slug)?.as_object()?.clone();
        body.insert("slug".into(), slug.into());
        if body.get("name").is_none_or(Value::is_null) {
            body.insert("name".into(), slug.into());
        }
        Some(body)
    }

    /// The slugs of the agents that it needs: those that it names, those that it brings along, those of its graph.
    pub(super) fn needed(&self) -> Vec<String> {
        let brought = self.definition.get("agents").and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned();
        let referred = self.definition.get("graph").into_iter().flat_map(references).map(str::to_owned);
        let slugs: IndexSet<String> = self.named.iter().cloned().chain(brought).chain(referred).collect();
        slugs.into_iter().collect()
    }

    /// What is stored of it, without its slug.
    pub(super) fn body(&self) -> Map<String, Value> {
        let mut body = self.definition.clone();
        body.shift_remove("slug");
        if self.kind == ClassKind::Workflow {
            body.shift_remove("agents");
        }
        body
    }
}

/// The kind of a definition that does not say it.
pub(super) fn kind_of(definition: &Map<String, Value>) -> ClassKind {
    if definition.contains_key("graph") {
        ClassKind::Workflow
    } else if definition.contains_key("kind") {
        ClassKind::Tool
    } else if definition.contains_key("instructions") || definition.contains_key("model") || definition.contains_key("provider") {
        ClassKind::Agent
    } else {
        ClassKind::Workflow
    }
}

/// In PHP an array without members may be meant as a map.
fn with_maps(definition: &mut Map<String, Value>) {
    let mend = |members: &mut Map<String, Value>, keys: &[&str]| {
        for key in keys {
            if let Some(value) = members.get_mut(*key).filter(|value| value.as_array().is_some_and(Vec::is_empty)) {
                *value = json!({});
            }
        }
    };
    mend(definition, &["metadata", "parameters", "memory_config", "config", "agents", "input_schema", "state_schema", "schema"]);
    for key in ["input_schema", "state_schema", "schema"] {
        definition.get_mut(key).into_iter().for_each(with_maps_of_schema);
    }
    let nodes = definition.get_mut("graph").and_then(|graph| graph.get_mut("nodes")).and_then(Value::as_array_mut);
    nodes.into_iter().flatten().filter_map(Value::as_object_mut).for_each(|node| mend(node, &["data"]));
    for agent in definition.get_mut("agents").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        let Some(agent) = agent.as_object_mut() else { continue };
        mend(agent, &["metadata", "parameters", "memory_config", "schema"]);
        agent.get_mut("schema").into_iter().for_each(with_maps_of_schema);
    }
}

/// Members of a JSON Schema that map names to schemas.
const NAMED_SCHEMAS: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/// Members of a JSON Schema that are data, whatever they contain.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

/// Same, in a JSON Schema.
fn with_maps_of_schema(schema: &mut Value) {
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                for (key, member) in members.iter_mut().filter(|(key, _)| !DATA.contains(&key.as_str())) {
                    if !NAMED_SCHEMAS.contains(&key.as_str()) {
                        open.push(member);
                    } else if let Value::Object(named) = member {
                        open.extend(named.values_mut());
                    } else if member.as_array().is_some_and(Vec::is_empty) {
                        *member = json!({});
                    }
                }
            }
            Value::Array(items) => open.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// Are at most so many objects and arrays inside each other?
fn fits(value: &Value, deep: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(items) => deep > 0 && items.iter().all(|item| fits(item, deep - 1)),
        Value::Object(members) => deep > 0 && members.values().all(|member| fits(member, deep - 1)),
    }
}
