//! Owns what the tests of MCP servers share: a studio with servers, graphs that call them.

use serde_json::{Map, Value, json};

use crate::support::Bench;

/// This test binary as a server.
pub fn program(manner: &str, more: Value) -> Value {
    let command = std::env::current_exe().expect("a binary");
    let mut env = json!({"PEER": manner});
    crate::support::merge(&mut env, more);
    json!({"transport": "stdio", "command": command, "args": ["--exact", "mcp::speaks_over_pipes", "--ignored", "--nocapture", "--test-threads=1"],
        "env": env, "timeout_ms": 20000})
}

/// A studio with these servers in its configuration, and a scripted model `m`.
pub fn bench(servers: &[(&str, Value)], script: Value) -> Bench {
    let servers: Map<String, Value> = servers.iter().map(|(slug, server)| ((*slug).to_owned(), server.clone())).collect();
    Bench::new(json!({"mcp": {"servers": servers}, "secrets": {"PEER_TOKEN": "tok-canary"}, "providers": {"script": {"scripts": {"m": script}}}}))
}

/// start -> mcp node `a` -> stop.
pub fn call(server: &str, tool: &str, more: Value) -> Value {
    let mut data = json!({"mcp_server": server, "tool_name": tool});
    crate::support::merge(&mut data, more);
    graph(vec![("a", "mcp", data)], &["start > a", "a > stop"])
}

/// Nodes between start and stop; an edge `x => y` binds a tool, `x:h > y` leaves by a handle.
pub fn graph(nodes: Vec<(&str, &str, Value)>, edges: &[&str]) -> Value {
    let place = json!({"x": 0, "y": 0});
    let mut all = vec![json!({"id": "start", "type": "start", "position": place, "data": {}}), json!({"id": "stop", "type": "stop", "position": place, "data": {}})];
    all.extend(nodes.into_iter().map(|(id, kind, data)| json!({"id": id, "type": kind, "position": place, "data": data})));
    let edge = |(at, edge): (usize, &&str)| {
        let (target, parts) = if edge.contains("=>") { ("tools", edge.split_once(" => ")) } else { ("default", edge.split_once(" > ")) };
        let (from, to) = parts.expect("an edge");
        let (from, handle) = from.split_once(':').unwrap_or((from, "default"));
        json!({"id": format!("e{at}"), "source": from, "target": to, "sourceHandle": handle, "targetHandle": target})
    };
    json!({"version": 1, "nodes": all, "edges": edges.iter().enumerate().map(edge).collect::<Vec<_>>()})
}

/// Runs a graph to its rest: the state, or `code: message`.
pub async fn run(bench: &Bench, graph: Value) -> Result<Value, String> {
    let workflow = bench.workflow(graph).await;
    let started = bench.start(&workflow, json!({"message": "go", "state": {"number": 4}})).await;
    bench.events_text(&started).await;
    let trace = bench.trace(&started.run.to_string()).await["trace"].clone();
    match trace["status"].as_str() {
        Some("completed") => Ok(trace["output"].clone()),
        _ => Err(format!("{}: {}", trace["error"]["code"].as_str().unwrap_or("?"), trace["error"]["message"].as_str().unwrap_or("?"))),
    }
}

/// What a tool gave to an mcp node.
pub async fn result(bench: &Bench, server: &str, tool: &str, parameters: Value) -> Value {
    let state = run(bench, call(server, tool, json!({ "parameters": parameters }))).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
    state["mcp_result"]["result"].clone()
}

/// Whether a process of this number is there and not only waiting to be taken leave of.
pub fn is_running(pid: u64) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit(") ").next().and_then(|rest| rest.chars().next()).is_some_and(|state| state != 'Z')
}

/// Waits until something holds.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{what} did not come true within 60 s");
}
