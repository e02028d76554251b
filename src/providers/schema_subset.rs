//! Owns the JSON Schemas that providers accept: most support only some keywords and refuse the others.

use serde_json::{Map, Value};

use super::strict;

/// A schema with `change` made to each of its objects.
fn each(schema: &Value, change: &dyn Fn(&mut Map<String, Value>)) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let mut members = members.clone();
    change(&mut members);
    for (key, value) in &mut members {
        match (key.as_str(), &mut *value) {
            ("properties" | "$defs" | "definitions" | "patternProperties", Value::Object(named)) => {
                for schema in named.values_mut() {
                    *schema = each(schema, change);
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                for schema in schemas {
                    *schema = each(schema, change);
                }
            }
            ("items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains", Value::Object(_)) => {
                *value = each(value, change);
            }
            _ => {}
        }
    }
    Value::Object(members)
}

/// The schema with these keywords only; what the others say goes into the description. What it then lets through is refused when the
/// answer is checked.
pub(super) fn only(schema: &Value, keywords: &[&str]) -> Value {
    each(schema, &|members| {
        if !keywords.contains(&"const")
            && let Some(value) = members.remove("const")
        {
            members.insert("enum".into(), Value::Array(vec![value]));
        }
        let mut told = Map::new();
        members.retain(|key, value| {
            let kept = keywords.contains(&key.as_str());
            if !kept && !strict::SILENT.contains(&key.as_str()) && key != "additionalProperties" {
                told.insert(key.clone(), value.take());
            }
            kept
        });
        strict::describe(members, told);
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keywords_go_and_properties_of_their_name_stay() {
        let schema = json!({"$schema": "x", "type": "object", "required": ["minimum"], "properties": {
            "minimum": {"type": "integer", "minimum": 1}, "kind": {"const": "a"}, "all": true,
            "list": {"type": "array", "items": {"anyOf": [{"type": "string", "pattern": "a", "description": "Short"}]}}}});
        let wanted = json!({"type": "object", "required": ["minimum"], "properties": {
            "minimum": {"type": "integer", "description": "(JSON Schema: {\"minimum\":1})"}, "kind": {"enum": ["a"]}, "all": true,
            "list": {"type": "array", "items": {"anyOf": [{"type": "string", "description": "Short (JSON Schema: {\"pattern\":\"a\"})"}]}}}});
        assert_eq!(only(&schema, &["type", "required", "properties", "items", "anyOf", "enum", "description"]), wanted);
    }
}
