//! Owns tests of the state: one rule, several rules, or an expression, compiled once.

mod compare;
mod expression;
mod operator;
mod parse;
mod pattern;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Map, Value};

pub(in crate::model) use compare::Numeric;
pub use operator::{Needs, Operator, VALUE_TYPES};
pub use parse::{Flaw, FlawKind, KEYS};
pub use pattern::Budget;

use super::event::{Fault, FaultCode};
use super::path::Path;
use super::state::State;
use super::texts::{Locale, text};
use expression::Expression;
use operator::Operand;

/// A compiled test.
#[derive(Clone, Debug)]
pub struct Test(Form);

#[derive(Clone, Debug)]
enum Form {
    All(Box<[Rule]>),
    Any(Box<[Rule]>),
    Expression(Arc<Expression>),
    /// It was stored when other rules held, and does not compile: why.
    Broken(Arc<str>),
}

/// Bytes of the state that the rules of one test may look at.
const LOOKED_AT: usize = 64 << 20;

/// One comparison of a state value with a given value.
#[derive(Clone, Debug)]
struct Rule {
    path: Path,
    operator: Operator,
    operand: Operand,
    strict: bool,
}

impl Test {
    /// Compiles what a node's data says; none when it says nothing of a test.
    pub fn parse(data: &Map<String, Value>) -> Result<Option<Self>, Vec<Flaw>> {
        Self::parse_within(data, &mut Budget::default())
    }

    /// The same for a test whose graph has others.
    pub fn parse_within(data: &Map<String, Value>, budget: &mut Budget) -> Result<Option<Self>, Vec<Flaw>> {
        if parse::is_given(data) { parse::read(data, Some(budget)).map(Some) } else { Ok(None) }
    }

    /// Compiles what a condition node's data says: without any key it asks whether `input` is not empty.
    pub fn parse_or_default(data: &Map<String, Value>) -> Result<Self, Vec<Flaw>> {
        parse::read(data, Some(&mut Budget::default()))
    }

    /// The same for a test whose graph has others.
    pub fn parse_or_default_within(data: &Map<String, Value>, budget: &mut Budget) -> Result<Self, Vec<Flaw>> {
        parse::read(data, Some(budget))
    }

    /// Reads a test that was checked when it was stored. One that does not compile fails when it is asked.
    #[must_use]
    pub fn stored(data: &Map<String, Value>) -> Option<Self> {
        parse::is_given(data).then(|| Self::stored_or_default(data))
    }

    /// The same for a condition node.
    #[must_use]
    pub fn stored_or_default(data: &Map<String, Value>) -> Self {
        parse::read(data, None).unwrap_or_else(|flaws| {
            let told = flaws.first().map(|flaw| format!("{}: {}", flaw.field, text(Locale::En, flaw.detail, &flaw.values())));
            Self(Form::Broken(told.unwrap_or_default().into()))
        })
    }

    /// Does it hold?
    ///
    /// # Errors
    /// `expression_error`: it could not be evaluated.
    pub fn holds(&self, state: &State) -> Result<bool, Fault> {
        match &self.0 {
            Form::All(rules) => decided(rules, state, false),
            Form::Any(rules) => decided(rules, state, true),
            Form::Expression(expression) => expression.holds(state),
            Form::Broken(reason) => Err(Fault::new(FaultCode::ExpressionError, format!("the test cannot be used: {reason}"))),
        }
    }

    /// The state paths that its rules read; what an expression reads is known to nobody.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let rules: &[Rule] = match &self.0 {
            Form::All(rules) | Form::Any(rules) => rules,
            Form::Expression(_) | Form::Broken(_) => &[],
        };
        rules.iter().map(|rule| &rule.path)
    }
}

impl Default for Test {
    fn default() -> Self {
        let rule = Rule { path: Path::key("input"), operator: Operator::NotEmpty, operand: Operand::default(), strict: false };
        Self(Form::All(Box::new([rule])))
    }
}

/// Looks for the first rule that answers so; without one all answer otherwise.
fn decided(rules: &[Rule], state: &State, wanted: bool) -> Result<bool, Fault> {
    let mut left = LOOKED_AT;
    for rule in rules {
        let answer = left.checked_sub(rule.looks_at(state)).ok_or_else(too_much).and_then(|rest| {
            left = rest;
            rule.holds(state)
        });
        let answer = answer.map_err(|reason| Fault::new(FaultCode::ExpressionError, format!("the rule on `{}` failed: {reason}", rule.path.source())))?;
        if answer == wanted {
            return Ok(wanted);
        }
    }
    Ok(!wanted)
}

fn too_much() -> String {
    format!("the rules of this test look at more than {} MiB; test less of the state, or keep less in it", LOOKED_AT >> 20)
}

impl Rule {
    fn holds(&self, state: &State) -> Result<bool, String> {
        let value = state.lookup(&self.path).unwrap_or(&Value::Null);
        self.operator.holds(value, &self.operand, self.strict)
    }

    /// At most so many bytes.
    fn looks_at(&self, state: &State) -> usize {
        let value = match state.lookup(&self.path) {
            Some(Value::String(text)) => text.len(),
            Some(Value::Array(_) | Value::Object(_)) => state.size_of(self.path.root()),
            None | Some(Value::Null | Value::Bool(_) | Value::Number(_)) => 0,
        };
        match self.operator.needs() {
            Needs::Nothing | Needs::Number => 0,
            Needs::Any | Needs::Text | Needs::List | Needs::Order => value + self.operand.bytes,
        }
    }
}
