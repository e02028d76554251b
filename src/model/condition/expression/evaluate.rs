//! Owns the evaluation of an expression over a state.

use std::cmp::Ordering;

use super::super::super::state::State;
use super::filters::Given;
use super::math;
use super::meter::{Meter, Outcome};
use super::probes;
use super::syntax::{Arguments, Comparison, Expr, Literal, Step};
use super::value::{Fields, Text, Value, order, same};
use super::writing;

pub(super) struct Evaluation<'v> {
    pub(super) state: &'v State,
    pub(super) meter: Meter,
}

impl<'v> Evaluation<'v> {
    pub(super) fn value(&self, expr: &'v Expr) -> Outcome<Value<'v>> {
        self.meter.look(1)?;
        match expr {
            Expr::Literal(literal) => Ok(written(literal)),
            Expr::State => Ok(Value::Map(Fields::State(self.state))),
            Expr::Unknown => Ok(Value::Undefined),
            Expr::List(items) => Value::list(self.values(items)?, &self.meter),
            Expr::Map(fields) => self.map(fields),
            Expr::Range(bounds) => math::range(&self.values(bounds)?, &self.meter),
            Expr::Chain(first, steps) => self.chain(first, steps),
            Expr::Not(inner) => Ok(Value::Bool(!self.value(inner)?.is_true())),
            Expr::Negative(times, inner) => (0..*times).try_fold(self.value(inner)?, |value, _| math::negative(&value)),
            Expr::All(row) => self.first(row, |value| !value.is_true()),
            Expr::Any(row) => self.first(row, Value::is_true),
            Expr::Compare(first, others) => self.compare(first, others),
            Expr::Math(first, others) => {
                let mut value = self.value(first)?;
                for (operation, other) in others {
                    value = math::apply(*operation, &value, &self.value(other)?, &self.meter)?;
                }
                Ok(value)
            }
            Expr::Choice(cases, otherwise) => {
                for (value, test) in cases {
                    if self.value(test)?.is_true() {
                        return self.value(value);
                    }
                }
                otherwise.as_ref().map_or(Ok(Value::Undefined), |value| self.value(value))
            }
        }
    }

    fn values(&self, row: &'v [Expr]) -> Outcome<Vec<Value<'v>>> {
        row.iter().map(|expr| self.value(expr)).collect()
    }

    fn map(&self, fields: &'v [(Expr, Expr)]) -> Outcome<Value<'v>> {
        self.meter.make(fields.len() * size_of::<(Value<'v>, Value<'v>)>())?;
        let fields: Outcome<Vec<_>> = fields.iter().map(|(key, value)| Ok((self.value(key)?, self.value(value)?))).collect();
        Ok(Value::Map(Fields::Own(fields?.into())))
    }

    /// The first value that decides, else the last.
    fn first(&self, row: &'v [Expr], decides: impl Fn(&Value<'v>) -> bool) -> Outcome<Value<'v>> {
        let mut value = Value::Undefined;
        for expr in row {
            value = self.value(expr)?;
            if decides(&value) {
                break;
            }
        }
        Ok(value)
    }

    fn compare(&self, first: &'v Expr, others: &'v [(Comparison, Expr)]) -> Outcome<Value<'v>> {
        let mut left = self.value(first)?;
        for (comparison, right) in others {
            let right = self.value(right)?;
            if !self.holds(*comparison, &left, &right)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    fn holds(&self, comparison: Comparison, left: &Value<'_>, right: &Value<'_>) -> Outcome<bool> {
        let ordered = || order(left, right, &self.meter);
        Ok(match comparison {
            Comparison::Equal => same(left, right, &self.meter)?,
            Comparison::NotEqual => !same(left, right, &self.meter)?,
            Comparison::Less => ordered()? == Ordering::Less,
            Comparison::LessOrEqual => ordered()? != Ordering::Greater,
            Comparison::Greater => ordered()? == Ordering::Greater,
            Comparison::GreaterOrEqual => ordered()? != Ordering::Less,
            Comparison::In => contains(right, left, &self.meter)?,
            Comparison::NotIn => !contains(right, left, &self.meter)?,
        })
    }

    fn chain(&self, first: &'v Expr, steps: &'v [Step]) -> Outcome<Value<'v>> {
        let mut value = self.value(first)?;
        for step in steps {
            self.meter.look(1)?;
            value = match step {
                Step::Item(key) => value.item(&self.value(key)?, &self.meter)?,
                Step::Slice(parts) => self.slice(&value, parts)?,
                Step::Filter(filter, arguments) => filter(&value, self.given(arguments)?, &self.meter)?,
                Step::Is(probe, negated, arguments) => {
                    let arguments = self.values(arguments)?;
                    Value::Bool(probes::holds(*probe, &value, &arguments, &self.meter)? != *negated)
                }
            };
        }
        Ok(value)
    }

    fn slice(&self, value: &Value<'v>, parts: &'v [Option<Expr>; 3]) -> Outcome<Value<'v>> {
        let part = |at: usize| match &parts[at] {
            None => Ok(None),
            Some(expr) => {
                let value = self.value(expr)?;
                if matches!(value, Value::None | Value::Undefined) {
                    return Ok(None);
                }
                value.whole().map(Some).ok_or_else(|| format!("cannot convert {} to an index", value.kind()))
            }
        };
        math::slice(value, [part(0)?, part(1)?, part(2)?], &self.meter)
    }

    fn given(&self, arguments: &'v Arguments) -> Outcome<Given<'v>> {
        let plain = self.values(&arguments.plain)?;
        let named: Outcome<Vec<_>> = arguments.named.iter().map(|(name, expr)| Ok((&**name, self.value(expr)?))).collect();
        Ok(Given::new(plain, named?))
    }
}

fn written(literal: &Literal) -> Value<'_> {
    match literal {
        Literal::None => Value::None,
        Literal::Bool(truth) => Value::Bool(*truth),
        Literal::Int(number) => Value::Int(*number),
        Literal::Float(number) => Value::Float(*number),
        Literal::Text(text) => Value::Text(Text::Borrowed(text)),
    }
}

/// Is a value in another: a part of a text, an item of a list, a key of a map?
pub(super) fn contains(container: &Value<'_>, value: &Value<'_>, meter: &Meter) -> Outcome<bool> {
    match container {
        Value::Undefined => Ok(false),
        Value::Text(text) => {
            meter.read(text.len())?;
            if let Value::Text(part) = value { Ok(text.contains(&**part)) } else { Ok(text.contains(&writing::shown(value, meter)?)) }
        }
        Value::Map(fields) => Ok(fields.get(value, meter)?.is_some()),
        Value::List(items) => {
            for item in items.iter() {
                if same(&item, value, meter)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
            Err("invalid operation: cannot perform a containment check on this value".to_owned())
        }
    }
}
