//! Owns a model on a server that calls a tool again and again, and refuses what is over its window. It knows how far it is by what it is sent.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

/// What the model does.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The tool that it calls.
    pub tool: &'static str,
    /// How often in all, and how often in one turn.
    pub calls: u64,
    pub at_once: u64,
    /// A token has four bytes.
    pub window: usize,
    /// It tells how many tokens it was sent.
    pub reports: bool,
    /// Letters of what it says in each turn.
    pub says: usize,
    /// What it searches tools for.
    pub query: &'static str,
    /// It calls tools also where it was told not to.
    pub stubborn: bool,
    /// The first request of this number is never answered.
    pub holds: Option<usize>,
    /// It is out of order at requests of these numbers, and from this one on.
    pub fails: &'static [usize],
    pub fails_from: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Self { tool: "look", calls: 200, at_once: 2, window: 100_000, reports: true, says: 10, query: "", stubborn: false, holds: None, fails: &[], fails_from: usize::MAX }
    }
}

/// The server, with the bodies that it was sent; those over its window are noted.
#[derive(Clone)]
pub struct Caller {
    pub url: String,
    pub seen: Arc<Mutex<Vec<String>>>,
    pub over: Arc<Mutex<Vec<usize>>>,
    plan: Plan,
}

/// What a summariser call can be known by.
const SUMMARISER: &str = "You keep the memory of a conversation";

impl Caller {
    pub async fn start(plan: Plan) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let caller = Self { url, seen: Arc::default(), over: Arc::default(), plan };
        let router = Router::new().route("/v1/chat/completions", post(answer)).with_state(caller.clone());
        let router = router.layer(axum::extract::DefaultBodyLimit::max(64 << 20));
        tokio::spawn(async move { axum::serve(listener, router).await });
        caller
    }

    /// A studio whose provider `work` is this server.
    pub fn settings(&self) -> Value {
        let work = json!({"kind": "openai-compatible", "base_url": self.url, "credential": "secret:KEY", "max_retries": 0});
        json!({"secrets": {"KEY": "k"}, "providers": {"work": work}})
    }

    pub fn bodies(&self) -> Vec<Value> {
        self.seen.lock().expect("seen").iter().map(|body| serde_json::from_str(body).expect("JSON")).collect()
    }
}

async fn answer(State(caller): State<Caller>, body: String) -> Response {
    let (request, plan): (Value, &Plan) = (serde_json::from_str(&body).expect("JSON"), &caller.plan);
    let tokens = body.len() / 4;
    let number = {
        let mut seen = caller.seen.lock().expect("seen");
        seen.push(body);
        seen.len()
    };
    if plan.holds == Some(number) {
        std::future::pending::<()>().await;
    }
    if plan.fails.contains(&number) || number >= plan.fails_from {
        return (StatusCode::SERVICE_UNAVAILABLE, "out of order").into_response();
    }
    if tokens > plan.window {
        caller.over.lock().expect("over").push(tokens);
        let error = json!({"error": {"code": "context_length_exceeded", "message": "This model's maximum context length is exceeded."}});
        return (StatusCode::BAD_REQUEST, Json(error)).into_response();
    }
    let messages = request["messages"].as_array().expect("messages");
    let is_summary = messages[0]["content"].as_str().is_some_and(|text| text.contains(SUMMARISER));
    let called = messages.iter().filter_map(|message| message["tool_calls"].as_array()?.last()?["function"]["arguments"].as_str());
    let turns = called.clone().count() as u64;
    let last: Option<Value> = called.last().map(|text| serde_json::from_str(text).expect("arguments"));
    let next = last.map_or(0, |last| last["n"].as_u64().map_or(turns, |n| n + 1));
    let message = if is_summary {
        json!({"role": "assistant", "content": "They looked at much."})
    } else if next >= plan.calls || (request["tool_choice"] == "none" && !plan.stubborn) {
        json!({"role": "assistant", "content": format!("Done after {next}.")})
    } else {
        let call = |n: u64| json!({"id": format!("call_{n:030}"), "type": "function", "function": {"name": plan.tool, "arguments": arguments(plan, n).to_string()}});
        let calls: Vec<Value> = (next..(next + plan.at_once).min(plan.calls)).map(call).collect();
        json!({"role": "assistant", "content": "y".repeat(plan.says), "tool_calls": calls})
    };
    let reason = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
    let mut whole = json!({"id": "c", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": reason, "message": message}]});
    if plan.reports {
        whole["usage"] = json!({"prompt_tokens": tokens, "completion_tokens": 10});
    }
    Json(whole).into_response()
}

fn arguments(plan: &Plan, n: u64) -> Value {
    if plan.query.is_empty() { json!({"n": n}) } else { json!({"query": plan.query}) }
}
