//! Owns the workflow state: values by key, cheap to clone, with cached size and depth.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::event::{Change, Fault, FaultCode};
use super::path::Path;

/// A value nested deeper could not be read back from the log.
pub const MAX_DEPTH: u32 = 96;

/// Is a key one of the engine's own, which never leave it?
pub fn is_internal(key: &str) -> bool {
    key.starts_with("__")
}

/// The state of a run or of one of its branches. A clone shares all values until one of both is changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    slots: Arc<IndexMap<Arc<str>, Slot>>,
    bytes: usize,
    depth: u32,
}

#[derive(Clone, Debug)]
struct Slot {
    value: Arc<Value>,
    bytes: usize,
}

impl PartialEq for Slot {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.value, &other.value) || self.value == other.value
    }
}

impl State {
    /// A state without keys.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The state that an object says.
    #[must_use]
    pub fn from_json(fields: Map<String, Value>) -> Self {
        let mut state = Self::new();
        for (key, value) in fields {
            state.set(key.into(), Arc::new(value));
        }
        state
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Arc<Value>> {
        self.slots.get(key).map(|slot| &slot.value)
    }

    /// About how long the JSON of a key's value is.
    pub fn size_of(&self, key: &str) -> usize {
        self.slots.get(key).map_or(0, |slot| slot.bytes)
    }

    /// Writes a key.
    pub fn set(&mut self, key: Arc<str>, value: Arc<Value>) {
        let (size, depth) = measure(&value);
        let slot = Slot { value, bytes: slot_bytes(&key, size) };
        self.bytes += slot.bytes;
        self.depth = self.depth.max(depth);
        if let Some(before) = Arc::make_mut(&mut self.slots).insert(key, slot) {
            self.bytes -= before.bytes;
        }
    }

    /// Writes all keys of a change.
    pub fn apply(&mut self, change: &Change) {
        for (key, value) in change {
            self.set(Arc::clone(key), Arc::clone(value));
        }
    }

    /// What a path leads to.
    pub fn lookup(&self, path: &Path) -> Option<&Value> {
        path.within(self.get(path.root())?)
    }

    /// All keys with their values, in the order in which they were first written.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Value>)> {
        self.slots.iter().map(|(key, slot)| (key, &slot.value))
    }

    /// The state as an object, with or without the engine's own keys.
    pub fn to_json(&self, internal: bool) -> Map<String, Value> {
        let shown = self.iter().filter(|(key, _)| internal || !is_internal(key));
        shown.map(|(key, value)| (key.to_string(), (**value).clone())).collect()
    }

    /// About how long its compact JSON is.
    pub const fn size_bytes(&self) -> usize {
        self.bytes + 2
    }

    /// Refuses a state that is larger than its limit, or nested deeper than it could be stored.
    ///
    /// # Errors
    /// `state_too_large`.
    pub fn within_limit(&self, limit_kb: u64) -> Result<(), Fault> {
        within(self.bytes, self.depth, limit_kb)
    }

    /// Refuses a change that would make the state so.
    ///
    /// # Errors
    /// `state_too_large`.
    pub fn has_room_for(&self, change: &Change, limit_kb: u64) -> Result<(), Fault> {
        let (mut bytes, mut depth) = (self.bytes, self.depth);
        for (key, value) in change {
            let (size, deep) = measure(value);
            bytes = bytes + slot_bytes(key, size) - self.slots.get(key).map_or(0, |before| before.bytes);
            depth = depth.max(deep);
        }
        within(bytes, depth, limit_kb)
    }

    /// Refuses copies of values that no state could hold, before they are made.
    ///
    /// # Errors
    /// `state_too_large`.
    pub fn has_room_for_copies<'a>(mut values: impl Iterator<Item = &'a Value>, limit_kb: u64) -> Result<(), Fault> {
        let most = usize::try_from(limit_kb.saturating_mul(1024)).unwrap_or(usize::MAX);
        let mut bytes = 0_usize;
        let fits = values.all(|value| {
            bytes = bytes.saturating_add(measure(value).0);
            bytes <= most
        });
        if fits { Ok(()) } else { within(bytes, 0, limit_kb) }
    }

    /// The keys whose values differ from those of an earlier state.
    pub fn diff_from(&self, start: &Self) -> Change {
        let changed = self.slots.iter().filter(|(key, slot)| start.slots.get(*key) != Some(*slot));
        changed.map(|(key, slot)| (Arc::clone(key), Arc::clone(&slot.value))).collect()
    }
}

const fn slot_bytes(key: &str, size: usize) -> usize {
    size + key.len() + 4
}

fn within(bytes: usize, depth: u32, limit_kb: u64) -> Result<(), Fault> {
    let refuse = |message: String| Err(Fault::new(FaultCode::StateTooLarge, message));
    if bytes as u64 + 2 > limit_kb.saturating_mul(1024) {
        return refuse(format!("the workflow state is larger than {limit_kb} KiB; write less into it or raise `limits.state_kb`"));
    }
    if depth > MAX_DEPTH {
        return refuse(format!("a state value is nested deeper than {MAX_DEPTH} levels; do not put a value into itself"));
    }
    Ok(())
}

/// Is a value nested so deeply that a log with it could not be read back?
pub fn is_too_deep(value: &Value) -> bool {
    measure(value).1 > MAX_DEPTH
}

/// How deeply a value is nested; 0 for one that holds no others.
pub fn depth_of(value: &Value) -> u32 {
    measure(value).1
}

/// About how long the compact JSON of a value is, and how deep it is nested.
pub(super) fn measure(value: &Value) -> (usize, u32) {
    match value {
        Value::Null | Value::Bool(true) => (4, 0),
        Value::Bool(false) => (5, 0),
        Value::Number(number) => (number_length(number), 0),
        Value::String(text) => (text_length(text), 0),
        Value::Array(items) => items.iter().map(|item| (1, item)).fold((2, 1), wider),
        Value::Object(fields) => fields.iter().map(|(key, value)| (text_length(key) + 2, value)).fold((2, 1), wider),
    }
}

fn wider((size, depth): (usize, u32), (around, value): (usize, &Value)) -> (usize, u32) {
    let (inner, deep) = measure(value);
    (size + around + inner, depth.max(deep + 1))
}

fn text_length(text: &str) -> usize {
    text.len() + 2 + text.bytes().filter(|b| matches!(b, 0..0x20 | b'"' | b'\\')).count()
}

fn number_length(number: &serde_json::Number) -> usize {
    match number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs)) {
        Some(whole) => whole.checked_ilog10().unwrap_or(0) as usize + 1 + usize::from(number.is_i64() && !number.is_u64()),
        None => 12,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::model::sketch::any_json;

    fn state(value: &Value) -> State {
        State::from_json(value.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn a_clone_is_not_reached_by_later_writes() {
        let mut first = state(&json!({"a": 1}));
        let second = first.clone();
        first.set("a".into(), Arc::new(json!(2)));
        assert_eq!(second.get("a"), Some(&Arc::new(json!(1))));
        assert_eq!(first.get("a"), Some(&Arc::new(json!(2))));
    }

    #[test]
    fn internal_keys_stay_inside() {
        let state = state(&json!({"a": 1, "__studio_x": 2}));
        assert_eq!(Value::Object(state.to_json(false)), json!({"a": 1}));
        assert_eq!(Value::Object(state.to_json(true)), json!({"a": 1, "__studio_x": 2}));
    }

    #[test]
    fn a_state_over_its_limits_is_refused() {
        let wide = state(&json!({"a": "x".repeat(2000)}));
        assert!(wide.within_limit(2).is_ok());
        assert_eq!(wide.within_limit(1).unwrap_err().code, FaultCode::StateTooLarge);
        let deep = (0..=MAX_DEPTH).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(state(&json!({"a": deep})).within_limit(1024).unwrap_err().code, FaultCode::StateTooLarge);
        let change = |value: &Value| Change::from_iter([("a".into(), Arc::new(value.clone()))]);
        assert!(wide.has_room_for(&change(&json!("y".repeat(2000))), 2).is_ok(), "what is replaced makes room");
        assert_eq!(wide.has_room_for(&change(&json!("y".repeat(2100))), 2).unwrap_err().code, FaultCode::StateTooLarge);
        let results = vec![json!("z".repeat(500)); 4];
        assert!(State::has_room_for_copies(results.iter().take(3), 2).is_ok());
        assert_eq!(State::has_room_for_copies(results.iter().cycle().take(1_000_000), 2).unwrap_err().code, FaultCode::StateTooLarge);
        assert_eq!(wide.has_room_for(&change(&deep), 2).unwrap_err().code, FaultCode::StateTooLarge);
    }

    proptest! {
        #[test]
        fn a_difference_applied_gives_the_state_again(first in any_json(), second in any_json()) {
            let start = state(&json!({"a": first, "kept": 1}));
            let mut end = start.clone();
            end.set("a".into(), Arc::new(second.clone()));
            end.set("b".into(), Arc::new(second));
            let mut again = start.clone();
            again.apply(&end.diff_from(&start));
            prop_assert_eq!(&again, &end);
            prop_assert_eq!(again.size_bytes(), end.size_bytes());
            prop_assert!(end.diff_from(&end).is_empty());
        }

        #[test]
        fn the_size_is_that_of_its_json(value in any_json()) {
            let state = state(&json!({"key": value}));
            let exact = serde_json::to_string(&state.to_json(true)).unwrap().len();
            let size = state.size_bytes();
            prop_assert!(size * 10 + 100 >= exact && size <= exact * 13 + 100, "{size} for {exact}");
        }

        #[test]
        fn a_rewritten_key_leaves_no_size_behind(values in prop::collection::vec(any_json(), 1..8)) {
            let mut many = State::new();
            for value in &values {
                many.set("k".into(), Arc::new(value.clone()));
            }
            let mut once = State::new();
            once.set("k".into(), Arc::new(values[values.len() - 1].clone()));
            prop_assert_eq!(many.size_bytes(), once.size_bytes());
        }
    }
}
