//! Owns the operations of `call`: their names, and for each a route or a method.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Method, Request};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::super::fault::{Code, Fault};
use super::about::about;
use super::http::whole;
use super::requests::{self, object, required, text};
use crate::error::{Error, Kind};
use crate::http::{HostMarks, RUN_FILTERS, dispatch};
use crate::studio::{Studio, UsageWindow};
use crate::sync::Mutex;

/// What `call` can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ffi) enum Op {
    Ops,
    About,
    Start,
    Health,
    Backup,
    TraceGet,
    TraceList,
    RunCancel,
    RunRetry,
    ThreadList,
    ThreadGet,
    UsageQuery,
    UsageRun,
    UsageRebuild,
    GraphValidate,
    WorkflowSave,
    AgentSave,
    TemplateList,
    TemplateGet,
    TemplateInstall,
    ClassRegister,
    WorkerStep,
    Command,
}

/// A route: members of the request fill `{…}` of the path and the query; the whole request is the body where there is one.
struct Route {
    method: Method,
    path: &'static str,
    query: &'static [&'static str],
}

/// How an operation is done.
enum Handler {
    Names,
    About,
    Start,
    Health,
    Backup,
    Route(Route),
    Save(&'static str),
    UsageQuery,
    UsageRun,
    ClassRegister,
    WorkerStep,
    Command,
    UsageRebuild,
}

const fn get(path: &'static str, query: &'static [&'static str]) -> Handler {
    Handler::Route(Route { method: Method::GET, path, query })
}

const fn post(path: &'static str) -> Handler {
    Handler::Route(Route { method: Method::POST, path, query: &[] })
}

const THREADS: &[&str] = &["entity_type", "entity_id", "q", "limit", "cursor"];

impl Op {
    /// All of them, in the order in which they are listed.
    pub(in crate::ffi) const ALL: [Self; 23] = [
        Self::Ops,
        Self::About,
        Self::Start,
        Self::Health,
        Self::Backup,
        Self::TraceGet,
        Self::TraceList,
        Self::RunCancel,
        Self::RunRetry,
        Self::ThreadList,
        Self::ThreadGet,
        Self::UsageQuery,
        Self::UsageRun,
        Self::UsageRebuild,
        Self::GraphValidate,
        Self::WorkflowSave,
        Self::AgentSave,
        Self::TemplateList,
        Self::TemplateGet,
        Self::TemplateInstall,
        Self::ClassRegister,
        Self::WorkerStep,
        Self::Command,
    ];

    fn row(self) -> (&'static str, Handler) {
        match self {
            Self::Ops => ("ops", Handler::Names),
            Self::About => ("about", Handler::About),
            Self::Start => ("start", Handler::Start),
            Self::Health => ("health", Handler::Health),
            Self::Backup => ("backup", Handler::Backup),
            Self::TraceGet => ("trace.get", get("/api/runs/{trace_id}", &["include", "snapshots", "payloads"])),
            Self::TraceList => ("trace.list", get("/api/runs", RUN_FILTERS)),
            Self::RunCancel => ("run.cancel", post("/api/runs/{trace_id}/cancel")),
            Self::RunRetry => ("run.retry", post("/api/runs/{trace_id}/retry")),
            Self::ThreadList => ("thread.list", get("/api/threads", THREADS)),
            Self::ThreadGet => ("thread.get", get("/api/threads/{thread_id}", &["limit", "cursor", "include"])),
            Self::UsageQuery => ("usage.query", Handler::UsageQuery),
            Self::UsageRun => ("usage.run", Handler::UsageRun),
            Self::UsageRebuild => ("usage.rebuild", Handler::UsageRebuild),
            Self::GraphValidate => ("graph.validate", post("/api/graph/validate")),
            Self::WorkflowSave => ("workflow.save", Handler::Save("/api/workflows")),
            Self::AgentSave => ("agent.save", Handler::Save("/api/agents")),
            Self::TemplateList => ("template.list", get("/api/templates", &["type", "complexity", "category", "tag", "q"])),
            Self::TemplateGet => ("template.get", get("/api/templates/{type}/{id}", &[])),
            Self::TemplateInstall => ("template.install", post("/api/templates/{type}/{id}/install")),
            Self::ClassRegister => ("class.register", Handler::ClassRegister),
            Self::WorkerStep => ("worker.step", Handler::WorkerStep),
            Self::Command => ("command", Handler::Command),
        }
    }

    /// As callers name it.
    pub(in crate::ffi) fn name(self) -> &'static str {
        self.row().0
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|op| op.name() == name)
    }
}

/// Does one operation; the answer is JSON.
pub(super) async fn call(studio: &Studio, op: &str, request: &[u8]) -> Result<Vec<u8>, Fault> {
    let op = Op::named(op).ok_or_else(|| requests::unknown(op))?;
    answer(studio, op, object(request)?).await
}

/// As `call`, of what was read already.
pub(super) async fn answer(studio: &Studio, op: Op, request: Map<String, Value>) -> Result<Vec<u8>, Fault> {
    match op.row().1 {
        Handler::Names => Ok(json!({"ops": Op::ALL.map(Op::name)}).to_string().into_bytes()),
        Handler::About => Ok(about(studio).to_string().into_bytes()),
        Handler::Start => {
            studio.start_workers()?;
            Ok(b"{}".to_vec())
        }
        Handler::Health => health(studio, request).await,
        Handler::Backup => backup(studio, &request).await,
        Handler::Route(Route { method, path, query }) => {
            let path = format!("{}{}", filled(path, &request)?, asked(query, &request)?);
            ask(studio, method, &path, &request).await
        }
        Handler::Save(path) => save(studio, path, &request).await,
        Handler::UsageQuery => usage_query(studio, &request).await,
        Handler::UsageRun => usage_run(studio, &request).await,
        Handler::ClassRegister => class_register(studio, &request),
        Handler::WorkerStep => worker_step(studio, &request).await,
        Handler::Command => command(studio, &request).await,
        Handler::UsageRebuild => {
            studio.rebuild_usage().await?;
            Ok(b"{}".to_vec())
        }
    }
}

/// The usage of one run (`{run}`), or of all runs of a time.
pub(super) async fn usage(studio: &Studio, query: &[u8]) -> Result<Vec<u8>, Fault> {
    let query = object(query)?;
    if text(&query, "run")?.is_some() { usage_run(studio, &query).await } else { usage_query(studio, &query).await }
}

async fn usage_query(studio: &Studio, request: &Map<String, Value>) -> Result<Vec<u8>, Fault> {
    Ok(studio.usage(&requests::scope(request)?, UsageWindow::parse(request)?).await?.to_bytes())
}

async fn usage_run(studio: &Studio, request: &Map<String, Value>) -> Result<Vec<u8>, Fault> {
    let usage = studio.usage_run(&requests::scope(request)?, required(request, "run")?).await?;
    Ok(usage.to_string().into_bytes())
}

/// The database answers; how many runs are where.
async fn health(studio: &Studio, request: Map<String, Value>) -> Result<Vec<u8>, Fault> {
    let counts = ask(studio, Method::GET, "/api/runs/counts", &request).await?;
    let health = json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "runs": requests::value(&counts)?});
    Ok(health.to_string().into_bytes())
}

/// A backup of the database by the library, because no other program may open the file.
async fn backup(studio: &Studio, request: &Map<String, Value>) -> Result<Vec<u8>, Fault> {
    let path = required(request, "path")?;
    let made = studio.backup(Path::new(path)).await?;
    let files = made.files.map(|files| files.json());
    Ok(json!({"path": path, "attachments": files, "resting_runs": made.resting}).to_string().into_bytes())
}

/// Executes one queued run, or one with an expired lease, until it pauses or ends: for hosts with short processes.
async fn worker_step(studio: &Studio, request: &Map<String, Value>) -> Result<Vec<u8>, Fault> {
    let mut working = studio.working(text(request, "queue")?, Some(1))?;
    working.once = true;
    let ended = Arc::new(Mutex::new(None));
    let told = Arc::clone(&ended);
    let stop = CancellationToken::new();
    // Whoever gives the step up while nothing is taken yet takes nothing.
    let _given_up = stop.clone().drop_guard();
    studio.work(working, stop, move |finished| *told.lock() = Some(finished)).await?;
    let answer = match *ended.lock() {
        Some(done) => json!({"trace_id": done.run.to_string(), "status": done.status.as_str(), "duration_ms": done.millis}),
        None => json!({"trace_id": null}),
    };
    Ok(answer.to_string().into_bytes())
}

/// Registers a class of the host under its name, with what its `definition` returns.
fn class_register(studio: &Studio, request: &Map<String, Value>) -> Result<Vec<u8>, Fault> {
    studio.register_class(required(request, "class")?, request.get("definition").cloned().unwrap_or_default())?;
    Ok(b"{}".to_vec())
}

/// Runs a command of the command line; what it prints is the answer.
async fn command(studio: &Studio, request: &Map<String, Value>) -> Result<Vec<u8>, Fault> {
    let words = request.get("args").and_then(Value::as_array).map(|list| list.iter().map(|word| word.as_str().map(str::to_owned)).collect());
    let Some(Some(words)) = words else { return Err(Error::field("args", "`args` is a list of texts").into()) };
    let folder = text(request, "cwd")?.map(PathBuf::from);
    let written = crate::command::of_host(studio, words, folder).await;
    let answer = json!({"exit": written.exit.code(), "stdout": written.stdout, "stderr": written.stderr});
    Ok(answer.to_string().into_bytes())
}

/// Replaces the definition of that `id` or `slug`; one that is not there is made, unless it was named by its id. Of several processes that save one at
/// once, as those of a web server do when they start, the first makes it.
async fn save(studio: &Studio, path: &str, request: &Map<String, Value>) -> Result<Vec<u8>, Fault> {
    let id = text(request, "id")?;
    let Some(known) = id.or(text(request, "slug")?) else { return ask(studio, Method::POST, path, request).await };
    let one = format!("{path}/{}", encoded(known));
    match ask(studio, Method::PUT, &one, request).await {
        Err(fault) if id.is_none() && is_missing(&fault) => {}
        done => return done,
    }
    match ask(studio, Method::POST, path, request).await {
        Err(taken) if taken.problem["code"] == Kind::SlugTaken.code() => match ask(studio, Method::PUT, &one, request).await {
            Err(fault) if is_missing(&fault) => Err(taken),
            done => done,
        },
        done => done,
    }
}

const fn is_missing(fault: &Fault) -> bool {
    fault.code == Code::NotFound as i32
}

/// Asks a route in the host's own name: the host called, so neither the gate nor the middleware is asked.
async fn ask(studio: &Studio, method: Method, path: &str, request: &Map<String, Value>) -> Result<Vec<u8>, Fault> {
    let has_body = method != Method::GET;
    let body = if has_body { Value::Object(request.clone()).to_string().into_bytes() } else { Vec::new() };
    let mut asked = Request::new(body.into());
    *asked.method_mut() = method;
    let target = format!("/{}{path}", studio.config().route_prefix.trim_matches('/'));
    *asked.uri_mut() = target.parse().map_err(|_| Fault::invalid("the request is too long for a route"))?;
    asked.headers_mut().insert("x-requested-with", HeaderValue::from_static("studio"));
    if has_body {
        asked.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    for (name, value) in requests::trace(request).iter().flat_map(|trace| trace.members()) {
        asked.headers_mut().extend(HeaderValue::from_str(&value).ok().map(|value| (HeaderName::from_static(name), value)));
    }
    let requests::Who { tenant, user } = requests::who(request)?;
    let marks = HostMarks { user, tenant, gate: Some(true), authorized: true, ..HostMarks::default() };
    let answer = dispatch(studio, asked, marks).await;
    let status = answer.status();
    let bytes = whole(answer.into_body()).await?.to_vec();
    if status.is_success() { Ok(bytes) } else { Err(Fault::from_problem(status.as_u16(), &bytes)) }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The path with members of the request in the place of their names.
fn filled(path: &str, request: &Map<String, Value>) -> Result<String, Fault> {
    let Some((before, rest)) = path.split_once('{') else { return Ok(path.to_owned()) };
    let Some((name, after)) = rest.split_once('}') else { return Ok(path.to_owned()) };
    Ok(format!("{before}{}{}", encoded(required(request, name)?), filled(after, request)?))
}

/// The query: texts, numbers, and lists with commas.
fn asked(names: &[&str], request: &Map<String, Value>) -> Result<String, Fault> {
    let mut query = String::new();
    for name in names {
        let text = match request.get(*name) {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Array(parts)) if parts.iter().all(Value::is_string) => {
                parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
            }
            Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
                return Err(Error::field(name, format!("`{name}` is a text or a list of texts")).into());
            }
        };
        query.push(if query.is_empty() { '?' } else { '&' });
        query.push_str(&format!("{name}={}", encoded(&text)));
    }
    Ok(query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_found_by_its_own_name() {
        for op in Op::ALL {
            assert_eq!(Op::named(op.name()), Some(op));
        }
        assert_eq!(Op::named("OPS"), None);
    }

    #[test]
    fn members_reach_the_path_and_the_query_and_cannot_leave_them() {
        let Value::Object(request) = json!({"trace_id": "../a?b=1&c", "status": ["failed", "queued"], "limit": 7, "q": "a&b=c#d"}) else { return };
        assert_eq!(filled("/api/runs/{trace_id}/cancel", &request).ok().as_deref(), Some("/api/runs/%2E%2E%2Fa%3Fb%3D1%26c/cancel"));
        assert_eq!(asked(&["status", "q", "limit", "cursor"], &request).ok().as_deref(), Some("?status=failed%2Cqueued&q=a%26b%3Dc%23d&limit=7"));
        assert!(filled("/api/threads/{thread_id}", &request).is_err());
        let Value::Object(two) = json!({"type": "workflow", "id": "{type}/x"}) else { return };
        assert_eq!(filled("/api/templates/{type}/{id}/install", &two).ok().as_deref(), Some("/api/templates/workflow/%7Btype%7D%2Fx/install"));
    }
}
