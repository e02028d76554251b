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
    expect![[r##"
        1 thread {"trace_id":"#1","thread_id":"#2","workflow_id":"#3"}
        2 trace_started {"trace_id":"#1","workflow_id":"#3","thread_id":"#2","status":"running","started_at":"time"}
        3 step_started {"trace_id":"#1","step_id":"#4","node_id":"set_1","node_type":"set_state","iteration":null,"attempt":1}
        4 step_completed {"trace_id":"#1","step_id":"#4","node_id":"set_1","node_type":"set_state","handle":"default","duration_ms":"ms","iteration":null,"changes":{"a":"hi!"}}
        5 step_started {"trace_id":"#1","step_id":"#5","node_id":"llm_1","node_type":"llm","iteration":null,"attempt":1}
        6 token {"trace_id":"#1","step_id":"#5","node_id":"llm_1","delta":"You ","publish_reply":true}
        7 token {"trace_id":"#1","step_id":"#5","node_id":"llm_1","delta":"said: ","publish_reply":true}
        8 token {"trace_id":"#1","step_id":"#5","node_id":"llm_1","delta":"hi","publish_reply":true}
        9 step_completed {"trace_id":"#1","step_id":"#5","node_id":"llm_1","node_type":"llm","handle":"default","duration_ms":"ms","iteration":null,"changes":{"llm_response":"You said: hi"},"prompt_tokens":1,"completion_tokens":3,"total_tokens":4,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000000","currency":"USD","unpriced":false,"provider":"script","model":"echo"}
        10 step_started {"trace_id":"#1","step_id":"#6","node_id":"stop_1","node_type":"stop","iteration":null,"attempt":1}
        11 step_completed {"trace_id":"#1","step_id":"#6","node_id":"stop_1","node_type":"stop","handle":"default","duration_ms":"ms","iteration":null,"changes":{"reply":"You said: hi"}}
        12 trace_completed {"trace_id":"#1","status":"completed","output":{"input":"hi","a":"hi!","llm_response":"You said: hi","reply":"You said: hi"},"reply":"You said: hi","thread_id":"#2","duration_ms":"ms","prompt_tokens":1,"completion_tokens":3,"total_tokens":4,"cached_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"estimated_cost":"0.000000","currency":"USD","unpriced":false}
    "##]].assert_eq(&bench.told(&started).await);
}
