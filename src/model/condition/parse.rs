//! Owns the parser of tests in a node's data, with its errors.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::super::path::Path;
use super::super::state::measure;
use super::super::template_text::text_of;
use super::compare::{Numeric, as_text, date, truth};
use super::expression::Expression;
use super::operator::{Needs, Operand, Operator, VALUE_TYPES};
use super::pattern::{Budget, Pattern};
use super::{Form, Rule, Test};

/// Data keys that make a test of a loop.
pub const KEYS: [&str; 4] = ["state_key", "operator", "rules", "expression"];

/// Rules that one test may have.
const RULES: usize = 256;

/// Something wrong with a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Which part of it.
    pub kind: FlawKind,
    /// Such as `data.rules.0.operator`.
    pub field: String,
    /// What is wrong: the key of a phrase.
    pub detail: &'static str,
    /// What the phrase names: the words that are allowed, or the reason.
    pub about: String,
}

impl Flaw {
    /// The values of its phrase.
    pub fn values(&self) -> [(&'static str, &str); 1] {
        [("about", &self.about)]
    }
}

/// Which part of a test is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlawKind {
    /// A rule.
    Rule,
    /// The expression.
    Expression,
}

/// Does the data say anything of a test?
pub(super) fn is_given(data: &Map<String, Value>) -> bool {
    KEYS.iter().any(|key| said(data, key).is_some())
}

/// A key that says something: not null, not blank text, not an empty list.
fn said<'d>(data: &'d Map<String, Value>, key: &str) -> Option<&'d Value> {
    data.get(key).filter(|value| match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    })
}

/// Compiles a test. Its patterns must fit into the budget; without one they were checked before, and are compiled when they are asked.
pub(super) fn read(data: &Map<String, Value>, budget: Option<&mut Budget>) -> Result<Test, Vec<Flaw>> {
    if let Some(expression) = said(data, "expression") {
        return read_expression(expression).map_err(|flaw| vec![flaw]);
    }
    let Some(rules) = said(data, "rules") else {
        let rule = read_rule(data, "data", budget)?;
        return Ok(Test(Form::All(Box::new([rule]))));
    };
    let mut flaws = Vec::new();
    let any = match said(data, "logic").map(Value::as_str) {
        None | Some(Some("all")) => false,
        Some(Some("any")) => true,
        Some(_) => {
            flaws.push(flaw("data", "logic", "flaw.choice", "all, any"));
            false
        }
    };
    let rules = read_rules(rules, budget, &mut flaws);
    if flaws.is_empty() { Ok(Test(if any { Form::Any(rules) } else { Form::All(rules) })) } else { Err(flaws) }
}

fn read_expression(value: &Value) -> Result<Test, Flaw> {
    let wrong = |detail, about| Flaw { kind: FlawKind::Expression, field: "data.expression".into(), detail, about };
    let text = value.as_str().ok_or_else(|| wrong("expected.text", String::new()))?;
    let compiled = Expression::compile(text).map_err(|reason| wrong("flaw.expression", reason))?;
    Ok(Test(Form::Expression(Arc::new(compiled))))
}

fn read_rules(rules: &Value, mut budget: Option<&mut Budget>, flaws: &mut Vec<Flaw>) -> Box<[Rule]> {
    let Some(rules) = rules.as_array() else {
        flaws.push(flaw("data", "rules", "expected.list", ""));
        return Box::default();
    };
    if rules.len() > RULES {
        flaws.push(flaw("data", "rules", "flaw.rules", &RULES.to_string()));
        return Box::default();
    }
    let mut read = Vec::with_capacity(rules.len());
    for (n, rule) in rules.iter().enumerate() {
        let at = format!("data.rules.{n}");
        let Some(rule) = rule.as_object() else {
            flaws.push(Flaw { kind: FlawKind::Rule, field: at, detail: "expected.object", about: String::new() });
            continue;
        };
        match read_rule(rule, &at, budget.as_deref_mut()) {
            Ok(rule) => read.push(rule),
            Err(found) => flaws.extend(found),
        }
    }
    read.into()
}

fn flaw(at: &str, key: &str, detail: &'static str, about: &str) -> Flaw {
    Flaw { kind: FlawKind::Rule, field: format!("{at}.{key}"), detail, about: about.to_owned() }
}

fn read_rule(data: &Map<String, Value>, at: &str, budget: Option<&mut Budget>) -> Result<Rule, Vec<Flaw>> {
    let mut flaws = Vec::new();
    let path = match said(data, "state_key") {
        None => Some(Path::key("input")),
        Some(key) => key.as_str().and_then(Path::parse),
    };
    if path.is_none() {
        flaws.push(flaw(at, "state_key", "expected.path", ""));
    }
    let operator = match said(data, "operator") {
        None => Some(Operator::NotEmpty),
        Some(name) => name.as_str().and_then(Operator::written),
    };
    if operator.is_none() {
        flaws.push(flaw(at, "operator", "flaw.operator", ""));
    }
    let value_type = match said(data, "value_type") {
        None => Some("auto"),
        Some(name) => name.as_str().filter(|name| VALUE_TYPES.contains(name)),
    };
    if value_type.is_none() {
        flaws.push(flaw(at, "value_type", "flaw.choice", &VALUE_TYPES.join(", ")));
    }
    let strict = data.get("strict").and_then(Value::as_bool).unwrap_or(false);
    let value = data.get("value").unwrap_or(&Value::Null);
    let operand = match (operator, value_type) {
        (Some(operator), Some(value_type)) => read_operand(operator, value, value_type, strict, budget)
            .map_err(|(detail, about)| flaws.push(flaw(at, "value", detail, &about)))
            .ok(),
        (None | Some(_), None) | (None, Some(_)) => None,
    };
    match (path, operator, operand) {
        (Some(path), Some(operator), Some(operand)) if flaws.is_empty() => Ok(Rule { path, operator, operand, strict }),
        (None | Some(_), None | Some(_), None | Some(_)) => Err(flaws),
    }
}

/// The key of a phrase, and what it names.
type Reason = (&'static str, String);

fn must_be<T>(found: Option<T>, expected: &'static str) -> Result<T, Reason> {
    found.ok_or((expected, String::new()))
}

fn read_operand(operator: Operator, value: &Value, value_type: &str, strict: bool, budget: Option<&mut Budget>) -> Result<Operand, Reason> {
    let needs = operator.needs();
    if needs == Needs::Nothing {
        return Ok(Operand::default());
    }
    let text = as_text(value).or_else(|| value.is_null().then(|| "".into()));
    let regex = if operator == Operator::Regex { Some(pattern(value, budget)?) } else { None };
    let converted = if strict || value.is_null() { value.clone() } else { convert_all(value, value_type, needs)? };
    let bytes = measure(&converted).0;
    Ok(Operand { value: converted, bytes, text: text.map(Into::into), regex, dates: value_type == "date" })
}

fn pattern(value: &Value, budget: Option<&mut Budget>) -> Result<Pattern, Reason> {
    let text = must_be(as_text(value), "expected.regex")?;
    budget.map_or_else(|| Ok(Pattern::stored(&text)), |budget| Pattern::checked(&text, budget).map_err(|reason| ("flaw.regex", reason)))
}

/// Items of a list are converted one by one.
fn convert_all(value: &Value, value_type: &str, needs: Needs) -> Result<Value, Reason> {
    match value {
        Value::Array(items) if needs == Needs::List => {
            items.iter().map(|item| convert(item, value_type, needs)).collect::<Result<_, _>>().map(Value::Array)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            convert(value, value_type, needs)
        }
    }
}

fn convert(value: &Value, value_type: &str, needs: Needs) -> Result<Value, Reason> {
    match value_type {
        "string" => Ok(as_text(value).map_or_else(|| Value::String(value.to_string()), |text| Value::String(text.into_owned()))),
        "number" => must_be(Numeric::of(value).and_then(Numeric::to_number).map(Value::Number), "expected.number"),
        "boolean" => must_be(truth(value).map(Value::Bool), "expected.flag"),
        "null" => Ok(Value::Null),
        "date" if needs == Needs::Order => must_be(date(value).map(|_| value.clone()), "expected.date"),
        "auto" if needs.converts() => Ok(automatic(value)),
        _ => Ok(value.clone()),
    }
}

fn automatic(value: &Value) -> Value {
    let Value::String(text) = value else { return value.clone() };
    match text_of(value).as_ref() {
        "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => Numeric::of(value).and_then(Numeric::to_number).map_or_else(|| Value::String(text.clone()), Value::Number),
    }
}
