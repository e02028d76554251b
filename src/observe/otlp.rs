//! Owns pieces of runs in OTLP: the spans of a batch in one request.

use std::sync::Arc;

use super::conventions::Attribute;
use super::piece::{Piece, Request};

/// The requests that send these pieces; `more` gives attributes besides the conventions.
#[cfg(feature = "otlp")]
pub(super) fn requests(pieces: &[Arc<Piece>], (environment, content): (&str, bool), more: impl Fn(&Piece) -> Vec<Attribute>) -> Vec<Request> {
    use prost::Message as _;

    let spans = pieces.iter().map(|piece| messages::span(piece, content, more(piece))).collect();
    let body = messages::export(spans, environment).encode_to_vec();
    vec![Request { body: body.into(), pieces: pieces.len() as u64 }]
}

/// This build has no OpenTelemetry: requests are empty, and collectors refuse them.
#[cfg(not(feature = "otlp"))]
pub(super) fn requests(pieces: &[Arc<Piece>], _about: (&str, bool), _more: impl Fn(&Piece) -> Vec<Attribute>) -> Vec<Request> {
    vec![Request { body: bytes::Bytes::new(), pieces: pieces.len() as u64 }]
}

/// How many spans a collector says it did not accept; none when its answer says nothing.
#[cfg(feature = "otlp")]
pub(super) fn rejected(answer: &[u8]) -> u64 {
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
    use prost::Message as _;

    let told = ExportTraceServiceResponse::decode(answer).ok().and_then(|told| told.partial_success);
    told.and_then(|told| u64::try_from(told.rejected_spans).ok()).unwrap_or(0)
}

#[cfg(not(feature = "otlp"))]
pub(super) fn rejected(_answer: &[u8]) -> u64 {
    0
}

#[cfg(feature = "otlp")]
pub(super) mod messages {
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, any_value};
    use opentelemetry_proto::tonic::resource::v1::Resource;
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, span::Link};
    use serde_json::Value;

    use crate::model::Timestamp;
    use crate::observe::conventions::{self, Attribute};
    use crate::model::trace_context::TraceContext;
    use crate::observe::piece::{Piece, Work};

    const INTERNAL: i32 = 1;
    const CLIENT: i32 = 3;
    const ERROR: i32 = 2;
    /// It is known whether the parent is another system's, and it is.
    const PARENT_KNOWN: u32 = 0x100;
    const REMOTE: u32 = 0x200;

    pub(super) fn export(spans: Vec<Span>, environment: &str) -> ExportTraceServiceRequest {
        let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans, ..Default::default() }];
        ExportTraceServiceRequest { resource_spans: vec![ResourceSpans { resource: Some(resource(environment, None)), scope_spans, ..Default::default() }] }
    }

    /// The sender.
    pub(in crate::observe) fn resource(environment: &str, instance: Option<&str>) -> Resource {
        let about = [
            ("service.name", "workflow-studio"),
            ("service.version", env!("CARGO_PKG_VERSION")),
            ("deployment.environment.name", environment),
        ];
        let about = about.into_iter().chain(instance.map(|instance| ("service.instance.id", instance))).map(|(name, text)| attribute(name, &Value::String(text.into()))).collect();
        Resource { attributes: about, ..Default::default() }
    }

    pub(in crate::observe) fn scope() -> InstrumentationScope {
        InstrumentationScope { name: "studio".into(), version: env!("CARGO_PKG_VERSION").into(), ..Default::default() }
    }

    pub(super) fn span(piece: &Piece, content: bool, more: Vec<Attribute>) -> Span {
        let outward = matches!(piece.work, Work::Chat | Work::Embedding);
        let attributes = conventions::attributes(piece, content).into_iter().chain(more);
        Span {
            trace_id: piece.run.trace().to_be_bytes().to_vec(),
            trace_state: piece.run.began_in.iter().find_map(|host| host.state.as_deref()).unwrap_or_default().into(),
            flags: flags(piece),
            links: piece.links.iter().map(|host| link(host)).collect(),
            span_id: piece.id.to_be_bytes().to_vec(),
            parent_span_id: piece.parent.map(|id| id.to_be_bytes().to_vec()).unwrap_or_default(),
            name: conventions::name(piece),
            kind: if outward { CLIENT } else { INTERNAL },
            start_time_unix_nano: nanos(piece.started),
            end_time_unix_nano: nanos(piece.ended),
            attributes: attributes.map(|(name, value)| attribute(name, &value)).collect(),
            status: piece.failure(content).map(|(_, message)| Status { message: message.to_owned(), code: ERROR }),
            ..Default::default()
        }
    }

    /// The flags of the host's span that the run began in; its root says that its parent is another system's.
    fn flags(piece: &Piece) -> u32 {
        let Some(host) = &piece.run.began_in else { return 0 };
        let remote = if piece.work == Work::Run { REMOTE } else { 0 };
        u32::from(host.flags) | PARENT_KNOWN | remote
    }

    fn link(host: &TraceContext) -> Link {
        Link {
            trace_id: host.trace.to_be_bytes().to_vec(),
            span_id: host.span.to_be_bytes().to_vec(),
            trace_state: host.state.as_deref().unwrap_or_default().into(),
            flags: u32::from(host.flags) | PARENT_KNOWN | REMOTE,
            ..Default::default()
        }
    }

    pub(in crate::observe) fn nanos(at: Timestamp) -> u64 {
        u64::try_from(at.0).unwrap_or(0).saturating_mul(1_000_000)
    }

    pub(in crate::observe) fn attribute(name: &str, value: &Value) -> KeyValue {
        KeyValue { key: name.into(), value: Some(AnyValue { value: any(value) }), ..Default::default() }
    }

    fn any(value: &Value) -> Option<any_value::Value> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(on) => any_value::Value::BoolValue(*on),
            Value::Number(number) => match number.as_i64() {
                Some(count) => any_value::Value::IntValue(count),
                None => any_value::Value::DoubleValue(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => any_value::Value::StringValue(text.clone()),
            Value::Array(items) => {
                let values = items.iter().map(|item| AnyValue { value: any(item) }).collect();
                any_value::Value::ArrayValue(ArrayValue { values })
            }
            Value::Object(_) => any_value::Value::StringValue(value.to_string()),
        })
    }
}
