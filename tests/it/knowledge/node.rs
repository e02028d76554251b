//! The rag node: what it writes, tells and records.

use expect_test::expect;
use serde_json::{Value, json};

use super::{bench, three};
use crate::support::Bench;

fn graph(data: Value) -> Value {
    let place = json!({"x": 0, "y": 0});
    json!({"version": 1, "nodes": [
        {"id": "start", "type": "start", "position": place, "data": {}},
        {"id": "rag", "type": "rag", "position": place, "data": data},
        {"id": "stop", "type": "stop", "position": place, "data": {"reply": "{{ rag_context.context }}"}},
    ], "edges": [{"id": "a", "source": "start", "target": "rag"}, {"id": "b", "source": "rag", "target": "stop"}]})
}

pub(super) async fn run(bench: &Bench, data: Value, state: Value) -> (String, Value) {
    let workflow = bench.workflow(graph(data)).await;
    let started = bench.start(&workflow, json!({"message": "When is a refund given?", "state": state})).await;
    (bench.events_text(&started).await, bench.trace(&started.run.to_string()).await)
}

#[tokio::test]
async fn a_node_finds_tells_and_cites() {
    let bench = bench(json!({}));
    let base = three(&bench).await;
    let (told, trace) = run(&bench, json!({"knowledge_base_id": "docs", "top_k": 1}), json!({})).await;
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("rag_query")).collect();
    assert!(lines.len() == 1 && lines[0].contains(r#""query":"When is a refund given?""#) && lines[0].contains(r#""chunk_count":1"#), "{told}");
    let output = &trace["trace"]["output"]["rag_context"];
    let keys: Vec<&String> = output.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["query", "results", "context", "knowledge_base_id", "chunk_count", "top_score"]);
    assert_eq!(output["knowledge_base_id"], json!(base));
    assert_eq!(output["context"], json!(format!("[1] {}", super::REFUNDS)));
    assert_eq!(trace["trace"]["reply"], output["context"]);
    let step = &trace["steps"][0];
    assert_eq!((&step["node_type"], &step["chunk_count"], &step["top_score"]), (&json!("rag"), &json!(1), &output["top_score"]));
    let chunk = &output["results"][0];
    let cited = json!([{
        "n": 1, "chunk_id": chunk["id"], "document_id": chunk["document_id"], "source_name": "refunds.md", "knowledge_base_id": base, "position": 0,
    }]);
    assert_eq!(step["citations"], cited);
    assert!(step["prompt_tokens"].as_u64().expect("a count") > 0, "the question's embedding belongs to the step: {step}");
    let spans: Vec<String> = trace["spans"].as_array().expect("spans").iter().map(|span| {
        format!("{} {} {} {} {}", span["type"], span["name"], span["status"], span["provider"], span["output"].get("vector").is_none())
    }).collect();
    expect![[r#"
        "embedding" "embed" "completed" "hash" true
        "rag" "search" "completed" null true"#]].assert_eq(&spans.join("\n"));
}

#[tokio::test]
async fn filters_and_questions_are_templates() {
    let bench = bench(json!({}));
    three(&bench).await;
    let data = json!({"knowledge_base_id": "docs", "query": "{{ topic }} warehouse", "filter": {"lang": "{{ lang }}"}, "threshold": 0, "mode": "vector"});
    let (_, trace) = run(&bench, data, json!({"topic": "cat", "lang": "pt"})).await;
    let output = &trace["trace"]["output"]["rag_context"];
    assert_eq!((&output["query"], &output["chunk_count"]), (&json!("cat warehouse"), &json!(1)));
    assert_eq!(output["results"][0]["source_name"], json!("shipping"));
}

#[tokio::test]
async fn a_missing_base_fails_or_is_empty_as_the_node_says() {
    let bench = bench(json!({}));
    three(&bench).await;
    let (told, _) = run(&bench, json!({"knowledge_base_id": null}), json!({})).await;
    assert!(told.contains("knowledge_base_missing"), "{told}");
    let (_, trace) = run(&bench, json!({"knowledge_base_id": null, "on_missing": "empty"}), json!({})).await;
    assert_eq!(
        trace["trace"]["output"]["rag_context"],
        json!({"query": "When is a refund given?", "results": [], "context": "", "knowledge_base_id": null, "chunk_count": 0, "top_score": 0})
    );
    let empty = bench.base(json!({"name": "Empty"})).await;
    let (_, trace) = run(&bench, json!({"knowledge_base_id": empty}), json!({})).await;
    assert_eq!(trace["trace"]["output"]["rag_context"]["knowledge_base_id"], json!(empty));
}

#[tokio::test]
async fn what_goes_wrong_is_the_failure_of_the_base() {
    let bench = bench(json!({"providers": {"broken": {"kind": "openai-compatible", "base_url": "http://127.0.0.1:1/v1", "max_retries": 0}}}));
    let base = bench.base(json!({"embeddings_provider": "broken", "embeddings_model": "m"})).await;
    let document = bench.add(&base, "a", "Some text.").await;
    assert_eq!(document["status"], json!("failed"));
    let (told, trace) = run(&bench, json!({"knowledge_base_id": base}), json!({})).await;
    assert!(told.contains(r#""code":"knowledge_base_failed""#) && told.contains("provider_unavailable"), "{told}");
    assert_eq!(trace["trace"]["error"]["code"], json!("knowledge_base_failed"));
}
