//! Owns the list of unknown members of a request body, for the header `X-Studio-Ignored`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::openapi;
use super::table::{Gives, Reads, Route};

/// The header that names them, separated by commas.
const HEADER: HeaderName = HeaderName::from_static("x-studio-ignored");
/// So many bytes at most, the dots that stand for the rest aside.
const MOST: usize = 1024;
/// So many bytes of one name.
const LONGEST: usize = 128;
/// What may stand in a name as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'$');
/// A graph is checked by itself, key by key.
const CHECKED: &str = "GraphInput";
/// Schemas inside each other.
const DEPTH: usize = 8;

/// The members that a value may have.
enum Known {
    Anything,
    Members(BTreeMap<String, Self>),
    Items(Box<Self>),
}

/// By the name of a body's schema.
static BODIES: LazyLock<BTreeMap<String, Known>> = LazyLock::new(|| {
    let schemas = openapi::schemas();
    let bodies = schemas.iter().filter(|(name, _)| name.ends_with("Body") || name.ends_with("Form") || *name == "ToolTest");
    bodies.map(|(name, schema)| (name.clone(), with_shown(known(schema, &schemas, DEPTH), name, &schemas))).collect()
});

/// Makes what all requests share.
pub(super) fn prepare() {
    LazyLock::force(&BODIES);
}

/// Also what is shown of the thing and not written: what was read may be sent back as it is.
fn with_shown(mut known: Known, body: &str, schemas: &Map<String, Value>) -> Known {
    let shown = body.strip_suffix("Body").and_then(|name| schemas.get(name)?.get("properties")?.as_object());
    if let (Known::Members(members), Some(shown), true) = (&mut known, shown, body != "GraphBody") {
        for name in shown.keys() {
            members.entry(name.clone()).or_insert(Known::Anything);
        }
    }
    known
}

fn known(schema: &Value, schemas: &Map<String, Value>, depth: usize) -> Known {
    if depth == 0 {
        return Known::Anything;
    }
    let below = |schema: &Value| known(schema, schemas, depth - 1);
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    match reference.map(|name| (name, schemas.get(name))) {
        Some((CHECKED, _) | (_, None)) => return Known::Anything,
        Some((_, Some(schema))) => return below(schema),
        None => {}
    }
    if let Some(Value::Array(either)) = schema.get("anyOf") {
        let some = either.iter().find(|one| one.get("type") != Some(&Value::from("null")));
        return some.map_or(Known::Anything, below);
    }
    if let Some(Value::Object(members)) = schema.get("properties") {
        return Known::Members(members.iter().map(|(name, schema)| (name.clone(), below(schema))).collect());
    }
    schema.get("items").map_or(Known::Anything, |items| Known::Items(Box::new(below(items))))
}

/// What the answer to a request says of it: nothing, or the header.
pub(super) struct Ignored(Option<HeaderValue>);

impl Ignored {
    /// Holds a JSON body against its route.
    pub(super) fn of(route: &Route, body: &Value) -> Self {
        Self::against(schema_of(route), body)
    }

    /// Holds a value against a schema of a body.
    pub(super) fn against(schema: Option<&str>, body: &Value) -> Self {
        let mut names = Names::default();
        if let Some(known) = schema.and_then(|name| BODIES.get(name)) {
            names.find(known, body, "");
        }
        Self(HeaderValue::try_from(names.text).ok().filter(|text| !text.is_empty()))
    }

    /// Says it.
    pub(super) fn tell(self, headers: &mut HeaderMap) {
        if let Some(names) = self.0 {
            headers.insert(HEADER, names);
        }
    }
}

/// The schema of a route's JSON body; a patch has the members of what it is laid over.
fn schema_of(route: &Route) -> Option<&str> {
    let (Reads::Json(schema) | Reads::JsonOrUpload(schema, _)) = route.reads else { return None };
    if schema != "Patch" {
        return Some(schema);
    }
    let patched = route.gives.iter().find_map(|(_, gives)| if let Gives::Json(name) = gives { Some(*name) } else { None })?;
    BODIES.keys().map(String::as_str).find(|body| body.strip_suffix("Body") == Some(patched))
}

#[derive(Default)]
struct Names {
    text: String,
    full: bool,
}

impl Names {
    fn find(&mut self, known: &Known, value: &Value, path: &str) {
        match (known, value) {
            (Known::Members(members), Value::Object(given)) => {
                for (name, value) in given {
                    if self.full {
                        return;
                    }
                    match members.get(name) {
                        Some(Known::Anything) => {}
                        Some(known) => self.find(known, value, &below(path, name)),
                        None => self.add(&below(path, name)),
                    }
                }
            }
            (Known::Items(known), Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    self.find(known, item, &below(path, &at.to_string()));
                }
            }
            (Known::Members(_) | Known::Items(_) | Known::Anything, _) => {}
        }
    }

    fn add(&mut self, path: &str) {
        let name = if path.is_empty() { "\"\"".to_owned() } else { utf8_percent_encode(path, PLAIN).to_string() };
        let comma = if self.text.is_empty() { "" } else { ", " };
        let name = name.get(..LONGEST).map_or_else(|| name.clone(), |start| format!("{start}..."));
        self.full = self.text.len() + comma.len() + name.len() > MOST;
        let name = if self.full { "..." } else { name.as_str() };
        let _ = write!(self.text, "{comma}{name}");
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
