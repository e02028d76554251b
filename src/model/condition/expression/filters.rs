//! Owns the complete list of filters of expressions; each meters its input and its result.

use std::cmp::Ordering;

use super::math;
use super::meter::{Meter, Outcome};
use super::numbers;
use super::probes;
use super::value::{List, Text, Value, order, same};
use super::writing;

/// What a filter does with a value.
pub(super) type Filter = for<'v> fn(&Value<'v>, Given<'v>, &Meter) -> Outcome<Value<'v>>;

/// All filters by name.
const FILTERS: &[(&str, Filter)] = &[
    ("abs", numbers::abs),
    ("attr", |value, mut given, meter| value.item(&given.must("name")?, meter)),
    ("bool", |value, _, _| Ok(Value::Bool(value.is_true()))),
    ("capitalize", capitalize),
    ("count", length),
    ("d", default),
    ("default", default),
    ("dictsort", dictsort),
    ("first", |value, _, meter| edge(value, 0, meter)),
    ("float", numbers::float),
    ("int", numbers::int),
    ("items", items),
    ("join", join),
    ("last", |value, _, meter| edge(value, -1, meter)),
    ("length", length),
    ("lines", |value, _, meter| pieces(shown(value, meter)?.lines(), meter)),
    ("list", |value, _, meter| Value::list(value.items(meter)?, meter)),
    ("lower", |value, _, meter| changed(value, meter, str::to_lowercase)),
    ("map", map),
    ("max", |value, given, meter| extreme(value, given, meter, |found| found != Ordering::Less)),
    ("min", |value, given, meter| extreme(value, given, meter, |found| found == Ordering::Less)),
    ("reject", |value, given, meter| selected(value, given, meter, false, false)),
    ("rejectattr", |value, given, meter| selected(value, given, meter, true, false)),
    ("replace", replace),
    ("reverse", reverse),
    ("round", numbers::round),
    ("select", |value, given, meter| selected(value, given, meter, false, true)),
    ("selectattr", |value, given, meter| selected(value, given, meter, true, true)),
    ("sort", sort),
    ("split", split),
    ("string", |value, _, meter| Ok(Value::text(&shown(value, meter)?))),
    ("sum", sum),
    ("title", |value, _, meter| changed(value, meter, titled)),
    ("tojson", |value, _, meter| Ok(Value::text(&writing::json(value, meter)?))),
    ("trim", trim),
    ("unique", unique),
    ("upper", |value, _, meter| changed(value, meter, str::to_uppercase)),
];

pub(super) fn named(name: &str) -> Option<Filter> {
    FILTERS.iter().find(|(known, _)| *known == name).map(|(_, filter)| *filter)
}

/// The arguments of a filter, taken in order or by name.
pub(super) struct Given<'v> {
    plain: std::vec::IntoIter<Value<'v>>,
    named: Vec<(&'v str, Value<'v>)>,
}

impl<'v> Given<'v> {
    pub(super) fn new(plain: Vec<Value<'v>>, named: Vec<(&'v str, Value<'v>)>) -> Self {
        Self { plain: plain.into_iter(), named }
    }

    /// The next plain argument, else the named one.
    pub(super) fn next(&mut self, name: &str) -> Option<Value<'v>> {
        self.plain.next().or_else(|| self.named(name)).filter(|value| !matches!(value, Value::Undefined | Value::None))
    }

    fn named(&mut self, name: &str) -> Option<Value<'v>> {
        let at = self.named.iter().position(|(known, _)| *known == name)?;
        Some(self.named.swap_remove(at).1)
    }

    fn must(&mut self, name: &str) -> Outcome<Value<'v>> {
        self.next(name).ok_or_else(|| format!("missing argument: {name}"))
    }

    fn text(&mut self, name: &str, meter: &Meter) -> Outcome<Option<String>> {
        self.next(name).map(|value| writing::shown(&value, meter)).transpose()
    }

    fn attribute(&mut self, meter: &Meter) -> Outcome<Option<String>> {
        self.named("attribute").map(|value| writing::shown(&value, meter)).transpose()
    }

    fn flag(&mut self, name: &str) -> bool {
        self.named(name).is_some_and(|value| value.is_true())
    }
}

fn shown(value: &Value<'_>, meter: &Meter) -> Outcome<String> {
    writing::shown(value, meter)
}

/// A changed text may be three times as long as it was.
fn changed<'v>(value: &Value<'v>, meter: &Meter, change: impl Fn(&str) -> String) -> Outcome<Value<'v>> {
    let text = shown(value, meter)?;
    meter.make(3 * text.len())?;
    Ok(Value::text(&change(&text)))
}

fn capitalize<'v>(value: &Value<'v>, _: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    changed(value, meter, |text| {
        let mut letters = text.chars();
        letters.next().map(|first| first.to_uppercase().collect::<String>() + &letters.as_str().to_lowercase()).unwrap_or_default()
    })
}

fn titled(text: &str) -> String {
    let mut begins = true;
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '-' | '(' | '{' | '[' | '<') || letter.is_whitespace() {
            out.push(letter);
            begins = true;
        } else if std::mem::replace(&mut begins, false) {
            out.extend(letter.to_uppercase());
        } else {
            out.extend(letter.to_lowercase());
        }
    }
    out
}

fn length<'v>(value: &Value<'v>, _: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    let count = match value {
        Value::Text(text) => {
            meter.read(text.len())?;
            text.chars().count()
        }
        Value::List(items) => items.len(),
        Value::Map(fields) => fields.len(),
        Value::Undefined | Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {
            return Err(format!("invalid operation: cannot calculate length of value of type {}", value.kind()));
        }
    };
    Ok(Value::Int(i128::try_from(count).unwrap_or(i128::MAX)))
}

fn default<'v>(value: &Value<'v>, mut given: Given<'v>, _: &Meter) -> Outcome<Value<'v>> {
    let other = given.plain.next().unwrap_or(Value::Text(Text::Borrowed("")));
    let lax = given.plain.next().is_some_and(|lax| lax.is_true());
    Ok(if matches!(value, Value::Undefined) || (lax && !value.is_true()) { other } else { value.clone() })
}

fn edge<'v>(value: &Value<'v>, at: i128, meter: &Meter) -> Outcome<Value<'v>> {
    match value {
        Value::Text(_) | Value::List(_) => value.item(&Value::Int(at), meter),
        Value::Map(_) if at == 0 => Ok(value.items(meter)?.into_iter().next().unwrap_or(Value::Undefined)),
        Value::Undefined | Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Map(_) => {
            Err(format!("invalid operation: a {} has no first or last item", value.kind()))
        }
    }
}

fn pair<'v>((key, value): (Value<'v>, Value<'v>)) -> Value<'v> {
    Value::List(List::Own([key, value].into()))
}

fn pairs<'v>(value: &Value<'v>, meter: &Meter) -> Outcome<Vec<(Value<'v>, Value<'v>)>> {
    let Value::Map(fields) = value else { return Err("invalid operation: cannot convert value into pairs".to_owned()) };
    meter.make(4 * fields.len() * size_of::<Value<'_>>())?;
    meter.look(fields.len())?;
    Ok(fields.pairs().collect())
}

fn items<'v>(value: &Value<'v>, _: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    Value::list(pairs(value, meter)?.into_iter().map(pair).collect(), meter)
}

fn dictsort<'v>(value: &Value<'v>, mut given: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    let by_value = given.named("by").is_some_and(|by| matches!(&by, Value::Text(by) if **by == *"value"));
    let (strict, reverse) = (given.flag("case_sensitive"), given.flag("reverse"));
    let keyed = pairs(value, meter)?.into_iter().map(|(key, value)| (if by_value { value.clone() } else { key.clone() }, pair((key, value))));
    sorted(keyed.collect(), strict, reverse, meter)
}

fn join<'v>(value: &Value<'v>, mut given: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    let (between, attribute) = (given.text("d", meter)?.unwrap_or_default(), given.attribute(meter)?);
    let mut out = String::new();
    for (at, item) in value.items(meter)?.iter().enumerate() {
        let item = attribute.as_ref().map_or_else(|| Ok(item.clone()), |path| item.path(path, meter))?;
        let text = shown(&item, meter)?;
        meter.make(text.len() + between.len())?;
        out.push_str(if at > 0 { &between } else { "" });
        out.push_str(&text);
    }
    meter.make(out.len())?;
    Ok(Value::text(&out))
}

fn replace<'v>(value: &Value<'v>, mut given: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    let (text, from, to) = (shown(value, meter)?, shown(&given.must("from")?, meter)?, shown(&given.must("to")?, meter)?);
    meter.read(text.len())?;
    let found = text.matches(from.as_str()).count();
    meter.look(found)?;
    meter.make((text.len() + found.saturating_mul(to.len())).saturating_mul(2))?;
    Ok(Value::text(&text.replace(&from, &to)))
}

fn pieces<'v, 't>(pieces: impl Iterator<Item = &'t str>, meter: &Meter) -> Outcome<Value<'v>> {
    let mut found = Vec::new();
    for piece in pieces {
        meter.make(piece.len() + 2 * size_of::<Value<'_>>())?;
        found.push(Value::text(piece));
    }
    Value::list(found, meter)
}

fn split<'v>(value: &Value<'v>, mut given: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    let (text, by) = (shown(value, meter)?, given.text("split", meter)?);
    let most = given.next("maxsplits").and_then(|most| usize::try_from(most.whole()?).ok());
    match (by, most) {
        (None, None) => pieces(text.split_whitespace(), meter),
        (Some(by), None) => pieces(text.split(by.as_str()), meter),
        (Some(by), Some(most)) => pieces(text.splitn(most.saturating_add(1), by.as_str()), meter),
        (None, Some(most)) => pieces(text.trim().splitn(most.saturating_add(1), char::is_whitespace).map(str::trim_start), meter),
    }
}

fn trim<'v>(value: &Value<'v>, mut given: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    let (text, letters) = (shown(value, meter)?, given.text("chars", meter)?);
    let Some(letters) = letters else { return Ok(Value::text(text.trim())) };
    meter.look(text.len().saturating_mul(letters.len()))?;
    Ok(Value::text(text.trim_matches(|letter| letters.contains(letter))))
}

fn reverse<'v>(value: &Value<'v>, _: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    if let Value::Text(text) = value {
        meter.make(2 * text.len())?;
        return Ok(Value::text(&text.chars().rev().collect::<String>()));
    }
    let mut items = value.items(meter)?;
    // minijinja leaves the keys of a map as they are.
    if !matches!(value, Value::Map(_)) {
        items.reverse();
    }
    Value::list(items, meter)
}

/// What an item is compared by: text without its case, unless that counts.
fn key<'v>(item: &Value<'v>, attribute: Option<&str>, strict: bool, meter: &Meter) -> Outcome<Value<'v>> {
    let found = attribute.map_or_else(|| Ok(item.clone()), |path| item.path(path, meter))?;
    if let Value::Text(text) = &found
        && !strict
    {
        meter.make(text.len() + size_of::<Value<'_>>())?;
        return Ok(Value::text(&text.to_ascii_lowercase()));
    }
    Ok(found)
}

fn keyed<'v>(value: &Value<'v>, given: &mut Given<'v>, meter: &Meter) -> Outcome<Vec<(Value<'v>, Value<'v>)>> {
    let (strict, attribute) = (given.flag("case_sensitive"), given.attribute(meter)?);
    let items = value.items(meter)?;
    meter.make(2 * items.len() * size_of::<Value<'_>>())?;
    items.into_iter().map(|item| Ok((key(&item, attribute.as_deref(), strict, meter)?, item))).collect()
}

fn extreme<'v>(value: &Value<'v>, mut given: Given<'v>, meter: &Meter, replaces: fn(Ordering) -> bool) -> Outcome<Value<'v>> {
    let mut best: Option<(Value<'v>, Value<'v>)> = None;
    for (key, item) in keyed(value, &mut given, meter)? {
        let better = best.as_ref().map_or(Ok(true), |(known, _)| order(&key, known, meter).map(replaces))?;
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Value::Undefined, |(_, item)| item))
}

fn sort<'v>(value: &Value<'v>, mut given: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    let reverse = given.flag("reverse");
    sorted(keyed(value, &mut given, meter)?, true, reverse, meter)
}

fn sorted<'v>(mut keyed: Vec<(Value<'v>, Value<'v>)>, strict: bool, reverse: bool, meter: &Meter) -> Outcome<Value<'v>> {
    if !strict {
        for (known, _) in &mut keyed {
            *known = key(known, None, false, meter)?;
        }
    }
    let places = in_order(keyed.len(), |left, right| {
        let found = order(&keyed[left].0, &keyed[right].0, meter)?;
        Ok(if reverse { found.reverse() } else { found })
    })?;
    Value::list(places.into_iter().map(|at| keyed[at].1.clone()).collect(), meter)
}

/// The places of so many items in their order, equal ones as they were. The order may fail in the middle, which the sort of the standard library does not allow.
fn in_order(count: usize, order: impl Fn(usize, usize) -> Outcome<Ordering>) -> Outcome<Vec<usize>> {
    let mut places: Vec<usize> = (0..count).collect();
    let mut width = 1;
    while width < count {
        let mut merged = Vec::with_capacity(count);
        for run in places.chunks(2 * width) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            while let ([first, later @ ..], [other, rest @ ..]) = (left, right) {
                if order(*first, *other)? == Ordering::Greater {
                    merged.push(*other);
                    right = rest;
                } else {
                    merged.push(*first);
                    left = later;
                }
            }
            merged.extend(left.iter().chain(right));
        }
        places = merged;
        width *= 2;
    }
    Ok(places)
}

fn unique<'v>(value: &Value<'v>, mut given: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    let keyed = keyed(value, &mut given, meter)?;
    // Equal ones lie next to each other once they are sorted; the first of them stays in its place.
    let places = in_order(keyed.len(), |left, right| order(&keyed[left].0, &keyed[right].0, meter))?;
    let mut kept: Vec<usize> = Vec::with_capacity(places.len());
    for at in places {
        let again = kept.last().map_or(Ok(false), |last| same(&keyed[*last].0, &keyed[at].0, meter))?;
        if !again {
            kept.push(at);
        }
    }
    kept.sort_unstable();
    Value::list(kept.into_iter().map(|at| keyed[at].1.clone()).collect(), meter)
}

fn sum<'v>(value: &Value<'v>, mut given: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    let attribute = given.text("attribute", meter)?;
    let mut total = given.next("start").unwrap_or(Value::Int(0));
    for item in value.items(meter)? {
        let item = attribute.as_ref().map_or_else(|| Ok(item.clone()), |path| item.path(path, meter))?;
        if !matches!(item, Value::Undefined) {
            total = math::add(&total, &item, meter)?;
        }
    }
    Ok(total)
}

fn map<'v>(value: &Value<'v>, mut given: Given<'v>, meter: &Meter) -> Outcome<Value<'v>> {
    let attribute = given.attribute(meter)?;
    let default = given.named("default").unwrap_or(Value::Undefined);
    let mut found = Vec::new();
    let filter = match (&attribute, given.next("filter")) {
        (Some(_), _) => None,
        (None, Some(Value::Text(name))) => Some(named(&name).ok_or_else(|| format!("there is no filter `{}`", &*name))?),
        (None, _) => return Err("invalid operation: filter name is required".to_owned()),
    };
    let more: Vec<Value<'v>> = given.plain.collect();
    for item in value.items(meter)? {
        let value = match (&attribute, filter) {
            (Some(path), _) => item.path(path, meter).map(|value| if matches!(value, Value::Undefined) { default.clone() } else { value })?,
            (None, Some(filter)) => {
                meter.look(1 + more.len())?;
                filter(&item, Given::new(more.clone(), Vec::new()), meter)?
            }
            (None, None) => item,
        };
        found.push(value);
    }
    Value::list(found, meter)
}

fn selected<'v>(value: &Value<'v>, mut given: Given<'v>, meter: &Meter, by_attribute: bool, wanted: bool) -> Outcome<Value<'v>> {
    let path = if by_attribute { Some(shown(&given.must("attribute")?, meter)?) } else { None };
    let probe = match given.next("test") {
        None => None,
        Some(name) => {
            let name = shown(&name, meter)?;
            Some(probes::named(&name).ok_or_else(|| format!("there is no test `{name}`"))?)
        }
    };
    let more: Vec<Value<'v>> = given.plain.collect();
    let mut found = Vec::new();
    for item in value.items(meter)? {
        let tested = path.as_ref().map_or_else(|| Ok(item.clone()), |path| item.path(path, meter))?;
        let passes = probe.map_or_else(|| Ok(tested.is_true()), |probe| probes::holds(probe, &tested, &more, meter))?;
        if passes == wanted {
            found.push(item);
        }
    }
    Value::list(found, meter)
}
