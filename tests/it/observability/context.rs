//! The host's span around a run: it is kept with the run, is its parent, and goes on to what the run calls.

use std::sync::{Arc, Mutex};

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use wfstudio::http::HostMarks;
use wfstudio::model::event::EntityKind;
use wfstudio::model::trace_context::TraceContext;
use wfstudio::studio::runs::requests::{ResumeRequest, RetryRequest, RunRequest};

use super::collector::{Collector, Manner, attribute};
use super::{closed, watched};
use crate::support::story::Story;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const FIRST: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const SECOND: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn context(parent: &str) -> Option<Arc<TraceContext>> {
    TraceContext::parse(parent, Some("a=1,b=2")).map(Arc::new)
}

/// What an HTTP server of a test was asked: the heads of its requests.
struct Asked {
    url: String,
    heads: Arc<Mutex<Vec<http::HeaderMap>>>,
    _task: tokio::task::JoinHandle<()>,
}

impl Asked {
    async fn start(answer: Value) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        let app = axum::Router::new().fallback(move |headers: http::HeaderMap| {
            seen.lock().expect("a lock").push(headers);
            let answer = answer.clone();
            async move { axum::Json(answer) }
        });
        let task = tokio::spawn(async move { axum::serve(listener, app).await.expect("a server") });
        Self { url, heads, _task: task }
    }

    /// The trace, the span and the state of each request.
    fn trace_headers(&self) -> Vec<(String, String, String)> {
        let heads = self.heads.lock().expect("a lock");
        let text = |head: &http::HeaderMap, name: &str| head.get(name).map_or("", |value| value.to_str().expect("a text")).to_owned();
        let told = heads.iter().map(|head| {
            let parent = text(head, "traceparent");
            let parts: Vec<&str> = parent.split('-').collect();
            let part = |at: usize| parts.get(at).copied().unwrap_or_default().to_owned();
            (part(1), part(2), text(head, "tracestate"))
        });
        told.collect()
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self._task.abort();
    }
}

fn chat() -> Value {
    json!({"id": "chatcmpl-7", "model": "big-2026-11-01", "choices": [{"message": {"content": "Fine."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2}})
}

fn model_at(url: &str) -> Value {
    json!({"providers": {"mine": {"kind": "openai-compatible", "base_url": url}}})
}

/// Runs a workflow over HTTP to its end, with these heads.
async fn ask(story: &Story, workflow: &str, parents: &[&str], states: &[&str]) {
    let path = format!("/studio/workflows/{workflow}/run/stream");
    let mut request = http::Request::post(path).header("content-type", "application/json").header("x-requested-with", "studio");
    for (name, values) in [("traceparent", parents), ("tracestate", states)] {
        request = values.iter().fold(request, |request, value| request.header(name, *value));
    }
    let body = bytes::Bytes::from_static(br#"{"message":"hi"}"#);
    let answer = wfstudio::http::dispatch(&story.bench.studio, request.body(body).expect("a request"), HostMarks::default()).await;
    assert_eq!(answer.status(), 200);
    let told = answer.into_body().collect().await.expect("a stream").to_bytes();
    assert!(String::from_utf8_lossy(&told).contains("event: trace_completed"), "{}", String::from_utf8_lossy(&told));
}

const ASKS: &str = "start -> llm_1{provider: mine, model: big, parameters: {temperature: 0.5, max_tokens: 50}} -> stop";

#[tokio::test]
async fn a_run_is_in_the_trace_of_its_request_and_its_calls_carry_their_own_spans() {
    let collector = Collector::start(Manner::Takes).await;
    let model = Asked::start(chat()).await;
    let story = watched(&collector, model_at(&model.url), json!([])).await;
    let id = story.workflow(ASKS).await;
    let body = RunRequest { trace: context(FIRST), ..RunRequest::parse(&json!({"message": "hi"}), EntityKind::Workflow).expect("a body") };
    let started = story.bench.studio.start(&story.bench.scope, EntityKind::Workflow, &id, body, false).await.expect("a run");
    story.join(&started.run.to_string()).await;
    let trace = story.trace(&started.run.to_string()).await;
    closed(&story).await;
    let spans = collector.spans();
    assert!(spans.iter().all(|span| hex(&span.trace_id) == TRACE && span.trace_state == "a=1,b=2"), "{spans:#?}");
    let find = |name: &str| spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name} in {}", collector.tree()));
    let (root, call) = (find("invoke_workflow Test"), find("chat big"));
    assert_eq!((hex(&root.parent_span_id).as_str(), root.flags), ("00f067aa0ba902b7", 0x301));
    assert_eq!(model.trace_headers(), [(TRACE.to_owned(), hex(&call.span_id), "a=1,b=2".to_owned())]);
    let line = collector.tree().lines().find(|line| line.contains("chat big")).expect("a line").to_owned();
    for wanted in [
        "gen_ai.request.temperature=0.5",
        "gen_ai.request.max_tokens=50",
        "gen_ai.response.id=\"chatcmpl-7\"",
        "gen_ai.response.model=\"big-2026-11-01\"",
        "studio.usage.cost_source=\"none\"",
    ] {
        assert!(line.contains(wanted), "{wanted} in {line}");
    }
    assert!(attribute(call, "gen_ai.response.time_to_first_chunk").is_f64(), "{call:?}");
    let span = trace["spans"].as_array().expect("spans").iter().find(|span| span["type"] == "llm").expect("a call");
    assert_eq!((&span["response_id"], &span["response_model"], &span["finish"]), (&json!("chatcmpl-7"), &json!("big-2026-11-01"), &json!("stop")));
    assert_eq!(span["parameters"], json!({"temperature": 0.5, "max_tokens": 50}));
    assert!(span["first_piece_ms"].is_u64(), "{span:#}");
}

#[tokio::test]
async fn what_is_resumed_in_another_trace_stays_in_its_own_and_links_there() {
    let collector = Collector::start(Manner::Takes).await;
    let story = watched(&collector, json!({}), json!([{"error": "provider_auth"}, {"text": "Fine."}])).await;
    let id = story.workflow("start -> human_1 -> llm_1{provider: script, model: m} -> stop").await;
    let body = RunRequest { trace: context(FIRST), ..RunRequest::parse(&json!({"message": "hi"}), EntityKind::Workflow).expect("a body") };
    let run = story.bench.studio.start(&story.bench.scope, EntityKind::Workflow, &id, body, false).await.expect("a run").run.to_string();
    story.join(&run).await;
    let body = ResumeRequest { trace: context(SECOND), ..ResumeRequest::parse(&json!({"message": "yes"})).expect("a body") };
    story.bench.studio.resume(&story.bench.scope, &run, body, false).await.expect("it goes on");
    story.join(&run).await;
    story.bench.studio.retry(&story.bench.scope, &run, RetryRequest::default(), false).await.expect("it is tried again");
    story.join(&run).await;
    closed(&story).await;
    let spans = collector.spans();
    assert!(spans.iter().all(|span| hex(&span.trace_id) == TRACE), "{spans:#?}");
    let roots: Vec<_> = spans.iter().filter(|span| span.name == "invoke_workflow Test").collect();
    let links = |at: usize| roots[at].links.iter().map(|link| format!("{} {}", hex(&link.trace_id), hex(&link.span_id))).collect::<Vec<_>>();
    assert_eq!(links(0), ["0af7651916cd43dd8448eb211c80319c b7ad6b7169203331"]);
    assert_eq!(links(1), Vec::<String>::new(), "the retry came without a span");
    assert!(roots.iter().all(|root| hex(&root.parent_span_id) == "00f067aa0ba902b7"));
}

#[tokio::test]
async fn without_a_collector_the_hosts_own_span_is_passed_on_and_malformed_ones_are_not() {
    let model = Asked::start(chat()).await;
    let story = Story::with(model_at(&model.url), json!([]));
    let id = story.workflow(ASKS).await;
    let zeros = FIRST.replace("00f067aa0ba902b7", "0000000000000000");
    for parents in [&[FIRST][..], &[], &["ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"], &[zeros.as_str()], &[FIRST, SECOND]] {
        ask(&story, &id, parents, &["a=1", "b=2"]).await;
    }
    let whole = (TRACE.to_owned(), "00f067aa0ba902b7".to_owned(), "a=1,b=2".to_owned());
    let none = (String::new(), String::new(), String::new());
    assert_eq!(model.trace_headers(), [whole, none.clone(), none.clone(), none.clone(), none]);
}

#[tokio::test]
async fn the_configuration_says_which_calls_carry_a_span() {
    for (propagate, wanted) in [("all", [true, true]), ("tools", [false, true]), ("none", [false, false])] {
        let (model, hook) = (Asked::start(chat()).await, Asked::start(json!({"ok": true})).await);
        let mut settings = model_at(&model.url);
        crate::support::merge(&mut settings, json!({"observability": {"propagate": propagate}, "webhook": {"allow_private": ["127.0.0.1"]}}));
        let story = Story::with(settings, json!([]));
        let tool = json!({"name": "hook", "kind": "webhook", "config": {"method": "POST", "url": hook.url}});
        let tool = story.bench.studio.create(&story.bench.scope, wfstudio::studio::Resource::Tool, &tool).await.expect("a tool")["id"].clone();
        let reference = json!(format!("tool:{}", tool.as_str().expect("an id")));
        let id = story.workflow(&format!("start -> tool_1{{tool_ref: {reference}}} -> llm_1{{provider: mine, model: big}} -> stop")).await;
        ask(&story, &id, &[FIRST], &[]).await;
        let told = [&model, &hook].map(|server| server.trace_headers().iter().map(|told| !told.0.is_empty()).collect::<Vec<_>>());
        assert_eq!(told, wanted.map(|carried| vec![carried]), "{propagate}");
    }
}

#[tokio::test]
async fn a_played_model_says_nothing_of_its_first_piece() {
    let story = Story::scripted(json!([{"chunks": ["Hel", "lo."]}]));
    let run = story.run("start -> llm_1{provider: script, model: m, stream: true} -> stop").await;
    let trace = story.trace(&run.id).await;
    let span = trace["spans"].as_array().expect("spans").iter().find(|span| span["type"] == "llm").expect("a call");
    assert_eq!((&span["status"], span.get("first_piece_ms").unwrap_or(&Value::Null)), (&json!("completed"), &Value::Null), "{span:#}");
}
