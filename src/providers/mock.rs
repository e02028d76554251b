//! Owns the mock provider of tests: recorded answers over a real connection, and the requests that it received.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use serde_json::{Value, json};

use super::http_client::{Outbound, TimeLimits};
use super::wire::Wire;
use super::{ChatRequest, Delta, Media, Provider, ToolOffer};
use crate::config::Secret;
use crate::clock::SystemClock;
use crate::model::chat::{Attachment, Message, Role, ToolCall};
use crate::model::parts::Part;

/// One answer: status, headers, pieces of the body; a piece `HANG` waits for ever, `WAIT` for 50 ms, `BREAK` breaks the connection; what follows `HEX:` are bytes.
#[derive(Clone)]
pub(super) struct Canned(pub(super) u16, pub(super) &'static [(&'static str, &'static str)], pub(super) Vec<String>);

/// What the provider will answer, and what it was asked: path with credentials, and body.
#[derive(Clone, Default)]
pub(super) struct Mock {
    answers: Arc<Mutex<Vec<Canned>>>,
    pub(super) seen: Arc<Mutex<Vec<(String, Value)>>>,
}

const TOLD_HEADERS: [&str; 6] = ["authorization", "x-amz-security-token", "api-key", "x-api-key", "x-goog-api-key", "anthropic-version"];

async fn serve(State(mock): State<Mock>, request: axum::extract::Request) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
    let told = TOLD_HEADERS
        .iter()
        .filter_map(|name| parts.headers.get(*name))
        .fold(parts.uri.to_string(), |told, value| format!("{told} {}", value.to_str().expect("text")));
    mock.seen.lock().expect("seen").push((told, serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into())));
    let Canned(status, headers, pieces) = mock.answers.lock().expect("answers").remove(0);
    let pieces = futures_util::stream::unfold(pieces.into_iter(), |mut pieces| async move {
        let piece = pieces.next()?;
        tokio::task::yield_now().await;
        let piece = match piece.as_str() {
            "WAIT" => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Ok(Bytes::new())
            }
            "HANG" => std::future::pending().await,
            "BREAK" => Err(std::io::Error::other("broken")),
            text => Ok(text.strip_prefix("HEX:").map_or_else(|| Bytes::from(text.to_owned()), unhex)),
        };
        Some((piece, pieces))
    });
    let mut answer = Response::builder().status(status);
    for (name, value) in headers {
        answer = answer.header(*name, *value);
    }
    answer.body(Body::from_stream(pieces)).expect("an answer")
}

fn unhex(text: &str) -> Bytes {
    text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("text"), 16).expect("a byte")).collect()
}

/// Binary frames, cut into pieces of seven bytes.
pub(super) fn binary(frames: &[Vec<u8>]) -> Canned {
    let pieces = frames.concat().chunks(7).map(|piece| format!("HEX:{}", crate::model::hex::hex(piece))).collect();
    Canned(200, &[("content-type", "application/vnd.amazon.eventstream")], pieces)
}

/// Limits that are soon over, for answers that stand still.
pub(super) fn soon(wire: &mut Wire) {
    (wire.time_limits.first_byte, wire.time_limits.idle) = (Duration::from_millis(1500), Duration::from_millis(200));
}

/// The way to a base URL with the credential `key`.
pub(super) fn wire(base_url: &str) -> Wire {
    // Longer than a busy machine stands still.
    let (first_byte, idle) = (Duration::from_secs(30), Duration::from_secs(30));
    let time_limits = TimeLimits { first_byte, idle, total: Duration::from_secs(60), answer_bytes: 8 << 20, retries: 2 };
    let outbound = Arc::new(Outbound::direct(Arc::new(SystemClock::default())));
    Wire { base_url: base_url.into(), credential: Some(Secret("key".into())), headers: Vec::new(), options: serde_json::Map::new(), time_limits, until: time_limits.until(), outbound, gate: super::limits::Gate::open(), key: Some(0) }
}

/// A provider that gives these answers in turn, and the way to it; `path` ends its base URL.
pub(super) async fn start(path: &str, answers: Vec<Canned>) -> (Wire, Mock) {
    let mock = Mock { answers: Arc::new(Mutex::new(answers)), ..Mock::default() };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = Router::new().fallback(serve).with_state(mock.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (wire(&format!("http://{address}{path}")), mock)
}

/// An answer that comes whole.
pub(super) fn whole(value: &Value) -> Canned {
    Canned(200, &[("content-type", "application/json")], vec![value.to_string()])
}

/// A stream of events, cut into pieces of seven bytes.
pub(super) fn events(frames: &[Value]) -> Canned {
    cut(&frames
        .iter()
        .map(|frame| format!("event: {}\ndata: {frame}\n\n", frame["type"].as_str().unwrap_or("message")))
        .collect::<String>())
}

/// A stream of lines, cut into pieces of seven bytes.
pub(super) fn lines(frames: &[Value]) -> Canned {
    cut(&frames.iter().map(|frame| format!("{frame}\n")).collect::<String>())
}

fn cut(text: &str) -> Canned {
    Canned(200, &[], text.as_bytes().chunks(7).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect())
}

/// A short question.
pub(super) fn hello(stream: bool) -> ChatRequest {
    let mut request = ChatRequest::new("m", vec![Message::text(Role::System, "S"), Message::text(Role::User, "Hello")]);
    request.stream = stream;
    request
}

/// A conversation with everything in it: a file, two calls of which one is unreadable, their results, a tool, settings, a schema.
pub(super) fn rich() -> ChatRequest {
    let mut request = hello(true);
    request.messages[1].attachments = ["image/png", "application/pdf", "text/plain", "audio/wav"].map(attachment).into();
    let call = ToolCall { id: "c1".into(), name: "t".into(), arguments: json!({"a": 1}), invalid: None };
    let bad = ToolCall { id: "c2".into(), name: "t".into(), arguments: json!("{oops"), invalid: Some("bad".into()) };
    request.messages.push(Message { tool_calls: vec![call, bad], ..Message::text(Role::Assistant, "") });
    request.messages.push(result("c1", "ok", false));
    request.messages.push(result("c2", "not JSON", true));
    request.messages.push(Message::text(Role::User, "And?"));
    request.media = request.messages[1].attachments.iter().map(media).collect();
    request.tools = vec![ToolOffer { name: "t".into(), description: "T".into(), input_schema: json!({"type": "object"}) }];
    request.parallel_tool_calls = Some(false);
    request.parameters.temperature = Some(0.5);
    request.parameters.max_tokens = Some(10);
    request.parameters.stop = Some(vec!["END".into()]);
    request
}

/// A schema whose objects are closed.
pub(super) fn schema() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false})
}

/// The result of a call of the tool `t`.
pub(super) fn result(id: &str, text: &str, is_error: bool) -> Message {
    Message { tool_call_id: Some(id.into()), name: Some("t".into()), is_error, ..Message::text(Role::Tool, text) }
}

fn attachment(mime: &str) -> Attachment {
    let (kind, key) = (mime.split('/').next().unwrap_or_default(), mime.replace('/', "."));
    Attachment { kind: kind.into(), mime_type: mime.into(), storage_key: key.clone(), name: Some(key), size: None }
}

fn media(file: &Attachment) -> Media {
    let bytes = Bytes::from(file.kind.clone().into_bytes());
    Media { storage_key: file.storage_key.clone(), mime_type: file.mime_type.clone(), name: file.name.clone(), bytes, refused: false }
}

/// An answer as text: the streamed deltas, then the reply.
pub(super) async fn answer_text(provider: &dyn Provider, request: &ChatRequest) -> String {
    let heard = Mutex::new(String::new());
    let hear = |delta: Delta| {
        let mut heard = heard.lock().expect("heard");
        let _ = match delta {
            Delta::Text(text) => write!(heard, "{text:?} "),
            Delta::Reasoning(text) => write!(heard, "({text:?}) "),
            Delta::Spent(_) | Delta::Waited(_) | Delta::Made => Ok(()),
        };
    };
    let answer = provider.chat(request, &hear).await;
    let mut told = heard.into_inner().expect("heard");
    let _ = match answer {
        Ok(reply) => {
            let tokens = reply.tokens.map(|t| (t.prompt, t.completion, t.cached, t.cache_write, t.reasoning));
            let _ = write!(told, "\n{:?} {:?} {tokens:?}", reply.message.content, reply.finish);
            for call in &reply.message.tool_calls {
                let _ = write!(told, "\n{} {} {} {:?}", call.id, call.name, call.arguments, call.invalid);
            }
            for part in &reply.message.parts {
                let _ = match part {
                    Part::Reasoning(reasoning) => write!(told, "\nthought {:?}", reasoning.text),
                    Part::Source(source) => write!(told, "\nsource {}", serde_json::to_string(source).unwrap_or_default()),
                };
            }
            let structured = reply.structured.map_or(Ok(()), |value| write!(told, "\nstructured {value}"));
            structured
                .and_then(|()| reply.message.blocks.map_or(Ok(()), |blocks| write!(told, "\nblocks {} {}", blocks.family, blocks.value)))
        }
        Err(failure) => {
            let tokens = failure.tokens.map(|tokens| (tokens.prompt, tokens.completion));
            write!(told, "\n{}: {} {tokens:?}", failure.fault.code.as_str(), failure.fault.message)
        }
    };
    told
}
