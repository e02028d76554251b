//! Owns what events and trace of one run must agree on, whatever the run was.

use std::collections::BTreeMap;

use serde_json::Value;

use super::render::EventFrame;

/// Every field of a step in the trace.
const STEP: [&str; 38] = [
    "id", "seq", "node_id", "node_type", "node_title", "status", "handle", "iteration", "iteration_path", "branch_id", "branch_path",
    "attempt", "checkpoint_hit", "superseded", "started_at", "finished_at", "duration_ms", "state_snapshot", "state_omitted", "output",
    "error", "prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens",
    "estimated_cost", "currency", "unpriced", "provider", "model", "thread_id", "attachment_count", "child_run_id", "chunk_count",
    "top_score", "citations",
];

/// Fields that only some steps have.
const SOME: [&str; 4] = ["validation_errors", "finish", "warnings", "payloads_omitted"];

/// Steps of the trace are those that were told, in the same order and with the same ends.
pub fn steps_agree(tail: &[EventFrame], trace: &Value) {
    let mut begun: Vec<String> = Vec::new();
    let mut ends: BTreeMap<String, (&str, Value)> = BTreeMap::new();
    for frame in tail {
        let data = frame.json();
        let Some(step) = data["step_id"].as_str().map(str::to_owned) else { continue };
        match frame.event {
            "step_started" if data["resumed"] == true => {
                assert!(begun.contains(&step), "a resumed step began before");
                ends.remove(&step);
            }
            "step_started" => {
                assert!(!begun.contains(&step), "a step begins once");
                begun.push(step);
            }
            "step_completed" | "step_failed" => {
                let before = ends.insert(step.clone(), (frame.event, data));
                assert!(before.is_none() || is_fork(trace, &step), "a step ends once: {before:?}");
            }
            _ => assert!(begun.contains(&step), "{} of a step that never began", frame.event),
        }
    }
    let steps = trace["steps"].as_array().expect("steps");
    let ids: Vec<&str> = steps.iter().map(|step| step["id"].as_str().expect("an id")).collect();
    assert_eq!(ids, begun, "the steps are those that were told");
    let over = trace["trace"]["status"] == "completed";
    // A retry that goes back into a fork opens it again without telling so.
    let went_back = steps.iter().any(|step| step["superseded"] == true);
    for (at, step) in steps.iter().enumerate() {
        assert_eq!(step["seq"], at + 1);
        let rag = step["node_type"] == "rag" && step["status"] == "completed" && step["error"].is_null() && step["checkpoint_hit"] == false;
        let wanted = if rag { &STEP[..] } else { &STEP[..STEP.len() - 3] };
        let keys: Vec<&str> = step.as_object().expect("a step").keys().map(String::as_str).filter(|key| !SOME.contains(key)).collect();
        let mut sorted: (Vec<&str>, Vec<&str>) = (keys, wanted.to_vec());
        sorted.0.sort_unstable();
        sorted.1.sort_unstable();
        assert_eq!(sorted.0, sorted.1, "a step has its fields");
        let open_again = went_back && step["node_type"] == "fork" && ["paused", "failed", "cancelled"].iter().any(|open| step["status"] == *open);
        if !open_again {
            agree(step, ends.get(ids[at]), over);
        }
    }
}

fn is_fork(trace: &Value, step: &str) -> bool {
    trace["steps"].as_array().into_iter().flatten().any(|found| found["id"] == step && found["node_type"] == "fork")
}

fn agree(step: &Value, end: Option<&(&str, Value)>, over: bool) {
    if step["superseded"] == true {
        return;
    }
    let status = step["status"].as_str().expect("a status");
    match end {
        Some(("step_completed", told)) => {
            assert_eq!(status, "completed", "{step}");
            for key in ["node_id", "node_type", "handle", "iteration", "duration_ms"] {
                assert_eq!(step[key], told[key], "{key}: {step} {told}");
            }
            if told["omitted_keys"].is_null() {
                assert_eq!(step["output"], told["changes"]);
            }
            for key in ["error", "finish", "warnings"] {
                assert_eq!(step[key], told[key], "{key}: {step} {told}");
            }
            if !told["prompt_tokens"].is_null() {
                for key in ["prompt_tokens", "completion_tokens", "estimated_cost", "provider", "model"] {
                    assert_eq!(step[key], told[key], "{key}");
                }
            }
        }
        Some((_, told)) => {
            assert!(status == "failed" || status == "running", "{step}");
            assert_eq!(step["error"]["code"], told["code"], "{step}");
        }
        None => {
            let fork = step["node_type"] == "fork" && status == "failed";
            assert!(fork || ["paused", "cancelled"].contains(&status), "{step}");
            assert!(!over, "every step of a completed run ends: {step}");
        }
    }
}
