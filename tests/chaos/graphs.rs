//! Owns what runs do in the storm: graphs with models, tools, branches, people, loops, and what each must come to.

use serde_json::{Value, json};

/// A workflow, and what one run of it does when nothing is done twice and nothing is left out.
pub struct Kind {
    pub slug: &'static str,
    pub graph: Value,
    /// Calls of tools that must not be made twice.
    pub payments: usize,
    /// Calls of tools that may be.
    pub notes: usize,
    /// Answers of models.
    pub answers: usize,
    /// Completed steps, start aside.
    pub steps: usize,
}

fn graph(lines: &[(&str, &str, Value)], edges: &[&str]) -> Value {
    let nodes: Vec<Value> = lines
        .iter()
        .map(|(id, kind, data)| json!({"id": id, "type": kind, "position": {"x": 0, "y": 0}, "data": data}))
        .collect();
    let edges: Vec<Value> = edges
        .iter()
        .enumerate()
        .map(|(at, edge)| {
            let (source, target) = edge.split_once('>').expect("source>target");
            let (source, handle) = source.split_once('.').unwrap_or((source, "default"));
            json!({"id": format!("e{at}"), "source": source, "target": target, "sourceHandle": handle, "targetHandle": "default"})
        })
        .collect();
    json!({"version": 1, "nodes": nodes, "edges": edges, "annotations": []})
}

fn start() -> (&'static str, &'static str, Value) {
    ("start", "start", json!({}))
}

fn stop() -> (&'static str, &'static str, Value) {
    ("stop", "stop", json!({}))
}

fn llm(id: &'static str) -> (&'static str, &'static str, Value) {
    (id, "llm", json!({"provider": "storm", "model": "talk", "prompt": "{{input}} at ".to_owned() + id, "output_key": id, "stream": id.ends_with('s')}))
}

fn pay(id: &'static str) -> (&'static str, &'static str, Value) {
    (id, "tool", json!({"tool_ref": "tool:pay", "parameters": {"run": "{{input}}", "at": id}, "output_key": id}))
}

fn note(id: &'static str) -> (&'static str, &'static str, Value) {
    (id, "tool", json!({"tool_ref": "tool:note", "parameters": {"run": "{{input}}", "at": id}, "output_key": id}))
}

fn human(id: &'static str) -> (&'static str, &'static str, Value) {
    (id, "human", json!({"prompt": "Well?", "output_key": id}))
}

fn join() -> (&'static str, &'static str, Value) {
    ("join", "join", json!({"output_key": "got"}))
}

/// Everything that runs are made of; they take turns.
pub fn kinds() -> Vec<Kind> {
    let agent = json!({"provider": "storm", "model": "clerk", "message": "{{input}} at agent", "tools": [{"ref": "tool:refund"}],
        "memory": "none", "output_key": "agent"});
    vec![
        Kind {
            slug: "talk", payments: 0, notes: 0, answers: 1, steps: 2,
            graph: graph(&[start(), llm("llm"), stop()], &["start>llm", "llm>stop"]),
        },
        Kind {
            slug: "order", payments: 2, notes: 1, answers: 2, steps: 6,
            graph: graph(
                &[start(), llm("lls"), pay("pay1"), note("note"), pay("pay2"), llm("llm2"), stop()],
                &["start>lls", "lls>pay1", "pay1>note", "note>pay2", "pay2>llm2", "llm2>stop"],
            ),
        },
        Kind {
            slug: "branches", payments: 1, notes: 2, answers: 2, steps: 8,
            graph: graph(
                &[start(), ("fork", "fork", json!({})), llm("a"), note("a2"), pay("b"), note("c"), llm("cs"), join(), stop()],
                &["start>fork", "fork>join", "fork.a>a", "a>a2", "a2>join", "fork.b>b", "b>join", "fork.c>c", "c>cs", "cs>join", "join>stop"],
            ),
        },
        Kind {
            slug: "person", payments: 1, notes: 0, answers: 1, steps: 4,
            graph: graph(
                &[start(), llm("llm"), human("ask"), pay("pay"), stop()],
                &["start>llm", "llm>ask", "ask>pay", "pay>stop"],
            ),
        },
        Kind {
            slug: "persons", payments: 1, notes: 1, answers: 1, steps: 8,
            graph: graph(
                &[start(), ("fork", "fork", json!({})), human("a"), note("a2"), human("b"), pay("b2"), llm("c"), join(), stop()],
                &["start>fork", "fork>join", "fork.a>a", "a>a2", "a2>join", "fork.b>b", "b>b2", "b2>join", "fork.c>c", "c>join", "join>stop"],
            ),
        },
        Kind {
            slug: "approval", payments: 1, notes: 0, answers: 2, steps: 2,
            graph: graph(&[start(), ("agent", "agent", agent), stop()], &["start>agent", "agent>stop", "agent.rejected>stop"]),
        },
        Kind {
            slug: "passes", payments: 3, notes: 0, answers: 3, steps: 11,
            graph: graph(
                &[start(), ("loop", "loop", json!({"max_steps": 3, "on_max": "exit"})), llm("llm"), pay("pay"), stop()],
                &["start>loop", "loop.continue>llm", "llm>pay", "pay>loop", "loop.exit>stop"],
            ),
        },
    ]
}
