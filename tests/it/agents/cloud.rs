//! Owns a server of models for tests: what each model does is its name.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};

use crate::support::Bench;

/// A request that came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub provider: String,
    pub key: String,
    pub body: Value,
    pub at: std::time::Instant,
}

impl Asked {
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }
}

/// Nobody is let through until somebody says so.
pub struct Gate(pub tokio::sync::Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(tokio::sync::Semaphore::new(0))
    }
}

/// Speaks chat completions and responses of OpenAI, as <https://developers.openai.com/api/reference> says, at `/<provider>/v1`.
#[derive(Clone, Default)]
pub struct Cloud {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    active: Arc<AtomicUsize>,
    /// What the calls of the model `gated` wait for, one each.
    pub gate: Arc<Gate>,
    pub most: Arc<AtomicUsize>,
}

impl Cloud {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let cloud = Self { url: format!("http://{}", listener.local_addr().expect("an address")), ..Self::default() };
        let router = Router::new()
            .route("/{provider}/v1/chat/completions", post(answer))
            .route("/{provider}/v1/responses", post(respond))
            .with_state(cloud.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        cloud
    }

    /// The settings of a provider that is this server.
    pub fn provider(&self, id: &str) -> Value {
        json!({"kind": "openai-compatible", "base_url": format!("{}/{id}/v1", self.url), "max_retries": 0, "credential": "secret:KEY"})
    }

    /// A studio with the providers `one` and `two`, each with a key of its own.
    pub fn bench(&self, more: Value) -> Bench {
        Bench::new(self.settings(more))
    }

    pub fn settings(&self, more: Value) -> Value {
        let mut two = self.provider("two");
        two["credential"] = json!("secret:OTHER");
        let providers = json!({"one": self.provider("one"), "two": two});
        let mut settings = json!({"secrets": {"KEY": "k1", "OTHER": "k2", "OWN": "k3"}, "providers": providers});
        crate::support::merge(&mut settings, more);
        settings
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("asked").clone()
    }

    /// Who was asked, as `provider/model`.
    pub fn names(&self) -> Vec<String> {
        self.asked().iter().map(|asked| format!("{}/{}", asked.provider, asked.model())).collect()
    }

    fn note(&self, provider: String, headers: &HeaderMap, body: &Bytes) -> (Value, usize) {
        let body: Value = serde_json::from_slice(body).expect("JSON");
        let key = headers.get("authorization").and_then(|key| key.to_str().ok()).unwrap_or_default().to_owned();
        let mut asked = self.asked.lock().expect("asked");
        asked.push(Asked { provider, key, body: body.clone(), at: std::time::Instant::now() });
        let times = asked.iter().filter(|one| one.body["model"] == body["model"]).count();
        (body, times)
    }
}

fn refusal(status: u16, message: &str, head: &[(&str, &str)]) -> Response {
    let mut answer = (StatusCode::from_u16(status).expect("a status"), json!({"error": {"message": message}}).to_string()).into_response();
    for (name, value) in head {
        answer.headers_mut().insert(axum::http::HeaderName::try_from(*name).expect("a name"), value.parse().expect("a value"));
    }
    answer
}

fn message(message: Value, finish: &str) -> Response {
    let choice = json!({"index": 0, "finish_reason": finish, "message": message});
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5});
    axum::Json(json!({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage})).into_response()
}

fn said(text: &str) -> Response {
    message(json!({"role": "assistant", "content": text}), "stop")
}

fn call(times: usize) -> Response {
    let function = json!({"name": "calculate", "arguments": format!("{{\"expression\": \"{times}+1\"}}")});
    message(json!({"role": "assistant", "content": null, "tool_calls": [{"id": format!("call_of_this_turn_{times:03}"), "type": "function", "function": function}]}), "tool_calls")
}

/// A stream that begins and tells an error then.
fn midway() -> Response {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "Once upon"}}]});
    let error = json!({"error": {"code": 429, "message": "slow down"}});
    ([("content-type", "text/event-stream")], format!("data: {chunk}\n\ndata: {error}\n\n")).into_response()
}

async fn answer(State(cloud): State<Cloud>, Path(provider): Path<String>, headers: HeaderMap, body: Bytes) -> Response {
    let (body, times) = cloud.note(provider, &headers, &body);
    let results = body["messages"].as_array().expect("messages").iter().filter(|message| message["role"] == "tool").count();
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    let now = cloud.active.fetch_add(1, Ordering::SeqCst) + 1;
    cloud.most.fetch_max(now, Ordering::SeqCst);
    let answer = match model.split('-').next().unwrap_or_default() {
        "limited" => refusal(429, "slow down", &[]),
        "rest" if times == 1 => refusal(429, "slow down", &[("retry-after-ms", "4000")]),
        "quota" => refusal(429, "the quota of today is used up", &[("retry-after", "3600")]),
        "down" => refusal(503, "out of order", &[]),
        "auth" => refusal(401, "who are you", &[]),
        "bad" => refusal(400, "what is this", &[]),
        "full" => refusal(400, "maximum context length is 10 tokens", &[]),
        "cut" => message(json!({"role": "assistant", "content": ""}), "length"),
        "midway" => midway(),
        "silent" => {
            tokio::time::sleep(Duration::from_secs(30)).await;
            said("too late")
        }
        "gated" => {
            cloud.gate.0.acquire().await.expect("it is open").forget();
            said("Hi from gated")
        }
        "slow" => {
            tokio::time::sleep(Duration::from_millis(1500)).await;
            said(&format!("Hi from {model}"))
        }
        "fails" if times == 1 => refusal(429, "slow down", &[]),
        "caller" if results == 0 => call(times),
        "caller" => refusal(429, "slow down", &[]),
        "steady" if results < 3 => call(100 + times),
        _ => said(&format!("Hi from {model}")),
    };
    cloud.active.fetch_sub(1, Ordering::SeqCst);
    answer
}

/// The first provider calls a tool and fails then; the second calls one more, and answers.
async fn respond(State(cloud): State<Cloud>, Path(provider): Path<String>, headers: HeaderMap, body: Bytes) -> Response {
    let (body, times) = cloud.note(provider.clone(), &headers, &body);
    let results = body["input"].as_array().expect("input").iter().filter(|item| item["type"] == "function_call_output").count();
    let key = headers.get("authorization").and_then(|key| key.to_str().ok()).unwrap_or_default().to_owned();
    if body["model"] == "gpt-5-sealed" {
        return sealed(&body, &key, results);
    }
    if provider == "one" && results > 0 {
        return refusal(429, "slow down", &[]);
    }
    let thought = json!({"type": "reasoning", "id": format!("rs_{provider}_{times}"), "encrypted_content": format!("{provider} only"), "summary": []});
    let call = json!({"type": "function_call", "id": format!("fc_{provider}_{times}"), "call_id": format!("call_of_provider_{provider}_{times}"), "name": "calculate",
        "arguments": "{\"expression\": \"1+1\"}", "status": "completed"});
    let text = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "Done.", "annotations": []}]});
    let output = if results < 2 { json!([thought, call]) } else { json!([text]) };
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15});
    axum::Json(json!({"id": "resp_1", "object": "response", "status": "completed", "output": output, "usage": usage})).into_response()
}

/// Thoughts that only the account of their key reads; the first account calls a tool and is limited then.
fn sealed(body: &Value, key: &str, results: usize) -> Response {
    let of_others = body["input"].as_array().into_iter().flatten().any(|item| item["type"] == "reasoning" && item["encrypted_content"] != format!("by {key}"));
    if key == "Bearer k1" && results > 0 {
        return refusal(429, "slow down", &[]);
    }
    if of_others {
        let text = "The encrypted content for item rs_1 could not be verified. Reason: Encrypted content organization_id did not match the target organization.";
        return (StatusCode::BAD_REQUEST, axum::Json(json!({"error": {"message": text, "type": "invalid_request_error", "param": null, "code": "invalid_encrypted_content"}}))).into_response();
    }
    let thought = json!({"type": "reasoning", "id": format!("rs_{results}"), "encrypted_content": format!("by {key}"), "summary": []});
    let call = json!({"type": "function_call", "id": format!("fc_{results}"), "call_id": format!("call_after_{results}_results"), "name": "calculate",
        "arguments": "{\"expression\": \"1+1\"}", "status": "completed"});
    let text = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "Done.", "annotations": []}]});
    let output = if results < 2 { json!([thought, call]) } else { json!([text]) };
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15});
    axum::Json(json!({"id": "resp_1", "object": "response", "status": "completed", "output": output, "usage": usage})).into_response()
}
