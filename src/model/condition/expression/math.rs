//! Owns the operators on values: arithmetic, concatenation, repetition, slices, ranges.

use super::meter::{Meter, Outcome};
use super::syntax::Operation;
use super::value::{List, Text, Value};
use super::writing;

/// The most items that `range` gives.
const RANGE: i128 = 100_000;

/// One operator on two values.
pub(super) fn apply<'v>(operation: Operation, left: &Value<'v>, right: &Value<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    match operation {
        Operation::Add => add(left, right, meter),
        Operation::Concat => {
            let text = writing::shown(left, meter)? + &writing::shown(right, meter)?;
            meter.make(text.len())?;
            Ok(Value::text(&text))
        }
        Operation::Multiply => multiply(left, right, meter),
        Operation::Subtract => numbers(operation, left, right, i128::checked_sub, |left, right| Some(left - right)),
        Operation::Divide => match (left.float(), right.float()) {
            (Some(_), Some(0.0)) => Err(failed(operation, left, right)),
            (Some(left), Some(right)) => Ok(Value::Float(left / right)),
            (None, _) | (_, None) => Err(impossible(operation, left, right)),
        },
        Operation::FloorDivide => numbers(operation, left, right, |left, right| floors(left, right).map(|(quotient, _)| quotient), |left, right| {
            (right != 0.0).then(|| float_floors(left, right).0)
        }),
        Operation::Remainder => numbers(operation, left, right, |left, right| floors(left, right).map(|(_, remainder)| remainder), |left, right| {
            (right != 0.0).then(|| float_floors(left, right).1)
        }),
        Operation::Power => power(left, right),
    }
}

fn impossible(operation: Operation, left: &Value<'_>, right: &Value<'_>) -> String {
    let sign = operation.sign();
    format!("invalid operation: tried to use {sign} operator on unsupported types {} and {}", left.kind(), right.kind())
}

fn failed(operation: Operation, left: &Value<'_>, right: &Value<'_>) -> String {
    let told = |value: &Value<'_>| writing::shown(value, &Meter::new()).unwrap_or_default();
    format!("invalid operation: unable to calculate {} {} {}", told(left), operation.sign(), told(right))
}

/// Both as whole numbers, or as fractions when one of them is a fraction.
fn numbers<'v>(
    operation: Operation,
    left: &Value<'_>,
    right: &Value<'_>,
    whole: impl Fn(i128, i128) -> Option<i128>,
    float: impl Fn(f64, f64) -> Option<f64>,
) -> Outcome<Value<'v>> {
    let (Some(left_float), Some(right_float)) = (left.float(), right.float()) else { return Err(impossible(operation, left, right)) };
    let found = match (left, right) {
        (Value::Float(_), _) | (_, Value::Float(_)) => float(left_float, right_float).map(Value::Float),
        (left, right) => left.whole().zip(right.whole()).and_then(|(left, right)| whole(left, right)).map(Value::Int),
    };
    found.ok_or_else(|| failed(operation, left, right))
}

/// Quotient and remainder as Python has them: the remainder has the sign of the divisor, also when it is zero.
fn float_floors(left: f64, right: f64) -> (f64, f64) {
    let truncated = left % right;
    let between = truncated != 0.0 && (truncated < 0.0) != (right < 0.0);
    let exact = (left - truncated) / right - f64::from(u8::from(between));
    let quotient = if exact == 0.0 { 0.0_f64.copysign(left / right) } else { exact.round() };
    let remainder = match () {
        () if truncated == 0.0 => 0.0_f64.copysign(right),
        () if between => truncated + right,
        () => truncated,
    };
    (quotient, remainder)
}

fn floors(left: i128, right: i128) -> Option<(i128, i128)> {
    let (quotient, remainder) = (left.checked_div(right)?, left.checked_rem(right)?);
    if remainder != 0 && (remainder < 0) != (right < 0) { Some((quotient.checked_sub(1)?, remainder.checked_add(right)?)) } else { Some((quotient, remainder)) }
}

pub(super) fn add<'v>(left: &Value<'v>, right: &Value<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    match (left, right) {
        (Value::Text(first), Value::Text(second)) => {
            meter.make(first.len() + second.len())?;
            Ok(Value::text(&[&**first, &**second].concat()))
        }
        (Value::List(first), Value::List(second)) => {
            meter.look(first.len() + second.len())?;
            meter.make((first.len() + second.len()) * size_of::<Value<'_>>())?;
            Value::list(first.iter().chain(second.iter()).collect(), meter)
        }
        (left, right) => numbers(Operation::Add, left, right, i128::checked_add, |left, right| Some(left + right)),
    }
}

fn multiply<'v>(left: &Value<'v>, right: &Value<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    let (repeated, times) = match (left, right) {
        (Value::Text(_) | Value::List(_), times) => (left, times),
        (times, Value::Text(_) | Value::List(_)) => (right, times),
        (left, right) => return numbers(Operation::Multiply, left, right, i128::checked_mul, |left, right| Some(left * right)),
    };
    let times = times.whole().and_then(|times| usize::try_from(times).ok());
    let times = times.ok_or_else(|| format!("invalid operation: a {} can only be multiplied with whole numbers", repeated.kind()))?;
    let large = || format!("invalid operation: repeated {} is too large", repeated.kind());
    match repeated {
        Value::Text(text) => {
            meter.make(text.len().checked_mul(times).ok_or_else(large)?)?;
            Ok(Value::text(&text.repeat(times)))
        }
        Value::List(items) => {
            let count = items.len().checked_mul(times).ok_or_else(large)?;
            meter.look(count)?;
            meter.make(count.checked_mul(size_of::<Value<'_>>()).ok_or_else(large)?)?;
            let times = if items.len() == 0 { 0 } else { times };
            Value::list((0..times).flat_map(|_| items.iter()).collect(), meter)
        }
        other @ (Value::Undefined | Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Map(_)) => Ok(other.clone()),
    }
}

fn power<'v>(left: &Value<'_>, right: &Value<'_>) -> Outcome<Value<'v>> {
    let as_float = |left: f64, right: f64| (left != 0.0 || right >= 0.0).then(|| left.powf(right));
    match (left, right) {
        (Value::Int(_) | Value::Bool(_), Value::Int(exponent)) if *exponent < 0 => {
            let found = left.float().and_then(|left| as_float(left, right.float()?));
            found.map(Value::Float).ok_or_else(|| failed(Operation::Power, left, right))
        }
        (left, right) => {
            numbers(Operation::Power, left, right, |left, right| u32::try_from(right).ok().and_then(|right| left.checked_pow(right)), as_float)
        }
    }
}

/// A value with its sign turned.
pub(super) fn negative<'v>(value: &Value<'_>) -> Outcome<Value<'v>> {
    match value {
        Value::Int(number) => number.checked_neg().map(Value::Int).ok_or_else(|| "invalid operation: overflow".to_owned()),
        Value::Float(number) => Ok(Value::Float(-number)),
        Value::Undefined | Value::None | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
            Err(format!("invalid operation: a {} has no negative", value.kind()))
        }
    }
}

/// `value[start:stop:step]`.
pub(super) fn slice<'v>(value: &Value<'v>, [start, stop, step]: [Option<i128>; 3], meter: &Meter) -> Outcome<Value<'v>> {
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err("invalid operation: cannot slice by step size of 0".to_owned());
    }
    let items = match value {
        Value::Undefined | Value::None => Vec::new(),
        Value::Text(_) | Value::List(_) => value.items(meter)?,
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Map(_) => {
            return Err(format!("invalid operation: value of type {} cannot be sliced", value.kind()));
        }
    };
    let length = i128::try_from(items.len()).unwrap_or(i128::MAX);
    // As Python counts: from the end when negative, never beyond the ends.
    let bounded = |at: i128, least: i128, most: i128| (if at < 0 { at.saturating_add(length) } else { at }).clamp(least, most);
    let forwards = step > 0;
    let (least, most) = if forwards { (0, length) } else { (-1, length - 1) };
    let mut at = start.map_or(if forwards { 0 } else { length - 1 }, |start| bounded(start, least, most));
    let end = stop.map_or(if forwards { length } else { -1 }, |stop| bounded(stop, least, most));
    let mut taken = Vec::new();
    while if forwards { at < end } else { at > end } {
        taken.extend(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned());
        at = at.saturating_add(step);
    }
    if let Value::Text(_) = value {
        let letters = taken.iter().filter_map(|letter| if let Value::Text(letter) = letter { Some(&**letter) } else { None });
        return Ok(Value::Text(Text::Own(letters.collect::<String>().into())));
    }
    Ok(Value::List(List::Own(taken.into())))
}

pub(super) fn range<'v>(bounds: &[Value<'_>], meter: &Meter) -> Outcome<Value<'v>> {
    let whole = |value: &Value<'_>| value.whole().filter(|at| i64::try_from(*at).is_ok()).ok_or("invalid operation: range needs whole numbers");
    let (start, end, step) = match bounds {
        [end] => (0, whole(end)?, 1),
        [start, end] => (whole(start)?, whole(end)?, 1),
        [start, end, step] => (whole(start)?, whole(end)?, whole(step)?),
        _ => return Err("invalid operation: range needs one to three numbers".to_owned()),
    };
    let count = match step {
        0 => return Err("invalid operation: cannot create range with step of 0".to_owned()),
        1.. => (end - start + step - 1) / step,
        _ => (start - end - step - 1) / -step,
    };
    if count > RANGE {
        return Err("invalid operation: range has too many elements".to_owned());
    }
    let numbers = (0..count.max(0)).map(|at| Value::Int(start + at * step)).collect();
    Value::list(numbers, meter)
}
