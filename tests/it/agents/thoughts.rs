//! Thoughts that a server leaves in the text of an answer: what the person gets of them, and what the model is shown again.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::support::Bench;

#[derive(Clone, Default)]
struct Server {
    answers: Arc<Mutex<Vec<Value>>>,
    seen: Arc<Mutex<Vec<Value>>>,
}

async fn answer(State(server): State<Server>, Json(body): Json<Value>) -> Json<Value> {
    server.seen.lock().expect("seen").push(body);
    let choice = server.answers.lock().expect("answers").remove(0);
    Json(json!({"id": "c", "object": "chat.completion", "choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}))
}

/// A studio in front of a server without a parser for thoughts, which gives these answers in turn.
async fn bench(answers: Vec<Value>, more: Value) -> (Bench, Server) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let server = Server { answers: Arc::new(Mutex::new(answers)), ..Server::default() };
    let router = Router::new().route("/v1/chat/completions", post(answer)).with_state(server.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let mut settings = json!({"providers": {"local": {"kind": "vllm", "base_url": url}}});
    crate::support::merge(&mut settings, more);
    (Bench::new(settings), server)
}

fn said(text: &str, finish: &str) -> Value {
    json!({"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}})
}

fn looks(text: &str) -> Value {
    let function = json!({"name": "calculate", "arguments": "{\"expression\": \"1+1\"}"});
    let message = json!({"role": "assistant", "content": text, "tool_calls": [{"id": "c1", "type": "function", "function": function}]});
    json!({"index": 0, "finish_reason": "tool_calls", "message": message})
}

async fn agent(bench: &Bench, model: &str) -> String {
    bench.agent(json!({"name": "A", "provider": "local", "model": model, "tools": [{"ref": "toolkit:calculator"}]})).await
}

#[tokio::test]
async fn a_turn_with_tools_shows_the_model_what_it_thought_where_it_wants_it() {
    let thought = "<think>\nI need the sum for sk-hidden-1.\n</think>\n\n";
    for (model, wanted) in [("MiniMax-M2.5", "<think>\nI need the sum for sk-hidden-1.\n</think>\n\nI look."), ("qwen3", "I look.")] {
        let (bench, server) = bench(vec![looks(&format!("{thought}I look.")), said(&format!("{thought}Two."), "stop"), said("Yes.", "stop")], json!({})).await;
        let agent = agent(&bench, model).await;
        let run = bench.chat(&agent, json!({"message": "Count."})).await;
        let trace = bench.trace(&run).await["trace"].clone();
        assert_eq!((&trace["status"], &trace["reply"]), (&json!("completed"), &json!("Two.")), "{trace:#}");
        bench.chat(&agent, json!({"message": "Sure?", "thread_id": trace["thread_id"]})).await;
        let seen = server.seen.lock().expect("seen").clone();
        let assistant = |body: &Value| body["messages"].as_array().expect("messages").iter().find(|message| message["role"] == "assistant").cloned();
        let sent = assistant(&seen[1]).expect("what it said");
        assert_eq!((&sent["content"], sent.get("tagged_thought"), &sent["tool_calls"][0]["function"]["name"]), (&json!(wanted), None, &json!("calculate")));
        assert_eq!(assistant(&seen[2]).expect("what it said")["content"], wanted, "the next turn begins like this one");
    }
}

#[tokio::test]
async fn what_is_masked_stays_masked_in_a_thought_that_goes_back() {
    let thought = "<think>It is hunter2-hunter2, I look.</think>";
    let masks = json!({"observability": {"redact": ["password"]}});
    let (bench, server) = bench(vec![looks(thought), said("Two.", "stop"), said("Yes.", "stop")], masks).await;
    let agent = agent(&bench, "MiniMax-M2").await;
    let run = bench.chat(&agent, json!({"message": "Count. password: hunter2-hunter2"})).await;
    let thread = bench.trace(&run).await["trace"]["thread_id"].clone();
    bench.chat(&agent, json!({"message": "Sure?", "thread_id": thread})).await;
    // The next turn is made of what is stored.
    let sent = server.seen.lock().expect("seen")[2]["messages"].to_string();
    assert!(sent.contains("<think>It is [redacted], I look.</think>") && !sent.contains("hunter2"), "{sent}");
}

#[tokio::test]
async fn a_thought_without_an_end_is_the_answer_unless_it_was_cut() {
    let (whole, cut) = (said("<think>Forty-two.", "stop"), said("<think>Forty-two", "length"));
    let (bench, _) = bench(vec![whole, cut], json!({})).await;
    let agent = agent(&bench, "qwen3").await;
    let run = bench.chat(&agent, json!({"message": "What is it?"})).await;
    let trace = bench.trace(&run).await["trace"].clone();
    assert_eq!((&trace["status"], &trace["reply"]), (&json!("completed"), &json!("Forty-two.")), "{trace:#}");
    let run = bench.chat(&agent, json!({"message": "What is it?"})).await;
    let trace = bench.trace(&run).await["trace"].clone();
    assert_eq!((&trace["status"], &trace["error"]["code"]), (&json!("failed"), &json!("output_truncated")), "{trace:#}");
}
