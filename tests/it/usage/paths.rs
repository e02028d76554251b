//! Every way to a model is metered on its run, once.

use serde_json::{Value, json};
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;

use super::{prices, used};
use crate::support::Bench;

/// What each call of the scripted model uses: 1000 tokens in and 500 out cost 0.002.
const USAGE: [(&str, u64); 2] = [("prompt_tokens", 1000), ("completion_tokens", 500)];

fn bench(mut replies: Value) -> Bench {
    for reply in replies.as_array_mut().expect("replies") {
        reply["usage"] = USAGE.into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect();
    }
    let scripts = json!({"m": {"replies": replies}});
    Bench::new(json!({"providers": {"script": {"scripts": scripts}}, "usage": {"prices": prices(&[("m", "1", "2")])}}))
}

/// The run cost so many calls: by its totals, its steps, its spans and those of its children.
async fn cost(bench: &Bench, run: &str, status: &str, calls: u64, what: &str) {
    let told = used(bench, run).await;
    assert_eq!((told["status"].as_str(), told["total_tokens"].as_u64()), (Some(status), Some(1500 * calls)), "{what}: {told}");
    assert_eq!(told["estimated_cost"], format!("0.{:06}", 2000 * calls), "{what}");
    assert_eq!(told["unpriced"], false, "{what}");
    let trace = bench.trace(run).await;
    let steps = trace["steps"].as_array().expect("steps").iter().map(|step| step["total_tokens"].as_u64().expect("a count"));
    assert_eq!(steps.sum::<u64>(), 1500 * calls, "{what}: {trace}");
    let mut spans = told["spans"].as_array().expect("spans").len() as u64;
    for child in trace["children"].as_array().expect("children") {
        let told = used(bench, child["id"].as_str().expect("an id")).await;
        spans += told["spans"].as_array().expect("spans").len() as u64;
    }
    assert_eq!(spans, calls, "{what}");
}

/// A way to a model: its name, the graph, what the model does, how the run ends, how many calls it takes.
type Path = (&'static str, &'static str, Value, &'static str, u64);

fn paths() -> Vec<Path> {
    let (ask, ok) = (json!({"tool_calls": [{"name": "ask", "arguments": {"input": "?"}}]}), json!({"text": "ok", "times": 0}));
    let wrong = json!({"text": "none", "times": 0});
    let fails = json!({"error": "provider_unavailable"});
    let llm = "start -> llm_1{provider: script, model: m, prompt: go} -> stop";
    let shaped = "start -> llm_1{provider: script, model: m, prompt: go, structured: true, schema: {type: object, required: [n]}} -> stop";
    let specialist = "start -> agent_1{provider: script, model: m} -> stop; \
        agent_2{provider: script, model: m, tool_mode: true, tool_exposure: {slug: ask, description: D, parameters: {input: {description: Q, controlled_by: caller}}}}; \
        agent_2.toolset => agent_1";
    vec![
        ("blocking", llm, json!([ok]), "completed", 1),
        ("streamed", "start -> llm_1{provider: script, model: m, prompt: go, stream: true} -> stop", json!([ok]), "completed", 1),
        ("with tools", "start -> agent_1{provider: script, model: m, tools: [{ref: \"toolkit:calendar/now\"}]} -> stop",
            json!([{"tool_calls": [{"name": "now", "arguments": {}}]}, ok]), "completed", 2),
        ("repaired", shaped, json!([{"text": "none"}, {"text": "{\"n\": 1}"}]), "completed", 2),
        ("not to be repaired", shaped, json!([wrong]), "failed", 2),
        ("failed with usage", llm, json!([fails]), "failed", 1),
        ("tried again", "start -> llm_1{provider: script, model: m, prompt: go, retries: {max: 1, backoff_ms: 0}} -> stop", json!([fails, ok]), "completed", 2),
        ("failed and handled", "start -> llm_1{provider: script, model: m, prompt: go, on_error: continue} -> stop", json!([fails]), "completed", 1),
        ("specialist", specialist, json!([{"match": {"node_id": "agent_1"}, "tool_calls": ask["tool_calls"]}, ok]), "completed", 3),
        ("specialist that fails", specialist,
            json!([{"match": {"node_id": "agent_1"}, "tool_calls": ask["tool_calls"]}, {"match": {"node_id": "agent_2"}, "error": "provider_auth"}, ok]), "completed", 3),
    ]
}

#[tokio::test]
async fn every_path_lands_on_the_run() {
    for (what, sketch, replies, status, calls) in paths() {
        let bench = bench(replies);
        let workflow = bench.workflow(wfstudio::model::sketch::graph(sketch).unwrap_or_else(|problem| panic!("{what}: {problem}"))).await;
        let run = super::run(&bench, &workflow).await;
        cost(&bench, &run, status, calls, what).await;
    }
}

#[tokio::test]
async fn calls_after_an_approval_and_of_child_runs_land_on_the_run() {
    let call = json!({"tool_calls": [{"name": "issue_refund", "arguments": {"order_id": "1", "amount": "2", "reason": "r"}}]});
    let bench = bench(json!([call, {"text": "ok"}]));
    let agent = json!({"name": "A", "provider": "script", "model": "m", "tools": [{"ref": "toolkit:demo"}], "require_tool_approval": true});
    let agent = bench.agent(agent).await;
    let sketch = format!("start -> agent_1{{agent_id: \"{agent}\"}} -> stop");
    let workflow = bench.workflow(wfstudio::model::sketch::graph(&sketch).expect("a sketch")).await;
    let run = super::run(&bench, &workflow).await;
    cost(&bench, &run, "awaiting_tool_approval", 1, "before the answer").await;
    let resumed = bench.resume(&run, json!({"approval": "approve"})).await.expect("resumed");
    bench.events_text(&resumed).await;
    cost(&bench, &run, "completed", 2, "after it").await;
}

#[tokio::test]
async fn a_summariser_lands_on_the_turn_that_needed_it() {
    let summary = json!({"times": 0, "match": {"system_contains": "You keep the memory"}, "text": "Short."});
    let bench = bench(json!([summary, {"text": "ok", "times": 0}]));
    let memory = json!({"context_window": 256, "summarization_enabled": true});
    let agent = bench.agent(json!({"name": "A", "provider": "script", "model": "m", "memory_config": memory})).await;
    let mut body = json!({"message": "long ".repeat(60)});
    let mut counts = Vec::new();
    for _ in 0..5 {
        let request = RunRequest::parse(&body, EntityKind::Agent).expect("a body");
        let started = bench.studio.start(&bench.scope, EntityKind::Agent, &agent, request, false).await.expect("a turn");
        body["thread_id"] = started.thread.to_string().into();
        bench.events_text(&started).await;
        let run = started.run.to_string();
        let calls = bench.trace(&run).await["spans"].as_array().expect("spans").iter().filter(|span| span["type"] == "llm").count() as u64;
        cost(&bench, &run, "completed", calls, "a turn").await;
        counts.push(calls);
    }
    assert!(counts.contains(&2), "{counts:?}");
}
