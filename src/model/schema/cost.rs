//! Owns the cost of checking a value against a JSON Schema, estimated without running the validator.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::measure::{PUBLISHED_WIDTH, Places, own};

/// Pairs of a part of a schema and a part of a value that are looked at.
const PAIRS: usize = 400_000;
/// Parts within parts of a schema and of a value.
const DEPTH: usize = 1_500;

/// What a check takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) steps: u64,
    pub(super) depth: usize,
}

/// Parts of a value; long texts count as several.
pub(super) fn parts(value: &Value) -> u64 {
    let (mut open, mut count) = (vec![value], 0_u64);
    while let Some(part) = open.pop() {
        count += 1;
        match part {
            Value::String(text) => count += text.len() as u64 / 16,
            Value::Array(items) => open.extend(items),
            Value::Object(map) => {
                count += map.keys().map(|key| key.len() as u64 / 16).sum::<u64>();
                open.extend(map.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    count
}

/// What checking a value takes; none when that is more than anybody waits for. Recurs at most `DEPTH` times.
pub(super) fn of(schema: &Value, value: &Value) -> Option<Cost> {
    let places = Places::of(schema).ok()?;
    std::thread::scope(|scope| {
        let work = || Counter { places: &places, known: HashMap::new() }.cost(schema, value, 0);
        let thread = std::thread::Builder::new().name("studio-schema".to_owned()).stack_size(super::STACK).spawn_scoped(scope, work).ok()?;
        thread.join().ok()?
    })
}

struct Counter<'p, 's> {
    places: &'p Places<'s>,
    /// None while a pair is looked at: it leads to itself.
    known: HashMap<(*const Value, *const Value), Option<Cost>>,
}

impl Counter<'_, '_> {
    fn cost(&mut self, schema: &Value, value: &Value, above: usize) -> Option<Cost> {
        let pair = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
        if let Some(known) = self.known.get(&pair) {
            return known.filter(|known| above + known.depth <= DEPTH);
        }
        let Value::Object(map) = schema else { return Some(Cost { steps: 1, depth: 1 }) };
        if above > DEPTH || self.known.len() > PAIRS {
            return None;
        }
        self.known.insert(pair, None);
        let mut sum = Cost { steps: own_steps(map, value), depth: 0 };
        for part in self.in_place(map) {
            sum.add(self.cost(part, value, above + 1)?);
        }
        if map.contains_key("unevaluatedProperties") || map.contains_key("unevaluatedItems") {
            // For each member, every part is asked again whether it looked at it.
            sum.steps = sum.steps.saturating_mul(members(value).saturating_add(1));
        }
        self.below(map, value, above, &mut sum)?;
        let sum = Cost { steps: sum.steps, depth: sum.depth + 1 };
        self.known.insert(pair, Some(sum));
        Some(sum)
    }

    /// Parts that look at the same value.
    fn in_place<'m>(&self, map: &'m Map<String, Value>) -> Vec<&'m Value>
    where
        Self: 'm,
    {
        let mut parts: Vec<&Value> = Vec::new();
        for (key, value) in map {
            match (key.as_str(), value) {
                ("allOf" | "anyOf" | "oneOf" | "extends", Value::Array(items)) => parts.extend(items),
                ("not" | "if" | "then" | "else" | "extends", part) => parts.push(part),
                ("dependentSchemas" | "dependencies", Value::Object(named)) => parts.extend(named.values()),
                _ => {}
            }
        }
        parts
    }

    /// Parts that look at the members of the value.
    fn below(&mut self, map: &Map<String, Value>, value: &Value, above: usize, sum: &mut Cost) -> Option<()> {
        for part in self.places.referred(map) {
            sum.add(self.cost(part, value, above + 1)?);
        }
        for (key, part) in map {
            match (key.as_str(), part, value) {
                ("properties", Value::Object(named), Value::Object(members)) => {
                    for (name, member) in members {
                        if let Some(part) = named.get(name) {
                            sum.add(self.cost(part, member, above + 1)?);
                        }
                    }
                }
                ("patternProperties", Value::Object(named), Value::Object(members)) => {
                    for part in named.values() {
                        for member in members.values() {
                            sum.add(self.cost(part, member, above + 1)?);
                        }
                    }
                }
                ("additionalProperties" | "unevaluatedProperties" | "propertyNames", part, Value::Object(members)) => {
                    for member in members.values() {
                        sum.add(self.cost(part, member, above + 1)?);
                    }
                }
                ("prefixItems" | "items", Value::Array(parts), Value::Array(items)) => {
                    for (part, item) in parts.iter().zip(items) {
                        sum.add(self.cost(part, item, above + 1)?);
                    }
                }
                ("items" | "contains" | "unevaluatedItems" | "additionalItems", part, Value::Array(items)) => {
                    for item in items {
                        sum.add(self.cost(part, item, above + 1)?);
                    }
                }
                _ => {}
            }
        }
        Some(())
    }
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.steps = self.steps.saturating_add(other.steps);
        self.depth = self.depth.max(other.depth);
    }
}

fn members(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.len() as u64,
        Value::Object(map) => map.len() as u64,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// What a part takes by itself: patterns go through texts, lists of values are compared one by one, equal items are looked for.
fn own_steps(map: &Map<String, Value>, value: &Value) -> u64 {
    let own = own(map);
    let looks_through = ["enum", "const", "pattern", "patternProperties", "uniqueItems", "propertyNames"].iter().any(|key| map.contains_key(*key));
    let length = if looks_through || own > PUBLISHED_WIDTH { parts(value) } else { 1 };
    own.saturating_mul(length)
}
