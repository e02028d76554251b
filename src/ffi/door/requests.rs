//! Owns the JSON of native requests: common members, and the requests that open a stream.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::stream_state::Behind;
use super::engine::Engine;
use super::source::{self, Source};
use super::stream::Stream;
use super::super::fault::{Code, Fault};
use crate::engine::{From, Order};
use crate::error::Error;
use crate::http::sse;
use crate::model::event::EntityKind;
use crate::model::trace_context::TraceContext;
use crate::studio::runs::requests::{ResumeRequest, RunRequest};
use crate::studio::{Scope, Started, StreamSlot, Studio};

/// Longest text that a call takes.
const LONGEST: usize = 16 * 1024 * 1024;

/// A JSON value; nothing is `null`.
pub(super) fn value(text: &[u8]) -> Result<Value, Fault> {
    if text.is_empty() {
        return Ok(Value::Null);
    }
    if text.len() > LONGEST {
        return Err(Fault::invalid("the text is longer than 16 MiB"));
    }
    serde_json::from_slice(text).map_err(|error| Fault::invalid(&format!("this is not JSON: {error}")))
}

/// A JSON object; nothing is an empty one.
pub(super) fn object(text: &[u8]) -> Result<Map<String, Value>, Fault> {
    match value(text)? {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Err(Fault::invalid("a JSON object is expected")),
    }
}

/// A text member.
pub(super) fn text<'a>(request: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, Fault> {
    match request.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Error::field(name, format!("`{name}` is not text")).into()),
    }
}

/// A text member that must be there.
pub(super) fn required<'a>(request: &'a Map<String, Value>, name: &str) -> Result<&'a str, Fault> {
    text(request, name)?.ok_or_else(|| Error::field(name, format!("`{name}` is required")).into())
}

/// Who asks, and for whom.
pub(super) struct Who {
    pub(super) tenant: String,
    pub(super) user: Option<Value>,
}

/// The `tenant` and `user` of a request.
pub(super) fn who(request: &Map<String, Value>) -> Result<Who, Fault> {
    let user = request.get("user").filter(|user| !user.is_null()).cloned();
    Ok(Who { tenant: text(request, "tenant")?.unwrap_or_default().to_owned(), user })
}

/// Whose data is asked for.
pub(super) fn scope(request: &Map<String, Value>) -> Result<Scope, Fault> {
    let Who { tenant, user } = who(request)?;
    Ok(Scope { tenant: tenant.into(), user })
}

/// The span of the host that a request is part of; one that is malformed is none.
pub(super) fn trace(request: &Map<String, Value>) -> Option<Arc<TraceContext>> {
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    TraceContext::parse(text("traceparent")?, text("tracestate")).map(Arc::new)
}

fn order(request: &Map<String, Value>) -> Result<Order, Fault> {
    match text(request, "order")? {
        None | Some("ordered") => Ok(Order::Ordered),
        Some("live") => Ok(Order::Live),
        Some(_) => Err(Error::field("order", "`order` is `ordered` or `live`").into()),
    }
}

/// True when the stream itself is to bring the calls to the host.
pub(super) fn inline(request: &Map<String, Value>) -> Result<bool, Fault> {
    match text(request, "host_calls")? {
        None => Ok(false),
        Some("inline") => Ok(true),
        Some(_) => Err(Error::field("host_calls", "`host_calls` is `inline` or absent").into()),
    }
}

/// A stream that can be opened.
pub(super) struct Ready {
    pub(super) source: Source,
    pub(super) behind: Behind,
    pub(super) slot: StreamSlot,
    inline: bool,
}

impl Ready {
    pub(super) fn into_stream(self, engine: &Arc<Engine>) -> Arc<Stream> {
        Stream::new(engine, self.source, sse::opening(), Some((self.behind, self.slot)), self.inline)
    }
}

/// `{workflow | agent, tenant, user, order?, host_calls?, traceparent?, tracestate?, …run body}`.
pub(super) async fn run(studio: &Studio, request: Map<String, Value>) -> Result<Ready, Fault> {
    let (entity, id) = match (text(&request, "workflow")?, text(&request, "agent")?) {
        (Some(id), None) => (EntityKind::Workflow, id.to_owned()),
        (None, Some(id)) => (EntityKind::Agent, id.to_owned()),
        (None, None) | (Some(_), Some(_)) => return Err(Error::field("workflow", "either `workflow` or `agent` is required").into()),
    };
    let form = AnswerForm::read(studio, &request)?;
    let trace = trace(&request);
    let body = match RunRequest::parse(&Value::Object(request), entity) {
        Ok(body) => RunRequest { trace, ..body },
        Err(wrong) => {
            // A missing object is reported before an invalid request.
            studio.must_know_entity(&form.scope, entity, &id).await?;
            return Err(wrong.into());
        }
    };
    let cancels = body.cancel_on_disconnect;
    let started = studio.start(&form.scope, entity, &id, body, false).await?;
    form.ready(studio, started, cancels).await
}

/// `{trace_id, tenant, user, order?, host_calls?, traceparent?, tracestate?, …resume body}`.
pub(super) async fn resume(studio: &Studio, request: Map<String, Value>) -> Result<Ready, Fault> {
    let run = required(&request, "trace_id")?.to_owned();
    let form = AnswerForm::read(studio, &request)?;
    let trace = trace(&request);
    let body = match ResumeRequest::parse(&Value::Object(request)) {
        Ok(body) => ResumeRequest { trace, ..body },
        Err(wrong) => {
            studio.must_know_run(&form.scope, &run).await?;
            return Err(wrong.into());
        }
    };
    let cancels = body.cancel_on_disconnect;
    let started = studio.resume(&form.scope, &run, body, false).await?;
    form.ready(studio, started, cancels).await
}

/// The form of an answer.
struct AnswerForm {
    scope: Scope,
    order: Order,
    inline: bool,
    /// Taken before anything is done: too many open streams are refused, not half done.
    slot: StreamSlot,
}

impl AnswerForm {
    fn read(studio: &Studio, request: &Map<String, Value>) -> Result<Self, Fault> {
        Ok(Self { scope: scope(request)?, order: order(request)?, inline: inline(request)?, slot: studio.stream_slot()? })
    }

    async fn ready(self, studio: &Studio, started: Started, cancels: bool) -> Result<Ready, Fault> {
        let run = started.run.to_string();
        let cancel_on_leave = studio.fence_here(&run).filter(|_| cancels);
        let from = From { order: self.order, after: started.after_in(self.order) };
        let source = source::events(studio, &self.scope, &run, from).await?;
        Ok(Ready { source, behind: Behind { scope: self.scope, run, cancel_on_leave }, inline: self.inline, slot: self.slot })
    }
}

/// An unknown operation.
pub(super) fn unknown(op: &str) -> Fault {
    Fault::new(Code::NotFound, &format!("there is no operation `{op}`; `ops` lists them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_object_is_refused_and_nothing_is_an_empty_one() {
        for text in ["[]", "1", "{", "\"x\"", "{\"a\":}", "\u{0}"] {
            assert!(object(text.as_bytes()).is_err(), "{text}");
        }
        assert!(object(b"\xff{}").is_err());
        assert_eq!(object(b"").ok(), Some(Map::new()));
    }

    #[test]
    fn a_user_is_whoever_is_named_and_null_names_nobody() {
        let asks = |text: &str| who(&object(text.as_bytes()).ok().expect("an object")).ok().map(|who| (who.tenant, who.user));
        assert_eq!(asks(r#"{"tenant":"a","user":{"id":7}}"#), Some(("a".to_owned(), Some(serde_json::json!({"id": 7})))));
        assert_eq!(asks(r#"{"user":null}"#), Some((String::new(), None)));
        assert_eq!(asks(r#"{"tenant":7}"#), None);
    }
}
