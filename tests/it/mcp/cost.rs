//! What a call of a server costs beside the work of the server: figures for `docs/measurements.md`, and a chain that is too deep.

use std::time::Instant;

use serde_json::{Value, json};

use super::peer::Manner;
use super::support::{bench, call, graph, program, run};
use super::web::{at, site};

const CALLS: u64 = 1000;

/// A loop that calls a node so often.
fn looped(kind: &str, data: Value) -> Value {
    let turns = json!({"max_steps": CALLS, "on_max": "exit"});
    graph(vec![("l", "loop", turns), ("a", kind, data)], &["start > l", "l:continue > a", "a > l", "l:exit > stop"])
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures"]
async fn of_a_thousand_calls() {
    let (_site, address) = site(Manner::Modern).await;
    let bench = bench(&[("pipes", program("modern", json!({}))), ("web", at(format!("{address}/mcp"), json!({})))], json!({}));
    let sum = |server: &str| json!({"mcp_server": server, "tool_name": "add", "parameters": {"a": 1, "b": 2}});
    let calculator = json!({"tool_ref": "toolkit:calculator/calculate", "parameters": {"expression": "1 + 2"}});
    for (what, graph) in [("toolkit", looped("tool", calculator)), ("pipes", looped("mcp", sum("pipes"))), ("web", looped("mcp", sum("web")))] {
        let began = Instant::now();
        run(&bench, graph).await.expect("a state");
        eprintln!("{what}: {} µs a call", began.elapsed().as_micros() / u128::from(CALLS));
    }
}

#[tokio::test]
async fn parameters_that_are_nested_too_deeply_are_refused() {
    let bench = bench(&[("peer", program("modern", json!({})))], json!({}));
    let deep = (0..60).fold(json!("$number"), |deep, _| json!([deep]));
    let mut chain = graph(vec![("s", "set_state", json!({"key": "number", "value": deep})), ("a", "mcp", json!({"mcp_server": "peer", "tool_name": "files.read", "parameters": {"deep": deep}}))], &["start > s", "s > a", "a > stop"]);
    chain["nodes"][2]["data"]["value"] = (0..60).fold(json!(1), |deep, _| json!([deep]));
    let refused = run(&bench, chain).await.expect_err("too deep");
    assert!(refused.starts_with("tool_failed: the parameters of `files.read` are nested deeper than"), "{refused}");
    assert!(run(&bench, call("peer", "files.read", json!({}))).await.is_ok());
}
