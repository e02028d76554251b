//! Owns the graphs of the workloads.

use serde_json::{Value, json};

fn node(id: &str, kind: &str, data: Value) -> Value {
    json!({"id": id, "type": kind, "position": {"x": 0, "y": 0}, "data": data})
}

fn edge(source: &str, handle: &str, target: &str) -> Value {
    json!({"id": format!("{source}.{handle}-{target}"), "source": source, "sourceHandle": handle, "target": target, "targetHandle": "default"})
}

fn graph(nodes: Vec<Value>, edges: Vec<Value>) -> Value {
    json!({"version": 1, "nodes": nodes, "edges": edges})
}

/// `n` set_state nodes in a row; node i writes `k{i%10}`.
pub fn linear(n: u64) -> Value {
    let mut nodes = vec![node("start", "start", json!({}))];
    let mut edges = Vec::new();
    let mut before = "start".to_owned();
    for i in 0..n {
        let id = format!("set_{i}");
        nodes.push(node(&id, "set_state", json!({"key": format!("k{}", i % 10), "value": i})));
        edges.push(edge(&before, "default", &id));
        before = id;
    }
    nodes.push(node("stop", "stop", json!({})));
    edges.push(edge(&before, "default", "stop"));
    graph(nodes, edges)
}

/// `n` passes of a loop with one set_state.
pub fn looping(n: u64) -> Value {
    let nodes = vec![
        node("start", "start", json!({})),
        node("loop", "loop", json!({"max_steps": n, "on_max": "exit"})),
        node("set", "set_state", json!({"key": "k0", "value": 1})),
        node("stop", "stop", json!({})),
    ];
    let edges = vec![
        edge("start", "default", "loop"),
        edge("loop", "continue", "set"),
        edge("set", "default", "loop"),
        edge("loop", "exit", "stop"),
    ];
    graph(nodes, edges)
}

/// `b` branches of five set_state nodes, joined.
pub fn forked(b: u64) -> Value {
    let branches: Vec<String> = (0..b).map(|branch| format!("b{branch}")).collect();
    let mut nodes = vec![node("start", "start", json!({})), node("fork", "fork", json!({"branches": branches}))];
    let mut edges = vec![edge("start", "default", "fork"), edge("fork", "default", "join")];
    for branch in &branches {
        let (mut before, mut handle) = ("fork".to_owned(), branch.clone());
        for i in 0..5 {
            let id = format!("{branch}_{i}");
            nodes.push(node(&id, "set_state", json!({"key": format!("k{i}"), "value": i + 1})));
            edges.push(edge(&before, &handle, &id));
            (before, handle) = (id, "default".to_owned());
        }
        edges.push(edge(&before, "default", "join"));
    }
    nodes.extend([node("join", "join", json!({})), node("stop", "stop", json!({}))]);
    edges.push(edge("join", "default", "stop"));
    graph(nodes, edges)
}

/// A person between two set_state nodes.
pub fn human() -> Value {
    let nodes = vec![
        node("start", "start", json!({})),
        node("before", "set_state", json!({"key": "k0", "value": 1})),
        node("human", "human", json!({"prompt": "Go on?"})),
        node("after", "set_state", json!({"key": "k1", "value": 2})),
        node("stop", "stop", json!({})),
    ];
    let edges = vec![
        edge("start", "default", "before"),
        edge("before", "default", "human"),
        edge("human", "default", "after"),
        edge("after", "default", "stop"),
    ];
    graph(nodes, edges)
}

/// Three set_state nodes with two calls of a scripted model between them.
pub fn asking() -> Value {
    let llm = |id: &str| node(id, "llm", json!({"provider": "script", "model": "m", "prompt": "{{input}}"}));
    let set = |id: &str| node(id, "set_state", json!({"key": id, "value": 1}));
    let inner = vec![set("set_1"), llm("llm_1"), set("set_2"), llm("llm_2"), set("set_3")];
    let mut nodes = vec![node("start", "start", json!({}))];
    nodes.extend(inner);
    nodes.push(node("stop", "stop", json!({})));
    let ids: Vec<String> = nodes.iter().map(|node| node["id"].as_str().unwrap_or_default().to_owned()).collect();
    let edges = ids.windows(2).map(|pair| edge(&pair[0], "default", &pair[1])).collect();
    graph(nodes, edges)
}

fn llm(id: &str, model: &str, stream: bool) -> Value {
    node(id, "llm", json!({"provider": "bench", "model": model, "prompt": "{{input}}", "stream": stream}))
}

fn alone(inner: Value) -> Value {
    let nodes = vec![node("start", "start", json!({})), inner, node("stop", "stop", json!({}))];
    graph(nodes, vec![edge("start", "default", "llm"), edge("llm", "default", "stop")])
}

/// A model whose text is told while it comes.
pub fn streaming(model: &str) -> Value {
    alone(llm("llm", model, true))
}

/// A model that answers at once.
pub fn one_call(model: &str) -> Value {
    alone(llm("llm", model, false))
}
