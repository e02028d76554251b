//! Owns the cost of compiling a JSON Schema: its size with all references expanded, its depth, its patterns.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Parts of a schema as it is written, and with every reference written out.
const WRITTEN: usize = 50_000;
const PARTS: u64 = 50_000;
/// Parts within parts, references written out.
const DEPTH: usize = 200;
/// Patterns of a schema, and the letters of them all.
const PATTERNS: usize = 100;
const LETTERS: usize = 100_000;
/// Parts that give themselves a name; references are looked for in each of them.
const NAMED: usize = 50;

#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Parts with every reference written out.
    pub(super) width: u64,
    /// How deep they are within one another.
    pub(super) depth: usize,
    /// Width times parts of a value bounds the steps of a check: no part refers to itself or looks twice at a value.
    pub(super) plain: bool,
}

/// Schemas that are published with the standard; the validator knows them.
const PUBLISHED: &str = "://json-schema.org/";
/// Steps for each part of a value that is checked against one of those, and how deep they are.
pub(super) const PUBLISHED_WIDTH: u64 = 200;
const PUBLISHED_DEPTH: usize = 200;

/// Where references of a schema lead.
pub(super) struct Places<'s> {
    roots: Vec<&'s Value>,
    /// How deep parts are written within one another.
    nested: usize,
    anchors: HashMap<&'s str, Vec<&'s Value>>,
}

impl<'s> Places<'s> {
    /// Looks through a schema, without recursion.
    pub(super) fn of(schema: &'s Value) -> Result<Self, String> {
        let (mut roots, mut anchors) = (vec![schema], HashMap::<&str, Vec<&Value>>::new());
        let (mut open, mut seen, mut nested, mut patterns, mut letters) = (vec![(schema, 1)], 0, 0, 0, 0);
        while let Some((part, level)) = open.pop() {
            (seen, nested) = (seen + 1, nested.max(level));
            match part {
                Value::Array(items) => open.extend(items.iter().map(|item| (item, level + 1))),
                Value::Object(map) => {
                    if ["$id", "id"].iter().any(|key| map.get(*key).is_some_and(Value::is_string)) && !std::ptr::eq(part, schema) {
                        roots.push(part);
                    }
                    for key in ["$anchor", "$dynamicAnchor"] {
                        if let Some(name) = map.get(key).and_then(Value::as_str) {
                            anchors.entry(name).or_default().push(part);
                        }
                    }
                    let written = map.get("pattern").and_then(Value::as_str).into_iter();
                    let keys = map.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(Map::keys).map(String::as_str);
                    for pattern in written.chain(keys) {
                        (patterns, letters) = (patterns + 1, letters + pattern.len());
                    }
                    open.extend(map.values().map(|value| (value, level + 1)));
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
            if seen > WRITTEN {
                return Err(format!("is too large: a schema has at most {WRITTEN} parts"));
            }
        }
        if patterns > PATTERNS || letters > LETTERS {
            return Err(format!("is too large: a schema has at most {PATTERNS} patterns of {LETTERS} letters together"));
        }
        if roots.len() > NAMED {
            return Err(format!("is too large: at most {NAMED} of its parts have an `$id`"));
        }
        Ok(Self { roots, nested, anchors })
    }

    /// Everything that a reference may mean; what lies outside of the schema is never followed.
    pub(super) fn targets(&self, reference: &str) -> Vec<&'s Value> {
        if is_published(reference) {
            return Vec::new();
        }
        let fragment = reference.split_once('#').map_or("", |(_, fragment)| fragment);
        if fragment.is_empty() || fragment.starts_with('/') {
            let pointer = percent_encoding::percent_decode_str(fragment).decode_utf8_lossy();
            return self.roots.iter().filter_map(|root| root.pointer(&pointer)).collect();
        }
        self.anchors.get(fragment).cloned().unwrap_or_default()
    }

    /// What the references of a part mean.
    pub(super) fn referred(&self, map: &Map<String, Value>) -> Vec<&'s Value> {
        references(map).flat_map(|name| self.targets(name)).collect()
    }
}

fn references(map: &Map<String, Value>) -> impl Iterator<Item = &str> {
    ["$ref", "$dynamicRef", "$recursiveRef"].into_iter().filter_map(|key| map.get(key)).filter_map(Value::as_str)
}

fn is_published(reference: &str) -> bool {
    reference.contains(PUBLISHED)
}

/// Schemas that are written in a schema, those that only references reach left out.
fn parts_of(map: &Map<String, Value>) -> Vec<&Value> {
    let mut parts: Vec<&Value> = Vec::new();
    for (key, value) in map {
        match (key.as_str(), value) {
            ("const" | "enum" | "default" | "examples" | "$defs" | "definitions", _) => {}
            ("properties" | "patternProperties" | "dependentSchemas" | "dependencies", Value::Object(named)) => parts.extend(named.values()),
            (_, Value::Array(items)) => parts.extend(items),
            (_, Value::Object(_)) => parts.push(value),
            (_, Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {}
        }
    }
    parts
}

pub(super) fn measured(schema: &Value) -> Result<Measured, String> {
    let places = Places::of(schema)?;
    let mut found = Finder { places: &places, known: HashMap::new(), plain: true };
    let (width, depth) = found.measure(schema, 0)?;
    Ok(Measured { width, depth: depth.max(places.nested / 2), plain: found.plain })
}

struct Finder<'p, 's> {
    places: &'p Places<'s>,
    /// None while a part is measured: what refers to it refers to itself.
    known: HashMap<*const Value, Option<(u64, usize)>>,
    plain: bool,
}

impl Finder<'_, '_> {
    fn measure(&mut self, part: &Value, above: usize) -> Result<(u64, usize), String> {
        if above > DEPTH {
            return Err(format!("is too deep: parts of a schema are at most {DEPTH} within one another, references included"));
        }
        match self.known.get(&std::ptr::from_ref(part)) {
            Some(Some(known)) if above + known.1 > DEPTH => return Err(format!("is too deep: at most {DEPTH} parts are within one another")),
            Some(Some(known)) => return Ok(*known),
            Some(None) => {
                self.plain = false;
                return Ok((1, 1));
            }
            None => {}
        }
        let Value::Object(map) = part else { return Ok((1, 1)) };
        let published = references(map).any(is_published);
        if published || map.contains_key("unevaluatedProperties") || map.contains_key("unevaluatedItems") {
            self.plain = false;
        }
        let mut parts = parts_of(map);
        parts.extend(self.places.referred(map));
        self.known.insert(std::ptr::from_ref(part), None);
        let (mut width, mut depth) = (own(map), if published { PUBLISHED_DEPTH } else { 0 });
        for part in parts {
            let (more, below) = self.measure(part, above + 1)?;
            (width, depth) = (width.saturating_add(more), depth.max(below));
            if width > PARTS {
                return Err(format!("is too large: it has more than {PARTS} parts when its references are written out"));
            }
        }
        self.known.insert(std::ptr::from_ref(part), Some((width, depth + 1)));
        Ok((width, depth + 1))
    }
}

/// What a part takes by itself.
pub(super) fn own(map: &Map<String, Value>) -> u64 {
    let listed = |key: &str| map.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    let letters = map.get("pattern").and_then(Value::as_str).map_or(0, str::len);
    let keys = map.get("patternProperties").and_then(Value::as_object).map_or(0, |keys| keys.keys().map(String::len).sum());
    let published = if references(map).any(is_published) { PUBLISHED_WIDTH } else { 0 };
    (1 + map.len() + listed("enum") + listed("required") + letters + keys) as u64 + published
}
