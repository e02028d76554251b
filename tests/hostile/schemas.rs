//! JSON Schemas of users, of MCP servers and of forms.

use serde_json::{Value, json};
use wfstudio::tools::schema::Schema;

use crate::trial::trial;

/// Half of what a worker thread of the host has.
const STACK: usize = 1 << 20;

/// Refused or answered: both are fine.
fn validate(schema: &Value, value: &Value) {
    if let Ok(schema) = Schema::compile(schema) {
        let _problems = schema.problems(value);
    }
}

fn deep(depth: usize) -> Value {
    (0..depth).fold(json!({}), |inner, _| json!({"a": inner, "b": 1}))
}

#[test]
fn references_in_circles_end() {
    trial("schemas::references_in_circles_end", STACK, || {
        for schema in [
            json!({"$ref": "#"}),
            json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}),
            json!({"not": {"$ref": "#"}}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
            json!({"$dynamicRef": "#x", "$dynamicAnchor": "x"}),
            json!({"$ref": "#x", "$anchor": "x"}),
            json!({"allOf": [{"$ref": "#"}]}),
            json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
            json!({"if": {"$ref": "#"}, "then": {"$ref": "#"}}),
        ] {
            validate(&schema, &deep(90));
        }
    });
}

/// Definitions of which each asks for the next one twice, with this around the two.
fn doubling(keyword: &str, depth: usize) -> Value {
    let mut definitions = serde_json::Map::new();
    for n in 0..depth {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        definitions.insert(format!("d{n}"), json!({keyword: [next, next]}));
    }
    definitions.insert(format!("d{depth}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn alternatives_that_double_at_each_reference_are_refused() {
    trial("schemas::alternatives_that_double_at_each_reference_are_refused", STACK, || {
        for keyword in ["anyOf", "oneOf", "allOf"] {
            validate(&doubling(keyword, 60), &json!(1));
            validate(&json!({"properties": {"a": doubling(keyword, 60)}}), &json!({"a": 1}));
        }
    });
}

#[test]
fn long_chains_of_references_need_no_deep_stack() {
    trial("schemas::long_chains_of_references_need_no_deep_stack", STACK, || {
        let mut definitions = serde_json::Map::new();
        for n in 0..9_000 {
            definitions.insert(format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}));
        }
        definitions.insert("d9000".to_owned(), json!({"type": "string"}));
        validate(&json!({"$ref": "#/$defs/d0", "$defs": definitions}), &json!(1));
        let nested = (0..100).fold(json!({}), |inner, _| json!({"properties": {"a": inner}, "unevaluatedProperties": false}));
        validate(&nested, &deep(100));
        validate(&json!({"properties": {"a": {"$ref": "#"}}, "required": ["a"]}), &deep(120));
    });
}

#[test]
fn nested_schemas_of_unevaluated_properties_are_bounded() {
    trial("schemas::nested_schemas_of_unevaluated_properties_are_bounded", STACK, || {
        let nested = (0..40).fold(json!({"properties": {"a": true}}), |inner, _| json!({"allOf": [inner], "unevaluatedProperties": {"type": "null"}}));
        validate(&nested, &json!({"a": 1, "b": 2}));
    });
}

#[test]
fn schemas_full_of_patterns_take_little_memory() {
    trial("schemas::schemas_full_of_patterns_take_little_memory", STACK, || {
        let patterns: serde_json::Map<String, Value> = (0..3_000).map(|n| (format!(r"\w{{100}}{n}"), json!({}))).collect();
        validate(&json!({"patternProperties": patterns}), &json!({"a": 1}));
        let wide: Vec<Value> = (0..150_000).map(|_| json!({})).collect();
        validate(&json!({"allOf": wide}), &json!({"a": 1}));
    });
}

#[test]
fn large_values_against_costly_keywords_are_bounded() {
    trial("schemas::large_values_against_costly_keywords_are_bounded", STACK, || {
        let objects: Vec<Value> = (0..40_000).map(|n| json!({"a": n})).collect();
        validate(&json!({"uniqueItems": true}), &json!(objects));
        let options: Vec<Value> = (0..15_000).map(|n| json!(format!("option {n}"))).collect();
        validate(&json!({"items": {"enum": options}}), &json!(objects));
        validate(&json!({"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}), &json!(vec![1; 300_000]));
        validate(&json!({"pattern": "[ab]*a[ab]{300}c"}), &json!("ab".repeat(2 << 20)));
    });
}
