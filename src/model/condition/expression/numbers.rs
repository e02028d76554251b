//! Owns the numeric filters of expressions.

use super::filters::Given;
use super::meter::{Meter, Outcome};
use super::value::Value;

/// Digits behind the point that are asked for.
const DIGITS: i128 = 300;

pub(super) fn abs<'v>(value: &Value<'v>, _: Given<'v>, _: &Meter) -> Outcome<Value<'v>> {
    match value {
        Value::Int(number) => number.checked_abs().map(Value::Int).ok_or_else(|| "invalid operation: overflow on abs".to_owned()),
        Value::Float(number) => Ok(Value::Float(number.abs())),
        Value::Undefined | Value::None | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
            Err("invalid operation: cannot get absolute value".to_owned())
        }
    }
}

pub(super) fn int<'v>(value: &Value<'v>, mut given: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    let default = given.next("default");
    let base = given.next("base").and_then(|base| base.whole()).unwrap_or(10);
    let base = u32::try_from(base).ok().filter(|base| (2..=36).contains(base)).ok_or("invalid operation: the base must be from 2 to 36")?;
    let found = match value {
        Value::Undefined | Value::None => return Ok(default.unwrap_or(Value::Int(0))),
        Value::Bool(_) | Value::Int(_) => value.whole(),
        #[expect(clippy::cast_possible_truncation, reason = "as numbers are cut everywhere")]
        Value::Float(number) => Some(*number as i128),
        Value::Text(text) => {
            meter.read(text.len())?;
            parsed(text, base)
        }
        Value::List(_) | Value::Map(_) => None,
    };
    let found = found.map(Value::Int).or(default);
    found.ok_or_else(|| format!("invalid operation: cannot convert {} to integer", value.kind()))
}

#[expect(clippy::cast_possible_truncation, reason = "as numbers are cut everywhere")]
fn parsed(text: &str, base: u32) -> Option<i128> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text.strip_prefix('+').unwrap_or(text)), |rest| (true, rest));
    let prefix = match base {
        2 => "0b",
        8 => "0o",
        16 => "0x",
        _ => "",
    };
    let short = digits.get(..prefix.len()).filter(|start| !prefix.is_empty() && start.eq_ignore_ascii_case(prefix));
    let digits = short.map_or(digits, |start| &digits[start.len()..]);
    let whole = if digits.starts_with(['+', '-']) { None } else { i128::from_str_radix(digits, base).ok() };
    whole.map(|whole| if negative { -whole } else { whole }).or_else(|| text.parse::<f64>().ok().map(|float| float as i128))
}

pub(super) fn float<'v>(value: &Value<'v>, mut given: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    let default = given.next("default");
    let found = match value {
        Value::Undefined | Value::None => return Ok(default.unwrap_or(Value::Float(0.0))),
        Value::Text(text) => {
            meter.read(text.len())?;
            text.parse().ok()
        }
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => value.float(),
    };
    found.map(Value::Float).or(default).ok_or_else(|| format!("invalid operation: cannot convert {} to float", value.kind()))
}

pub(super) fn round<'v>(value: &Value<'v>, mut given: Given<'v>, _: &Meter) -> Outcome<Value<'v>> {
    let digits = given.next("precision").map_or(Some(0), |digits| digits.whole());
    let digits = digits.filter(|digits| digits.abs() <= DIGITS).ok_or_else(|| format!("invalid operation: the precision must be within {DIGITS}"))?;
    let digits = i32::try_from(digits).unwrap_or(0);
    let way = given.next("method");
    let way = match &way {
        None => "common",
        Some(Value::Text(way)) if matches!(&**way, "common" | "ceil" | "floor") => way,
        Some(_) => return Err("invalid operation: method must be common, ceil or floor".to_owned()),
    };
    match value {
        Value::Int(_) if digits >= 0 => Ok(value.clone()),
        Value::Int(number) => whole(*number, digits.unsigned_abs(), way).map(Value::Int),
        Value::Float(number) => Ok(Value::Float(fraction(*number, digits, way))),
        Value::Undefined | Value::None | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => {
            Err(format!("invalid operation: cannot round value ({})", value.kind()))
        }
    }
}

fn whole(number: i128, digits: u32, way: &str) -> Outcome<i128> {
    let large = || "invalid operation: rounded value is too large to represent".to_owned();
    let Some(factor) = 10_i128.checked_pow(digits) else {
        return if (way == "ceil" && number > 0) || (way == "floor" && number < 0) { Err(large()) } else { Ok(0) };
    };
    let (quotient, rest) = (number.div_euclid(factor), number.rem_euclid(factor));
    let up = match way {
        "ceil" => rest > 0,
        "floor" => false,
        _ => rest > factor - rest || (rest == factor - rest && quotient % 2 != 0),
    };
    (quotient + i128::from(up)).checked_mul(factor).ok_or_else(large)
}

fn fraction(number: f64, digits: i32, way: &str) -> f64 {
    if !number.is_finite() {
        return number;
    }
    if way == "common" && digits >= 0 {
        return format!("{number:.*}", usize::try_from(digits).unwrap_or(0)).parse().unwrap_or(number);
    }
    let factor = 10_f64.powi(digits);
    let scaled = number * factor;
    let rounded = match way {
        "ceil" => scaled.ceil(),
        "floor" => scaled.floor(),
        _ => scaled.round_ties_even(),
    };
    if scaled.is_finite() { (rounded + 0.0) / factor } else { number }
}
