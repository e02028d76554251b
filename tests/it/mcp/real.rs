//! Servers that others wrote; `scripts/test-mcp.sh` installs and starts them.

use std::io::Write as _;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use wfstudio::host::{Host, HostCall, HostDeclaration, HostFailure, HostOp};

use super::support::{bench, call, result, run, until};
use crate::support::Bench;

/// What the script says of a server, such as its address.
fn given(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run scripts/test-mcp.sh"))
}

/// A port that no other test has been given, though nobody listens there yet. It is below those that outgoing connections take, so that a server that is
/// started again finds it free.
fn free_port() -> u16 {
    static GIVEN: Mutex<Vec<u16>> = Mutex::new(Vec::new());
    let mut given = GIVEN.lock().expect("ports");
    let first = 18_000 + u16::try_from(std::process::id() % 10_000).unwrap_or(0);
    let free = |port: &u16| !given.contains(port) && std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let port = (first..30_000).find(free).expect("a port");
    given.push(port);
    port
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
        let large = result(&bench, server, "echo", json!({"message": "x".repeat(1_000_000)})).await.to_string();
        assert!(large.contains("[truncated]") && large.len() < 270_000, "{}", large.len());
        let failed = run(&bench, call(server, "gzip-file-as-resource", json!({"parameters": {"data": "ftp://x/y"}}))).await.expect_err("a failure");
        assert!(failed.starts_with("tool_failed") && failed.contains("Unsupported URL protocol"), "{failed}");
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
        let counted = result(&bench, server, "count", json!({"to": 20})).await;
        assert!(counted.to_string().contains("counted to 20"), "{counted}");
    }
}

#[tokio::test]
#[ignore = "needs mcp (PyPI)"]
async fn the_python_server_asks_a_person_in_mid_call() {
    let servers = [("pipes", command(&given("STUDIO_MCP_PYTHON"))), ("web", address("STUDIO_MCP_PYTHON_URL"))];
    let bench = bench(&servers, json!({}));
    for (server, _) in servers {
        let workflow = bench.workflow(call(server, "book", json!({"parameters": {"train": "ICE 5"}}))).await;
        let started = bench.start(&workflow, json!({"message": "go"})).await;
        let told = bench.events_text(&started).await;
        assert!(told.contains("human_input_required") && told.contains("Which seat on ICE 5?"), "{told}");
        let id = started.run.to_string();
        assert!(bench.resume(&id, json!({"message": "row: none"})).await.is_err());
        let resumed = bench.resume(&id, json!({"message": "row: 7\nwindow: no"})).await.expect("resumed");
        let told = bench.events_text(&resumed).await;
        assert!(told.contains("ICE 5: row 7, aisle"), "{told}");
    }
}

/// The process that this one started with these words in its command line.
fn child_of_ours(words: &str) -> Option<u64> {
    let entries = std::fs::read_dir("/proc").expect("processes").filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u64>().ok());
    let ours = |pid: &u64| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse::<u32>().ok());
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        parent == Some(std::process::id()) && String::from_utf8_lossy(&line).contains(words)
    };
    let found: Vec<u64> = entries.collect();
    found.into_iter().find(ours)
}

#[tokio::test]
#[ignore = "needs server-everything (npm)"]
async fn everything_is_killed_in_mid_call_and_the_next_call_works() {
    let port = free_port();
    let line = given("STUDIO_MCP_EVERYTHING").replace("stdio", "streamableHttp");
    let log = tempfile::NamedTempFile::new().expect("a file");
    let start = || {
        let mut words = line.split(' ');
        let mut command = std::process::Command::new(words.next().expect("a program"));
        command.args(words).env("PORT", port.to_string()).stdout(log.reopen().expect("a log")).stderr(std::process::Stdio::null());
        command.spawn().expect("a server")
    };
    let asked = || std::fs::read_to_string(log.path()).unwrap_or_default().matches("MCP POST request").count();
    let listens = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
    let mut web = start();
    until("the server", listens).await;
    let at = json!({"transport": "http", "url": format!("http://127.0.0.1:{port}/mcp"), "timeout_ms": 30000});
    let bench = bench(&[("pipes", command(&given("STUDIO_MCP_EVERYTHING"))), ("web", at)], json!({}));
    for server in ["pipes", "web"] {
        assert!(result(&bench, server, "get-sum", json!({"a": 1, "b": 2})).await.to_string().contains('3'));
        let workflow = bench.workflow(call(server, "trigger-long-running-operation", json!({"parameters": {"duration": 60, "steps": 60}}))).await;
        let before = asked();
        let started = bench.start(&workflow, json!({"message": "go"})).await;
        let id = started.run.to_string();
        for _ in 0..6000 {
            if bench.trace(&id).await["spans"].as_array().is_some_and(|spans| spans.iter().any(|span| span["type"] == "tool")) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        until("the call", || server != "web" || asked() > before).await;
        // A call that came later was answered: so the stream of the first one's answer has begun, and it is looked for again
        // before the server is taken for dead.
        assert!(result(&bench, server, "get-sum", json!({"a": 3, "b": 2})).await.to_string().contains('5'));
        if server == "web" {
            drop(web.kill());
            drop(web.wait());
        } else {
            let pid = child_of_ours("index.js\0stdio").expect("the program");
            assert!(std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().expect("a kill").success());
        }
        bench.events_text(&started).await;
        let error = bench.trace(&id).await["trace"]["error"].clone();
        assert!(error["code"] == "tool_failed" && error["message"].as_str().is_some_and(|text| text.contains("not known whether the call ran")), "{server}: {error}");
        if server == "web" {
            web = start();
            until("the server", listens).await;
        }
        assert!(result(&bench, server, "get-sum", json!({"a": 2, "b": 2})).await.to_string().contains('4'), "{server}");
    }
    drop(web.kill());
    drop(web.wait());
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
    let port = free_port();
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

/// The application: a program of its own gets tokens, going the way of OAuth; a person who agrees to every form fills in nothing.
struct Application;

impl Host for Application {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        Box::pin(async move {
            if call.op == HostOp::McpElicit {
                return Ok(json!({"action": "accept"}));
            }
            let program = given("STUDIO_MCP_AUTHORIZE");
            let (python, script) = program.split_once(' ').expect("a program and its script");
            let command = std::process::Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
            let mut child = command.expect("a program");
            child.stdin.take().expect("its input").write_all(call.payload.to_string().as_bytes()).expect("written");
            let said = tokio::task::spawn_blocking(move || child.wait_with_output()).await.expect("a thread").expect("an end");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
            if said.status.success() { Ok(json!({"token": text(&said.stdout)})) } else { Err(HostFailure::new(text(&said.stderr))) }
        })
    }
}

/// Scenarios in which a client must not get in.
const FUTILE: [&str; 7] = [
    "auth/scope-retry-limit", "auth/resource-mismatch", "auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected",
    "auth/iss-normalized", "auth/metadata-issuer-mismatch",
];

/// The client that the conformance suite starts: the address is the last word of its command line, the scenario a variable.
#[tokio::test]
#[ignore = "the conformance suite starts it"]
async fn conforms() {
    let url = std::env::args().next_back().expect("an address");
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let bench = bench(&[("suite", json!({"transport": "http", "url": url}))], json!({}));
    let declaration = HostDeclaration { ops: vec![HostOp::McpAuthorize, HostOp::McpElicit], ..HostDeclaration::default() };
    bench.studio.set_host(Arc::new(Application), declaration);
    let futile = FUTILE.contains(&scenario.as_str());
    if scenario.starts_with("auth/") && !futile {
        run(&bench, call("suite", "test-tool", json!({}))).await.expect("authorized");
        return bench.studio.shutdown(Duration::from_secs(10)).await;
    }
    let tried = bench.studio.test_mcp_server(&bench.scope, "suite").await.expect("an answer");
    assert_eq!(tried["ok"], json!(!futile), "{tried}");
    match scenario.as_str() {
        "tools_call" => assert!(result(&bench, "suite", "add_numbers", json!({"a": 5, "b": 3})).await.to_string().contains('8')),
        "elicitation-sep1034-client-defaults" => drop(result(&bench, "suite", "test_client_elicitation_defaults", json!({})).await),
        "sse-retry" => drop(result(&bench, "suite", "test_reconnection", json!({})).await),
        "sep-2322-client-request-state" => asked_by_the_suite(&bench).await,
        "http-standard-headers" => {
            let tool = tried["tools"][0]["name"].as_str().expect("a tool").to_owned();
            drop(run(&bench, call("suite", &tool, json!({}))).await);
        }
        "http-invalid-tool-headers" => drop(result(&bench, "suite", "valid_tool", json!({"region": "r"})).await),
        "http-custom-headers" => {
            let context: Value = serde_json::from_str(&given("MCP_CONFORMANCE_CONTEXT")).expect("a context");
            for wanted in context["toolCalls"].as_array().expect("calls") {
                // A null does not fit the tool's own schema; what has no value is left out.
                let given = wanted["arguments"].as_object().expect("arguments").iter().filter(|(_, value)| !value.is_null());
                let parameters: serde_json::Map<String, Value> = given.map(|(name, value)| (name.clone(), value.clone())).collect();
                drop(result(&bench, "suite", wanted["name"].as_str().expect("a name"), json!(parameters)).await);
            }
        }
        "json-schema-2020-12-preservation" => {
            let focal = tried["tools"].as_array().expect("tools").iter().find(|tool| tool["name"] == "json_schema_2020_12_tool").expect("a tool");
            drop(result(&bench, "suite", "json_schema_echo", json!({"schema": focal["input_schema"]})).await);
        }
        _ => {}
    }
    bench.studio.shutdown(Duration::from_secs(10)).await;
}

/// Two calls that ask a person, another one while the first waits, and one whose result does not say that it is complete.
async fn asked_by_the_suite(bench: &Bench) {
    for tool in ["test_mrtr_echo_state", "test_mrtr_no_state"] {
        let workflow = bench.workflow(call("suite", tool, json!({}))).await;
        let started = bench.start(&workflow, json!({"message": "go"})).await;
        assert!(bench.events_text(&started).await.contains("human_input_required"), "{tool}");
        assert!(result(bench, "suite", "test_mrtr_unrelated", json!({})).await.to_string().contains("unrelated-ok"));
        let resumed = bench.resume(&started.run.to_string(), json!({"message": "yes"})).await.expect("resumed");
        let told = bench.events_text(&resumed).await;
        assert!(told.contains("-state-ok"), "{told}");
    }
    assert!(result(bench, "suite", "test_mrtr_no_result_type", json!({})).await.to_string().contains("test-ok"));
}
