//! Owns the graph of a workflow: its nodes and edges as typed values, and its JSON with defaults filled in.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::check::{self, Issue};
use super::node::Node;

/// The only version there is.
pub const VERSION: i64 = 1;

/// The handle of an edge that says none.
pub const DEFAULT_HANDLE: &str = "default";
/// The target handle of binding edges.
pub const TOOLS_HANDLE: &str = "tools";
/// The source handle of an agent in Tool Mode.
pub const TOOLSET_HANDLE: &str = "toolset";

/// A graph.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Its nodes, notes among them.
    pub nodes: Vec<GraphNode>,
    /// Its edges.
    pub edges: Vec<Edge>,
    json: Value,
}

/// A node of a graph.
#[derive(Clone, Debug)]
pub struct GraphNode {
    /// Its id, unique in the graph.
    pub id: Arc<str>,
    /// For people.
    pub title: Option<String>,
    /// Its type.
    pub kind: NodeKind,
    /// Its data.
    pub node: Node,
    place: usize,
}

/// An edge of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Its id, unique in the graph.
    pub id: String,
    /// The node that it leaves.
    pub source: Arc<str>,
    /// The node that it leads to.
    pub target: Arc<str>,
    /// The handle that it leaves by.
    pub source_handle: Arc<str>,
    /// `default`, or `tools` for a binding edge.
    pub target_handle: Arc<str>,
}

impl Edge {
    /// Does it only lend a tool, and carries no control?
    pub fn is_binding(&self) -> bool {
        &*self.target_handle == TOOLS_HANDLE
    }
}

named! {
    /// The type of a node.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[expect(missing_docs, reason = "the names are the node types of the contract")]
    pub enum NodeKind {
        Start = "start",
        Stop = "stop",
        Agent = "agent",
        Llm = "llm",
        Rag = "rag",
        Tool = "tool",
        Mcp = "mcp",
        Human = "human",
        Fork = "fork",
        Join = "join",
        Loop = "loop",
        SetState = "set_state",
        Condition = "condition",
        Note = "note",
    }
}

impl Graph {
    /// Reads a graph that can be run or shown: every node and edge is understood.
    /// Whether it makes sense as a whole is for `check`.
    pub fn parse(value: &Value) -> Result<Self, Vec<Issue>> {
        let issues = check::shape(value);
        if issues.is_empty() { Ok(Self::read(value)) } else { Err(issues) }
    }

    /// Reads what is understood of a graph and leaves out the rest.
    #[must_use]
    pub fn read(value: &Value) -> Self {
        let json = filled(value);
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        let mut ids = HashSet::new();
        for node in list(&json, "nodes").iter().enumerate().filter_map(|(place, node)| read_node(place, node)) {
            if node.kind == NodeKind::Note || ids.insert(Arc::clone(&node.id)) {
                nodes.push(node);
            }
        }
        let known: HashSet<Arc<str>> = nodes.iter().map(|node| Arc::clone(&node.id)).collect();
        for edge in list(&json, "edges") {
            edges.extend(read_edge(edge, &known));
        }
        Self { nodes, edges, json }
    }

    /// The data of a node as it was given.
    pub(super) fn data(&self, at: usize) -> Option<&Map<String, Value>> {
        list(&self.json, "nodes").get(self.nodes[at].place)?.get("data")?.as_object()
    }

    /// The graph as JSON: as it was given, with missing edge ids, handles and empty parts filled in.
    pub const fn to_json(&self) -> &Value {
        &self.json
    }
}

impl GraphNode {
    /// What people know it by: its title, else its id.
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.id)
    }
}

/// The items of a list, none when it is no list.
pub(super) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A text that is there and not null.
pub(super) fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name)?.as_str()
}

fn read_node(place: usize, value: &Value) -> Option<GraphNode> {
    let kind = NodeKind::named(text(value, "type")?)?;
    let empty = Map::new();
    let data = value.get("data").and_then(Value::as_object).unwrap_or(&empty);
    let title = text(value, "title").map(str::trim).filter(|title| !title.is_empty()).map(str::to_owned);
    Some(GraphNode { id: text(value, "id")?.into(), title, kind, node: Node::read(kind, data), place })
}

fn read_edge(value: &Value, known: &HashSet<Arc<str>>) -> Option<Edge> {
    let handle = |name: &str| text(value, name).unwrap_or(DEFAULT_HANDLE).into();
    Some(Edge {
        id: text(value, "id").unwrap_or_default().to_owned(),
        source: Arc::clone(known.get(text(value, "source")?)?),
        target: Arc::clone(known.get(text(value, "target")?)?),
        source_handle: handle("sourceHandle"),
        target_handle: handle("targetHandle"),
    })
}

/// The graph with what may be left out filled in; what is wrong stays as it is.
fn filled(value: &Value) -> Value {
    let Some(given) = value.as_object() else { return json!({"version": VERSION, "nodes": [], "edges": []}) };
    let mut graph = Map::new();
    for (key, default) in [
        ("version", json!(VERSION)),
        ("nodes", json!([])),
        ("edges", json!([])),
        ("annotations", json!([])),
        ("viewport", json!({"x": 0, "y": 0, "zoom": 1})),
    ] {
        let value = given.get(key).filter(|value| !value.is_null()).cloned();
        graph.insert(key.to_owned(), value.unwrap_or(default));
    }
    fill_numbers(&mut graph, "viewport", &[("x", 0), ("y", 0), ("zoom", 1)]);
    for list in ["nodes", "annotations"] {
        for node in graph.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
            fill(node, "position", || json!({"x": 0, "y": 0}));
            fill_numbers(node, "position", &[("x", 0), ("y", 0)]);
            fill(node, "data", || json!({}));
            if list == "annotations" {
                fill(node, "type", || json!(NodeKind::Note.as_str()));
            }
        }
    }
    for (list, prefix) in [("edges", "e"), ("annotations", "note_")] {
        fill_ids(graph.get_mut(list).and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice), prefix);
    }
    let mut edges = graph.get_mut("edges").and_then(Value::as_array_mut);
    for edge in edges.iter_mut().flat_map(|edges| edges.iter_mut()).filter_map(Value::as_object_mut) {
        fill(edge, "sourceHandle", || json!(DEFAULT_HANDLE));
        fill(edge, "targetHandle", || json!(DEFAULT_HANDLE));
    }
    Value::Object(graph)
}

/// Gives an id to those that have none.
fn fill_ids(items: &mut [Value], prefix: &str) {
    let mut used: HashSet<String> = items.iter().filter_map(|item| text(item, "id")).map(str::to_owned).collect();
    let mut next = 0;
    for item in items.iter_mut().filter_map(Value::as_object_mut) {
        fill(item, "id", || {
            let id = std::iter::repeat_with(|| {
                next += 1;
                format!("{prefix}{next}")
            });
            json!(id.into_iter().find(|id| used.insert(id.clone())))
        });
    }
}

/// The numbers of a place, where there are none.
fn fill_numbers(fields: &mut Map<String, Value>, key: &str, defaults: &[(&str, i64)]) {
    let Some(place) = fields.get_mut(key).and_then(Value::as_object_mut) else { return };
    for (name, number) in defaults {
        if !place.get(*name).is_some_and(Value::is_number) {
            place.insert((*name).to_owned(), json!(number));
        }
    }
}

fn fill(fields: &mut Map<String, Value>, key: &str, default: impl FnOnce() -> Value) {
    if fields.get(key).is_none_or(Value::is_null) {
        fields.insert(key.to_owned(), default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_filled_in_and_the_rest_is_kept() {
        let given = json!({"version": 1, "nodes": [
            {"id": "start", "type": "start"},
            {"id": "stop", "type": "stop", "data": {"reply": "x", "own": [1]}, "title": " End ", "extra": true},
            {"id": "n", "type": "note", "data": {"text": "hi"}}],
            "edges": [{"source": "start", "target": "stop", "sourceHandle": null}, {"id": "e1", "source": "start", "target": "stop", "sourceHandle": "x"}],
            "annotations": [{"id": "a", "type": "note"}, {"data": {"text": "x"}, "position": {"x": 1.5}}], "viewport": {"zoom": 2}});
        let graph = Graph::parse(&given).unwrap();
        assert_eq!(graph.nodes[1].title.as_deref(), Some("End"));
        assert_eq!(graph.nodes[1].label(), "End");
        assert_eq!(graph.nodes[0].label(), "start");
        let json = graph.to_json();
        assert_eq!(
            json["edges"][0],
            json!({"source": "start", "target": "stop", "sourceHandle": "default", "id": "e2", "targetHandle": "default"})
        );
        assert_eq!(json["nodes"][1]["data"], json!({"reply": "x", "own": [1]}));
        assert_eq!((&json["nodes"][1]["extra"], &json["nodes"][0]["data"]), (&json!(true), &json!({})));
        let note = json!({"data": {"text": "x"}, "position": {"x": 1.5, "y": 0}, "type": "note", "id": "note_1"});
        assert_eq!((&json["annotations"][0]["id"], &json["annotations"][1]), (&json!("a"), &note));
        assert_eq!(json["viewport"], json!({"zoom": 2, "x": 0, "y": 0}));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for (pointer, value) in [
            ("/version", json!(2)),
            ("/nodes/0/type", json!("code")),
            ("/nodes/1/data", json!({"reply": 5})),
            ("/edges/0/target", json!("gone")),
        ] {
            let mut graph = crate::model::sketch::graph("start -> stop").unwrap();
            *graph.pointer_mut(pointer).unwrap() = value;
            assert_eq!(Graph::parse(&graph).unwrap_err().len(), 1, "{pointer}");
        }
        assert!(Graph::parse(&json!(null)).is_err());
    }

    #[test]
    fn types_have_their_names() {
        for kind in NodeKind::ALL {
            assert_eq!(NodeKind::named(kind.as_str()), Some(kind));
        }
        assert_eq!(NodeKind::named("code"), None);
    }
}
