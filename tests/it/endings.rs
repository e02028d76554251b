//! How answers of models end: what was cut is never a success in silence, in steps, spans, events and chats alike.

use serde_json::{Value, json};
use wfstudio::model::sketch;

use crate::support::Bench;

const USAGE: &str = r#"{"prompt_tokens": 5, "completion_tokens": 10, "reasoning_tokens": 4}"#;

/// A studio whose model `m` gives these replies.
fn bench(replies: Value) -> Bench {
    let mut replies = replies;
    for reply in replies.as_array_mut().expect("replies") {
        reply["usage"] = serde_json::from_str(USAGE).expect("JSON");
    }
    Bench::new(json!({"providers": {"script": {"scripts": {"m": {"replies": replies}}}}}))
}

/// Runs `start -> node -> stop`: what it told, and its trace.
async fn run(bench: &Bench, node: &str) -> (String, Value) {
    let graph = sketch::graph(&format!("start -> {node} -> stop")).expect("a graph");
    let workflow = bench.workflow(graph).await;
    let started = bench.start(&workflow, json!({"message": "hi"})).await;
    let told = bench.events_text(&started).await;
    let trace = bench.trace(&started.run.to_string()).await;
    (told, trace)
}

fn of_type<'t>(trace: &'t Value, kind: &str) -> Vec<&'t Value> {
    trace["spans"].as_array().expect("spans").iter().filter(|span| span["type"] == kind).collect()
}

/// The line of an event.
fn line<'t>(told: &'t str, event: &str) -> &'t str {
    told.lines().find(|line| line.contains(event)).unwrap_or_else(|| panic!("no {event}: {told}"))
}

#[tokio::test]
async fn a_cut_text_completes_with_a_warning() {
    for node in ["llm_1{provider: script, model: m, parameters: {max_tokens: 10}}", "agent_1{provider: script, model: m, stream: true, parameters: {max_tokens: 10}}"] {
        let (told, trace) = run(&bench(json!([{"text": "Once upon", "finish": "length"}])), node).await;
        let message = "the answer of `m` is cut at its token limit: `max_tokens` is 10; it wrote 10 tokens, 4 of them reasoning";
        let warnings = json!([{"code": "answer_cut", "message": message, "parameter": "max_tokens"}]);
        let completed = line(&told, "step_completed");
        assert!(completed.contains("\"finish\":\"length\"") && completed.contains(&format!("\"warnings\":{warnings}")), "{completed}");
        let (step, span) = (&trace["steps"][0], of_type(&trace, "llm")[0]);
        assert_eq!((&step["finish"], &step["warnings"], &step["status"]), (&json!("length"), &warnings, &json!("completed")), "{step:#}");
        assert_eq!((&span["finish"], &span["warnings"]), (&json!("length"), &warnings), "{span:#}");
        assert_eq!(trace["trace"]["reply"], json!("Once upon"));
    }
}

#[tokio::test]
async fn an_answer_that_is_not_cut_has_a_finish_and_no_warnings() {
    let (told, trace) = run(&bench(json!([{"text": "Hi", "finish": "other"}])), "llm_1{provider: script, model: m}").await;
    let completed = line(&told, "step_completed");
    assert!(completed.contains("\"finish\":\"other\"") && !told.contains("warnings"), "{told}");
    assert_eq!((&trace["steps"][0]["finish"], trace["steps"][0].get("warnings")), (&json!("other"), None));
    assert_eq!(trace["steps"][1].get("finish"), None, "only models have one");
}

#[tokio::test]
async fn what_is_cut_and_of_no_use_fails_and_is_not_tried_again() {
    let schema = "structured: true, schema: {type: object, properties: {a: {type: string}}, required: [a]}";
    let call = json!([{"name": "calculate", "arguments": {"expression": "1+1"}}]);
    for (node, reply, said) in [
        ("llm_1{provider: script, model: m, on_length: fail}", json!({"text": "Once upon", "finish": "length"}), "because `on_length` is `fail`"),
        ("llm_1{provider: script, model: m}", json!({"text": "", "finish": "length"}), "before it said anything: `max_tokens` is not set"),
        (&format!("llm_1{{provider: script, model: m, {schema}}}"), json!({"text": "{\"a\": \"b\"", "finish": "length"}), "within its structured answer"),
        ("agent_1{provider: script, model: m, tools: [{ref: \"toolkit:calculator\"}]}", json!({"text": "So", "tool_calls": call, "finish": "length"}), "none of them was run"),
    ] {
        let node = node.replace("model: m", "model: m, retries: {max: 2, backoff_ms: 1}");
        let (told, trace) = run(&bench(json!([reply, {"text": "{\"a\": \"again\"}"}])), &node).await;
        let failed = line(&told, "step_failed");
        assert!(failed.contains("\"code\":\"output_truncated\"") && failed.contains(said) && failed.contains("it wrote 10 tokens, 4 of them reasoning"), "{failed}");
        assert!(!told.contains("tool_call") && !told.contains("step_retrying"), "{told}");
        let spans = of_type(&trace, "llm");
        assert_eq!((spans.len(), of_type(&trace, "tool").len()), (1, 0), "{node}: asked once: {spans:#?}");
        assert_eq!((&spans[0]["finish"], &spans[0]["status"], &spans[0]["completion_tokens"]), (&json!("length"), &json!("failed"), &json!(10)));
        assert_eq!(trace["trace"]["completion_tokens"], json!(10), "what was cut was paid for");
    }
}

#[tokio::test]
async fn a_handled_cut_goes_on_and_a_retried_run_asks_again() {
    let node = "llm_1{provider: script, model: m, on_length: fail, on_error: continue}";
    let (told, _) = run(&bench(json!([{"text": "Once", "finish": "length"}])), node).await;
    assert!(line(&told, "step_completed").contains("\"error\":{\"code\":\"output_truncated\"") && told.contains("trace_completed"), "{told}");
    let bench = bench(json!([{"text": "Once", "finish": "length"}, {"text": "Whole"}]));
    let (_, trace) = run(&bench, "llm_1{provider: script, model: m, on_length: fail}").await;
    let run = trace["trace"]["id"].as_str().expect("an id").to_owned();
    let again = bench.retry(&run, json!({})).await.unwrap_or_else(|error| panic!("{error}"));
    assert!(bench.events_text(&again).await.contains("Whole"), "the cut answer is not used again");
}

#[tokio::test]
async fn an_agents_own_setting_holds_unless_the_node_says_otherwise() {
    for (node, status) in [("", "failed"), (", on_length: keep", "completed"), (", on_length: fail", "failed")] {
        let bench = bench(json!([{"text": "Once", "finish": "length"}]));
        let agent = bench.agent(json!({"name": "A", "provider": "script", "model": "m", "on_length": "fail"})).await;
        let (told, trace) = run(&bench, &format!("agent_1{{agent_id: \"{agent}\"{node}}}")).await;
        assert_eq!(trace["trace"]["status"], json!(status), "{node}: {told}");
    }
}

#[tokio::test]
async fn a_chat_is_told_that_its_answer_is_cut() {
    for (reply, finish, warned) in [(json!({"text": "Once", "finish": "length"}), "length", true), (json!({"text": "Hi", "finish": "other"}), "other", false)] {
        let bench = bench(json!([reply]));
        let agent = bench.agent(json!({"name": "A", "provider": "script", "model": "m"})).await;
        let run = bench.chat(&agent, json!({"message": "hi"})).await;
        let told = bench.events_text_from(&run, wfstudio::engine::From::default(), wfstudio::engine::Follow::Tail).await;
        let done = line(&told, " done ");
        assert!(done.contains(&format!("\"finish\":\"{finish}\"")) && done.contains("\"code\":\"answer_cut\"") == warned, "{done}");
    }
}

#[tokio::test]
async fn what_a_filter_stops_is_kept_as_text_alone() {
    let schema = "structured: true, schema: {type: object, required: [a]}";
    for (more, reply, code) in [
        ("", json!({"text": "I am", "finish": "content_filter"}), "completed"),
        (schema, json!({"text": "{\"a\"", "finish": "content_filter"}), "provider_content_filtered"),
        ("", json!({"text": "", "finish": "content_filter"}), "provider_content_filtered"),
        ("", json!({"text": "", "tool_calls": [{"name": "x", "arguments": {}}], "finish": "content_filter"}), "provider_content_filtered"),
    ] {
        let (told, trace) = run(&bench(json!([reply, {"text": "{\"a\": 1}"}])), &format!("llm_1{{provider: script, model: m, {more}}}").replace(", }", "}")).await;
        let head = &trace["trace"];
        assert_eq!(if head["status"] == "failed" { &head["error"]["code"] } else { &head["status"] }, code, "{told}");
        assert_eq!(of_type(&trace, "llm").len(), 1, "no repair: {told}");
    }
}
