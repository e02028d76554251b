//! Owns the routes of the chat sessions of an agent or a workflow.

use axum::response::Response;

use crate::error::Result;
use crate::http::answer;
use crate::http::call::Call;
use crate::http::table::{Gives, Route};
use crate::model::event::EntityKind;

/// Messages of a page.
const MESSAGES: usize = 100;

pub(super) fn routes() -> Vec<Route> {
    let of_agents = of(EntityKind::Agent, "agents", "Agent");
    of_agents.into_iter().chain(of(EntityKind::Workflow, "workflows", "Workflow")).collect()
}

fn of(entity: EntityKind, word: &str, name: &str) -> [Route; 3] {
    let path = format!("/{word}/{{id}}/chat/threads");
    [
        Route::get(path.clone(), format!("list{name}Threads"), move |call| threads(call, entity))
            .query(&["limit", "cursor", "q"])
            .gives(200, Gives::List("ThreadSummary")),
        Route::get(format!("{path}/{{thread}}"), format!("get{name}Thread"), move |call| messages(call, entity))
            .query(&["limit", "cursor", "include"])
            .gives(200, Gives::Json("ThreadMessages")),
        Route::get(format!("{path}/{{thread}}/runs"), format!("list{name}ThreadRuns"), move |call| runs(call, entity))
            .query(&["limit", "cursor"])
            .gives(200, Gives::List("RunSummary")),
    ]
}

async fn threads(call: Call, entity: EntityKind) -> Result<Response> {
    let page = call.studio.chat_threads(&call.scope, entity, call.part("id"), call.list()?).await?;
    Ok(answer::ok(&page.into_json()))
}

async fn messages(call: Call, entity: EntityKind) -> Result<Response> {
    let query = call.list_of(MESSAGES)?;
    let found = call.studio.chat_messages(&call.scope, entity, call.part("id"), call.part("thread"), query).await?;
    Ok(answer::ok(&found))
}

async fn runs(call: Call, entity: EntityKind) -> Result<Response> {
    let page = call.studio.chat_runs(&call.scope, entity, call.part("id"), call.part("thread"), call.list()?).await?;
    Ok(answer::written(page.into_bytes()))
}
