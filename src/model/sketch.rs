//! Owns graphs as short text, for tests: `start -> agent_1{provider: script, model: echo} -> stop; tool_1 => agent_1`.
//!
//! Statements end at a line or `;`. `a -> b` is a control edge, `a.handle -> b` one on a handle, `a => b` a binding edge.
//! A node's type is its id up to `_` (`set` means `set_state`), or what follows its id as in `mail:tool`.

use serde_json::{Map, Value, json};

use super::template_text::System;
use super::{Id, Timestamp};

/// The graph that a text sketches.
pub fn graph(text: &str) -> Result<Value, String> {
    let mut sketch = Sketch { rest: text, nodes: Map::new(), edges: Vec::new() };
    sketch.skip(true);
    while !sketch.rest.is_empty() {
        sketch.statement()?;
        sketch.skip(true);
    }
    let nodes: Vec<Value> = sketch.nodes.into_iter().map(|(_, node)| node).collect();
    Ok(json!({"version": 1, "nodes": nodes, "edges": sketch.edges, "annotations": [], "viewport": {"x": 0, "y": 0, "zoom": 1}}))
}

struct Sketch<'t> {
    rest: &'t str,
    nodes: Map<String, Value>,
    edges: Vec<Value>,
}

impl<'t> Sketch<'t> {
    fn skip(&mut self, lines: bool) {
        self.rest = self.rest.trim_start_matches(|c: char| c == ' ' || (lines && (c.is_whitespace() || c == ';')));
    }

    fn takes(&mut self, mark: &str) -> bool {
        let after = self.rest.strip_prefix(mark);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn statement(&mut self) -> Result<(), String> {
        let mut source = self.node()?;
        loop {
            self.skip(false);
            let target_handle = match () {
                () if self.takes("->") => "default",
                () if self.takes("=>") => "tools",
                () if self.rest.is_empty() || self.rest.starts_with([';', '\n', '\r']) => return Ok(()),
                () => return Err(format!("expected an arrow at `{}`", self.rest)),
            };
            self.skip(false);
            let target = self.node()?;
            let handle = source.1.as_deref().unwrap_or("default");
            let id = format!("e{}", self.edges.len() + 1);
            self.edges.push(
                json!({"id": id, "source": source.0, "target": target.0, "sourceHandle": handle, "targetHandle": target_handle}),
            );
            source = target;
        }
    }

    /// Reads `id`, `id:type`, `id{data}`, `id.handle`.
    fn node(&mut self) -> Result<(String, Option<String>), String> {
        let id = self.word("a node")?;
        let kind = if self.takes(":") { self.word("a type")? } else { id.split('_').next().unwrap_or_default() };
        let kind = if kind == "set" { "set_state" } else { kind };
        let node =
            self.nodes.entry(id).or_insert_with(|| json!({"id": id, "type": kind, "position": {"x": 0, "y": 0}, "data": {}}));
        if self.rest.starts_with('{') {
            node["data"] = value(&mut self.rest, DEEPEST)?;
        }
        let handle = if self.takes(".") { Some(self.word("a handle")?.to_owned()) } else { None };
        Ok((id.to_owned(), handle))
    }

    fn word(&mut self, what: &str) -> Result<&'t str, String> {
        let length = self.rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        if length == 0 {
            return Err(format!("expected {what} at `{}`", self.rest));
        }
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(word)
    }
}

/// How deep values may be nested.
const DEEPEST: usize = 64;

/// Reads JSON in which names and simple texts need no quotes.
fn value(rest: &mut &str, depth: usize) -> Result<Value, String> {
    *rest = rest.trim_start();
    let depth = depth.checked_sub(1).ok_or_else(|| format!("nested too deeply at `{rest}`"))?;
    if rest.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let read = values.next().and_then(Result::ok).ok_or_else(|| format!("bad text at `{rest}`"))?;
        *rest = &rest[values.byte_offset()..];
        return Ok(read);
    }
    if let Some(after) = rest.strip_prefix('{') {
        *rest = after;
        let mut fields = Map::new();
        members(rest, '}', |rest| {
            let name = match value(rest, depth)? {
                Value::String(name) => name,
                other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
            };
            *rest = rest.trim_start().strip_prefix(':').ok_or_else(|| format!("expected `:` at `{rest}`"))?;
            fields.insert(name, value(rest, depth)?);
            Ok(())
        })?;
        return Ok(Value::Object(fields));
    }
    if let Some(after) = rest.strip_prefix('[') {
        *rest = after;
        let mut items = Vec::new();
        members(rest, ']', |rest| value(rest, depth).map(|item| items.push(item)))?;
        return Ok(Value::Array(items));
    }
    let end = rest.find([',', '}', ']', ':', '\n']).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after;
    Ok(serde_json::from_str(word.trim()).unwrap_or_else(|_| Value::String(word.trim().to_owned())))
}

fn members(rest: &mut &str, close: char, mut member: impl FnMut(&mut &str) -> Result<(), String>) -> Result<(), String> {
    loop {
        *rest = rest.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
        if let Some(after) = rest.strip_prefix(close) {
            *rest = after;
            return Ok(());
        }
        if rest.is_empty() {
            return Err(format!("`{close}` is missing"));
        }
        let before = rest.len();
        member(rest)?;
        if rest.len() == before {
            return Err(format!("expected a value at `{rest}`"));
        }
    }
}

/// System keys that never change.
pub fn system() -> System {
    System { thread_id: Id(uuid::Uuid::nil()), now: Timestamp(0), timezone: jiff::tz::TimeZone::UTC, locale: "en".into() }
}

/// Any JSON, not too large.
#[cfg(test)]
pub(crate) fn any_json() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6).prop_map(|float: f64| json!(float)),
        "[a-z{}$.\"\\\\é]{0,8}".prop_map(Value::from),
        prop::sample::select(vec!["default", "tools", "start", "stop", "agent", "loop", "fork", "join", "true", "1"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,6}", inner), 0..6).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sketch_is_a_graph() {
        let graph = graph("start -> agent_1{provider: x, tools: [{ref: \"host:a\"}], n: 5} -> stop\n mail:tool => agent_1; agent_1.error -> stop").unwrap();
        assert_eq!(graph["nodes"][1]["data"], json!({"provider": "x", "tools": [{"ref": "host:a"}], "n": 5}));
        assert_eq!(graph["nodes"][3]["type"], "tool");
        let edges: Vec<_> = graph["edges"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| format!("{}.{} {}.{}", e["source"], e["sourceHandle"], e["target"], e["targetHandle"]).replace('"', ""))
            .collect();
        assert_eq!(
            edges,
            [
                "start.default agent_1.default",
                "agent_1.default stop.default",
                "mail.default agent_1.tools",
                "agent_1.error stop.default"
            ]
        );
        assert!(super::graph("a -> ").is_err() && super::graph("a{b").is_err() && super::graph("a + b").is_err());
    }

    #[test]
    fn what_is_no_sketch_is_refused_and_ends() {
        for text in ["k{{{[:", "k{a: [:]}", "k{a: [}]}", &format!("k{}", "{a: ".repeat(100)), &format!("k{{a: {}", "[".repeat(100_000))] {
            assert!(super::graph(text).is_err(), "{text}");
        }
        assert!(super::graph("k{a: , b: [[], {}], c: }").is_ok());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_to_its_end_or_refused(text in "[a-z_{}\\[\\]:,\". \n>=-]{0,40}") {
            let _read_or_refused = super::graph(&text);
        }
    }
}
