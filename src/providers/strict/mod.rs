//! Owns the rewriting of schemas for strict modes: the result accepts every valid answer, and the answer is checked against the original
//! schema.

use serde_json::{Map, Value, json};

/// What the strict mode of a family takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    /// The keywords that it knows; what others say goes into the description.
    keywords: &'static [&'static str],
    /// Every member has to be there: those that may be absent may be null instead.
    all_required: bool,
    /// The names of the formats that it knows; empty: all.
    formats: &'static [&'static str],
}

/// OpenAI's structured outputs: <https://developers.openai.com/api/docs/guides/structured-outputs>.
pub(super) const OPENAI: Mode = Mode {
    keywords: &[
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "$defs",
        "definitions",
        "title",
        "description",
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    ],
    all_required: true,
    formats: &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
};

/// Anthropic's structured outputs: <https://platform.claude.com/docs/en/build-with-claude/structured-outputs>.
pub(super) const ANTHROPIC: Mode = Mode {
    keywords: &[
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "allOf",
        "$ref",
        "$defs",
        "definitions",
        "title",
        "description",
        "format",
    ],
    all_required: false,
    formats: &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"],
};

/// Deeper schemas are not sent as strict ones.
const DEEPEST: usize = 10;
/// Keywords that shut out valid answers when they are left out and objects are closed.
const OPENING: [&str; 5] = ["patternProperties", "unevaluatedProperties", "unevaluatedItems", "dependentSchemas", "$dynamicRef"];
/// Keywords that say nothing of an answer.
pub(super) const SILENT: [&str; 5] = ["$schema", "$id", "$comment", "examples", "default"];

/// The schema for a strict mode; none when it has none that lets every valid answer through.
pub(super) fn rewritten(schema: &Value, mode: &Mode) -> Option<Value> {
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    node(schema, mode, DEEPEST).filter(|_| is_object)
}

fn node(schema: &Value, mode: &Mode, depth: usize) -> Option<Value> {
    let members = schema.as_object()?;
    if depth == 0 || OPENING.iter().any(|name| members.contains_key(*name)) {
        return None;
    }
    let members = merged(members)?;
    if !says(&members) {
        return None;
    }
    let mut kept = Map::new();
    let mut told = Map::new();
    for (name, value) in &members {
        match name.as_str() {
            "oneOf" => {
                let choices = value.as_array().filter(|choices| are_apart(choices))?;
                kept.insert("anyOf".into(), choices.iter().map(|one| node(one, mode, depth - 1)).collect::<Option<_>>()?);
            }
            "anyOf" | "allOf" if mode.keywords.contains(&name.as_str()) => {
                kept.insert(name.clone(), value.as_array()?.iter().map(|one| node(one, mode, depth - 1)).collect::<Option<_>>()?);
            }
            "properties" | "required" | "additionalProperties" => {}
            "$defs" | "definitions" => {
                let defined = value.as_object()?.iter().map(|(name, one)| Some((name.clone(), node(one, mode, depth - 1)?)));
                kept.insert(name.clone(), Value::Object(defined.collect::<Option<_>>()?));
            }
            "items" => {
                kept.insert(name.clone(), node(value, mode, depth - 1)?);
            }
            "format" if !value.as_str().is_some_and(|format| mode.formats.contains(&format)) => {
                told.insert(name.clone(), value.clone());
            }
            known if mode.keywords.contains(&known) => {
                kept.insert(name.clone(), value.clone());
            }
            silent if SILENT.contains(&silent) => {}
            _ => {
                told.insert(name.clone(), value.clone());
            }
        }
    }
    if is_kind(&members, "array") && !kept.contains_key("items") {
        return None;
    }
    object(&members, mode, depth, &mut kept)?;
    // What is bound by words alone is not bound.
    if !says(&kept) {
        return None;
    }
    describe(&mut kept, told);
    Some(Value::Object(kept))
}

/// It says something of a value.
fn says(members: &Map<String, Value>) -> bool {
    ["type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"].iter().any(|name| members.contains_key(*name))
}

/// One alternative alone is no choice.
fn merged(members: &Map<String, Value>) -> Option<Map<String, Value>> {
    let Some([one]) = members.get("allOf").and_then(Value::as_array).map(Vec::as_slice) else { return Some(members.clone()) };
    let one = one.as_object()?;
    let apart = one.keys().all(|name| !members.contains_key(name) || matches!(name.as_str(), "title" | "description"));
    let mut all = members.clone();
    all.remove("allOf");
    all.extend(one.clone());
    apart.then_some(all)
}

fn is_kind(members: &Map<String, Value>, kind: &str) -> bool {
    match members.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        Some(one) => one == kind,
        None => false,
    }
}

/// Closes an object, and lets members that may be absent be null where all have to be there.
fn object(members: &Map<String, Value>, mode: &Mode, depth: usize, kept: &mut Map<String, Value>) -> Option<()> {
    let properties = members.get("properties").and_then(Value::as_object);
    if !is_kind(members, "object") && properties.is_none() {
        return Some(());
    }
    // An object that names no members, or takes others on purpose, has to stay open.
    let (properties, open) = (properties?, members.get("additionalProperties").is_some_and(|more| more != false));
    let required: Vec<&str> = members.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    // Closed on both sides, the object and its alternatives would shut out each other's members.
    let joined = ["anyOf", "oneOf", "allOf", "$ref"].iter().any(|name| members.contains_key(*name));
    if open || joined || required.iter().any(|name| !properties.contains_key(*name)) {
        return None;
    }
    let mut written = Map::new();
    for (name, schema) in properties {
        let schema = node(schema, mode, depth - 1)?;
        let may_be_absent = mode.all_required && !required.contains(&name.as_str());
        written.insert(name.clone(), if may_be_absent { nullable(schema) } else { schema });
    }
    let names = properties.keys().filter(|name| mode.all_required || required.contains(&name.as_str()));
    kept.insert("properties".into(), written.into());
    kept.insert("required".into(), names.cloned().collect());
    kept.insert("additionalProperties".into(), false.into());
    Some(())
}

/// A schema that takes null, too.
fn nullable(schema: Value) -> Value {
    let simple =
        schema.get("type").is_some() && schema.get("const").is_none() && schema.get("anyOf").is_none() && schema.get("$ref").is_none();
    let Value::Object(mut members) = schema else { return schema };
    if !simple {
        let mut outer = Map::new();
        outer.extend(members.remove("description").map(|text| ("description".to_owned(), text)));
        outer.insert("anyOf".into(), json!([members, {"type": "null"}]));
        return outer.into();
    }
    let mut kinds = match members.remove("type") {
        Some(Value::Array(kinds)) => kinds,
        Some(kind) => vec![kind],
        None => Vec::new(),
    };
    if !kinds.iter().any(|kind| kind == "null") {
        kinds.push("null".into());
    }
    members.insert("type".into(), kinds.into());
    if let Some(Value::Array(values)) = members.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    members.into()
}

/// What a mode does not know is said in words.
pub(super) fn describe(kept: &mut Map<String, Value>, told: Map<String, Value>) {
    if told.is_empty() {
        return;
    }
    let before = kept.get("description").and_then(Value::as_str).map(|text| format!("{text} ")).unwrap_or_default();
    kept.insert("description".into(), format!("{before}(JSON Schema: {})", Value::Object(told)).into());
}

/// No value fits two of them: they are of different types, or objects that differ in a member that all of them require.
fn are_apart(choices: &[Value]) -> bool {
    let pairs = choices.iter().enumerate().flat_map(|(n, one)| choices[n + 1..].iter().map(move |other| (one, other)));
    pairs.into_iter().all(|(one, other)| {
        let kinds = one.get("type").and_then(Value::as_str).zip(other.get("type").and_then(Value::as_str));
        let numbers = |kind: &str| if kind == "integer" { "number".to_owned() } else { kind.to_owned() };
        kinds.is_some_and(|(one, other)| numbers(one) != numbers(other)) || differ(one, other)
    })
}

fn differ(one: &Value, other: &Value) -> bool {
    let requires =
        |schema: &Value, name: &str| schema["required"].as_array().is_some_and(|required| required.iter().any(|one| one == name));
    let names = one["properties"].as_object().into_iter().flat_map(Map::keys);
    names.filter(|name| requires(one, name) && requires(other, name)).any(|name| {
        let (Some(ours), Some(theirs)) = (values(&one["properties"][name]), values(&other["properties"][name])) else { return false };
        ours.iter().all(|value| !theirs.contains(value))
    })
}

/// The values that a member may have, when they are named.
fn values(schema: &Value) -> Option<Vec<Value>> {
    let one = schema.get("const").map(|value| vec![value.clone()]);
    one.or_else(|| schema.get("enum")?.as_array().cloned())
}

/// An answer without the nulls that stand for members that may be absent: those that the schema as written does not take.
pub fn without_added_nulls(schema: &Value, answer: Value) -> Value {
    prune(schema, schema, answer, DEEPEST * 2)
}

fn prune(root: &Value, schema: &Value, answer: Value, depth: usize) -> Value {
    let schema = resolved(root, schema);
    if depth == 0 {
        return answer;
    }
    match answer {
        Value::Array(items) => {
            let of = schema.get("items").unwrap_or(&Value::Null);
            items.into_iter().map(|item| prune(root, of, item, depth - 1)).collect()
        }
        Value::Object(members) => {
            let schemas = matching(root, schema, &members);
            let member = |name: &str| schemas.iter().find_map(|schema| schema.get("properties")?.get(name));
            let required = |name: &str| {
                schemas.iter().any(|schema| schema["required"].as_array().is_some_and(|required| required.iter().any(|one| one == name)))
            };
            let kept = members.into_iter().filter_map(|(name, value)| match member(&name) {
                Some(schema) if value.is_null() && !required(&name) && !takes_null(root, schema, depth) => None,
                Some(schema) => Some((name, prune(root, schema, value, depth - 1))),
                None => Some((name, value)),
            });
            Value::Object(kept.collect())
        }
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}

/// The schemas that say something of an object: its own, and of several alternatives the one whose named values it has.
fn matching<'s>(root: &'s Value, schema: &'s Value, members: &Map<String, Value>) -> Vec<&'s Value> {
    let fits = |schema: &Value| {
        let mut named = schema["properties"].as_object().into_iter().flatten().filter_map(|(name, schema)| Some((name, values(schema)?)));
        named.all(|(name, values)| members.get(name).is_none_or(|value| value.is_null() || values.contains(value)))
    };
    let all = schema["allOf"].as_array().into_iter().flatten().map(|one| resolved(root, one));
    let choices = ["oneOf", "anyOf"].into_iter().filter_map(|name| schema[name].as_array()).flatten();
    let chosen = choices.map(|one| resolved(root, one)).find(|one| one.get("properties").is_some() && fits(one));
    std::iter::once(schema).chain(all).chain(chosen).collect()
}

/// What a reference within the schema stands for.
fn resolved<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut at = schema;
    for _ in 0..DEEPEST {
        match at.get("$ref").and_then(Value::as_str).and_then(|path| root.pointer(path.strip_prefix('#')?)) {
            Some(next) => at = next,
            None => return at,
        }
    }
    at
}

fn takes_null(root: &Value, schema: &Value, depth: usize) -> bool {
    let schema = resolved(root, schema);
    let Some(members) = schema.as_object() else { return schema != &Value::Bool(false) };
    let choices = ["anyOf", "oneOf"].into_iter().filter_map(|name| members.get(name)?.as_array()).flatten();
    let named = values(schema).map(|values| values.contains(&Value::Null));
    let by_kind = members.get("type").map(|_| is_kind(members, "null"));
    let chosen = members.contains_key("anyOf") || members.contains_key("oneOf");
    match (by_kind, named) {
        (Some(false), _) | (_, Some(false)) => false,
        _ if chosen => depth > 0 && choices.into_iter().any(|one| takes_null(root, one, depth - 1)),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
