//! Owns the routes of threads and of node checkpoints.

use axum::response::Response;
use http::{Method, StatusCode};

use super::runs_query;
use crate::error::Result;
use crate::http::idempotency::{self, Made};
use crate::http::answer;
use crate::http::call::Call;
use crate::http::table::{Gives, Reads, Route};

/// Messages of a page.
const MESSAGES: usize = 100;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/threads", "listThreads", list)
            .query(&["entity_type", "entity_id", "q", "limit", "cursor"])
            .gives(200, Gives::List("ThreadSummary")),
        Route::get("/api/threads/{thread}", "getThread", get)
            .query(&["limit", "cursor", "include"])
            .gives(200, Gives::Json("Thread")),
        Route::new(Method::DELETE, "/api/threads/{thread}", "deleteThread", delete).gives(204, Gives::Nothing),
        Route::post("/api/threads/{thread}/branch", "branchThread", branch)
            .reads(Reads::Json("BranchBody"))
            .makes_once()
            .gives(201, Gives::Json("ThreadSummary")),
        Route::get("/api/checkpoints", "listCheckpoints", checkpoints)
            .query(&["trace_id"])
            .gives(200, Gives::Json("Checkpoints")),
        Route::new(Method::DELETE, "/api/checkpoints", "deleteCheckpoints", delete_checkpoints)
            .query(&["trace_id"])
            .gives(204, Gives::Nothing),
    ]
}

async fn list(call: Call) -> Result<Response> {
    let entity = runs_query::entity(call.query("entity_type"))?;
    let page = call.studio.threads(&call.scope, entity, call.query("entity_id"), call.list()?).await?;
    Ok(answer::ok(&page.into_json()))
}

async fn get(call: Call) -> Result<Response> {
    let query = call.list_of(MESSAGES)?;
    Ok(answer::ok(&call.studio.thread(&call.scope, call.part("thread"), query).await?))
}

async fn delete(call: Call) -> Result<Response> {
    call.studio.delete_thread(&call.scope, call.part("thread")).await?;
    Ok(answer::nothing())
}

async fn branch(call: Call) -> Result<Response> {
    let thread = call.part("thread");
    let key = idempotency::key_of(&call.headers, "branch", thread, &call.body)?;
    let make = call.studio.branch_thread_under(key.clone(), &call.scope, thread, &call.body);
    let made = Made::once(&call.studio, &call.scope, key.as_ref(), make).await?;
    Ok(made.tell(answer::json(StatusCode::CREATED, &made.answer)))
}

async fn checkpoints(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.checkpoints(&call.scope, call.query("trace_id").unwrap_or_default()).await?))
}

async fn delete_checkpoints(call: Call) -> Result<Response> {
    call.studio.delete_checkpoints(&call.scope, call.required_query("trace_id")?).await?;
    Ok(answer::nothing())
}
