//! Owns the graph schema: node types, data keys, handles, connection rules and operators, as data for editors.

use serde_json::{Map, Value, json};

use super::check::GraphLimits;
use super::check::handles::{is_entered, source_handles};
use super::condition::{Operator, VALUE_TYPES};
use super::graph::{NodeKind, VERSION};
use super::node::keys::{self, Key, KeyType, Words};
use super::texts::text;

/// The graph schema under the configured limits, labelled in their language.
pub fn graph_schema(limits: &GraphLimits) -> Value {
    let types: Vec<Value> = NodeKind::ALL.into_iter().map(|kind| node_type(kind, limits)).collect();
    let operator = |one: Operator| json!({"name": one.as_str(), "value": one.needs().as_str()});
    let operators: Vec<Value> = Operator::ALL.into_iter().map(operator).collect();
    json!({"version": VERSION, "node_types": types, "connections": connections(), "operators": operators})
}

fn node_type(kind: NodeKind, limits: &GraphLimits) -> Value {
    let mut sources: Vec<&str> = source_handles(kind).to_vec();
    let mut targets = if is_entered(kind) { vec!["default"] } else { Vec::new() };
    if kind == NodeKind::Agent {
        sources.push("toolset");
        targets.push("tools");
    }
    let name = kind.as_str();
    json!({
        "type": name,
        "label": text(limits.locale, &format!("node.{name}"), &[]),
        "group": group(kind),
        "source_handles": sources,
        "target_handles": targets,
        "keys": keys::of(kind).map(|key| shown(key, limits)).collect::<Vec<_>>(),
    })
}

const fn group(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Start
        | NodeKind::Stop
        | NodeKind::Fork
        | NodeKind::Join
        | NodeKind::Loop
        | NodeKind::Condition
        | NodeKind::Note => "flow",
        NodeKind::Agent | NodeKind::Llm => "models",
        NodeKind::Rag => "knowledge",
        NodeKind::Tool | NodeKind::Mcp => "tools",
        NodeKind::Human => "human",
        NodeKind::SetState => "state",
    }
}

fn shown(key: &Key, limits: &GraphLimits) -> Value {
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| out.insert(name.to_owned(), value);
    put("name", key.name.into());
    put("type", type_name(key.holds).into());
    put("default", default(key, limits));
    for (name, value) in bounds(key.holds, limits) {
        put(name, value);
    }
    put("required", key.required.into());
    put("template", matches!(key.holds, KeyType::Template | KeyType::TemplateObject | KeyType::Filter | KeyType::AnyTemplate).into());
    Value::Object(out)
}

fn default(key: &Key, limits: &GraphLimits) -> Value {
    if key.holds == KeyType::LoopBound {
        return limits.loop_default_steps.into();
    }
    serde_json::from_str(key.default).unwrap_or_default()
}

const fn type_name(holds: KeyType) -> &'static str {
    match holds {
        KeyType::Text
        | KeyType::Template
        | KeyType::Choice(_)
        | KeyType::TestWord(_)
        | KeyType::OutputKey
        | KeyType::KeyPath
        | KeyType::Path
        | KeyType::TestPath => "string",
        KeyType::Flag => "boolean",
        KeyType::Whole(..) | KeyType::LoopBound => "integer",
        KeyType::Number(..) => "number",
        KeyType::Object
        | KeyType::TemplateObject
        | KeyType::Filter
        | KeyType::Rerank
        | KeyType::Schema
        | KeyType::Retries
        | KeyType::Parameters
        | KeyType::Exposure => "object",
        KeyType::Any | KeyType::AnyTemplate => "any",
        KeyType::Fallbacks | KeyType::Tools | KeyType::Branches | KeyType::Rules => "array",
    }
}

/// The range or the words of a key's values, by name.
fn bounds(holds: KeyType, limits: &GraphLimits) -> Vec<(&'static str, Value)> {
    match holds {
        KeyType::Whole(min, max) => vec![("min", min.into()), ("max", if max >= 1 << 53 { Value::Null } else { max.into() })],
        KeyType::LoopBound => vec![("min", 1.into()), ("max", limits.loop_max_steps.into())],
        KeyType::Number(min, max, _) => vec![("min", min.into()), ("max", max.into())],
        KeyType::Choice(words) => vec![("values", json!(words))],
        KeyType::TestWord(Words::Logic) => vec![("values", json!(["all", "any"]))],
        KeyType::TestWord(Words::Operator) => vec![("values", json!(Operator::ALL.map(Operator::as_str)))],
        KeyType::TestWord(Words::ValueType) => vec![("values", json!(VALUE_TYPES))],
        KeyType::Text
        | KeyType::Template
        | KeyType::Flag
        | KeyType::OutputKey
        | KeyType::KeyPath
        | KeyType::Path
        | KeyType::TestPath
        | KeyType::Object
        | KeyType::TemplateObject
        | KeyType::Filter
        | KeyType::Rerank
        | KeyType::AnyTemplate
        | KeyType::Any
        | KeyType::Schema
        | KeyType::Retries
        | KeyType::Parameters
        | KeyType::Fallbacks
        | KeyType::Tools
        | KeyType::Exposure
        | KeyType::Branches
        | KeyType::Rules => Vec::new(),
    }
}

/// Which handle may be wired to which; `|` separates alternatives, `<branch>` is any branch of a fork.
fn connections() -> Vec<Value> {
    let entered = kinds(is_entered);
    let rule = |source: &str, by: &str, target: &str, into: &str, when: Option<&str>| {
        json!({"source": source, "source_handle": by, "target": target, "target_handle": into, "when": when})
    };
    let leaving = NodeKind::ALL.into_iter().filter(|kind| !source_handles(*kind).is_empty());
    let mut rules: Vec<Value> = leaving
        .map(|kind| {
            let when = (kind == NodeKind::Agent).then_some("source is not in tool mode");
            rule(kind.as_str(), &source_handles(kind).join("|"), &entered, "default", when)
        })
        .collect();
    rules.push(rule("fork", "<branch>", &entered, "default", None));
    rules.push(rule("tool|mcp", "default", "agent", "tools", Some("target is inline")));
    rules.push(rule("agent", "toolset", "agent", "tools", Some("source is in tool mode and target is inline")));
    rules
}

fn kinds(which: impl Fn(NodeKind) -> bool) -> String {
    let names: Vec<&str> = NodeKind::ALL.into_iter().filter(|kind| which(*kind)).map(NodeKind::as_str).collect();
    names.join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_says_what_the_contract_shows() {
        let schema = graph_schema(&GraphLimits { loop_max_steps: 77, ..GraphLimits::default() });
        let types = schema["node_types"].as_array().unwrap();
        assert_eq!(types.len(), 14);
        let loop_type = types.iter().find(|kind| kind["type"] == "loop").unwrap();
        assert_eq!(
            (&loop_type["label"], &loop_type["group"], &loop_type["source_handles"], &loop_type["target_handles"]),
            (&json!("Loop"), &json!("flow"), &json!(["continue", "exit"]), &json!(["default"]))
        );
        assert_eq!(
            loop_type["keys"][0],
            json!({"name": "max_steps", "type": "integer", "default": 10, "min": 1, "max": 77, "required": false, "template": false})
        );
        assert!(schema["connections"].as_array().unwrap().contains(
            &json!({"source": "tool|mcp", "source_handle": "default", "target": "agent", "target_handle": "tools", "when": "target is inline"})
        ));
        assert!(schema["operators"].as_array().unwrap().contains(&json!({"name": "is_true", "value": null})));
        assert!(schema["operators"].as_array().unwrap().contains(&json!({"name": "regex", "value": "string"})));
    }

    #[test]
    fn every_default_is_json_and_every_type_has_a_label() {
        let schema = graph_schema(&GraphLimits::default());
        for kind in NodeKind::ALL {
            for key in keys::of(kind) {
                assert!(serde_json::from_str::<Value>(key.default).is_ok(), "{}.{}", kind.as_str(), key.name);
            }
        }
        for kind in schema["node_types"].as_array().unwrap() {
            assert!(!kind["label"].as_str().unwrap().contains('.'), "{kind}");
        }
    }
}
