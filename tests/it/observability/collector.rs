//! Owns the collector of tests: it keeps what it is sent, and behaves as a test wants.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use http::{HeaderMap, StatusCode, Uri};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::{HistogramDataPoint, Metric, metric};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// How it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Takes,
    /// It takes all but one.
    Rejects,
    Hangs,
    Says(u16),
    Garbage,
    /// It asks to come again, the given number of times, then takes.
    Busy(u32),
}

/// One request.
#[derive(Clone, Debug)]
pub struct Sent {
    pub path: String,
    pub headers: HashMap<String, String>,
    pub body: Bytes,
}

struct Seen {
    manner: Mutex<Manner>,
    sent: Mutex<Vec<Sent>>,
    measured: Mutex<Vec<Sent>>,
    arrival: Notify,
}

/// A collector on a free port of this machine.
pub struct Collector {
    pub port: u16,
    seen: Arc<Seen>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Collector {
    pub async fn start(manner: Manner) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Seen { manner: Mutex::new(manner), sent: Mutex::default(), measured: Mutex::default(), arrival: Notify::new() });
        let app = axum::Router::new().fallback(any(answer)).with_state(Arc::clone(&seen));
        let task = tokio::spawn(async move { axum::serve(listener, app).await.expect("a server") });
        Self { port, seen, task }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it was sent, metrics aside.
    pub fn sent(&self) -> Vec<Sent> {
        self.seen.sent.lock().expect("a lock").clone()
    }

    /// The metrics that it was told last, as lines.
    pub fn metrics(&self) -> String {
        let measured = self.seen.measured.lock().expect("a lock");
        let last = measured.last().map(|sent| ExportMetricsServiceRequest::decode(sent.body.clone()).expect("a request"));
        let told = last.into_iter().flat_map(|request| request.resource_metrics).flat_map(|metrics| metrics.scope_metrics);
        let mut lines: Vec<String> = told.flat_map(|metrics| metrics.metrics).flat_map(|metric| measured_lines(&metric)).collect();
        lines.sort();
        lines.concat()
    }

    /// The engines whose metrics it was told.
    pub fn instances(&self) -> Vec<String> {
        let measured = self.seen.measured.lock().expect("a lock");
        let requests = measured.iter().map(|sent| ExportMetricsServiceRequest::decode(sent.body.clone()).expect("a request"));
        let resources = requests.flat_map(|request| request.resource_metrics).filter_map(|metrics| metrics.resource);
        resources.filter_map(|resource| resource.attributes.iter().find(|said| said.key == "service.instance.id").map(|said| format!("{:?}", said.value))).collect()
    }

    /// Requests with metrics.
    pub fn measured(&self) -> Vec<Sent> {
        self.seen.measured.lock().expect("a lock").clone()
    }

    /// Waits until something is so.
    pub async fn until(&self, so: impl Fn(&Self) -> bool) {
        let wait = async {
            loop {
                let arrival = self.seen.arrival.notified();
                tokio::pin!(arrival);
                arrival.as_mut().enable();
                if so(self) {
                    return;
                }
                arrival.await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), wait).await.expect("the collector is told in time");
    }

    /// All spans, in the order in which they were told.
    pub fn spans(&self) -> Vec<Span> {
        let requests = self.sent().into_iter().map(|sent| ExportTraceServiceRequest::decode(sent.body).expect("a request"));
        requests.flat_map(|request| request.resource_spans).flat_map(|spans| spans.scope_spans).flat_map(|spans| spans.spans).collect()
    }

    /// The spans as a tree, without what differs from run to run.
    pub fn tree(&self) -> String {
        let spans = self.spans();
        let known: Vec<&[u8]> = spans.iter().map(|span| &*span.span_id).collect();
        assert!(known.iter().enumerate().all(|(at, id)| !known[..at].contains(id)), "each span is told once");
        let mut text = String::new();
        let roots = spans.iter().filter(|span| !known.contains(&&*span.parent_span_id));
        roots.for_each(|root| branch(&spans, root, 0, &mut text));
        text
    }
}

fn measured_lines(metric: &Metric) -> Vec<String> {
    let Some(metric::Data::Histogram(histogram)) = &metric.data else { panic!("{metric:?}") };
    assert_eq!(histogram.aggregation_temporality, 2, "counted from the beginning");
    let line = |point: &HistogramDataPoint| {
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
        assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
        assert!(point.start_time_unix_nano > 0 && point.start_time_unix_nano <= point.time_unix_nano);
        let mut about: Vec<String> = point.attributes.iter().filter_map(shown).collect();
        about.sort();
        let sum = if metric.unit == "s" { String::new() } else { format!(" sum={}", point.sum.expect("a sum")) };
        format!("{} {} count={}{sum} {}\n", metric.name, metric.unit, point.count, about.join(" "))
    };
    histogram.data_points.iter().map(line).collect()
}

fn branch(spans: &[Span], span: &Span, depth: usize, text: &mut String) {
    assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
    assert!(span.start_time_unix_nano > 0 && span.start_time_unix_nano <= span.end_time_unix_nano, "{span:?}");
    let mut told: Vec<String> = span.attributes.iter().filter_map(shown).collect();
    told.sort();
    let status = span.status.as_ref().map(|status| format!(" !{}:{}", status.code, status.message)).unwrap_or_default();
    let orphan = if depth == 0 && !span.parent_span_id.is_empty() { "(its parent is not told) " } else { "" };
    let _ = writeln!(text, "{}{orphan}{} [{}]{status} {}", "  ".repeat(depth), span.name, span.kind, told.join(" "));
    for child in spans.iter().filter(|child| child.parent_span_id == span.span_id) {
        branch(spans, child, depth + 1, text);
    }
}

/// An attribute; those that differ from run to run only say that they are there.
fn shown(attribute: &KeyValue) -> Option<String> {
    let value = plain(attribute.value.as_ref()?);
    let differs = value.as_str().is_some_and(|text| uuid::Uuid::try_parse(text).is_ok());
    let made = value.as_str().is_some_and(|text| text.len() == 29 && text.starts_with("call_"));
    let value = if differs || made { json!("id") } else { value };
    let same = ["gen_ai.response.time_to_first_chunk", "gen_ai.conversation.id", "session.id", "studio.run.id", "studio.step.id", "studio.usage.currency", "studio.waiting_ms"];
    (!same.contains(&attribute.key.as_str())).then(|| format!("{}={value}", attribute.key))
}

pub fn plain(value: &AnyValue) -> Value {
    match &value.value {
        None => Value::Null,
        Some(Any::StringValue(text)) => json!(text),
        Some(Any::BoolValue(on)) => json!(on),
        Some(Any::IntValue(count)) => json!(count),
        Some(Any::DoubleValue(number)) => json!(number),
        Some(Any::ArrayValue(items)) => items.values.iter().map(plain).collect(),
        Some(other) => panic!("{other:?}"),
    }
}

/// An attribute of a span.
pub fn attribute(span: &Span, name: &str) -> Value {
    let found = span.attributes.iter().find(|attribute| attribute.key == name);
    found.and_then(|attribute| attribute.value.as_ref()).map(plain).unwrap_or_default()
}

async fn answer(State(seen): State<Arc<Seen>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap_or("?").to_owned())).collect();
    let sent = Sent { path: uri.path().to_owned(), headers, body };
    if uri.path().ends_with("/v1/metrics") {
        seen.measured.lock().expect("a lock").push(sent);
        seen.arrival.notify_waiters();
        let manner = *seen.manner.lock().expect("a lock");
        return match manner {
            Manner::Hangs => std::future::pending().await,
            Manner::Says(code) => StatusCode::from_u16(code).expect("a status").into_response(),
            Manner::Takes | Manner::Rejects | Manner::Garbage | Manner::Busy(_) => StatusCode::OK.into_response(),
        };
    }
    seen.sent.lock().expect("a lock").push(sent);
    let manner = {
        let mut manner = seen.manner.lock().expect("a lock");
        let now = *manner;
        if let Manner::Busy(left) = now {
            *manner = if left > 1 { Manner::Busy(left - 1) } else { Manner::Takes };
        }
        now
    };
    seen.arrival.notify_waiters();
    match manner {
        Manner::Takes => StatusCode::OK.into_response(),
        Manner::Rejects => {
            let partial_success = Some(ExportTracePartialSuccess { rejected_spans: 1, error_message: "too old".into() });
            ExportTraceServiceResponse { partial_success }.encode_to_vec().into_response()
        }
        Manner::Hangs => std::future::pending().await,
        Manner::Says(code) => StatusCode::from_u16(code).expect("a status").into_response(),
        Manner::Garbage => vec![0xff; 200_000].into_response(),
        Manner::Busy(_) => (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", "0")]).into_response(),
    }
}
