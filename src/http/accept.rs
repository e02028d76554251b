//! Owns the acceptance of runs, resumes, retries and chat turns: checked, executed once per key, then streamed or queued.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderValue, StatusCode};
use serde_json::Value;

use super::call::Call;
use super::sse::position::Position;
use super::{answer, idempotency, sse};
use crate::engine::{Follow, From, Order};
use crate::error::{Error, Kind, Result};
use crate::http::cancel_on_drop::CancelOnDrop;
use crate::model::event::EntityKind;
use crate::model::trace_context::TraceContext;
use crate::store::upkeep::request_keys::RequestKey;
use crate::studio::runs::requests::{ResumeRequest, RetryRequest, RunRequest};
use crate::studio::{Scope, Started, Studio};

/// What is to be accepted, and of what.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    Start(EntityKind),
    Resume,
    Retry,
}

impl Act {
    /// As keys are kept under.
    const fn route(self, queued: bool) -> &'static str {
        match (self, queued) {
            (Self::Start(EntityKind::Agent), _) => "chat/stream",
            (Self::Start(EntityKind::Workflow), true) => "run",
            (Self::Start(EntityKind::Workflow), false) => "run/stream",
            (Self::Resume, true) => "resume",
            (Self::Resume, false) => "resume/stream",
            (Self::Retry, true) => "retry",
            (Self::Retry, false) => "retry/stream",
        }
    }

    /// What the answer of a queued request says.
    const fn members(self) -> &'static [&'static str] {
        match self {
            Self::Start(_) => &["trace_id", "status", "thread_id"],
            Self::Resume => &["trace_id", "status", "pause_id"],
            Self::Retry => &["trace_id", "status"],
        }
    }
}

impl Act {
    /// Refuses what is asked of something that there is not.
    async fn must_be_there(self, studio: &Studio, scope: &Scope, id: &str) -> Result<()> {
        match self {
            Self::Start(entity) => studio.must_know_entity(scope, entity, id).await,
            Self::Resume | Self::Retry => studio.must_know_run(scope, id).await,
        }
    }
}

/// A body that was checked.
enum Request {
    Start(EntityKind, Box<RunRequest>),
    Resume(Box<ResumeRequest>),
    Retry(Box<RetryRequest>),
}

impl Request {
    fn read(act: Act, body: &Value, key: Option<RequestKey>, trace: Option<Arc<TraceContext>>) -> Result<Self> {
        Ok(match act {
            Act::Start(entity) => Self::Start(entity, Box::new(RunRequest { key, trace, ..RunRequest::parse(body, entity)? })),
            Act::Resume => Self::Resume(Box::new(ResumeRequest { key, trace, ..ResumeRequest::parse(body)? })),
            Act::Retry => Self::Retry(Box::new(RetryRequest { key, trace, ..RetryRequest::parse(body)? })),
        })
    }

    fn cancels(&self) -> bool {
        match self {
            Self::Start(_, request) => request.cancel_on_disconnect,
            Self::Resume(request) => request.cancel_on_disconnect,
            Self::Retry(_) => false,
        }
    }

    async fn begin(self, studio: &Studio, scope: &Scope, id: &str, queued: bool) -> Result<Started> {
        match self {
            Self::Start(entity, request) => studio.start(scope, entity, id, *request, queued).await,
            Self::Resume(request) => studio.resume(scope, id, *request, queued).await,
            Self::Retry(request) => studio.retry(scope, id, *request, queued).await,
        }
    }
}

/// A request on its way to being accepted; it goes on when its client leaves.
struct PendingRequest {
    studio: Studio,
    scope: Scope,
    id: String,
    act: Act,
    request: Result<Request>,
    queued: bool,
    key: Option<RequestKey>,
}

struct Accepted {
    /// In the form of [`Started::accepted_json`].
    accepted_json: Value,
    replayed: bool,
    cancel_on_drop: Option<CancelOnDrop>,
}

impl Accepted {
    /// The position before the first event of the answer. Answers of earlier builds name it in the order of branches alone.
    fn after(&self, order: Order) -> u64 {
        let named = |name: &str| self.accepted_json.get(name).and_then(Value::as_u64);
        let live = if order == Order::Live { named("after_live") } else { None };
        live.or_else(|| named("after")).unwrap_or(0)
    }
}

impl PendingRequest {
    fn of(call: &Call, act: Act, id: &str, queued: bool) -> Result<Self> {
        let key = idempotency::key_of(&call.headers, act.route(queued), id, &call.body)?;
        let request = Request::read(act, &call.body, key.clone(), call.trace());
        Ok(Self { studio: call.studio.clone(), scope: call.scope.clone(), id: id.to_owned(), act, request, queued, key })
    }

    /// In a task of its own: a client who leaves half-way leaves nothing half done.
    async fn accept(self) -> Result<Accepted> {
        let studio = self.studio.clone();
        studio.on_runtime(self.accept_once()).await
    }

    async fn accept_once(self) -> Result<Accepted> {
        let Self { studio, scope, id, act, request, queued, key } = self;
        let request = match request {
            Ok(request) => request,
            Err(wrong) => {
                // A missing object is reported before an invalid body.
                act.must_be_there(&studio, &scope, &id).await?;
                return Err(wrong);
            }
        };
        if let Some(key) = &key
            && let Some(accepted_json) = idempotency::answer_of(&studio, &scope, key).await?
        {
            return Ok(Accepted { accepted_json, replayed: true, cancel_on_drop: None });
        }
        let cancels_on_drop = request.cancels() && !queued;
        match (request.begin(&studio, &scope, &id, queued).await, key) {
            (Ok(started), _) => {
                let cancel_on_drop = cancels_on_drop.then(|| CancelOnDrop::new(studio, scope, started.run.to_string()));
                Ok(Accepted { accepted_json: started.accepted_json(), replayed: false, cancel_on_drop })
            }
            (Err(error), Some(key)) => Err(idempotency::refusal(&studio, &scope, &key, error).await),
            (Err(error), None) => Err(error),
        }
    }
}

/// Queues what is asked for and says so.
pub(super) async fn queued(call: Call, act: Act, id: &str) -> Result<Response> {
    if !call.studio.config().async_runs_enabled {
        let text = "queued runs are off; nothing was done; set `async_runs_enabled`, or use the route that ends in `/stream`";
        return Err(Error::new(Kind::AsyncDisabled, text));
    }
    let accepted = PendingRequest::of(&call, act, id, true)?.accept().await?;
    let mut body = accepted.accepted_json;
    if let Value::Object(accepted_json) = &mut body {
        accepted_json.retain(|name, _| act.members().contains(&name.as_str()));
    }
    let mut response = answer::json(StatusCode::ACCEPTED, &body);
    if accepted.replayed {
        response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Executes the request and streams it.
pub(super) async fn streamed(call: Call, act: Act, id: &str) -> Result<Response> {
    let position = Position::of(&call)?;
    let pending = PendingRequest::of(&call, act, id, false)?;
    let slot = call.studio.stream_slot()?;
    let accepted = pending.accept().await?;
    let run = accepted.accepted_json.get("trace_id").and_then(Value::as_str).unwrap_or_default();
    let first = accepted.after(position.order);
    let fresh = From { order: position.order, after: first };
    let from = if accepted.replayed { position.not_before(first) } else { fresh };
    let events = call.studio.events(&call.scope, run, from, Follow::Answer).await?;
    let Some(events) = events else { return Ok(answer::nothing()) };
    Ok(sse::answer(events, slot, accepted.cancel_on_drop, sse::pace(&call.studio)?))
}
