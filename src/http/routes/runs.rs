//! Owns the routes of runs: start, resume, retry, cancel, tail, trace, lists. A trace is a run.

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::json;

use super::runs_query;
use crate::error::Result;
use crate::http::accept::{self, Act};
use crate::http::answer;
use crate::http::call::Call;
use crate::http::sse::tail::tail;
use crate::http::table::{Gives, Reads, Route};
use crate::model::event::EntityKind;
use crate::studio::TraceQuery;

const TRACE: &[&str] = &["include", "snapshots", "payloads"];
pub(super) fn routes() -> Vec<Route> {
    let mut routes = starting();
    routes.extend(running());
    routes.extend(reading());
    routes
}

fn starting() -> Vec<Route> {
    let workflow = Act::Start(EntityKind::Workflow);
    let agent = Act::Start(EntityKind::Agent);
    vec![
        Route::post("/workflows/{id}/run/stream", "streamRun", move |call| stream(call, workflow, "id"))
            .reads(Reads::Json("RunBody"))
            .starts()
            .tells(),
        Route::post("/workflows/{id}/run", "queueRun", move |call| queue(call, workflow, "id"))
            .reads(Reads::Json("RunBody"))
            .starts()
            .gives(202, Gives::Json("RunQueued"))
            .answers("Idempotency-Replayed"),
        Route::post("/agents/{id}/chat/stream", "streamChat", move |call| stream(call, agent, "id"))
            .reads(Reads::Json("ChatBody"))
            .starts()
            .tells(),
    ]
}

/// What can be done to a run.
fn running() -> Vec<Route> {
    vec![
        of_run("resume/stream", |path| Route::post(path, "streamResume", |call| stream(call, Act::Resume, "run")))
            .reads(Reads::Json("ResumeBody"))
            .starts()
            .tells(),
        of_run("resume", |path| Route::post(path, "queueResume", |call| queue(call, Act::Resume, "run")))
            .reads(Reads::Json("ResumeBody"))
            .starts()
            .gives(202, Gives::Json("ResumeQueued"))
            .answers("Idempotency-Replayed"),
        of_run("retry/stream", |path| Route::post(path, "streamRetry", |call| stream(call, Act::Retry, "run")))
            .reads(Reads::Json("RetryBody"))
            .starts()
            .tells(),
        of_run("retry", |path| Route::post(path, "queueRetry", |call| queue(call, Act::Retry, "run")))
            .reads(Reads::Json("RetryBody"))
            .starts()
            .gives(202, Gives::Json("RetryQueued"))
            .answers("Idempotency-Replayed"),
        of_run("cancel", |path| Route::post(path, "cancelRun", cancel)).gives(202, Gives::Json("RunCancelled")),
        of_run("events/stream", |path| Route::get(path, "tailRun", tail)).tells(),
    ]
}

/// An action under all three paths of a run.
fn of_run(action: &str, route: impl FnOnce(String) -> Route) -> Route {
    route(format!("/workflows/traces/{{run}}/{action}"))
        .also(format!("/workflows/runs/{{run}}/{action}"))
        .also(format!("/api/runs/{{run}}/{action}"))
}

/// What the list of all runs may be asked.
pub(crate) const LIST: &[&str] =
    &["status", "entity_type", "entity_id", "thread_id", "parent_run_id", "from", "to", "q", "model", "revision", "min_cost", "limit", "cursor"];

fn reading() -> Vec<Route> {
    vec![
        Route::get("/api/runs/{run}", "getRun", trace)
            .also("/workflows/traces/{run}/json")
            .also("/workflows/runs/{run}/json")
            .also("/traces/{run}/json")
            .query(TRACE)
            .gives(200, Gives::Json("TraceAnswer")),
        Route::new(Method::DELETE, "/api/runs/{run}", "deleteRun", delete).gives(204, Gives::Nothing),
        Route::get("/api/runs/{run}/steps/{step}", "getStep", step)
            .query(&["full"])
            .gives(200, Gives::Json("WholeStep")),
        Route::get("/api/runs", "listRuns", list)
            .query(LIST)
            .gives(200, Gives::List("RunSummary")),
        Route::get("/api/runs/counts", "countRuns", counts).gives(200, Gives::Json("RunCounts")),
        Route::get("/workflows/{id}/traces/list", "listTraces", page)
            .query(&["page", "per_page", "status"])
            .gives(200, Gives::Json("TracePage")),
    ]
}

async fn stream(call: Call, act: Act, part: &'static str) -> Result<Response> {
    let id = call.part(part).to_owned();
    accept::streamed(call, act, &id).await
}

async fn queue(call: Call, act: Act, part: &'static str) -> Result<Response> {
    let id = call.part(part).to_owned();
    accept::queued(call, act, &id).await
}

async fn cancel(call: Call) -> Result<Response> {
    let (run, status) = call.studio.cancel(&call.scope, call.part("run")).await?;
    Ok(answer::json(StatusCode::ACCEPTED, &json!({"trace_id": run.to_string(), "status": status.as_str()})))
}

async fn trace(call: Call) -> Result<Response> {
    let query = TraceQuery {
        graph: call.query_names("include", "graph"),
        messages: call.query_names("include", "messages"),
        children: call.query_names("include", "children"),
        snapshots: call.query("snapshots") != Some("none"),
        payloads: call.query("payloads") != Some("none"),
    };
    Ok(answer::ok(&call.studio.trace(&call.scope, call.part("run"), query).await?))
}

async fn delete(call: Call) -> Result<Response> {
    call.studio.delete_run(&call.scope, call.part("run")).await?;
    Ok(answer::nothing())
}

async fn step(call: Call) -> Result<Response> {
    let full = matches!(call.query("full"), Some("true" | "1"));
    Ok(answer::ok(&call.studio.step(&call.scope, call.part("run"), call.part("step"), full).await?))
}

async fn list(call: Call) -> Result<Response> {
    let query = runs_query::list(&call)?;
    Ok(answer::written(call.studio.runs(&call.scope, query).await?.into_bytes()))
}

async fn counts(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.run_counts(&call.scope).await?))
}

async fn page(call: Call) -> Result<Response> {
    let (page, per_page, statuses) = runs_query::page(&call)?;
    Ok(answer::ok(&call.studio.runs_page(&call.scope, call.part("id"), page, per_page, &statuses).await?))
}
