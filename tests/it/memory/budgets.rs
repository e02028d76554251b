//! Budgets: what is cut in prompts, what stays whole, what the trace tells.

use expect_test::expect;
use serde_json::{Value, json};

use super::{outputs, sent, whole};
use crate::support::story::Story;

/// What a rag node would have written.
fn retrieval() -> Value {
    let contents = ["First ".repeat(10), "Second ".repeat(10)];
    let results: Vec<Value> = contents.iter().map(|content| json!({"content": content.trim(), "score": 0.5})).collect();
    let context = format!("[1] {}\n---\n[2] {}", contents[0].trim(), contents[1].trim());
    json!({"query": "q", "results": results, "context": context, "knowledge_base_id": "k", "chunk_count": 2, "top_score": 0.5})
}

const SKETCH: &str = "start -> agent_1{provider: script, model: m, message: \"{{kb.context}}|{{note}}|{{input}}\", instructions: \"Note: {{note}}\", tools: [{ref: \"host:look\"}], budget_rag: 24, budget_state: 10, budget_tool_results: 8} -> rag_1{output_key: kb, on_missing: empty} -> stop";

fn replies() -> Value {
    json!([{"tool_calls": [{"name": "look", "arguments": {"text": "A sentence. ".repeat(9)}}]}, {"times": 0, "text": "Done."}])
}

fn body() -> Value {
    json!({"message": "i".repeat(90), "state": {"kb": retrieval(), "note": format!("{} end.", "n".repeat(80))}})
}

#[tokio::test]
async fn each_cut_is_told_and_the_state_stays_whole() {
    let story = Story::with(json!({}), replies());
    let run = story.run_with(SKETCH, body()).await;
    let trace = whole(&story, &run.id).await;
    expect![[r#"
        context_truncation {"kind":"state_field","field":"note","tokens_before":22,"tokens_after":10,"strategy":"hard"}
        context_truncation {"kind":"rag_context","field":"kb.context","tokens_before":36,"tokens_after":24,"strategy":"hard"}
        context_truncation {"kind":"state_field","field":"note","tokens_before":22,"tokens_after":10,"strategy":"hard"}
        context_truncation {"kind":"tool_result","tool":"look","tokens_before":36,"tokens_after":8,"strategy":"hard"}
    "#]].assert_eq(&outputs(&trace, "context"));
    let prompt = trace["spans"].as_array().unwrap().iter().filter(|span| span["name"] == "chat").nth(1).unwrap()["input"].clone();
    expect![[r#"
        Note: nnnnnnnnnnnnnnnnnnnnnnnn

        [truncated]
        ==
        [1] First First First First First First First First First First
        ---
        [2] Second S

        [truncated]|nnnnnnnnnnnnnnnnnnnnnnnn

        [truncated]|iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii
        ==

        ==
        {"did":"look","w

        [truncated]"#]].assert_eq(&prompt.as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join("\n==\n"));
    assert_eq!(trace["steps"][0]["state_snapshot"]["kb"], retrieval(), "the state stays whole");
    assert!(run.text.contains("A sentence. A sentence."), "so does the result that is told: {}", run.text);
}

#[tokio::test]
async fn without_spans_it_is_cut_all_the_same() {
    let story = Story::with(json!({"observability": {"native_tracing": false}}), replies());
    let run = story.run_with(SKETCH, body()).await;
    let trace = whole(&story, &run.id).await;
    assert_eq!(trace["spans"], json!([]));
    let told = story.bench.studio.step(&story.bench.scope, &run.id, trace["steps"][0]["id"].as_str().unwrap(), true).await.expect("a step");
    assert_eq!(told["spans"], json!([]));
    // The scripted model counts a quarter of the characters that it was sent.
    assert!(trace["trace"]["prompt_tokens"].as_u64().unwrap() < 200, "{}", trace["trace"]);
}

#[tokio::test]
async fn a_cut_is_told_once_although_the_step_is_entered_again() {
    let replies = json!([{"tool_calls": [{"name": "look", "arguments": {"t": "A".repeat(90)}}, {"name": "pay", "arguments": {"sum": 1}}]}, {"times": 0, "text": "Done."}]);
    let story = Story::with(json!({}), replies);
    let sketch = "start -> agent_1{provider: script, model: m, message: \"{{note}}\", tools: [{ref: \"host:look\"}, {ref: \"host:pay\"}], budget_state: 10, budget_tool_results: 8} -> stop";
    let run = story.run_with(sketch, json!({"message": "hi", "state": {"note": "n".repeat(99)}})).await;
    story.resume(&run.id, json!({"approval": "approve"})).await;
    let trace = whole(&story, &run.id).await;
    expect![[r#"
        context_truncation {"kind":"state_field","field":"note","tokens_before":25,"tokens_after":10,"strategy":"hard"}
        context_truncation {"kind":"tool_result","tool":"look","tokens_before":30,"tokens_after":8,"strategy":"hard"}
    "#]].assert_eq(&outputs(&trace, "context"));
}

#[tokio::test]
async fn remembered_results_are_whole_where_they_are_kept_and_cut_where_they_are_sent() {
    let replies = json!([{"match": {"contains": "first"}, "tool_calls": [{"name": "look", "arguments": {"t": "A".repeat(90)}}]}, {"times": 0, "text": "Done."}]);
    let story = Story::with(json!({}), replies);
    let body = json!({"name": "H", "provider": "script", "model": "m", "tools": [{"ref": "host:look"}], "memory_config": {"budget_tool_results": 8}});
    let agent = story.bench.agent(body).await;
    let turn = story.chat(&agent, json!({"message": "first"})).await;
    let thread = story.trace(&turn.id).await["trace"]["thread_id"].as_str().unwrap().to_owned();
    let again = super::chat(&story, &agent, &thread, "second".into()).await;
    let trace = whole(&story, &again.id).await;
    assert_eq!(sent(&trace, "chat", 0)[2], "tool: {\"did\":\"look\",\"w\n\n[truncated]");
    assert_eq!(outputs(&trace, "context"), "", "it was told when it entered the conversation");
    let shown = super::read(&story, &agent, &thread, &[("include", "tools")]).await;
    assert!(shown[1]["tool_calls"][0]["result"].as_str().unwrap().contains(&"A".repeat(90)));
}

#[tokio::test]
async fn an_llm_node_and_a_specialist_have_budgets_too() {
    let replies = json!([
        {"match": {"node_id": "agent_1"}, "tool_calls": [{"name": "ask", "arguments": {"input": "why"}}]}, {"times": 0, "text": "Done."}]);
    let story = Story::with(json!({}), replies);
    let exposure = "{slug: ask, description: D, parameters: {input: {description: Q, controlled_by: caller}}}";
    let sketch = format!("start -> llm_1{{provider: script, model: m, prompt: \"{{{{note}}}}\", budget_state: 10}} -> agent_1{{provider: script, model: m}} -> stop; agent_2{{provider: script, model: m, tool_mode: true, tool_exposure: {exposure}, instructions: \"{{{{note}}}}\", budget_state: 12}}; agent_2.toolset => agent_1");
    let run = story.run_with(&sketch, json!({"message": "hi", "state": {"note": "n".repeat(99)}})).await;
    expect![[r#"
        context_truncation {"kind":"state_field","field":"note","tokens_before":25,"tokens_after":10,"strategy":"hard"}
        context_truncation {"kind":"state_field","field":"note","tokens_before":25,"tokens_after":12,"strategy":"hard"}
    "#]].assert_eq(&outputs(&whole(&story, &run.id).await, "context"));
}
