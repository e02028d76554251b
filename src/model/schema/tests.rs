//! Tests of what schemas and values may cost.

use serde_json::{Map, json};

use super::*;

fn problems(schema: &Value, value: &Value) -> Vec<String> {
    Schema::compile(schema).expect("a schema").problems(value)
}

/// Definitions of which each asks for the next one twice.
fn doubling(keyword: &str, depth: usize) -> Value {
    let mut definitions = Map::new();
    for n in 0..depth {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        definitions.insert(format!("d{n}"), json!({keyword: [next, next]}));
    }
    definitions.insert(format!("d{depth}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn ordinary_schemas_check_as_before() {
    let tree = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#"}}}});
    assert_eq!(problems(&tree, &json!({"n": 1, "kids": [{"n": 2}, {"n": 3, "kids": []}]})), Vec::<String>::new());
    assert_eq!(problems(&tree, &json!({"n": 1, "kids": [{"n": "2"}]})), [r#"/kids/0/n: "2" is not of type "integer""#]);
    let closed = json!({"allOf": [{"properties": {"a": true}}, {"properties": {"b": true}}], "unevaluatedProperties": false});
    assert_eq!(problems(&closed, &json!({"a": 1, "b": 2})), Vec::<String>::new());
    assert_eq!(problems(&closed, &json!({"c": 1})).len(), 1);
    let anchored = json!({"$defs": {"x": {"$anchor": "word", "type": "string", "pattern": "^[a-z]+$"}}, "items": {"$ref": "#word"}});
    assert_eq!(problems(&anchored, &json!(["ab", "c"])), Vec::<String>::new());
    assert_eq!(problems(&anchored, &json!(["A"])).len(), 1);
}

#[test]
fn schemas_that_grow_when_references_are_written_out_are_refused() {
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let fault = fault(&doubling(keyword, 60)).expect("a fault");
        assert!(fault.contains("references are written out"), "{fault}");
        assert_eq!(super::fault(&doubling(keyword, 8)), None);
    }
}

#[test]
fn parts_that_double_with_each_level_of_a_value_are_not_checked() {
    let twice = json!({"properties": {"a": {"$ref": "#"}}});
    let schema = json!({"anyOf": [twice, twice]});
    let deep = (0..60).fold(json!(1), |inner, _| json!({"a": inner}));
    assert_eq!(problems(&schema, &deep), ["cannot be checked: the value is too large for its schema"]);
    assert_eq!(problems(&schema, &json!({"a": {"a": 1}})), Vec::<String>::new());
}

#[test]
fn many_problems_of_a_large_value_are_one() {
    let schema = json!({"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}});
    assert_eq!(problems(&schema, &json!(vec![1; 100_000])), ["does not fit its schema; it is too large to say where"]);
    assert_eq!(problems(&schema, &json!(vec![1; 100])).len(), PROBLEMS);
}

#[test]
fn a_problem_shows_the_beginning_of_a_long_value() {
    let told = problems(&json!({"type": "object"}), &json!(vec!["ab"; 10_000]));
    assert_eq!(told[0].chars().count(), TEXT_LIMIT);
}
