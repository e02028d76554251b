//! Servers that are programs: started, spoken to, killed, left without a trace.

use std::time::Duration;

use serde_json::{Value, json};

use super::support::{bench, call, graph, is_running, program, result, run, until};
use crate::support::Bench;

fn agent(tools: Value) -> Value {
    json!({"config_mode": "inline", "provider": "script", "model": "m", "tools": tools})
}

#[tokio::test]
async fn both_protocols_list_call_and_fail() {
    for (manner, version) in [("modern", "2026-07-28"), ("legacy", "2025-11-25")] {
        let bench = bench(&[("peer", program(manner, json!({})))], json!({}));
        let tried = bench.studio.test_mcp_server(&bench.scope, "peer").await.expect("an answer");
        assert_eq!((&tried["ok"], &tried["protocol_version"], &tried["error"]), (&json!(true), &json!(version), &Value::Null), "{tried}");
        assert_eq!(tried["tools"][0]["name"], "add");
        let sum = run(&bench, call("peer", "add", json!({"parameters": {"a": 3, "b": "$number"}}))).await.expect("a sum");
        assert_eq!(sum["mcp_result"], json!({"server": "peer", "name": "add", "result": {"sum": 7}}));
        assert_eq!(run(&bench, call("peer", "fail", json!({}))).await, Err("tool_failed: it went wrong".into()));
        let gone = run(&bench, call("peer", "nothing", json!({}))).await;
        assert_eq!(gone, Err("tool_not_found: the MCP server `peer` has no tool `nothing`".into()));
        let misfit = run(&bench, call("peer", "add", json!({"parameters": {"a": "x"}}))).await.expect_err("refused");
        assert!(misfit.starts_with("tool_failed: the parameters do not fit `add`"), "{misfit}");
        assert_eq!(result(&bench, "peer", "garbage", json!({})).await, "after garbage");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_questions_is_greeted_at_once() {
    let bench = bench(&[("peer", program("deaf", json!({})))], json!({}));
    assert_eq!(result(&bench, "peer", "add", json!({"a": 1, "b": 2})).await, json!({"sum": 3}));
}

#[tokio::test]
async fn one_program_serves_all_runs_and_dies_with_the_studio() {
    let bench = bench(&[("peer", program("legacy", json!({})))], json!({}));
    let (first, second) = tokio::join!(result(&bench, "peer", "child", json!({})), result(&bench, "peer", "child", json!({})));
    assert_eq!(first[0], second[0], "one program for both runs");
    let pids: Vec<u64> = [&first[0], &first[1], &second[1]].iter().filter_map(|pid| pid.as_u64()).collect();
    assert!(pids.len() == 3 && pids.iter().all(|pid| is_running(*pid)), "{pids:?}");
    bench.studio.shutdown(Duration::from_secs(20)).await;
    for pid in pids {
        // The leader was waited for; the others were killed and are gone when the kernel has let them go.
        until("the end of a program", || !is_running(pid)).await;
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists() || pid != first[0].as_u64().expect("a pid"), "a zombie is left");
    }
    let Bench { studio, .. } = bench;
    drop(studio);
}

#[tokio::test]
async fn a_dropped_studio_leaves_no_program() {
    let bench = bench(&[("peer", program("modern", json!({})))], json!({}));
    let pids = result(&bench, "peer", "child", json!({})).await;
    drop(bench);
    for pid in [&pids[0], &pids[1]].into_iter().filter_map(Value::as_u64) {
        until("the end of a program", || !is_running(pid)).await;
    }
}

#[tokio::test]
async fn a_crash_in_mid_call_is_told_and_the_next_call_works() {
    let server = program("legacy", json!({"TOKEN": "secret:PEER_TOKEN"}));
    let bench = bench(&[("peer", server)], json!({}));
    let crashed = run(&bench, call("peer", "crash", json!({}))).await.expect_err("a failure");
    assert!(crashed.starts_with("tool_failed: the MCP server `peer` ended before it answered; it is not known whether the call ran"), "{crashed}");
    assert!(crashed.contains("the peer crashes, holding ***") && !crashed.contains("canary"), "{crashed}");
    assert_eq!(result(&bench, "peer", "add", json!({"a": 1, "b": 2})).await, json!({"sum": 3}));
}

#[tokio::test]
async fn a_program_that_keeps_crashing_is_left_alone() {
    let bench = bench(&[("peer", program("legacy", json!({})))], json!({}));
    for _ in 0..4 {
        run(&bench, call("peer", "crash", json!({}))).await.expect_err("a failure");
    }
    let refused = run(&bench, call("peer", "add", json!({"parameters": {"a": 1, "b": 2}}))).await.expect_err("left alone");
    assert!(refused.starts_with("mcp_unavailable: the MCP server `peer` was started 4 times within 300 s"), "{refused}");
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let servers = [
        ("broken", program("broken", json!({}))),
        ("none", json!({"command": "no-such-program"})),
        ("empty", json!({"transport": "stdio"})),
        ("unset", json!({"command": "x", "env": {"K": "secret:UNSET"}})),
    ];
    let bench = bench(&servers, json!({}));
    for (slug, wanted) in [
        ("none", "mcp_unavailable: the MCP server `none` could not be started: `no-such-program`: No such file"),
        ("empty", "mcp_unavailable: the MCP server `empty` has no `command`"),
        ("unset", "credential_missing: the secret `UNSET` is not set"),
    ] {
        let failed = run(&bench, call(slug, "x", json!({}))).await.expect_err("a failure");
        assert!(failed.starts_with(wanted), "{failed}");
        let tried = bench.studio.test_mcp_server(&bench.scope, slug).await.expect("an answer");
        assert_eq!((&tried["ok"], &tried["tools"], failed.ends_with(tried["error"].as_str().expect("a text"))), (&json!(false), &json!([]), true), "{tried}");
    }
    // Whether it is noticed when it is written to or when it ended is chance; what it said is not.
    let failed = run(&bench, call("broken", "x", json!({}))).await.expect_err("a failure");
    let tried = bench.studio.test_mcp_server(&bench.scope, "broken").await.expect("an answer");
    let told = [failed.as_str(), tried["error"].as_str().expect("a text")];
    assert!(told.iter().all(|text| text.contains("the MCP server `broken` ") && text.ends_with("it said: the peer has no configuration")), "{told:?}");
    assert!(failed.starts_with("mcp_unavailable: ") && tried["ok"] == false && tried["tools"] == json!([]), "{failed} {tried}");
}

#[tokio::test]
async fn the_environment_is_only_what_is_given() {
    let bench = bench(&[("peer", program("legacy", json!({"GIVEN": "yes", "TOKEN": "secret:PEER_TOKEN"})))], json!({}));
    let seen = result(&bench, "peer", "env", json!({})).await;
    let names: Vec<&String> = seen.as_object().expect("variables").keys().filter(|name| !name.starts_with("RUST_TEST")).collect();
    assert_eq!(names, ["GIVEN", "PEER", "TOKEN"]);
    let shown = bench.studio.get(&bench.scope, wfstudio::studio::Resource::McpServer, "peer").await.expect("a server");
    assert_eq!((&shown["locked"], &shown["env"]["TOKEN"]), (&json!(true), &json!("secret:PEER_TOKEN")));
}

#[tokio::test]
async fn a_late_call_is_given_up_and_told_to_the_server() {
    let mut server = program("legacy", json!({}));
    server["timeout_ms"] = json!(3000);
    let bench = bench(&[("peer", server)], json!({}));
    let late = run(&bench, call("peer", "hang", json!({}))).await.expect_err("late");
    assert_eq!(late, "tool_failed: the tool did not answer within 3000 ms");
    let mut heard = String::new();
    for _ in 0..200 {
        // On a busy machine this call may be late itself.
        heard = run(&bench, call("peer", "heard", json!({}))).await.map_or_else(|late| late, |state| state.to_string());
        if heard.contains("notifications/cancelled") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(heard.contains("notifications/cancelled"), "{heard}");
    assert!(heard.contains("workflow-studio/idempotencyKey"), "{heard}");
}

#[tokio::test]
async fn large_answers_are_cut_and_too_large_ones_refused() {
    let bench = bench(&[("peer", program("legacy", json!({})))], json!({}));
    let large = result(&bench, "peer", "big", json!({"bytes": 400_000})).await;
    let large = large.as_str().expect("a text");
    assert!(large.len() < 263_000 && large.ends_with("[truncated]"), "{}", large.len());
    // It was made, and may have done something: it is not made again.
    let retried = json!({"parameters": {"bytes": 9_000_000}, "retries": {"max": 1, "backoff_ms": 1}});
    let unread = run(&bench, call("peer", "big", retried)).await.expect_err("not read");
    assert!(unread.contains("the answer is longer than 8 MiB and was not read"), "{unread}");
    let heard = result(&bench, "peer", "heard", json!({})).await.to_string();
    assert_eq!(heard.matches("9000000").count(), 1, "{heard}");
    assert_eq!(result(&bench, "peer", "add", json!({"a": 1, "b": 2})).await, json!({"sum": 3}));
}

#[tokio::test]
async fn agents_see_names_that_providers_accept_and_changes_of_the_list() {
    let script = json!({"replies": [
        {"match": {"contains": "more"}, "tool_calls": [{"name": "grown", "arguments": {}}]},
        {"tool_calls": [{"name": "files_read_601e4e", "arguments": {}}, {"name": "one__add", "arguments": {"a": 1, "b": 1}},
            {"name": "two__add", "arguments": {"a": 2, "b": 2}}, {"name": "one__fail", "arguments": {}}, {"name": "one__grow", "arguments": {}}]},
        {"text": "done"}]});
    let bench = bench(&[("one", program("legacy", json!({}))), ("two", program("legacy", json!({"OTHER": "1"})))], script);
    let tools = json!([{"ref": "mcp:one"}, {"ref": "mcp:two", "only": ["add", "fail", "grow"]}]);
    let graph = graph(vec![("a", "agent", agent(tools))], &["start > a", "a > stop"]);
    let workflow = bench.workflow(graph).await;
    let started = bench.start(&workflow, json!({"message": "go"})).await;
    let told = bench.events_text(&started).await;
    let results: Vec<&str> = told.lines().filter(|line| line.contains(" tool_result ")).collect();
    let has = |name: &str, text: &str| results.iter().any(|line| line.contains(&format!("\"name\":\"{name}\"")) && line.contains(text));
    assert!(has("one__add", r#"{\"sum\":2}"#) && has("two__add", r#"{\"sum\":4}"#), "{told}");
    assert!(has("one__fail", "it went wrong") && has("one__fail", r#""is_error":true"#), "{told}");
    assert!(results.len() == 5 && results[0].contains("contents"), "{told}");
    let again = bench.start(&workflow, json!({"message": "more"})).await;
    let told = bench.events_text(&again).await;
    // The peer lists it and does not know how to call it.
    assert!(told.contains("no tool grown") && !told.contains("There is no tool `grown`"), "{told}");
}

#[tokio::test]
async fn a_binding_fixes_arguments_and_a_server_can_ask_for_approval() {
    let script = json!({"replies": [{"tool_calls": [{"name": "add", "arguments": {"a": 40}}]}, {"text": "done"}]});
    let mut server = program("modern", json!({}));
    server["require_approval"] = json!(true);
    let bench = bench(&[("peer", server)], script);
    let node = json!({"mcp_server": "peer", "tool_name": "add", "parameters": {"b": "$number"}});
    let graph = graph(vec![("a", "agent", agent(json!([]))), ("t", "mcp", node)], &["start > a", "a > stop", "t => a"]);
    let workflow = bench.workflow(graph).await;
    let started = bench.start(&workflow, json!({"message": "go", "state": {"number": 2}})).await;
    let told = bench.events_text(&started).await;
    assert!(told.contains("tool_approval_required"), "{told}");
    let resumed = bench.resume(&started.run.to_string(), json!({"approval": "approve"})).await.expect("resumed");
    let told = bench.events_text(&resumed).await;
    assert!(told.contains(r#""result":"{\"sum\":42}""#), "{told}");
}

#[tokio::test]
async fn what_a_person_is_shown_of_fixed_arguments_is_what_runs() {
    let script = json!({"replies": [{"tool_calls": [{"name": "add", "arguments": {"a": 40, "b": 1}}]}, {"text": "done"}]});
    let mut server = program("modern", json!({}));
    server["require_approval"] = json!(true);
    let bench = bench(&[("peer", server)], script);
    let node = json!({"mcp_server": "peer", "tool_name": "add", "parameters": {"b": "$number"}});
    let graph = graph(vec![("a", "agent", agent(json!([]))), ("t", "mcp", node)], &["start > a", "a > stop", "t => a"]);
    let workflow = bench.workflow(graph).await;
    for (edited, given) in [(json!({"a": 40, "b": 7}), "`b` is fixed"), (json!({"a": 1}), r#""result":"{\"sum\":3}""#)] {
        let started = bench.start(&workflow, json!({"message": "go", "state": {"number": 2}})).await;
        bench.events_text(&started).await;
        let run = started.run.to_string();
        let shown = bench.trace(&run).await["trace"]["pauses"][0]["pending_tools"][0].clone();
        assert_eq!(shown["arguments"], json!({"a": 40}), "what the model said of `b` does not hold");
        assert_eq!(shown["fixed_arguments"], json!({"b": 2}), "{shown}");
        let decision = json!({"call_id": shown["call_id"], "approval": "approve", "arguments": edited});
        let resumed = bench.resume(&run, json!({"decisions": [decision]})).await.expect("resumed");
        let told = bench.events_text(&resumed).await;
        assert!(told.contains(given), "{told}");
    }
}

#[tokio::test]
async fn a_refusal_of_any_length_is_told_in_short() {
    let bench = bench(&[("peer", program("modern", json!({"LENDS": "refused"})))], json!({}));
    let failed = run(&bench, call("peer", "add", json!({}))).await.expect_err("refused");
    assert!(failed.starts_with("mcp_unavailable: the MCP server `peer` refused the call: éé") && failed.len() < 10_000, "{} bytes", failed.len());
}

#[tokio::test]
async fn a_tool_that_an_agent_has_twice_is_gated_and_fixed_by_both() {
    let script = json!({"replies": [{"tool_calls": [{"name": "peer__add", "arguments": {"a": 40, "b": 1}}]}, {"text": "done"}]});
    let bench = bench(&[("peer", program("modern", json!({})))], script);
    let tools = json!([{"ref": "mcp:peer"}, {"ref": "mcp:peer", "only": ["add"], "require_approval": true}]);
    let stored = json!({"name": "Sums", "provider": "script", "model": "m", "tools": tools});
    let stored = bench.agent(stored).await;
    let of_stored = graph(vec![("a", "agent", json!({"agent_id": stored}))], &["start > a", "a > stop"]);
    let node = json!({"mcp_server": "peer", "tool_name": "add", "parameters": {"b": "$number"}});
    let bound = vec![("a", "agent", agent(json!([{"ref": "mcp:peer", "require_approval": true}]))), ("t", "mcp", node)];
    let bound = graph(bound, &["start > a", "a > stop", "t => a"]);
    for (graph, sum) in [(bound, 42), (of_stored, 41)] {
        let workflow = bench.workflow(graph).await;
        let started = bench.start(&workflow, json!({"message": "go", "state": {"number": 2}})).await;
        let told = bench.events_text(&started).await;
        assert!(told.contains("tool_approval_required"), "{told}");
        let resumed = bench.resume(&started.run.to_string(), json!({"approval": "approve"})).await.expect("resumed");
        let told = bench.events_text(&resumed).await;
        assert!(told.contains(&format!(r#""result":"{{\"sum\":{sum}}}""#)), "{told}");
    }
}

#[tokio::test]
async fn what_a_server_lends_can_be_narrowed() {
    let mut server = program("modern", json!({}));
    server["only"] = json!(["add", "fail"]);
    server["exclude"] = json!(["fail"]);
    let mut off = program("modern", json!({}));
    off["enabled"] = json!(false);
    let bench = bench(&[("peer", server), ("off", off)], json!({}));
    assert_eq!(result(&bench, "peer", "add", json!({"a": 1, "b": 2})).await, json!({"sum": 3}));
    let narrowed = run(&bench, call("peer", "fail", json!({}))).await.expect_err("not lent");
    assert_eq!(narrowed, "tool_not_found: the MCP server `peer` has no tool `fail`");
    assert_eq!(run(&bench, call("off", "add", json!({}))).await, Err("mcp_unavailable: the MCP server `off` is switched off".into()));
}

#[tokio::test]
async fn an_agent_is_found_by_its_id_in_any_case() {
    let bench = bench(&[], json!({"replies": [{"text": "here"}]}));
    let agent = bench.agent(json!({"name": "A", "provider": "script", "model": "m"})).await.to_uppercase();
    let state = run(&bench, graph(vec![("a", "agent", json!({"agent_id": agent}))], &["start > a", "a > stop"])).await.expect("a state");
    assert_eq!(state["agent_response"], "here", "{state}");
}

#[tokio::test]
async fn programs_of_the_studio_need_the_list() {
    let bench = Bench::new(json!({"mcp": {"stdio_allowlist": ["listed"], "env_allowlist": ["A_URL"]}}));
    let make = async |body: Value| {
        let made = bench.studio.create(&bench.scope, wfstudio::studio::Resource::McpServer, &body).await;
        made.map_or_else(|error| format!("{:?}", error.members), |_| "made".into())
    };
    assert_eq!(make(json!({"name": "A", "transport": "stdio", "command": "listed"})).await, "made");
    assert!(make(json!({"name": "B", "transport": "stdio", "command": "other"})).await.contains("command"));
    assert!(make(json!({"name": "C", "transport": "stdio", "command": "listed", "env": {"LD_PRELOAD": "x"}})).await.contains("env.LD_PRELOAD"));
    let warned = json!({"name": "E", "transport": "stdio", "command": "listed", "env": {"PYTHONWARNINGS": "all:0:antigravity.x:0:0", "BROWSER": "sh"}});
    let refused = make(warned).await;
    assert!(refused.contains("env.PYTHONWARNINGS") && refused.contains("env.BROWSER"), "{refused}");
    assert_eq!(make(json!({"name": "F", "transport": "stdio", "command": "listed", "env": {"A_URL": "x", "LANG": "C", "ACME_API_KEY": "secret:K"}})).await, "made");
    assert!(make(json!({"name": "D", "transport": "stdio", "command": "listed", "env": {"A-B": "x"}})).await.contains("env.A-B"));
}

#[tokio::test]
async fn a_server_that_floods_requests_and_reads_no_answers_is_ended() {
    let bench = bench(&[("peer", program("legacy", json!({})))], json!({}));
    let pid = result(&bench, "peer", "flood", json!({})).await.as_u64().expect("a pid");
    // The run is over: nobody calls the server, and nobody waits for it.
    let begun = std::time::Instant::now();
    while is_running(pid) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the program goes on asking");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // A call that is sent in the moment before the connection is known to be closed fails: it may have run.
    let add = || run(&bench, call("peer", "add", json!({"parameters": {"a": 1, "b": 2}})));
    let mut added = add().await;
    for _ in 0..100 {
        if added.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        added = add().await;
    }
    assert_eq!(added.expect("a new program")["mcp_result"]["result"], json!({"sum": 3}));
}

#[tokio::test]
async fn a_secret_that_has_to_be_escaped_is_masked_in_structured_answers() {
    let server = program("legacy", json!({"TOKEN": "secret:ODD"}));
    let settings = json!({"mcp": {"servers": {"peer": server}}, "secrets": {"ODD": "tok\"en\\canary"}});
    let bench = Bench::new(settings);
    assert_eq!(result(&bench, "peer", "repeat", json!({})).await, json!({"said": "***"}));
}

#[tokio::test]
async fn connections_of_one_tenant_wait_for_each_other_and_leave_others_alone() {
    let slow = |other: &str| {
        let mut server = program("legacy", json!({"OTHER": other}));
        server["timeout_ms"] = json!(6000);
        server
    };
    let servers = json!({"one": slow("1"), "two": slow("2")});
    let bench = Bench::new(json!({"mcp": {"servers": servers, "connections": 8, "connections_per_tenant": 1}}));
    let hang = run(&bench, call("one", "hang", json!({})));
    let waits = async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        run(&bench, call("two", "add", json!({"parameters": {"a": 1, "b": 2}}))).await
    };
    let (late, waited) = tokio::join!(hang, waits);
    assert_eq!(late.expect_err("late"), "tool_failed: the tool did not answer within 6000 ms");
    assert_eq!(waited.expect("a place once the other call is over")["mcp_result"]["result"], json!({"sum": 3}));
    let scope = wfstudio::studio::Scope { tenant: "other".into(), ..wfstudio::studio::Scope::default() };
    let other = Bench { studio: bench.studio.clone(), scope };
    let beside = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let begun = std::time::Instant::now();
        let sum = run(&other, call("two", "add", json!({"parameters": {"a": 1, "b": 2}}))).await;
        (sum, begun.elapsed())
    };
    let (_late, (sum, took)) = tokio::join!(run(&bench, call("one", "hang", json!({}))), beside);
    assert_eq!(sum.expect("another tenant has places of its own")["mcp_result"]["result"], json!({"sum": 3}));
    assert!(took < Duration::from_millis(5300), "{took:?}");
}
