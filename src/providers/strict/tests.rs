use super::*;
use crate::tools::schema::Schema;

fn openai(schema: &Value) -> Option<Value> {
    rewritten(schema, &OPENAI)
}

#[test]
fn a_schema_is_closed_and_its_optional_members_may_be_null() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string", "minLength": 2, "description": "A name"},
        "b": {"type": "integer"}, "c": {"enum": ["x", "y"], "type": "string"}, "d": {"$ref": "#/$defs/d"}},
        "$defs": {"d": {"type": "object", "properties": {"e": {"type": "string", "format": "uri"}}, "required": ["e"]}}});
    let wanted = json!({"type": "object", "required": ["a", "b", "c", "d"], "additionalProperties": false, "properties": {
        "a": {"type": "string", "description": "A name (JSON Schema: {\"minLength\":2})"},
        "b": {"type": ["integer", "null"]}, "c": {"enum": ["x", "y", null], "type": ["string", "null"]},
        "d": {"anyOf": [{"$ref": "#/$defs/d"}, {"type": "null"}]}},
        "$defs": {"d": {"type": "object", "properties": {"e": {"type": "string", "description": "(JSON Schema: {\"format\":\"uri\"})"}}, "required": ["e"], "additionalProperties": false}}});
    assert_eq!(openai(&schema), Some(wanted));
    let anthropic = rewritten(&schema, &ANTHROPIC).expect("strict");
    assert_eq!((&anthropic["required"], &anthropic["properties"]["b"]), (&json!(["a"]), &json!({"type": "integer"})));
}

#[test]
fn one_of_disjoint_objects_becomes_any_of() {
    let pet = |kind: &str, member: &str| json!({"type": "object", "required": ["kind", member], "properties": {"kind": {"const": kind}, member: {"type": "string"}}});
    let schema = |choices: Value| json!({"type": "object", "required": ["pet"], "properties": {"pet": {"oneOf": choices}}});
    let found = openai(&schema(json!([pet("cat", "purr"), pet("dog", "bark")]))).expect("strict");
    assert_eq!(found["properties"]["pet"]["anyOf"][1]["properties"]["kind"], json!({"const": "dog"}));
    assert!(found["properties"]["pet"].get("oneOf").is_none());
    assert_eq!(openai(&schema(json!([pet("cat", "purr"), pet("cat", "bark")]))), None, "both may fit");
    assert!(openai(&schema(json!([{"type": "string"}, {"type": "integer"}]))).is_some());
    assert_eq!(openai(&schema(json!([{"type": "number"}, {"type": "integer"}]))), None);
}

#[test]
fn what_would_shut_out_valid_answers_is_not_strict() {
    let inside = |schema: Value| json!({"type": "object", "required": ["a"], "properties": {"a": schema}});
    for open in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "properties": {}, "patternProperties": {"^x": {}}}),
        json!({"type": "object", "properties": {}, "required": ["b"]}),
        json!({"type": "array"}),
        json!({}),
        json!(true),
        json!({"description": "anything"}),
        json!({"allOf": [{"type": "string", "minLength": 1}, {"pattern": "^a", "type": "string"}]}),
        // A member of the one half is none of the other, and both would be closed.
        json!({"type": "object", "properties": {"k": {"type": "string"}}, "anyOf": [{"type": "object", "properties": {"x": {"type": "string"}}}, {"type": "null"}]}),
    ] {
        assert_eq!(openai(&inside(open.clone())), None, "{open}");
    }
    let typed = openai(&inside(json!({"type": "string", "allOf": [{"minLength": 1}, {"maxLength": 9}]}))).expect("strict");
    assert_eq!(typed["properties"]["a"]["type"], "string", "the rest is said in words: {typed}");
    let half = |kind: &str, member: &str| json!({"type": "object", "required": ["kind", member], "properties": {"kind": {"const": kind}, member: {"type": "string"}}});
    for name in ["oneOf", "anyOf", "allOf"] {
        let joined = json!({"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"], name: [half("a", "x"), half("b", "y")]});
        assert_eq!((openai(&joined), rewritten(&joined, &ANTHROPIC)), (None, None), "{name}");
    }
    assert_eq!(openai(&json!({"type": "array", "items": {"type": "string"}})), None, "only objects");
    let deep = (0..20).fold(json!({"type": "string"}), |inner, _| inside(inner));
    assert_eq!(openai(&deep), None);
}

/// Every valid answer, with nulls for what is absent, fits the strict schema; without the nulls it fits the schema as written again.
#[test]
fn valid_answers_stay_valid_both_ways() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string"}, "b": {"type": "integer"}, "n": {"type": ["string", "null"]},
        "list": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "pet": {"oneOf": [
            {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "cat"}, "purr": {"type": "boolean"}}},
            {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "dog"}, "bark": {"type": "string"}}}]}},
        "$defs": {"item": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"$ref": "#/$defs/item"}}}}});
    let strict = openai(&schema).expect("strict");
    let (written, bound) = (Schema::compile(&schema).expect("a schema"), Schema::compile(&strict).expect("a schema"));
    for (told, meant) in [
        (json!({"a": "1", "b": null, "n": null, "list": null, "pet": null}), json!({"a": "1", "n": null})),
        (
            json!({"a": "1", "b": 2, "n": "x", "list": [{"x": null, "y": {"x": 1, "y": null}}], "pet": {"kind": "dog", "bark": null}}),
            json!({"a": "1", "b": 2, "n": "x", "list": [{"y": {"x": 1}}], "pet": {"kind": "dog"}}),
        ),
    ] {
        assert_eq!(bound.problems(&told), Vec::<String>::new(), "{strict}");
        let found = without_added_nulls(&schema, told);
        assert_eq!(found, meant);
        assert_eq!(written.problems(&found), Vec::<String>::new());
    }
    assert_eq!(without_added_nulls(&schema, json!({"a": null})), json!({"a": null}), "what has to be there is not taken away");
}
