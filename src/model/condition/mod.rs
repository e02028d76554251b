//! Owns tests of the state: one rule, several rules, or an expression, compiled once.

mod compare;
mod expression;
mod operator;
mod parse;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Map, Value};

pub use operator::{Needs, OPERATORS, Operator, VALUE_TYPES};
pub use parse::{Flaw, FlawKind, KEYS};

use super::event::Fault;
use super::path::Path;
use super::state::State;
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
}

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
    ///
    /// # Errors
    /// What is wrong with it, by field.
    pub fn parse(data: &Map<String, Value>) -> Result<Option<Self>, Vec<Flaw>> {
        if parse::is_given(data) { parse::read(data).map(Some) } else { Ok(None) }
    }

    /// Compiles what a condition node's data says: without any key it asks whether `input` is not empty.
    ///
    /// # Errors
    /// What is wrong with it, by field.
    pub fn parse_or_default(data: &Map<String, Value>) -> Result<Self, Vec<Flaw>> {
        parse::read(data)
    }

    /// Does it hold?
    ///
    /// # Errors
    /// `expression_error`: the expression could not be evaluated.
    pub fn holds(&self, state: &State) -> Result<bool, Fault> {
        match &self.0 {
            Form::All(rules) => Ok(rules.iter().all(|rule| rule.holds(state))),
            Form::Any(rules) => Ok(rules.iter().any(|rule| rule.holds(state))),
            Form::Expression(expression) => expression.holds(state),
        }
    }

    /// The state paths that its rules read; what an expression reads is known to nobody.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let rules: &[Rule] = match &self.0 {
            Form::All(rules) | Form::Any(rules) => rules,
            Form::Expression(_) => &[],
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

impl Rule {
    fn holds(&self, state: &State) -> bool {
        let value = state.lookup(&self.path).unwrap_or(&Value::Null);
        self.operator.holds(value, &self.operand, self.strict)
    }
}
