//! The conformance host in Rust, on axum: see `bindings/conformance/README.md`.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Notify;
use wfstudio::Studio;
use wfstudio::config::{Config, ConfigSources};
use wfstudio::ffi::native::{self, Refused};
use wfstudio::host::{Host, HostCall, HostFailure, HostOp};
use wfstudio::http::HostMarks;

#[derive(Clone)]
struct App(Studio, Arc<Mutex<Vec<Value>>>, Arc<Mutex<HashMap<String, Arc<Notify>>>>);

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl App {
    async fn answer(self, call: HostCall) -> Result<Value, String> {
        let said = &call.payload;
        let entry = match call.op {
            HostOp::ToolCall => json!({"name": said["name"], "arguments": said["arguments"], "tenant": said["tenant"], "user": said["user"]}),
            HostOp::Gate => json!({"method": said["method"], "path": said["path"], "user": said["user"]}),
            HostOp::SecretGet => json!({"name": said["name"], "tenant": said["tenant"]}),
            HostOp::ProviderChat => json!({"model": said["model"], "last": last(said)}),
            _ => Value::Null,
        };
        if let Value::Object(mut entry) = entry {
            entry.insert("op".to_owned(), json!(call.op.as_str()));
            held(&self.1).push(entry.into());
        }
        match (call.op, said["name"].as_str().or(said["model"].as_str()).unwrap_or_default()) {
            (HostOp::ToolCall, name) => self.tool(name, &said["arguments"], said["call_id"].to_string()).await,
            (HostOp::ToolCancel, _) => {
                held(&self.2).remove(&said["call_id"].to_string()).into_iter().for_each(|ended| ended.notify_one());
                Ok(Value::Null)
            }
            (HostOp::Gate, _) => Ok(json!({"allow": said["user"]["id"] == "ada"})),
            (HostOp::SecretGet, "PEER_KEY") => Ok(json!({"value": "key-of-the-peer"})),
            (HostOp::ProviderChat, "parrot") => {
                for delta in ["You ", "said: ", last(said)] {
                    call.chunks.as_ref().map(|chunks| chunks.send(json!({"delta": delta})).is_ok());
                }
                let message = json!({"role": "assistant", "content": format!("You said: {}", last(said))});
                Ok(json!({"message": message, "usage": {"prompt_tokens": 7, "completion_tokens": 5}, "finish_reason": "stop"}))
            }
            (HostOp::ProviderChat, _) => Err("the model is away".to_owned()),
            _ => Err("no such secret".to_owned()),
        }
    }

    async fn tool(&self, name: &str, arguments: &Value, call: String) -> Result<Value, String> {
        match name {
            "lookup" => Ok(json!({"note": "Grüße, <b>&</b> 🌍", "order_id": arguments["order_id"], "status": "shipped"})),
            "refund" => Ok(json!({"order_id": arguments["order_id"], "refunded": arguments["amount"]})),
            "explode" => tokio::spawn(async { panic!("boom") }).await.map_err(|_| "panic: boom".to_owned()),
            "slow" => {
                let ended = Arc::clone(held(&self.2).entry(call).or_default());
                if tokio::time::timeout(Duration::from_secs(15), ended.notified()).await.is_ok() {
                    held(&self.1).push(json!({"op": "cancelled", "name": "slow"}));
                }
                Ok(Value::Null)
            }
            _ => Err("the order is closed".to_owned()),
        }
    }
}

fn last(chat: &Value) -> &str {
    let said = chat["messages"].as_array().into_iter().flatten().rfind(|message| message["role"] == "user");
    said.and_then(|message| message["content"].as_str()).unwrap_or_default()
}

impl Host for App {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        let app = self.clone();
        Box::pin(async move { app.answer(call).await.map_err(HostFailure) })
    }
}

fn marks(mut request: Request) -> Request {
    let said = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (user, gate) = (said("x-user").map(|id| json!({"id": id})), said("x-gate").map(|gate| gate == "open"));
    let (tenant, authorized) = (said("x-tenant").unwrap_or_default(), said("x-authorized").is_some());
    request.extensions_mut().insert(HostMarks { user, gate, tenant, authorized, ..HostMarks::default() });
    request
}

async fn run(State(App(studio, ..)): State<App>, Json(body): Json<Value>) -> Response {
    let (mut lines, last) = match tell(&studio, &body).await {
        Ok(told) => told,
        Err(refused) => (String::new(), failed(&refused)),
    };
    lines.push_str(&last.to_string());
    ([(CONTENT_TYPE, "application/x-ndjson")], lines + "\n").into_response()
}

async fn tell(studio: &Studio, body: &Value) -> Result<(String, Value), Refused> {
    let opened = if body["run"].is_null() { native::resume(studio, &body["resume"]).await } else { native::run(studio, &body["run"]).await };
    let (mut events, mut lines, mut cancelled) = (opened?, String::new(), false);
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(refused) => return Ok((lines, failed(&refused))),
        };
        lines.push_str(&format!("{}\n", json!({"event": event.name, "data": event.data})));
        if body["leave_after"] == event.name {
            return Ok((lines, json!({"left": true})));
        }
        if body["cancel_after"] == event.name && !std::mem::replace(&mut cancelled, true) {
            events.cancel().await?;
        }
    }
    Ok((lines, json!({"end": true})))
}

fn failed(refused: &Refused) -> Value {
    json!({"error": refused.code, "problem": refused.problem["code"]})
}

async fn call(State(App(studio, ..)): State<App>, Json(body): Json<Value>) -> Json<Value> {
    let answer = native::call(&studio, body["op"].as_str().unwrap_or_default(), &body["request"]).await;
    Json(answer.map_or_else(|refused| failed(&refused), |result| json!({"result": result})))
}

async fn close(State(App(studio, ..)): State<App>) -> Json<Value> {
    studio.shutdown(Duration::from_secs(2)).await;
    Json(json!({"closed": true}))
}

async fn crash(Json(body): Json<Value>) {
    match body["how"].as_str() {
        Some("exit") => std::process::exit(0),
        Some("throw") => std::process::exit(101),
        // SAFETY: it ends the process and runs nothing.
        _ => unsafe { libc::_exit(70) },
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let json = serde_json::from_str(&std::fs::read_to_string(std::env::var("CONFIG")?)?)?;
    let config = Config::load(ConfigSources { json: Some(json), ..ConfigSources::default() }).map_err(|error| error.message)?;
    let studio = Studio::open(config).map_err(|error| error.message)?;
    let app = App(studio.clone(), Arc::default(), Arc::default());
    studio.set_host(Arc::new(app.clone()), serde_json::from_str(include_str!("../conformance/declaration.json"))?);
    let own = Router::new()
        .route("/own/ping", get(async || "pong"))
        .route("/own/journal", get(async |State(app): State<App>| Json(std::mem::take(&mut *held(&app.1)))))
        .route("/own/run", post(run))
        .route("/own/call", post(call))
        .route("/own/close", post(close))
        .route("/own/crash", post(crash));
    let app = own.with_state(app).merge(wfstudio::http::router(studio.clone()).layer(middleware::map_request(async |request: Request| marks(request))));
    studio.runtime().map_err(|error| error.message)?.block_on(async {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", std::env::var("PORT")?.parse()?)).await?;
        Ok(axum::serve(listener, app).await?)
    })
}
