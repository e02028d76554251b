//! Owns expression tests: one expression over `state`, bounded by fuel.

use std::fmt;
use std::sync::{Arc, LazyLock};

use minijinja::value::{Enumerator, Object, Value};
use minijinja::{Environment, UndefinedBehavior};
use serde_json::Value as Json;

use super::super::event::{Fault, FaultCode};
use super::super::state::State;

/// Instructions that one evaluation may take.
const FUEL: u64 = 50_000;
/// Bytes that an expression may have.
const MAX_LENGTH: usize = 10_000;

/// What every expression is compiled in; it never changes.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_fuel(Some(FUEL));
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment
});

/// A compiled expression.
pub(super) struct Expression {
    source: String,
    compiled: minijinja::Expression<'static, 'static>,
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
        let compiled = ENVIRONMENT.compile_expression_owned(source.to_owned()).map_err(|error| reason(&error))?;
        Ok(Self { source: source.to_owned(), compiled })
    }

    /// Is its value true?
    pub(super) fn holds(&self, state: &State) -> Result<bool, Fault> {
        let context = Value::from_object(Context(Value::from_object(Keys(state.clone()))));
        let value = self.compiled.eval(context).map_err(|error| {
            let message = format!("the expression `{}` could not be evaluated: {}", self.source, reason(&error));
            Fault::new(FaultCode::ExpressionError, message)
        })?;
        Ok(value.is_true())
    }
}

fn reason(error: &minijinja::Error) -> String {
    error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind()))
}

/// `{state: …}`.
#[derive(Debug)]
struct Context(Value);

impl Object for Context {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        (key.as_str() == Some("state")).then(|| self.0.clone())
    }
}

/// The keys of the state, converted when they are asked for.
#[derive(Debug)]
struct Keys(State);

impl Object for Keys {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_str()?).map(|value| converted(value))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.iter().map(|(key, _)| Value::from(key.to_string())).collect())
    }
}

fn converted(value: &Json) -> Value {
    match value {
        Json::Null => Value::from(()),
        Json::Bool(truth) => Value::from(*truth),
        Json::Number(number) => {
            let whole = number.as_i64().map(Value::from).or_else(|| number.as_u64().map(Value::from));
            whole.unwrap_or_else(|| Value::from(number.as_f64().unwrap_or(f64::NAN)))
        }
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(converted).collect(),
        Json::Object(fields) => Value::from_pairs(fields.iter().map(|(key, value)| (key.as_str(), converted(value)))),
    }
}
