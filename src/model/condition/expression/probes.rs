//! Owns the tests after `is` in expressions.

use std::cmp::Ordering;

use super::evaluate::contains;
use super::meter::{Meter, Outcome};
use super::value::{Value, order, same};
use super::writing;

/// What is asked.
#[derive(Clone, Copy)]
pub(super) enum Probe {
    Boolean,
    Defined,
    DivisibleBy,
    EndingWith,
    Equal,
    Even,
    False,
    Float,
    Greater,
    GreaterOrEqual,
    In,
    Integer,
    Iterable,
    Less,
    LessOrEqual,
    Lower,
    Mapping,
    None,
    NotEqual,
    Number,
    Odd,
    Sequence,
    StartingWith,
    String,
    True,
    Undefined,
    Upper,
}

const PROBES: &[(&str, Probe)] = &[
    ("boolean", Probe::Boolean),
    ("defined", Probe::Defined),
    ("divisibleby", Probe::DivisibleBy),
    ("endingwith", Probe::EndingWith),
    ("eq", Probe::Equal),
    ("equalto", Probe::Equal),
    ("==", Probe::Equal),
    ("even", Probe::Even),
    ("false", Probe::False),
    ("float", Probe::Float),
    ("ge", Probe::GreaterOrEqual),
    (">=", Probe::GreaterOrEqual),
    ("greaterthan", Probe::Greater),
    ("gt", Probe::Greater),
    (">", Probe::Greater),
    ("in", Probe::In),
    ("integer", Probe::Integer),
    ("int", Probe::Integer),
    ("iterable", Probe::Iterable),
    ("le", Probe::LessOrEqual),
    ("<=", Probe::LessOrEqual),
    ("lessthan", Probe::Less),
    ("lt", Probe::Less),
    ("<", Probe::Less),
    ("lower", Probe::Lower),
    ("mapping", Probe::Mapping),
    ("ne", Probe::NotEqual),
    ("!=", Probe::NotEqual),
    ("none", Probe::None),
    ("number", Probe::Number),
    ("odd", Probe::Odd),
    ("sequence", Probe::Sequence),
    ("startingwith", Probe::StartingWith),
    ("string", Probe::String),
    ("true", Probe::True),
    ("undefined", Probe::Undefined),
    ("upper", Probe::Upper),
];

/// The test of a name.
pub(super) fn named(name: &str) -> Option<Probe> {
    PROBES.iter().find(|(known, _)| *known == name).map(|(_, probe)| *probe)
}

pub(super) fn holds(probe: Probe, value: &Value<'_>, arguments: &[Value<'_>], meter: &Meter) -> Outcome<bool> {
    meter.look(1)?;
    let other = || arguments.first().ok_or_else(|| "missing argument".to_owned());
    let ordered = || order(value, other()?, meter);
    Ok(match probe {
        Probe::Boolean => matches!(value, Value::Bool(_)),
        Probe::Defined => !matches!(value, Value::Undefined),
        Probe::Undefined => matches!(value, Value::Undefined),
        Probe::None => matches!(value, Value::None),
        Probe::True => matches!(value, Value::Bool(true)),
        Probe::False => matches!(value, Value::Bool(false)),
        Probe::Number => matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(_)),
        Probe::Integer => matches!(value, Value::Int(_)),
        Probe::Float => matches!(value, Value::Float(_)),
        Probe::String => matches!(value, Value::Text(_)),
        Probe::Sequence => matches!(value, Value::List(_) | Value::Undefined),
        Probe::Mapping => matches!(value, Value::Map(_)),
        Probe::Iterable => matches!(value, Value::List(_) | Value::Map(_) | Value::Text(_) | Value::Undefined | Value::None),
        Probe::Odd => value.whole().is_some_and(|number| number % 2 != 0),
        Probe::Even => value.whole().is_some_and(|number| number % 2 == 0),
        Probe::DivisibleBy => match (value.whole(), other()?.whole()) {
            (Some(number), Some(by)) => number.checked_rem(by) == Some(0),
            (None, _) | (_, None) => value.float().zip(other()?.float()).is_some_and(|(number, by)| number % by == 0.0),
        },
        Probe::StartingWith => writing::shown(value, meter)?.starts_with(&writing::shown(other()?, meter)?),
        Probe::EndingWith => writing::shown(value, meter)?.ends_with(&writing::shown(other()?, meter)?),
        Probe::Equal => same(value, other()?, meter)?,
        Probe::NotEqual => !same(value, other()?, meter)?,
        Probe::Less => ordered()? == Ordering::Less,
        Probe::LessOrEqual => ordered()? != Ordering::Greater,
        Probe::Greater => ordered()? == Ordering::Greater,
        Probe::GreaterOrEqual => ordered()? != Ordering::Less,
        Probe::In => contains(other()?, value, meter).unwrap_or(false),
        Probe::Lower => cased(value, meter, char::is_lowercase, char::is_uppercase)?,
        Probe::Upper => cased(value, meter, char::is_uppercase, char::is_lowercase)?,
    })
}

fn cased(value: &Value<'_>, meter: &Meter, wanted: fn(char) -> bool, other: fn(char) -> bool) -> Outcome<bool> {
    let Value::Text(text) = value else { return Ok(false) };
    meter.read(text.len())?;
    Ok(text.chars().any(wanted) && !text.chars().any(other))
}
