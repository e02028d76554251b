//! The conformance host in Rust, on axum: see `bindings/conformance/README.md`.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture};
use serde_json::{Value, json};
use tokio::sync::Notify;
use wfstudio::config::{Config, ConfigSources};
use wfstudio::ffi::native::{self, Refused};
use wfstudio::host::{Host, HostCall, HostFailure, HostOp};
use wfstudio::{Studio, http::HostMarks};

#[derive(Clone)]
struct App(Studio, Arc<Mutex<Vec<Value>>>, Arc<Mutex<HashMap<String, Arc<Notify>>>>);

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl App {
    async fn answer(self, HostCall { op, payload: said, chunks }: HostCall) -> Result<Value, String> {
        let last = said["messages"].as_array().into_iter().flatten().rfind(|message| message["role"] == "user");
        let last = last.and_then(|message| message["content"].as_str()).unwrap_or_default();
        let mut entry = match op {
            HostOp::ToolCall => {
                json!({"name": said["name"], "arguments": said["arguments"], "tenant": said["tenant"], "user": said["user"]})
            }
            HostOp::Gate => json!({"method": said["method"], "path": said["path"], "user": said["user"]}),
            HostOp::SecretGet => json!({"name": said["name"], "tenant": said["tenant"]}),
            _ => json!({"model": said["model"], "last": last}),
        };
        if op != HostOp::ToolCancel {
            entry["op"] = op.as_str().into();
            held(&self.1).push(entry);
        }
        let (call, order) = (said["call_id"].to_string(), &said["arguments"]["order_id"]);
        match (op.as_str(), said["name"].as_str().or(said["model"].as_str()).unwrap_or_default()) {
            ("tool.call", "lookup") => Ok(json!({"note": "Grüße, <b>&</b> 🌍", "order_id": order, "status": "shipped"})),
            ("tool.call", "refund") => Ok(json!({"order_id": order, "refunded": said["arguments"]["amount"]})),
            ("tool.call", "refuse") => Err("the order is closed".to_owned()),
            ("tool.call", "explode") => tokio::spawn(async { panic!("boom") }).await.map_err(|_| "panic: boom".to_owned()),
            ("tool.call", _) => {
                let ended = Arc::clone(held(&self.2).entry(call.clone()).or_default());
                let cancelled = tokio::time::timeout(Duration::from_secs(15), ended.notified()).await;
                held(&self.2).remove(&call);
                held(&self.1).extend(cancelled.map(|()| json!({"op": "cancelled", "name": "slow"})));
                Ok(Value::Null)
            }
            ("tool.cancel", _) => {
                held(&self.2).entry(call).or_default().notify_one();
                Ok(Value::Null)
            }
            ("gate", _) => Ok(json!({"allow": said["user"]["id"] == "ada"})),
            ("secret.get", "PEER_KEY") => Ok(json!({"value": "key-of-the-peer"})),
            ("provider.chat", "parrot") => {
                let sent = |delta| chunks.as_ref().is_some_and(|chunks| chunks.send(json!({"delta": delta})).is_ok());
                let message =
                    json!({"role": "assistant", "content": format!("You said: {last}"), "sent": (["You ", "said: ", last].map(sent))});
                Ok(json!({"message": message, "usage": {"prompt_tokens": 7, "completion_tokens": 5}, "finish_reason": "stop"}))
            }
            ("provider.chat", _) => Err("the model is away".to_owned()),
            _ => Err("no such secret".to_owned()),
        }
    }
}

impl Host for App {
    fn call(&self, call: HostCall) -> BoxFuture<'static, Result<Value, HostFailure>> {
        self.clone().answer(call).map(|answer| answer.map_err(HostFailure::new)).boxed()
    }
}

fn marks(mut request: Request) -> Request {
    let said = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (user, gate) = (said("x-user").map(|id| json!({"id": id})), said("x-gate").map(|gate| gate == "open"));
    let (tenant, authorized) = (said("x-tenant").unwrap_or_default(), said("x-authorized").is_some());
    request.extensions_mut().insert(HostMarks { user, gate, tenant, authorized, ..HostMarks::default() });
    request
}

fn failed(refused: Refused) -> Value {
    json!({"error": refused.code, "problem": refused.problem["code"]})
}

async fn run(State(App(studio, ..)): State<App>, Json(body): Json<Value>) -> ([(&'static str, &'static str); 1], String) {
    let mut lines = Vec::new();
    let last = tell(&studio, &body, &mut lines).await.unwrap_or_else(failed);
    ([("content-type", "application/x-ndjson")], lines.into_iter().chain([last]).map(|line| format!("{line}\n")).collect())
}

async fn tell(studio: &Studio, body: &Value, lines: &mut Vec<Value>) -> Result<Value, Refused> {
    let resumes = body["run"].is_null();
    let mut events = if resumes { native::resume(studio, &body["resume"]).await? } else { native::run(studio, &body["run"]).await? };
    let mut cancel = body["cancel_after"].as_str();
    let (counts, mut counted, mut tokens) = (body["count"] == true, 0, 0);
    while let Some(event) = events.next().await.transpose()? {
        if counts {
            counted += 1;
            tokens += i32::from(event.name == "token");
            continue;
        }
        lines.push(json!({"event": event.name, "data": event.data}));
        if body["leave_after"] == event.name {
            return Ok(json!({"left": true}));
        }
        if cancel.take_if(|name| *name == event.name).is_some() {
            events.cancel().await?;
        }
    }
    lines.extend(counts.then(|| json!({"counted": counted, "tokens": tokens})));
    Ok(json!({"end": true}))
}

async fn call(State(App(studio, ..)): State<App>, Json(body): Json<Value>) -> Json<Value> {
    let answer = native::call(&studio, body["op"].as_str().unwrap_or_default(), &body["request"]).await;
    Json(answer.map_or_else(failed, |result| json!({"result": result})))
}

async fn crash(Json(body): Json<Value>) {
    // SAFETY: it ends the process and runs nothing.
    if body["how"] == "now" { unsafe { libc::_exit(70) } } else { std::process::exit(if body["how"] == "exit" { 0 } else { 101 }) }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let json = serde_json::from_str(&std::fs::read_to_string(std::env::var("CONFIG")?)?)?;
    let config = Config::load(ConfigSources { json: Some(json), ..ConfigSources::default() }).map_err(|error| error.message)?;
    let studio = Studio::open(config).map_err(|error| error.message)?;
    let app = App(studio.clone(), Arc::default(), Arc::default());
    studio.set_host(Arc::new(app.clone()), serde_json::from_str(include_str!("../conformance/declaration.json"))?);
    let closed = async |State(app): State<App>| Json(json!({"closed": app.0.shutdown(Duration::from_secs(2)).await.eq(&())}));
    let own = Router::new().route("/own/ping", get(async || "pong")).route("/own/run", post(run)).route("/own/call", post(call));
    let own = own.route("/own/close", post(closed)).route("/own/crash", post(crash));
    let own = own.route("/own/journal", get(async |State(app): State<App>| Json(std::mem::take(&mut *held(&app.1))))).with_state(app);
    let app = own.merge(wfstudio::http::router(studio.clone()).layer(middleware::map_request(async |request: Request| marks(request))));
    studio.runtime().map_err(|error| error.message)?.block_on(async {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", std::env::var("PORT")?.parse()?)).await?;
        Ok(axum::serve(listener, app).await?)
    })
}
