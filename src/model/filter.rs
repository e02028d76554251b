//! Owns filters on the metadata of documents.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::condition::Numeric;

/// What the metadata must say; all of it must hold.
#[derive(Clone, Debug, Default)]
pub struct Filter(Vec<(String, Operator, Value)>);

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Operator {
        Equal = "eq",
        NotEqual = "ne",
        In = "in",
        Greater = "gt",
        AtLeast = "gte",
        Less = "lt",
        AtMost = "lte",
    }
}

impl Filter {
    /// Reads `{key: value}` and `{key: {operator: value}}`.
    ///
    /// # Errors
    /// What is wrong with it: the key, and a sentence.
    pub fn parse(given: &Map<String, Value>) -> Result<Self, (String, String)> {
        let mut rules = Vec::new();
        for (key, value) in given {
            let Value::Object(operators) = value else {
                rules.push((key.clone(), Operator::Equal, value.clone()));
                continue;
            };
            for (name, value) in operators {
                let Some(operator) = Operator::named(name) else {
                    return Err((key.clone(), format!("`{name}` is no operator; use eq, ne, in, gt, gte, lt or lte")));
                };
                if operator == Operator::In && !value.is_array() {
                    return Err((key.clone(), "`in` wants a list of values".to_owned()));
                }
                rules.push((key.clone(), operator, value.clone()));
            }
        }
        Ok(Self(rules))
    }

    /// Asks for nothing.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does this metadata fit?
    pub fn fits(&self, metadata: &Value) -> bool {
        self.0.iter().all(|(key, operator, wanted)| holds(metadata.get(key).unwrap_or(&Value::Null), *operator, wanted))
    }
}

fn holds(found: &Value, operator: Operator, wanted: &Value) -> bool {
    let order = || compare(found, wanted);
    match operator {
        Operator::Equal => equal(found, wanted),
        Operator::NotEqual => !equal(found, wanted),
        Operator::In => wanted.as_array().is_some_and(|all| all.iter().any(|one| equal(found, one))),
        Operator::Greater => order() == Some(Ordering::Greater),
        Operator::AtLeast => order().is_some_and(Ordering::is_ge),
        Operator::Less => order() == Some(Ordering::Less),
        Operator::AtMost => order().is_some_and(Ordering::is_le),
    }
}

/// Numbers are equal whatever way they are written.
fn equal(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && compare(one, other) == Some(Ordering::Equal))
}

/// Numbers with numbers, texts with texts; nothing else has an order.
fn compare(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => Numeric::of_number(one).order(Numeric::of_number(other)),
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fits(filter: Value, metadata: Value) -> bool {
        Filter::parse(filter.as_object().expect("an object")).expect("a filter").fits(&metadata)
    }

    #[test]
    fn all_rules_must_hold() {
        let metadata = json!({"lang": "en", "year": 2024, "price": 1.5, "draft": false, "id": 9_007_199_254_740_993_u64});
        for (filter, wanted) in [
            (json!({}), true),
            (json!({"lang": "en", "year": 2024}), true),
            (json!({"lang": "en", "year": 2025}), false),
            (json!({"year": 2024.0}), true),
            (json!({"year": "2024"}), false),
            (json!({"year": {"gte": 2024, "lt": 2025}}), true),
            (json!({"year": {"gt": 2024}}), false),
            (json!({"id": 9_007_199_254_740_993_u64}), true),
            (json!({"id": 9_007_199_254_740_992_u64}), false),
            (json!({"id": {"gt": 9_007_199_254_740_992_u64}}), true),
            (json!({"price": {"lte": 1.5}}), true),
            (json!({"lang": {"in": ["de", "en"]}}), true),
            (json!({"lang": {"in": []}}), false),
            (json!({"lang": {"ne": "de"}}), true),
            (json!({"none": {"ne": "de"}}), true),
            (json!({"none": null}), true),
            (json!({"none": {"gt": 0}}), false),
            (json!({"draft": false}), true),
            (json!({"lang": {"lt": "fr"}}), true),
        ] {
            assert_eq!(fits(filter.clone(), metadata.clone()), wanted, "{filter}");
        }
    }

    #[test]
    fn unknown_operators_are_refused() {
        let refused = |filter: Value| Filter::parse(filter.as_object().expect("an object")).expect_err("refused");
        assert_eq!(refused(json!({"a": {"like": "x"}})).0, "a");
        assert_eq!(refused(json!({"b": {"in": "x"}})).1, "`in` wants a list of values");
    }
}
