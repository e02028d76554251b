//! Servers that others wrote; `scripts/test-mcp.sh` installs and starts them.

use std::time::Duration;

use serde_json::{Value, json};

use super::support::{bench, call, result, run, until};
use crate::support::Bench;

/// What the script says of a server, such as its address.
fn given(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run scripts/test-mcp.sh"))
}

fn command(line: &str) -> Value {
    let mut words = line.split(' ');
    let program = words.next().expect("a program");
    json!({"transport": "stdio", "command": program, "args": words.collect::<Vec<_>>(), "timeout_ms": 30000})
}

fn address(name: &str) -> Value {
    json!({"transport": "http", "url": given(name), "timeout_ms": 30000})
}

/// Lists, calls, fails and reads a large answer.
async fn converse(bench: &Bench, server: &str, version: &str, sum: &str) {
    let tried = bench.studio.test_mcp_server(&bench.scope, server).await.expect("an answer");
    assert_eq!((&tried["ok"], &tried["protocol_version"]), (&json!(true), &json!(version)), "{server}: {tried}");
    let added = result(bench, server, sum, json!({"a": 19, "b": 23})).await;
    assert!(added.to_string().contains("42"), "{server}: {added}");
    let misfit = run(bench, call(server, sum, json!({"parameters": {"a": "x"}}))).await.expect_err("a misfit");
    assert!(misfit.starts_with("tool_failed: the parameters do not fit"), "{server}: {misfit}");
    let none = run(bench, call(server, "no-such-tool", json!({}))).await.expect_err("no tool");
    assert!(none.starts_with("tool_not_found"), "{server}: {none}");
}

#[tokio::test]
#[ignore = "needs server-everything (npm)"]
async fn everything_works_over_both_transports() {
    let servers = [("pipes", command(&given("STUDIO_MCP_EVERYTHING"))), ("web", address("STUDIO_MCP_EVERYTHING_URL"))];
    let bench = bench(&servers, json!({}));
    for (server, _) in servers {
        converse(&bench, server, "2025-11-25", "get-sum").await;
        let echoed = result(&bench, server, "echo", json!({"message": "héllo"})).await;
        assert!(echoed.as_str().is_some_and(|text| text.contains("héllo")), "{echoed}");
        let long = result(&bench, server, "trigger-long-running-operation", json!({"duration": 2, "steps": 4})).await;
        assert!(long.as_str().is_some_and(|text| text.contains("completed")), "{long}");
        let image = result(&bench, server, "get-tiny-image", json!({})).await;
        assert!(image.as_str().is_some_and(|text| text.contains("[image image/png, ")), "{image}");
        let structured = result(&bench, server, "get-structured-content", json!({"location": "New York"})).await;
        assert!(structured["temperature"].is_number(), "{structured}");
    }
    bench.studio.shutdown(Duration::from_secs(20)).await;
}

#[tokio::test]
#[ignore = "needs mcp (PyPI)"]
async fn the_python_server_speaks_the_stateless_protocol_over_both_transports() {
    let servers = [("pipes", command(&given("STUDIO_MCP_PYTHON"))), ("web", address("STUDIO_MCP_PYTHON_URL"))];
    let bench = bench(&servers, json!({}));
    for (server, _) in servers {
        converse(&bench, server, "2026-07-28", "add").await;
        let failed = run(&bench, call(server, "fail", json!({}))).await.expect_err("a failure");
        assert!(failed.starts_with("tool_failed") && failed.contains("fail"), "{failed}");
        let large = result(&bench, server, "large", json!({"bytes": 1_000_000})).await.to_string();
        assert!(large.contains("[truncated]") && large.len() < 270_000, "{}", large.len());
        let slow = result(&bench, server, "slow", json!({"seconds": 1})).await;
        assert!(slow.to_string().contains("done"), "{slow}");
    }
}

#[tokio::test]
#[ignore = "needs mcp (PyPI)"]
async fn the_python_server_dies_in_mid_call_and_the_next_call_works() {
    let bench = bench(&[("pipes", command(&given("STUDIO_MCP_PYTHON")))], json!({}));
    let died = run(&bench, call("pipes", "die", json!({}))).await.expect_err("a failure");
    assert!(died.starts_with("tool_failed") && died.contains("not known whether the call ran"), "{died}");
    assert!(result(&bench, "pipes", "add", json!({"a": 1, "b": 2})).await.to_string().contains('3'));
}

#[tokio::test]
#[ignore = "needs mcp (PyPI)"]
async fn a_web_server_is_started_again_between_calls() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
    let line = format!("{} {port}", given("STUDIO_MCP_PYTHON"));
    let start = || {
        let mut words = line.split(' ');
        let started = std::process::Command::new(words.next().expect("a program")).args(words).stderr(std::process::Stdio::null()).spawn();
        started.expect("a server")
    };
    let listens = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
    let server = json!({"transport": "http", "url": format!("http://127.0.0.1:{port}/mcp")});
    let bench = bench(&[("web", server)], json!({}));
    let mut first = start();
    until("the server", listens).await;
    assert!(result(&bench, "web", "add", json!({"a": 1, "b": 2})).await.to_string().contains('3'));
    let died = run(&bench, call("web", "die", json!({}))).await.expect_err("a failure");
    assert!(died.starts_with("tool_failed") && died.contains("not known whether the call ran"), "{died}");
    drop(first.wait());
    let gone = run(&bench, call("web", "add", json!({"parameters": {"a": 1, "b": 2}}))).await.expect_err("gone");
    assert!(gone.starts_with("mcp_unavailable"), "{gone}");
    let mut second = start();
    until("the server", listens).await;
    assert!(result(&bench, "web", "add", json!({"a": 2, "b": 2})).await.to_string().contains('4'));
    drop(second.kill());
    drop(second.wait());
}

/// The client that the conformance suite starts: the address is the last word of its command line, the scenario a variable.
#[tokio::test]
#[ignore = "the conformance suite starts it"]
async fn conforms() {
    let url = std::env::args().next_back().expect("an address");
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let bench = bench(&[("suite", json!({"transport": "http", "url": url}))], json!({}));
    let tried = bench.studio.test_mcp_server(&bench.scope, "suite").await.expect("an answer");
    assert_eq!(tried["ok"], json!(true), "{tried}");
    match scenario.as_str() {
        "tools_call" => assert!(result(&bench, "suite", "add_numbers", json!({"a": 5, "b": 3})).await.to_string().contains('8')),
        "sse-retry" => drop(result(&bench, "suite", "test_reconnection", json!({})).await),
        _ => {}
    }
    bench.studio.shutdown(Duration::from_secs(10)).await;
}
