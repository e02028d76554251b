//! Builder tools: scripts in runs, where they may be written, how they end.

use std::time::{Duration, Instant};

use serde_json::json;
use wfstudio::studio::Resource;

use super::{graph, run, script, stored, tried};
use crate::support::Bench;

#[tokio::test]
async fn scripts_run_in_nodes_and_for_models() {
    let replies = json!({"replies": [{"tool_calls": [{"name": "price", "arguments": {"net": 10}}]}, {"text": "It is {{tool_result}}"}]});
    let bench = Bench::new(json!({"providers": {"script": {"scripts": {"m": replies}}}}));
    let schema = json!({"type": "object", "properties": {"net": {"type": "number"}}, "required": ["net"]});
    let code = "const gross = input.net * 1.19;\nreturn {gross: Number(gross.toFixed(2))};";
    stored(&bench, json!({"name": "price", "kind": "builder", "input_schema": schema, "config": {"code": code}})).await;
    let trace = run(&bench, graph(json!({"tool_ref": "tool:price", "parameters": {"net": 100}}))).await;
    assert_eq!(trace["steps"][0]["output"], json!({"tool_result": {"name": "price", "result": {"gross": 119}}}));
    let mut agent = graph(json!({}));
    agent["nodes"][1] = json!({"id": "tool", "type": "agent", "position": {"x": 0, "y": 0}, "data": {
        "config_mode": "inline", "provider": "script", "model": "m", "tools": [{"ref": "tool:price"}]}});
    let trace = run(&bench, agent).await;
    assert_eq!(trace["steps"][0]["output"]["agent_response"], "It is {\"gross\":11.9}");
}

#[tokio::test]
async fn a_script_that_throws_fails_its_node() {
    let bench = Bench::new(json!({}));
    script(&bench, "throw new RangeError(`no ${input.what}`)").await;
    let trace = run(&bench, graph(json!({"tool_ref": "tool:script", "parameters": {"what": "order"}}))).await;
    assert_eq!(trace["trace"]["error"], json!({"code": "tool_failed", "message": "RangeError: no order", "node_id": "tool"}));
}

#[tokio::test]
async fn a_script_ends_with_its_time_and_with_its_run() {
    let bench = Bench::new(json!({}));
    let body = json!({"name": "spin", "kind": "builder", "timeout_ms": 80, "config": {"code": "for (;;);"}});
    let id = stored(&bench, body).await;
    // The fastest of some: a busy machine makes any one of them slow, and without a cancel a script ends after 5 s.
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let began = Instant::now();
        assert_eq!(tried(&bench, &id, json!({})).await, "error: the script ran longer than 80 ms and was stopped");
        fastest = fastest.min(began.elapsed());
    }
    assert!(fastest < Duration::from_secs(3), "{fastest:?}");
    let endless = stored(&bench, json!({"name": "endless", "kind": "builder", "config": {"code": "for (;;);"}})).await;
    let workflow = bench.workflow(graph(json!({"tool_ref": format!("tool:{endless}")}))).await;
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let started = bench.start(&workflow, json!({"message": "go"})).await;
        let began = Instant::now();
        bench.studio.cancel(&bench.scope, &started.run.to_string()).await.expect("a cancel");
        let told = bench.events_text(&started).await;
        assert!(told.contains("cancelled"), "{told}");
        fastest = fastest.min(began.elapsed());
        if fastest < Duration::from_secs(4) {
            break;
        }
    }
    assert!(fastest < Duration::from_secs(4), "{fastest:?}");
}

#[tokio::test]
async fn many_scripts_take_turns() {
    let bench = Bench::new(json!({}));
    let id = script(&bench, "let sum = 0; for (let i = 0; i < 1e5; i++) sum += i; return sum + input.n").await;
    let calls = (0..24).map(|n| {
        let (bench, id) = (&bench, &id);
        async move { tried(bench, id, json!({ "n": n })).await }
    });
    let answers = futures_util::future::join_all(calls).await;
    let wanted: Vec<String> = (0..24_u64).map(|n| (4_999_950_000 + n).to_string()).collect();
    assert_eq!(answers, wanted);
}

#[tokio::test]
async fn where_they_may_not_be_written_they_still_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = Bench::on_disk(json!({}), folder.path());
    let id = script(&open, "return input.a * 2").await;
    open.studio.shutdown(Duration::from_secs(2)).await;
    let closed = Bench::on_disk(json!({"environment": "production"}), folder.path());
    let (studio, scope) = (&closed.studio, &closed.scope);
    let body = json!({"name": "other", "kind": "builder", "config": {"code": "return 1"}});
    let mut refusals = vec![studio.create(scope, Resource::Tool, &body).await.err()];
    refusals.push(studio.put(scope, Resource::Tool, &id, &body, None).await.err());
    refusals.push(studio.patch(scope, Resource::Tool, &id, &json!({"description": "new"}), None).await.err());
    refusals.push(studio.duplicate(scope, Resource::Tool, &id).await.err());
    for refusal in refusals {
        let refusal = refusal.expect("a refusal");
        assert_eq!((refusal.kind.status(), refusal.kind.code(), &refusal.members["flag"]), (403, "flag_disabled", &json!("allow_builder_tools")));
    }
    assert_eq!(tried(&closed, &id, json!({"a": 21})).await, "42");
    let trace = run(&closed, graph(json!({"tool_ref": "tool:script", "parameters": {"a": 4}}))).await;
    assert_eq!(trace["steps"][0]["output"]["tool_result"]["result"], 8);
    studio.delete(scope, Resource::Tool, &id, &json!({}), None, true).await.expect("deleting is no change");
}
