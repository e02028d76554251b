//! Owns the operators: their names, what value each needs, and when each holds.

use std::cmp::Ordering;

use serde_json::Value;

use super::compare::{Numeric, date, equal, is_empty, length, truth};
use super::pattern::Pattern;

named! {
    /// How a state value is compared with a given one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[expect(missing_docs, reason = "the names are the operators of the contract")]
    pub enum Operator {
        NotEmpty = "not_empty",
        Empty = "empty",
        Equals = "equals",
        NotEquals = "not_equals",
        Contains = "contains",
        NotContains = "not_contains",
        In = "in",
        NotIn = "not_in",
        StartsWith = "starts_with",
        EndsWith = "ends_with",
        Regex = "regex",
        IsTrue = "is_true",
        IsFalse = "is_false",
        IsNull = "is_null",
        IsNotNull = "is_not_null",
        Gt = "gt",
        Gte = "gte",
        Lt = "lt",
        Lte = "lte",
        LengthEq = "length_eq",
        LengthGt = "length_gt",
        LengthGte = "length_gte",
        LengthLt = "length_lt",
        LengthLte = "length_lte",
    }
}

/// What kind of value an operator needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// None.
    Nothing,
    /// Any JSON.
    Any,
    /// Text, taken as it is written.
    Text,
    /// A list.
    List,
    /// A number.
    Number,
    /// A number or a date.
    Order,
}

impl Needs {
    /// As the graph schema says it.
    pub const fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Any => Some("any"),
            Self::Text => Some("string"),
            Self::List => Some("array"),
            Self::Number => Some("number"),
            Self::Order => Some("number|date"),
        }
    }

    /// Is the value converted by `value_type: auto`?
    pub(super) const fn converts(self) -> bool {
        match self {
            Self::Any | Self::List | Self::Number | Self::Order => true,
            Self::Nothing | Self::Text => false,
        }
    }
}

/// What `value_type` may say.
pub const VALUE_TYPES: [&str; 6] = ["auto", "string", "number", "boolean", "null", "date"];

/// The given value, made ready once.
#[derive(Clone, Debug, Default)]
pub(super) struct Operand {
    /// After its conversion.
    pub(super) value: Value,
    /// About how long its JSON is.
    pub(super) bytes: usize,
    /// Of an operator that compares text.
    pub(super) text: Option<Box<str>>,
    pub(super) regex: Option<Pattern>,
    /// `value_type` is `date`.
    pub(super) dates: bool,
}

impl Operator {
    /// The operator that a rule writes; `is_empty` is another name of `empty`.
    pub(super) fn written(name: &str) -> Option<Self> {
        if name == "is_empty" { Some(Self::Empty) } else { Self::named(name) }
    }

    /// What kind of value it needs.
    pub const fn needs(self) -> Needs {
        match self {
            Self::NotEmpty | Self::Empty | Self::IsTrue | Self::IsFalse | Self::IsNull | Self::IsNotNull => Needs::Nothing,
            Self::Equals | Self::NotEquals => Needs::Any,
            Self::Contains | Self::NotContains | Self::StartsWith | Self::EndsWith | Self::Regex => Needs::Text,
            Self::In | Self::NotIn => Needs::List,
            Self::Gt | Self::Gte | Self::Lt | Self::Lte => Needs::Order,
            Self::LengthEq | Self::LengthGt | Self::LengthGte | Self::LengthLt | Self::LengthLte => Needs::Number,
        }
    }

    /// Does it hold for a state value (null when missing)?
    pub(super) fn holds(self, state: &Value, given: &Operand, strict: bool) -> Result<bool, String> {
        if self == Self::Regex {
            let searched = given.regex.as_ref().zip(state.as_str());
            return searched.map_or(Ok(false), |(pattern, text)| pattern.compiled()?.is_match(text));
        }
        Ok(self.compares(state, given, strict))
    }

    fn compares(self, state: &Value, given: &Operand, strict: bool) -> bool {
        match self {
            Self::NotEmpty => !is_empty(state),
            Self::Empty => is_empty(state),
            Self::Equals => equal(state, &given.value, strict),
            Self::NotEquals => !equal(state, &given.value, strict),
            Self::Contains => contains(state, given, strict),
            Self::NotContains => !contains(state, given, strict),
            Self::In => is_in(state, given, strict),
            Self::NotIn => !is_in(state, given, strict),
            Self::StartsWith => on_text(state, given, |text, part| text.starts_with(part)),
            Self::EndsWith => on_text(state, given, |text, part| text.ends_with(part)),
            // Searched before.
            Self::Regex => false,
            Self::IsTrue => truth(state) == Some(true),
            Self::IsFalse => truth(state) == Some(false),
            Self::IsNull => state.is_null(),
            Self::IsNotNull => !state.is_null(),
            Self::Gt => order(state, given) == Some(Ordering::Greater),
            Self::Gte => order(state, given).is_some_and(Ordering::is_ge),
            Self::Lt => order(state, given) == Some(Ordering::Less),
            Self::Lte => order(state, given).is_some_and(Ordering::is_le),
            Self::LengthEq => length_order(state, given) == Some(Ordering::Equal),
            Self::LengthGt => length_order(state, given) == Some(Ordering::Greater),
            Self::LengthGte => length_order(state, given).is_some_and(Ordering::is_ge),
            Self::LengthLt => length_order(state, given) == Some(Ordering::Less),
            Self::LengthLte => length_order(state, given).is_some_and(Ordering::is_le),
        }
    }
}

fn contains(state: &Value, given: &Operand, strict: bool) -> bool {
    match state {
        Value::Array(items) => items.iter().any(|item| equal(item, &given.value, strict)),
        Value::Object(fields) => given.text.as_deref().is_some_and(|key| fields.contains_key(key)),
        Value::String(_) => on_text(state, given, |text, part| text.contains(part)),
        Value::Number(_) | Value::Bool(_) | Value::Null => false,
    }
}

fn is_in(state: &Value, given: &Operand, strict: bool) -> bool {
    given.value.as_array().is_some_and(|items| items.iter().any(|item| equal(state, item, strict)))
}

/// Only text is text: a number or a boolean in the state is not taken for one.
fn on_text(state: &Value, given: &Operand, test: impl Fn(&str, &str) -> bool) -> bool {
    state.as_str().zip(given.text.as_deref()).is_some_and(|(text, part)| test(text, part))
}

fn order(state: &Value, given: &Operand) -> Option<Ordering> {
    if let (Some(left), Some(right)) = (Numeric::of(state), Numeric::of(&given.value)) {
        return left.order(right);
    }
    if given.dates { Some(date(state)?.cmp(&date(&given.value)?)) } else { None }
}

fn length_order(state: &Value, given: &Operand) -> Option<Ordering> {
    Numeric::Whole(length(state) as i128).order(Numeric::of(&given.value)?)
}
