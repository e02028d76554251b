//! Child runs that nobody goes on with: a retry from an earlier step leaves them behind.

use serde_json::json;
use wfstudio::studio::RunsQuery;

use super::events::{bill, next, nothing_is_left, settings};
use super::{Hands, at, run};

#[tokio::test]
async fn a_child_run_that_a_retry_leaves_behind_is_cancelled_and_told_once() {
    let mut all = settings();
    let arguments = json!({"order_id": "1", "amount": "2", "reason": "r"});
    let asks = json!({"replies": [
        {"tool_calls": [{"name": "issue_refund", "arguments": arguments}], "usage": {"prompt_tokens": 500}},
        {"text": "fine", "usage": {"prompt_tokens": 100}}]});
    let fails = json!({"replies": [{"error": "provider_unavailable"}, {"text": "ok", "usage": {"prompt_tokens": 10}}]});
    crate::support::merge(&mut all, json!({"providers": {"script": {"scripts": {"asks": asks, "fails": fails}}}}));
    let bench = at(&Hands::at("2026-11-20T10:00:00Z"), all);
    let mut told = bill(&bench.studio, 0);
    let tools = json!([{"ref": "toolkit:demo", "require_approval": true}]);
    let agent = bench.agent(json!({"name": "Helper", "provider": "script", "model": "asks", "tools": tools})).await;
    let sketch = format!(
        "start -> set_1{{key: k, value: 1}} -> fork_1 -> join_1 -> stop
        fork_1.a -> agent_a{{config_mode: existing, agent_id: \"{agent}\"}} -> join_1
        fork_1.b -> llm_b{{provider: script, model: fails, prompt: go}} -> join_1"
    );
    let workflow = bench.workflow(wfstudio::model::sketch::graph(&sketch).expect("a sketch")).await;
    let top = run(&bench, &workflow).await;
    let failed = next(&mut told).await;
    assert_eq!((&failed["run"], &failed["status"], &failed["promptTokens"]), (&json!(top), &json!("failed"), &json!(500)));
    let trace = bench.trace(&top).await;
    let first = trace["steps"].as_array().expect("steps").iter().find(|step| step["node_id"] == "set_1").expect("a step")["id"].clone();
    let again = bench.retry(&top, json!({"from_step_id": first})).await.expect("a retry");
    bench.events_text(&again).await;
    let mut ends = Vec::new();
    for _ in 0..3 {
        let event = next(&mut told).await;
        ends.push(format!("{} {} {}", event["status"].as_str().expect("text"), event["promptTokens"], event["parentRunId"].is_null()));
    }
    ends.sort();
    assert_eq!(ends, ["cancelled 500 false", "completed 100 false", "completed 610 true"]);
    nothing_is_left(&bench).await;
    assert!(told.try_recv().is_err(), "each was told once");
    let query = RunsQuery { parent_run_id: Some(top), ..RunsQuery::default() };
    let children = bench.studio.runs(&bench.scope, query).await.expect("runs").into_json();
    let mut stand: Vec<String> = children["data"].as_array().expect("a list").iter().map(|run| format!("{} {}", run["status"], run["finished_at"].is_null())).collect();
    stand.sort();
    assert_eq!(stand, ["\"cancelled\" false", "\"completed\" false"]);
}
