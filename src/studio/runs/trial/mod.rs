//! Owns test runs of a workflow: stops before nodes, pinned answers, one node alone.
//! A test run changes the graph of that run, never the workflow.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::studio::definitions::fields::Fields;

/// What a run does differently from its workflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// The run waits for a person before these nodes.
    pub break_before: Vec<String>,
    /// These nodes write this and do nothing else.
    pub pins: Map<String, Value>,
    /// Only this node runs, with the tools that are bound to it.
    pub only: Option<String>,
}

/// Nodes that write an answer, with the key that they write when they name none.
const WRITERS: [(&str, &str); 6] = [
    ("agent", "agent_response"),
    ("llm", "llm_response"),
    ("rag", "rag_context"),
    ("tool", "tool_result"),
    ("mcp", "mcp_result"),
    ("human", "human_response"),
];
/// Nodes named in one trial.
const MOST: usize = 100;
/// Bytes of a node's id.
const ID: usize = 64;

impl Trial {
    /// Reads the `trial` of a run body.
    pub(in crate::studio) fn read(fields: &mut Fields<'_>) -> Self {
        let trial = Self {
            break_before: fields.texts("break_before"),
            pins: fields.object("pins"),
            only: fields.text("only", ID).map(str::to_owned),
        };
        if trial.break_before.len() > MOST || trial.pins.len() > MOST {
            fields.wrong("break_before", "and pins must name at most 100 nodes");
        }
        trial
    }

    /// Nothing is different.
    pub(in crate::studio) fn is_empty(&self) -> bool {
        self.break_before.is_empty() && self.pins.is_empty() && self.only.is_none()
    }

    /// The graph to run instead; it is checked like any other.
    pub(in crate::studio) fn apply(&self, graph: Value) -> Result<Value> {
        if self.is_empty() {
            return Ok(graph);
        }
        let mut trial = TrialGraph::new(graph);
        if let Some(only) = &self.only {
            trial.leave(only)?;
        }
        for (node, value) in &self.pins {
            trial.pin(node, value)?;
        }
        for node in &self.break_before {
            trial.stop_before(node)?;
        }
        trial.drop_unreached();
        Ok(trial.into_graph())
    }
}

/// A graph being changed.
struct TrialGraph {
    graph: Value,
    nodes: Vec<Value>,
    edges: Vec<Value>,
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn binds(edge: &Value) -> bool {
    text(edge, "targetHandle") == "tools"
}

fn edge(id: &str, source: &str, target: &str) -> Value {
    json!({"id": id, "source": source, "target": target, "sourceHandle": "default", "targetHandle": "default"})
}

fn refuse(field: &str, node: &str, why: &str) -> Error {
    Error::field(&format!("trial.{field}"), format!("trial.{field} names the node `{node}`, {why}"))
}

/// The key that a node's answer is written to; none when it writes no answer.
fn written(node: &Value) -> Option<String> {
    let (_, key) = WRITERS.iter().find(|(kind, _)| *kind == text(node, "type"))?;
    let named = node.get("data").map(|data| text(data, "output_key")).filter(|named| !named.is_empty());
    Some(named.unwrap_or(key).to_owned())
}

impl TrialGraph {
    fn new(mut graph: Value) -> Self {
        let mut list = |key| match graph.get_mut(key).map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        let (nodes, edges) = (list("nodes"), list("edges"));
        Self { graph, nodes, edges }
    }

    fn into_graph(self) -> Value {
        let Self { mut graph, nodes, edges } = self;
        if let Value::Object(fields) = &mut graph {
            fields.insert("nodes".into(), Value::Array(nodes));
            fields.insert("edges".into(), Value::Array(edges));
        }
        graph
    }

    fn place(&self, field: &str, id: &str) -> Result<usize> {
        self.nodes.iter().position(|node| text(node, "id") == id).ok_or_else(|| refuse(field, id, "which the graph does not have"))
    }

    fn position(&self, at: usize, right: f64) -> Value {
        let of = |axis| self.nodes.get(at).and_then(|node| node.pointer(axis)).and_then(Value::as_f64).unwrap_or_default();
        json!({"x": of("/position/x") + right, "y": of("/position/y")})
    }

    /// Start, the node with what is bound to it, stop.
    fn leave(&mut self, id: &str) -> Result<()> {
        let at = self.place("only", id)?;
        if self.nodes.get(at).and_then(written).is_none() && self.nodes.get(at).is_none_or(|node| text(node, "type") != "set_state") {
            return Err(refuse("only", id, "which cannot run alone"));
        }
        let mut kept = HashSet::from([id.to_owned()]);
        while self
            .edges
            .iter()
            .any(|edge| binds(edge) && kept.contains(text(edge, "target")) && kept.insert(text(edge, "source").to_owned()))
        {}
        let (before, after) = (self.position(at, -300.0), self.position(at, 300.0));
        self.nodes.retain(|node| kept.contains(text(node, "id")));
        self.edges.retain(|edge| binds(edge) && kept.contains(text(edge, "target")));
        self.nodes.push(json!({"id": "trial-start", "type": "start", "position": before, "data": {}}));
        self.nodes.push(json!({"id": "trial-stop", "type": "stop", "position": after, "data": {}}));
        self.edges.push(edge("trial-1", "trial-start", id));
        self.edges.push(edge("trial-2", id, "trial-stop"));
        Ok(())
    }

    /// The node becomes one that writes `value`. Text would be a template, so it is written in an object and taken out.
    fn pin(&mut self, id: &str, value: &Value) -> Result<()> {
        let at = self.place("pins", id)?;
        let key = self.nodes.get(at).and_then(written).ok_or_else(|| refuse("pins", id, "which writes no answer"))?;
        let literal = value.as_str().is_some_and(|text| text.contains("{{"));
        let data = if literal { json!({"key": key, "from_key": format!("{key}.text")}) } else { json!({"key": key, "value": value}) };
        self.edges.retain(|edge| {
            let leaves = text(edge, "source") == id && text(edge, "sourceHandle") != "default";
            let bound = text(edge, "target") == id && binds(edge);
            !(leaves || bound)
        });
        if literal {
            let given = json!({"key": key, "value": {"text": value}});
            self.put_before("pins", id, &format!("pin-{id}"), "set_state", &given)?;
        }
        if let Some(Value::Object(node)) = self.nodes.get_mut(at) {
            node.insert("type".into(), json!("set_state"));
            node.insert("data".into(), data);
        }
        Ok(())
    }

    /// A person is asked on the way into the node.
    fn stop_before(&mut self, id: &str) -> Result<()> {
        let at = self.place("break_before", id)?;
        if self.nodes.get(at).is_some_and(|node| text(node, "type") == "join") {
            return Err(refuse("break_before", id, "where branches meet; stop in a branch or after it"));
        }
        let key: String = id.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
        let data = json!({"output_key": format!("before_{key}")});
        self.put_before("break_before", id, &format!("before-{id}"), "human", &data)
    }

    /// Puts a node into every way into another.
    fn put_before(&mut self, field: &str, id: &str, made: &str, kind: &str, data: &Value) -> Result<()> {
        let at = self.place(field, id)?;
        if made.len() > ID || self.nodes.iter().any(|node| text(node, "id") == made) {
            return Err(refuse(field, id, "whose id is too long for a stop before it"));
        }
        let leads = |edge: &&mut Value| text(edge, "target") == id && !binds(edge);
        let mut ways = 0;
        for way in self.edges.iter_mut().filter(leads) {
            way["target"] = json!(made);
            ways += 1;
        }
        if ways == 0 {
            return Err(refuse(field, id, "to which nothing leads"));
        }
        let position = self.position(at, -230.0);
        self.edges.push(edge(&format!("trial-{made}"), made, id));
        self.nodes.push(json!({"id": made, "type": kind, "position": position, "data": data}));
        Ok(())
    }

    /// What only a pinned node led to would be refused as unreached.
    fn drop_unreached(&mut self) {
        let starts = self.nodes.iter().filter(|node| text(node, "type") == "start");
        let mut reached: HashSet<String> = starts.map(|node| text(node, "id").to_owned()).collect();
        loop {
            let before = reached.len();
            for edge in &self.edges {
                let (from, to) = if binds(edge) { ("target", "source") } else { ("source", "target") };
                if reached.contains(text(edge, from)) {
                    reached.insert(text(edge, to).to_owned());
                }
            }
            if reached.len() == before {
                break;
            }
        }
        self.nodes.retain(|node| reached.contains(text(node, "id")));
        self.edges.retain(|edge| reached.contains(text(edge, "source")) && reached.contains(text(edge, "target")));
    }
}

#[cfg(test)]
mod tests;
