//! Owns expression tests: one Jinja expression over `state`, with limits on depth, steps and memory.
//!
//! The language is that of minijinja's expressions with the listed filters and tests; a test compares both implementations.

mod evaluate;
mod filters;
mod lexer;
mod math;
mod meter;
mod numbers;
mod parser;
mod probes;
mod syntax;
#[cfg(test)]
mod tests;
mod value;
mod writing;

use std::fmt;

use super::super::event::{Fault, FaultCode};
use super::super::state::State;
use evaluate::Evaluation;
use meter::Meter;
use syntax::Expr;

/// Bytes that an expression may have.
const MAX_LENGTH: usize = 10_000;
/// Bytes of it that a message repeats.
const SHOWN: usize = 200;

pub(super) struct Expression {
    source: Box<str>,
    compiled: Expr,
}

impl fmt::Debug for Expression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Expression").field(&self.source).finish()
    }
}

impl Expression {
    /// Compiles an expression; else says why not.
    pub(super) fn compile(source: &str) -> Result<Self, String> {
        if source.len() > MAX_LENGTH {
            return Err(format!("longer than {MAX_LENGTH} characters"));
        }
        let compiled = parser::parse(source).map_err(|reason| format!("syntax error: {reason}"))?;
        Ok(Self { source: source.into(), compiled })
    }

    /// Is its value true?
    pub(super) fn holds(&self, state: &State) -> Result<bool, Fault> {
        let evaluation = Evaluation { state, meter: Meter::new() };
        let value = evaluation.value(&self.compiled).map_err(|reason| {
            let message = format!("the expression `{}` could not be evaluated: {}", self.shown(), short(&reason));
            Fault::new(FaultCode::ExpressionError, message)
        })?;
        Ok(value.is_true())
    }

    fn shown(&self) -> String {
        short(&self.source)
    }
}

fn short(text: &str) -> String {
    let end = text.floor_char_boundary(SHOWN);
    if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
}
