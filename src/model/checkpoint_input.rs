//! Owns the state keys that a node reads, and their hash, which shows whether a node checkpoint is still valid.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::hex::hex;
use super::node::{Assigned, Node, SetState};
use super::path::Path;
use super::plan::{NodeIndex, Plan};
use super::state::{State, is_internal};
use super::template_text::Template;

/// What a node reads of the state.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    paths: Vec<Path>,
    /// `input` is read when this is blank.
    or_input: Option<Template>,
}

impl Reads {
    /// The paths, `input` among them when the state makes the node fall back to it.
    fn of<'r>(&'r self, state: &State) -> impl Iterator<Item = &'r Path> {
        let falls_back = self.or_input.as_ref().is_some_and(|template| template.is_blank(state));
        let input = falls_back.then_some(&*INPUT);
        self.paths.iter().chain(input).filter(|path| !is_internal(path.root()))
    }
}

static INPUT: std::sync::LazyLock<Path> = std::sync::LazyLock::new(|| Path::key("input"));

impl Plan {
    /// What a node reads, with the fixed arguments of the tools and the instructions of the specialists that are bound to it.
    pub fn reads(&self, at: NodeIndex) -> Reads {
        let node = &self.node(at).node;
        let mut reads = Reads { paths: Vec::new(), or_input: falls_back(node).cloned() };
        let mut open = vec![at];
        let mut seen = vec![false; self.graph().nodes.len()];
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut seen[at as usize], true) {
                reads.paths.extend(own_paths(&self.node(at).node));
                open.extend(self.tool_bindings(at));
            }
        }
        if sends_files(node) {
            reads.paths.push(Path::key("attachments"));
        }
        reads
    }
}

fn own_paths(node: &Node) -> Vec<Path> {
    match node {
        Node::Tool(node) => node.parameters.paths().into_iter().cloned().collect(),
        Node::Mcp(node) => node.parameters.paths().into_iter().cloned().collect(),
        Node::SetState(SetState { value: Assigned::From(path), .. }) => vec![path.clone()],
        Node::Condition(test) => test.paths().cloned().collect(),
        Node::Loop(node) => node.test.iter().flat_map(|test| test.paths().cloned()).collect(),
        Node::Start
        | Node::Stop(_)
        | Node::Agent(_)
        | Node::Llm(_)
        | Node::Rag(_)
        | Node::Human(_)
        | Node::Fork(_)
        | Node::Join(_)
        | Node::SetState(_)
        | Node::Note => node.templates().into_iter().flat_map(|(_, template)| template.paths().cloned()).collect(),
    }
}

/// The template whose blankness makes a node take `input`.
fn falls_back(node: &Node) -> Option<&Template> {
    match node {
        Node::Agent(node) => Some(&node.message),
        Node::Llm(node) => Some(&node.prompt),
        Node::Rag(node) => Some(&node.query),
        Node::Start
        | Node::Stop(_)
        | Node::Tool(_)
        | Node::Mcp(_)
        | Node::Human(_)
        | Node::Fork(_)
        | Node::Join(_)
        | Node::Loop(_)
        | Node::SetState(_)
        | Node::Condition(_)
        | Node::Note => None,
    }
}

fn sends_files(node: &Node) -> bool {
    match node {
        Node::Agent(node) => node.vision,
        Node::Llm(node) => node.vision,
        Node::Start
        | Node::Stop(_)
        | Node::Rag(_)
        | Node::Tool(_)
        | Node::Mcp(_)
        | Node::Human(_)
        | Node::Fork(_)
        | Node::Join(_)
        | Node::Loop(_)
        | Node::SetState(_)
        | Node::Condition(_)
        | Node::Note => false,
    }
}

/// SHA-256 in hex of the canonical JSON of what is read.
pub fn input_hash(reads: &Reads, state: &State) -> String {
    let values: BTreeMap<&str, &Value> =
        reads.of(state).map(|path| (path.source(), state.lookup(path).unwrap_or(&Value::Null))).collect();
    let mut text = String::from("{");
    for (n, (path, value)) in values.into_iter().enumerate() {
        if n > 0 {
            text.push(',');
        }
        text.push_str(&Value::from(path).to_string());
        text.push(':');
        canonical(value, &mut text);
    }
    text.push('}');
    hex(&Sha256::digest(text))
}

/// Compact JSON with the keys of every object sorted.
pub fn canonical(value: &Value, into: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => into.push_str(&value.to_string()),
        Value::Array(items) => {
            into.push('[');
            for (n, item) in items.iter().enumerate() {
                into.push_str(if n > 0 { "," } else { "" });
                canonical(item, into);
            }
            into.push(']');
        }
        Value::Object(fields) => {
            let sorted: BTreeMap<_, _> = fields.iter().collect();
            into.push('{');
            for (n, (key, value)) in sorted.into_iter().enumerate() {
                into.push_str(if n > 0 { "," } else { "" });
                into.push_str(&Value::from(key.as_str()).to_string());
                into.push(':');
                canonical(value, into);
            }
            into.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::model::graph::Graph;
    use crate::model::sketch;

    fn hash(graph: &str, node: &str, state: Value) -> String {
        let plan = Plan::new(Arc::new(Graph::read(&sketch::graph(graph).unwrap())));
        let state = State::from_json(state.as_object().cloned().unwrap());
        input_hash(&plan.reads(plan.find(node).unwrap()), &state)
    }

    #[test]
    fn only_what_a_node_reads_counts() {
        let graph = "start -> agent_1{provider: x, model: y, message: \"{{ticket.text}}\", instructions: \"{{tone}} {{__studio_now}}\"} -> stop\n\
                     tool_1{tool_ref: \"host:a\", parameters: {id: $order.id}} => agent_1";
        let base = || json!({"ticket": {"text": "a", "x": 1}, "tone": "b", "order": {"id": 7}, "other": 1, "input": "i"});
        let with = |path: &str, value: Value| {
            let mut state = base();
            *state.pointer_mut(path).unwrap() = value;
            hash(graph, "agent_1", state)
        };
        let first = hash(graph, "agent_1", base());
        assert_eq!(first.len(), 64);
        for same in ["/other", "/input", "/ticket/x"] {
            assert_eq!(with(same, json!("changed")), first, "{same}");
        }
        for read in ["/ticket/text", "/tone", "/order/id"] {
            assert_ne!(with(read, json!("changed")), first, "{read}");
        }
        assert_ne!(with("/ticket/text", json!(" ")), {
            let mut s = base();
            s["input"] = json!("j");
            s["ticket"]["text"] = json!(" ");
            hash(graph, "agent_1", s)
        });
    }

    #[test]
    fn the_hash_is_that_of_sorted_json() {
        let graph = "start -> llm_1{prompt: \"{{b}}{{a}}\", vision: false} -> stop";
        let expected = hex(&Sha256::digest(r#"{"a":{"x":[1,"é"],"y":null},"b":null}"#));
        assert_eq!(hash(graph, "llm_1", json!({"a": {"y": null, "x": [1, "é"]}})), expected);
    }
}
