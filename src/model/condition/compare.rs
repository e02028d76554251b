//! Owns the comparison of two values: what is numeric, a boolean, a date, and what is equal.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::super::template_text::text_of;

/// A number, whole ones exactly.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) enum Numeric {
    Whole(i128),
    Float(f64),
}

impl Numeric {
    /// A number, or text that is one.
    pub(super) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(Self::of_number(number)),
            Value::String(text) => Self::of_text(text),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    pub(in crate::model) fn of_number(number: &Number) -> Self {
        let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        whole.map_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::NAN)), Self::Whole)
    }

    fn of_text(text: &str) -> Option<Self> {
        let first = *text.trim_start_matches(['+', '-']).as_bytes().first()?;
        if !(first.is_ascii_digit() || first == b'.') {
            return None;
        }
        let whole = text.parse().ok().map(Self::Whole);
        whole.or_else(|| text.parse().ok().map(Self::Float))
    }

    /// As the number that JSON knows, when it has one.
    pub(super) fn to_number(self) -> Option<Number> {
        match self {
            Self::Whole(whole) => {
                i64::try_from(whole).ok().map(Number::from).or_else(|| u64::try_from(whole).ok().map(Number::from))
            }
            Self::Float(float) => Number::from_f64(float),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a whole number next to a fraction compares as a fraction")]
    const fn float(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }

    pub(in crate::model) fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Whole(left), Self::Whole(right)) => Some(left.cmp(&right)),
            (Self::Whole(_) | Self::Float(_), Self::Float(_)) | (Self::Float(_), Self::Whole(_)) => {
                self.float().partial_cmp(&other.float())
            }
        }
    }

    fn is(self, other: Self) -> bool {
        self.order(other) == Some(Ordering::Equal)
    }
}

/// What a value says as a boolean, if anything.
pub(super) fn truth(value: &Value) -> Option<bool> {
    const TRUE: [&str; 4] = ["true", "1", "on", "yes"];
    const FALSE: [&str; 4] = ["false", "0", "off", "no"];
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::Number(number) if number.as_f64() == Some(1.0) => Some(true),
        Value::Number(number) if number.as_f64() == Some(0.0) => Some(false),
        Value::String(text) if TRUE.iter().any(|word| word.eq_ignore_ascii_case(text)) => Some(true),
        Value::String(text) if FALSE.iter().any(|word| word.eq_ignore_ascii_case(text)) => Some(false),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The instant of an RFC 3339 text, or of a day's beginning in UTC.
pub(super) fn date(value: &Value) -> Option<jiff::Timestamp> {
    let text = value.as_str()?;
    let (day, time) = text.split_at_checked("YYYY-MM-DD".len())?;
    if !has_form(day, "0000-00-00") {
        return None;
    }
    if time.is_empty() {
        let day: jiff::civil::Date = day.parse().ok()?;
        return Some(day.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp());
    }
    if is_time(time) { text.parse().ok() } else { None }
}

/// `Thh:mm:ss`, a fraction or none, and `Z` or `±hh:mm`: the form alone.
fn is_time(text: &str) -> bool {
    let Some((time, rest)) = text.split_at_checked("Thh:mm:ss".len()) else { return false };
    let zone = match rest.strip_prefix('.') {
        None => rest,
        Some(fraction) => fraction.trim_start_matches(|digit: char| digit.is_ascii_digit()),
    };
    let has_digits = rest.len() == zone.len() || rest.len() > zone.len() + 1;
    let begins = time.starts_with(['T', 't', ' ']) && has_form(time.get(1..).unwrap_or_default(), "00:00:00");
    let offset = || zone.strip_prefix(['+', '-']).is_some_and(|offset| has_form(offset, "00:00"));
    begins && has_digits && (matches!(zone, "Z" | "z") || offset())
}

/// Has a text a digit wherever the form has one, and the same sign elsewhere?
fn has_form(text: &str, form: &str) -> bool {
    let same = |(byte, form): (u8, u8)| if form == b'0' { byte.is_ascii_digit() } else { byte == form };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(same)
}

/// The text of a value that is one, or of a single number or boolean.
pub(super) fn as_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(_) | Value::Number(_) | Value::Bool(_) => Some(text_of(value)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Null, missing, `""`, `[]` or `{}`.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Characters, items or keys.
pub(super) fn length(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::String(text) => text.chars().count(),
        Value::Bool(_) | Value::Number(_) => text_of(value).len(),
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
    }
}

/// Equal by the rules of the contract: exactly when strict, else as people mean it.
pub(super) fn equal(left: &Value, right: &Value, strict: bool) -> bool {
    if strict {
        return same(left, right);
    }
    if left.is_boolean() || right.is_boolean() {
        return truth(left).is_some_and(|truth_left| truth(right) == Some(truth_left));
    }
    if let (Some(left), Some(right)) = (Numeric::of(left), Numeric::of(right)) {
        return left.is(right);
    }
    match (left, right) {
        (Value::Null, other) | (other, Value::Null) => other.is_null() || other.as_str() == Some(""),
        (Value::Array(_) | Value::Object(_), _) | (_, Value::Array(_) | Value::Object(_)) => same(left, right),
        (Value::Bool(_) | Value::Number(_) | Value::String(_), Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            text_of(left) == text_of(right)
        }
    }
}

/// The same type and value; `1` and `1.0` are one number.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => Numeric::of_number(left).is(Numeric::of_number(right)),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len() && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        (
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_),
        ) => left == right,
    }
}
