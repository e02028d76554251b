//! JSON Schemas of users, of MCP servers and of forms.

use serde_json::{Value, json};
use studio::tools::schema::Schema;

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
