//! Owns the values of expressions: borrowed from the state, or created and metered.

use std::cmp::Ordering;
use std::ops::Deref;
use std::rc::Rc;

use serde_json::{Map, Value as Json};

use super::super::super::state::State;
use super::meter::{Meter, Outcome};

#[derive(Clone)]
pub(super) enum Value<'v> {
    Undefined,
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Text<'v>),
    List(List<'v>),
    Map(Fields<'v>),
}

#[derive(Clone)]
pub(super) enum Text<'v> {
    Borrowed(&'v str),
    Own(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Own(text) => text,
        }
    }
}

#[derive(Clone)]
pub(super) enum List<'v> {
    Borrowed(&'v [Json]),
    Own(Rc<[Value<'v>]>),
}

#[derive(Clone)]
pub(super) enum Fields<'v> {
    Borrowed(&'v Map<String, Json>),
    State(&'v State),
    Own(Rc<[(Value<'v>, Value<'v>)]>),
}

impl<'v> List<'v> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Borrowed(items) => items.len(),
            Self::Own(items) => items.len(),
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<Value<'v>> {
        match self {
            Self::Borrowed(items) => items.get(at).map(Value::borrowed),
            Self::Own(items) => items.get(at).cloned(),
        }
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = Value<'v>> + '_ {
        (0..self.len()).filter_map(|at| self.get(at))
    }
}

impl<'v> Fields<'v> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Borrowed(fields) => fields.len(),
            Self::State(state) => state.iter().count(),
            Self::Own(fields) => fields.len(),
        }
    }

    pub(super) fn get(&self, key: &Value<'_>, meter: &Meter) -> Outcome<Option<Value<'v>>> {
        let name = if let Value::Text(name) = key { Some(&**name) } else { None };
        Ok(match self {
            Self::Borrowed(fields) => name.and_then(|name| fields.get(name)).map(Value::borrowed),
            Self::State(state) => name.and_then(|name| state.get(name)).map(|value| Value::borrowed(value)),
            Self::Own(fields) => {
                let mut found = None;
                for (known, value) in fields.iter() {
                    if same(known, key, meter)? {
                        found = Some(value.clone());
                    }
                }
                found
            }
        })
    }

    /// All keys with their values.
    pub(super) fn pairs(&self) -> Box<dyn Iterator<Item = (Value<'v>, Value<'v>)> + '_> {
        match self {
            Self::Borrowed(fields) => Box::new(fields.iter().map(|(key, value)| (Value::Text(Text::Borrowed(key)), Value::borrowed(value)))),
            Self::State(state) => Box::new(state.iter().map(|(key, value)| (Value::Text(Text::Borrowed(key)), Value::borrowed(value)))),
            Self::Own(fields) => Box::new(fields.iter().cloned()),
        }
    }
}

impl<'v> Value<'v> {
    pub(super) fn borrowed(value: &'v Json) -> Self {
        match value {
            Json::Null => Self::None,
            Json::Bool(truth) => Self::Bool(*truth),
            Json::Number(number) => {
                let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
                whole.map_or_else(|| Self::Float(number.as_f64().unwrap_or(f64::NAN)), Self::Int)
            }
            Json::String(text) => Self::Text(Text::Borrowed(text)),
            Json::Array(items) => Self::List(List::Borrowed(items)),
            Json::Object(fields) => Self::Map(Fields::Borrowed(fields)),
        }
    }

    /// A text that was made; its bytes were counted while it was.
    pub(super) fn text(text: &str) -> Self {
        Self::Text(Text::Own(text.into()))
    }

    pub(super) fn list(items: Vec<Self>, meter: &Meter) -> Outcome<Self> {
        meter.make(items.len() * size_of::<Self>())?;
        Ok(Self::List(List::Own(items.into())))
    }

    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::None => "none",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Float(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "sequence",
            Self::Map(_) => "map",
        }
    }

    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Undefined | Self::None => false,
            Self::Bool(truth) => *truth,
            Self::Int(number) => *number != 0,
            Self::Float(number) => *number != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(items) => items.len() > 0,
            Self::Map(fields) => fields.len() > 0,
        }
    }

    /// A number or a boolean as a whole number.
    pub(super) fn whole(&self) -> Option<i128> {
        match self {
            Self::Bool(truth) => Some(i128::from(*truth)),
            Self::Int(number) => Some(*number),
            #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "compared with what it was")]
            Self::Float(number) => Some(*number as i128).filter(|whole| *whole as f64 == *number),
            Self::Undefined | Self::None | Self::Text(_) | Self::List(_) | Self::Map(_) => None,
        }
    }

    /// A number or a boolean as a fraction.
    #[expect(clippy::cast_precision_loss, reason = "a whole number next to a fraction is one")]
    pub(super) const fn float(&self) -> Option<f64> {
        match self {
            Self::Bool(truth) => Some(*truth as u8 as f64),
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Undefined | Self::None | Self::Text(_) | Self::List(_) | Self::Map(_) => None,
        }
    }

    /// What a key or an index leads to; undefined when nothing.
    pub(super) fn item(&self, key: &Self, meter: &Meter) -> Outcome<Self> {
        meter.look(1)?;
        let found = match self {
            Self::Map(fields) => fields.get(key, meter)?,
            Self::List(items) => place(key, || items.len()).and_then(|at| items.get(at)),
            Self::Text(text) => {
                meter.read(text.len())?;
                let at = place(key, || text.chars().count());
                at.and_then(|at| text.chars().nth(at)).map(|letter| Self::text(letter.encode_utf8(&mut [0; 4])))
            }
            Self::Undefined | Self::None | Self::Bool(_) | Self::Int(_) | Self::Float(_) => None,
        };
        Ok(found.unwrap_or(Self::Undefined))
    }

    /// What a path such as `a.b.0` leads to.
    pub(super) fn path(&self, path: &str, meter: &Meter) -> Outcome<Self> {
        let mut found = self.clone();
        for part in path.split('.') {
            let key = part.parse::<i128>().map_or_else(|_| Value::Text(Text::Own(part.into())), Value::Int);
            found = found.item(&key, meter)?;
        }
        Ok(found)
    }

    /// What is iterated over: items, keys, letters, or nothing.
    pub(super) fn items(&self, meter: &Meter) -> Outcome<Vec<Self>> {
        let (count, text) = match self {
            Self::List(items) => (items.len(), 0),
            Self::Map(fields) => (fields.len(), 0),
            Self::Text(text) => (text.len(), text.len()),
            Self::Undefined | Self::None => (0, 0),
            Self::Bool(_) | Self::Int(_) | Self::Float(_) => return Err(format!("{} is not iterable", self.kind())),
        };
        meter.look(count)?;
        meter.make((count + text) * size_of::<Self>())?;
        Ok(match self {
            Self::List(items) => items.iter().collect(),
            Self::Map(fields) => fields.pairs().map(|(key, _)| key).collect(),
            Self::Text(text) => text.chars().map(|letter| Self::text(letter.encode_utf8(&mut [0; 4]))).collect(),
            Self::Undefined | Self::None | Self::Bool(_) | Self::Int(_) | Self::Float(_) => Vec::new(),
        })
    }
}

fn place(key: &Value<'_>, length: impl Fn() -> usize) -> Option<usize> {
    let at = i64::try_from(key.whole()?).ok()?;
    let back = usize::try_from(at.unsigned_abs()).ok()?;
    if at < 0 { length().checked_sub(back) } else { Some(back) }
}

pub(super) fn same(left: &Value<'_>, right: &Value<'_>, meter: &Meter) -> Outcome<bool> {
    meter.look(1)?;
    Ok(match (left, right) {
        (Value::None, Value::None) | (Value::Undefined, Value::Undefined) => true,
        (Value::Text(left), Value::Text(right)) => {
            meter.read(left.len().min(right.len()))?;
            **left == **right
        }
        (Value::List(left), Value::List(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (left, right) in left.iter().zip(right.iter()) {
                if !same(&left, &right, meter)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(left), Value::Map(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (key, value) in left.pairs() {
                let other = right.get(&key, meter)?;
                if !other.map_or(Ok(false), |other| same(&value, &other, meter))? {
                    return Ok(false);
                }
            }
            true
        }
        (left, right) => match (left.float(), right.float()) {
            (Some(left_float), Some(right_float)) => match (left, right) {
                (Value::Float(_), _) | (_, Value::Float(_)) => {
                    let exact = |value: &Value<'_>| matches!(value, Value::Float(_)) || Value::Float(value.float().unwrap_or(0.0)).whole() == value.whole();
                    exact(left) && exact(right) && left_float == right_float
                }
                (left, right) => left.whole() == right.whole(),
            },
            (_, None) | (None, Some(_)) => false,
        },
    })
}

/// Which of two values comes first? Values of different kinds are in the order of their kinds.
pub(super) fn order(left: &Value<'_>, right: &Value<'_>, meter: &Meter) -> Outcome<Ordering> {
    meter.look(1)?;
    Ok(match (left, right) {
        (Value::Text(left), Value::Text(right)) => {
            meter.read(left.len().min(right.len()))?;
            left.cmp(right)
        }
        (Value::List(left), Value::List(right)) => {
            for (left, right) in left.iter().zip(right.iter()) {
                let found = order(&left, &right, meter)?;
                if found != Ordering::Equal {
                    return Ok(found);
                }
            }
            left.len().cmp(&right.len())
        }
        (Value::Map(left), Value::Map(right)) => {
            for ((key, value), (other_key, other)) in left.pairs().zip(right.pairs()) {
                let found = order(&key, &other_key, meter)?;
                let found = if found == Ordering::Equal { order(&value, &other, meter)? } else { found };
                if found != Ordering::Equal {
                    return Ok(found);
                }
            }
            left.len().cmp(&right.len())
        }
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Float(left), Value::Float(right)) if left == right => Ordering::Equal,
        (Value::Float(left), Value::Float(right)) => left.total_cmp(right),
        (Value::Int(left), Value::Float(right)) => exactly(*left, *right),
        (Value::Float(left), Value::Int(right)) => exactly(*right, *left).reverse(),
        (left, right) => rank(left).cmp(&rank(right)),
    })
}

/// A whole number beside a float, compared without rounding: a sort needs an order that has no circles.
fn exactly(whole: i128, float: f64) -> Ordering {
    /// 2^127, one more than the largest whole number.
    const BEYOND: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if float.is_nan() {
        return 0.0_f64.total_cmp(&float);
    }
    if !(-BEYOND..BEYOND).contains(&float) {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    #[allow(clippy::cast_possible_truncation, reason = "it is within the bounds, and its fraction is looked at next")]
    let truncated = float.trunc() as i128;
    let fraction = float - float.trunc();
    whole.cmp(&truncated).then(if fraction == 0.0 { Ordering::Equal } else { 0.0_f64.total_cmp(&fraction) })
}

const fn rank(value: &Value<'_>) -> u8 {
    match value {
        Value::Undefined => 0,
        Value::None => 1,
        Value::Bool(_) => 2,
        Value::Int(_) | Value::Float(_) => 3,
        Value::Text(_) => 4,
        Value::List(_) => 5,
        Value::Map(_) => 6,
    }
}
