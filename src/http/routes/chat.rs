//! Owns the routes of a chat's sessions, of an agent or a workflow.

use axum::response::Response;
use http::Method;

use crate::error::Result;
use crate::http::answer;
use crate::http::call::Call;
use crate::http::table::{Gives, Route};
use crate::model::event::EntityKind;

/// Messages of a page.
const MESSAGES: usize = 100;

pub(super) fn routes() -> Vec<Route> {
    [(EntityKind::Agent, "agents", "Agent"), (EntityKind::Workflow, "workflows", "Workflow")].into_iter().flat_map(of).collect()
}

fn of((entity, word, name): (EntityKind, &str, &str)) -> [Route; 3] {
    let path = format!("/{word}/{{id}}/chat/threads");
    [
        Route::new(Method::GET, path.clone(), format!("list{name}Threads"), move |call| threads(call, entity))
            .query(&["limit", "cursor", "q"])
            .gives(200, Gives::List("ThreadSummary")),
        Route::new(Method::GET, format!("{path}/{{thread}}"), format!("get{name}Thread"), move |call| messages(call, entity))
            .query(&["limit", "cursor", "include"])
            .gives(200, Gives::Json("ThreadMessages")),
        Route::new(Method::GET, format!("{path}/{{thread}}/runs"), format!("list{name}ThreadRuns"), move |call| runs(call, entity))
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
    Ok(answer::ok(&page.into_json()))
}
