//! Owns the validation of values by JSON Schema, with errors in words.

use serde_json::{Map, Value};

pub use crate::model::schema::Schema;

/// More problems than these help nobody.
const PROBLEMS: usize = 10;

/// What is wrong with arguments. A schema that cannot be used checks nothing: the tool decides itself.
pub fn argument_problems(schema: &Value, arguments: &Value) -> Vec<String> {
    match Schema::compile(schema) {
        Ok(schema) => schema.problems(arguments),
        Err(_) => Vec::new(),
    }
}

/// What somebody filled into a form of plain values, with what the form gives for values that were left out.
pub fn filled(form: &Value, mut content: Map<String, Value>) -> Result<Value, Vec<String>> {
    let none = Map::new();
    let fields = form.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let unknown: Vec<String> = content.keys().filter(|name| !fields.contains_key(*name)).map(|name| format!("`{name}` is not asked for")).collect();
    if !unknown.is_empty() {
        return Err(unknown.into_iter().take(PROBLEMS).collect());
    }
    for (name, field) in fields {
        if let Some(usual) = field.get("default")
            && !content.contains_key(name)
        {
            content.insert(name.clone(), usual.clone());
        }
    }
    let content = Value::Object(content);
    let problems = argument_problems(form, &content);
    if problems.is_empty() { Ok(content) } else { Err(problems) }
}

/// The schema of an object without some of its properties.
pub fn without<'a>(schema: &Value, keys: &(impl Iterator<Item = &'a String> + Clone)) -> Value {
    let mut schema = schema.clone();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|key, _| !keys.clone().any(|gone| gone == key));
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|key| !keys.clone().any(|gone| key == gone));
    }
    schema
}

/// A schema of an object whose properties are all required.
pub fn object(properties: &[(&str, &str, &str)]) -> Value {
    let described = properties.iter().map(|(name, kind, text)| {
        ((*name).to_owned(), serde_json::json!({"type": kind, "description": text}))
    });
    let described: Map<String, Value> = described.collect();
    let required: Vec<&str> = properties.iter().map(|(name, _, _)| *name).collect();
    serde_json::json!({"type": "object", "properties": described, "required": required, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn problems_name_their_place() {
        let schema = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "n": {"type": "array", "items": {"minimum": 2}}}});
        assert_eq!(argument_problems(&schema, &json!({"id": "1"})), Vec::<String>::new());
        expect![[r#"
            "id" is a required property
            /n/1: 1 is less than the minimum of 2"#]]
        .assert_eq(&argument_problems(&schema, &json!({"n": [3, 1]})).join("\n"));
        assert_eq!(argument_problems(&json!({"type": 5}), &json!({})), Vec::<String>::new());
        assert_eq!(argument_problems(&json!({"$ref": "https://example.com/x"}), &json!({})), Vec::<String>::new());
    }

    #[test]
    fn fixed_arguments_are_hidden() {
        let schema = object(&[("a", "string", "A"), ("b", "string", "B")]);
        let hidden = without(&schema, &["a".to_owned()].iter());
        assert_eq!(hidden, object(&[("b", "string", "B")]));
    }
}
