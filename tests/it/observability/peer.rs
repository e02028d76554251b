//! Arize Phoenix, a real receiver of OpenTelemetry; `scripts/test-observability.sh` installs and starts it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;
use serde_json::{Value, json};
use wfstudio::model::event::EntityKind;
use wfstudio::model::trace_context::TraceContext;
use wfstudio::studio::runs::requests::RunRequest;

use super::closed;
use crate::support::story::Story;

#[tokio::test]
#[ignore = "needs arize-phoenix (PyPI)"]
async fn phoenix_gives_back_what_it_was_told() {
    let url = std::env::var("STUDIO_PHOENIX_URL").unwrap_or_else(|_| panic!("STUDIO_PHOENIX_URL is not set: run scripts/test-observability.sh"));
    let settings = json!({"observability": {"otlp": {"endpoint": url, "content": true}}});
    let story = Story::with(settings, json!([
        {"tool_calls": [{"name": "look", "arguments": {"n": 1}}], "usage": {"prompt_tokens": 20, "completion_tokens": 5}},
        {"text": "Seen.", "usage": {"prompt_tokens": 30, "completion_tokens": 2, "cached_tokens": 10}}]));
    let run = story.run("start -> agent_1{provider: script, model: m, instructions: Be brief, tools: [{ref: \"host:look\"}]} -> stop").await;
    closed(&story).await;
    let counts = story.bench.studio.observability();
    assert_eq!((&counts[0]["sent"], &counts[0]["dropped"]), (&json!(6), &json!(0)), "{counts}");

    let spans = stored(&url, &run.id.replace('-', ""), 6).await;
    let find = |name: &str, nth: usize| spans.iter().filter(|span| span["name"] == name).nth(nth).unwrap_or_else(|| panic!("{name} in {spans:#?}"));
    let id = |span: &Value| span["context"]["span_id"].clone();
    let (root, agent, tool) = (find("invoke_workflow Test", 0), find("invoke_agent agent_1", 0), find("execute_tool look", 0));
    assert_eq!((&root["parent_id"], &agent["parent_id"], &tool["parent_id"]), (&Value::Null, &id(root), &id(agent)));
    let mut chats: Vec<&Value> = spans.iter().filter(|span| span["name"] == "chat m").collect();
    chats.sort_by_key(|chat| chat["attributes"]["llm.token_count.prompt"].as_i64());
    for (chat, prompt, completion) in [(chats[0], 20, 5), (chats[1], 30, 2)] {
        let told = &chat["attributes"];
        assert_eq!(chat["parent_id"], id(agent));
        assert_eq!((&chat["span_kind"], &told["llm.model_name"]), (&json!("LLM"), &json!("m")), "{chat:#}");
        assert_eq!((&told["llm.token_count.prompt"], &told["llm.token_count.completion"]), (&json!(prompt), &json!(completion)), "{chat:#}");
    }
    let (first, second) = (chats[0]["attributes"].to_string(), chats[1]["attributes"].to_string());
    assert!(first.contains("Be brief") && first.contains("\"hi\"") && first.contains("look"), "{first}");
    assert!(second.contains("Seen.") && second.contains("call_agent_1_1"), "{second}");
    assert!(tool["attributes"].to_string().contains("did"), "{tool:#}");
}

#[tokio::test]
#[ignore = "needs arize-phoenix (PyPI)"]
async fn phoenix_shows_the_hosts_span_its_run_and_its_calls_under_one_trace() {
    let url = std::env::var("STUDIO_PHOENIX_URL").unwrap_or_else(|_| panic!("STUDIO_PHOENIX_URL is not set: run scripts/test-observability.sh"));
    let (trace, span) = (uuid::Uuid::new_v4().simple().to_string(), "00f067aa0ba902b7");
    host_span(&url, &trace, span).await;
    let story = Story::with(json!({"observability": {"otlp": {"endpoint": url}}}), json!([{"text": "Seen."}]));
    let workflow = story.workflow("start -> llm_1{provider: script, model: m} -> stop").await;
    let body = RunRequest::parse(&json!({"message": "hi"}), EntityKind::Workflow).expect("a body");
    let trace_of_host = TraceContext::parse(&format!("00-{trace}-{span}-01"), None).map(Arc::new);
    let body = RunRequest { trace: trace_of_host, ..body };
    let bench = &story.bench;
    let started = bench.studio.start(&bench.scope, EntityKind::Workflow, &workflow, body, false).await.expect("a run");
    story.events_text(&started).await;
    closed(&story).await;
    let spans = stored(&url, &trace, 5).await;
    let find = |name: &str| spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("{name} in {spans:#?}"));
    let id = |span: &Value| span["context"]["span_id"].clone();
    let (host, root, step, call) = (find("POST /orders"), find("invoke_workflow Test"), find("llm_1"), find("chat m"));
    assert_eq!((&host["parent_id"], &root["parent_id"], &step["parent_id"], &call["parent_id"]), (&Value::Null, &id(host), &id(root), &id(step)));
}

/// Tells Phoenix the span of a host's request.
async fn host_span(url: &str, trace: &str, span: &str) {
    let bytes = |hex: &str| (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect::<Vec<u8>>();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_nanos();
    let now = u64::try_from(now).expect("a time of this century");
    let span = Span {
        trace_id: bytes(trace),
        span_id: bytes(span),
        name: "POST /orders".into(),
        kind: 2,
        start_time_unix_nano: now - 1_000_000_000,
        end_time_unix_nano: now,
        ..Default::default()
    };
    let scope_spans = vec![ScopeSpans { spans: vec![span], ..Default::default() }];
    let request = ExportTraceServiceRequest { resource_spans: vec![ResourceSpans { scope_spans, ..Default::default() }] };
    let body = request.encode_to_vec();
    let host = url.strip_prefix("http://").expect("an address");
    let mut connection = TcpStream::connect(host).expect("a connection");
    let head = format!("POST /v1/traces HTTP/1.0\r\nhost: {host}\r\ncontent-type: application/x-protobuf\r\ncontent-length: {}\r\n\r\n", body.len());
    connection.write_all(&[head.as_bytes(), &body].concat()).expect("a request");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// The spans of a trace, once all of them are there.
async fn stored(url: &str, trace: &str, count: usize) -> Vec<Value> {
    for _ in 0..120 {
        let spans = get(url, "/v1/projects/default/spans?limit=1000")["data"].as_array().cloned().unwrap_or_default();
        let found: Vec<Value> = spans.into_iter().filter(|span| span["context"]["trace_id"] == trace).collect();
        if found.len() >= count {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    panic!("phoenix has not stored {count} spans of {trace}");
}

fn get(url: &str, path: &str) -> Value {
    let host = url.strip_prefix("http://").expect("an address");
    let mut connection = TcpStream::connect(host).expect("a connection");
    write!(connection, "GET {path} HTTP/1.0\r\nhost: {host}\r\n\r\n").expect("a request");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("an answer");
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    serde_json::from_str(body).unwrap_or_default()
}
