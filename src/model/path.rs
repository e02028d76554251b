//! Owns paths into the workflow state: for reading (`key.name[0]`) and for writing (`key.name`).

use std::sync::Arc;

use serde_json::Value;

/// Names in a path beyond this are refused, so that no value grows deeper than JSON readers go.
pub const MAX_NAMES: usize = 32;

/// A path that reads: a state key, then names and indexes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    source: Arc<str>,
    root: Arc<str>,
    rest: Box<[Segment]>,
}

/// A part of a path after its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Segment {
    Name(Box<str>),
    Index(usize),
}

impl Path {
    /// Reads a whole text as a path.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_matches(' ');
        let (path, length) = Self::scan(text)?;
        (length == text.len()).then_some(path)
    }

    /// Reads the path that a text begins with, and says how long it is.
    pub(super) fn scan(text: &str) -> Option<(Self, usize)> {
        let (root, mut at) = match name_length(text) {
            0 => quoted(text)?,
            length => (text[..length].to_owned(), length),
        };
        let mut rest = Vec::new();
        while let Some((segment, length)) = Segment::scan(&text[at..]) {
            rest.push(segment);
            at += length;
        }
        let path = Self { source: text[..at].into(), root: root.into(), rest: rest.into() };
        (path.rest.len() <= MAX_NAMES).then_some((path, at))
    }

    /// The path of a whole key.
    #[must_use]
    pub fn key(name: &str) -> Self {
        Self { source: name.into(), root: name.into(), rest: Box::default() }
    }

    /// The state key that it begins with.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// As it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Is it a key alone?
    pub fn is_key(&self) -> bool {
        self.rest.is_empty()
    }

    /// What it leads to within the value of its key.
    pub fn within<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.rest.iter().try_fold(value, |value, segment| segment.step(value))
    }
}

impl Segment {
    fn scan(text: &str) -> Option<(Self, usize)> {
        if let Some(after) = text.strip_prefix('.') {
            let length = name_length(after);
            if length > 0 {
                return Some((Self::Name(after[..length].into()), length + 1));
            }
            let (index, digits) = number(after)?;
            return Some((Self::Index(index), digits + 1));
        }
        if let Some((name, length)) = quoted(text) {
            return Some((Self::Name(name.into()), length));
        }
        let (index, digits) = number(text.strip_prefix('[')?)?;
        text[1 + digits..].starts_with(']').then_some((Self::Index(index), digits + 2))
    }

    fn step<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match (self, value) {
            (Self::Name(name), Value::Object(fields)) => fields.get(&**name),
            (Self::Index(index), Value::Array(items)) => items.get(*index),
            (Self::Index(index), Value::Object(fields)) => fields.get(&index.to_string()),
            (Self::Name(_) | Self::Index(_), _) => None,
        }
    }
}

/// Bytes of the name that a text begins with.
fn name_length(text: &str) -> usize {
    match text.as_bytes().first() {
        Some(first) if first.is_ascii_alphabetic() || *first == b'_' => {
            text.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count()
        }
        Some(_) | None => 0,
    }
}

fn number(text: &str) -> Option<(usize, usize)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse().ok()?, digits))
}

/// Reads `["any key"]`.
fn quoted(text: &str) -> Option<(String, usize)> {
    let inner = text.strip_prefix("[\"")?;
    let mut escaped = false;
    let end = inner.bytes().position(|b| {
        let ends = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    })?;
    let length = 2 + end + 1;
    text[length..].starts_with(']').then_some(())?;
    let name = serde_json::from_str(&text[1..length]).ok()?;
    Some((name, length + 1))
}

/// A path that writes: a state key, then names of nested fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPath {
    root: Arc<str>,
    rest: Box<[Box<str>]>,
}

impl KeyPath {
    /// Reads `name(.name)*`, names of letters, digits and `_`, the first not beginning with a digit.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut names = text.split('.');
        let word = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let root = names.next().filter(|name| word(name) && !name.starts_with(|first: char| first.is_ascii_digit()))?;
        let rest: Box<[Box<str>]> = names.map(|name| word(name).then(|| name.into())).collect::<Option<_>>()?;
        (rest.len() <= MAX_NAMES).then(|| Self { root: root.into(), rest })
    }

    /// The state key that it writes.
    pub const fn root(&self) -> &Arc<str> {
        &self.root
    }

    /// The value of its key once `value` is written into `before`; missing or other parents become objects.
    pub fn written(&self, before: Option<&Arc<Value>>, value: Arc<Value>) -> Arc<Value> {
        if self.rest.is_empty() {
            return value;
        }
        let mut whole = before.map_or(Value::Null, |before| (**before).clone());
        let mut place = &mut whole;
        for name in &self.rest {
            if !place.is_object() {
                *place = Value::Object(serde_json::Map::new());
            }
            let Value::Object(fields) = place else { break };
            place = fields.entry(&**name).or_insert(Value::Null);
        }
        *place = Arc::unwrap_or_clone(value);
        Arc::new(whole)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_reads_names_indexes_and_quoted_keys() {
        let value = json!({"a": [{"b c": 1, "0": "zero"}], "x-y": true});
        for (text, found) in [
            ("k.a[0][\"b c\"]", Some(json!(1))),
            ("k.a.0.0", Some(json!("zero"))),
            ("k.x-y", Some(json!(true))),
            ("[\"k\"].x-y", Some(json!(true))),
            ("k.a[1]", None),
            ("k.a.b", None),
        ] {
            assert_eq!(Path::parse(text).unwrap().within(&value), found.as_ref(), "{text}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", "1a", "a.", "a..b", "a[", "a[x]", "a[-1]", "a b", "[k]", "[\"k", "a.b|upper", "a[99999999999999999999]"]
        {
            assert_eq!(Path::parse(text), None, "{text}");
        }
        assert_eq!(Path::parse(&format!("a{}", ".b".repeat(MAX_NAMES + 1))), None);
    }

    #[test]
    fn a_nested_write_makes_objects_of_what_is_in_its_way() {
        let path = KeyPath::parse("a.b.c").unwrap();
        let written = path.written(Some(&Arc::new(json!({"b": 7, "kept": 1}))), Arc::new(json!("x")));
        assert_eq!(*written, json!({"b": {"c": "x"}, "kept": 1}));
        for text in ["", "1", "a.", "a-b", "a.b-c", "a b", "é"] {
            assert_eq!(KeyPath::parse(text), None, "{text}");
        }
    }
}
