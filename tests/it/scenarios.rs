//! Every order of events of the contract, as whole streams.

use expect_test::expect;
use serde_json::json;

use crate::support::Bench;

#[tokio::test]
async fn linear() {
    let bench = Bench::new(json!({}));
    let graph = json!({"version": 1, "nodes": [
        {"id": "start_1", "type": "start", "position": {"x": 0, "y": 0}, "data": {}},
        {"id": "set_1", "type": "set_state", "position": {"x": 0, "y": 0}, "data": {"key": "a", "value": "{{input}}!"}},
        {"id": "llm_1", "type": "llm", "position": {"x": 0, "y": 0}, "data": {"provider": "script", "model": "echo", "stream": true}},
        {"id": "stop_1", "type": "stop", "position": {"x": 0, "y": 0}, "data": {"reply": "{{llm_response}}"}}],
        "edges": [{"id": "e1", "source": "start_1", "target": "set_1"}, {"id": "e2", "source": "set_1", "target": "llm_1"}, {"id": "e3", "source": "llm_1", "target": "stop_1"}]});
    let workflow = bench.workflow(graph).await;
    let started = bench.start(&workflow, json!({"message": "hi"})).await;
    expect![[""]].assert_eq(&bench.told(&started).await);
}
