//! Owns the routes of the five kinds of definitions: list, create, read, replace, patch, delete, duplicate.

use axum::response::Response;
use http::{Method, StatusCode};

use crate::error::Result;
use crate::http::idempotency::{self, Made};
use crate::http::answer;
use crate::http::call::Call;
use crate::http::table::{Gives, Reads, Route};
use crate::studio::Resource;

/// What lists may be asked; the last only that of workflows.
const LIST: &[&str] = &["q", "limit", "cursor", "include"];

/// Schemas of a resource: read, in lists, written.
fn schemas(resource: Resource) -> (&'static str, &'static str, &'static str) {
    match resource {
        Resource::Agent => ("Agent", "Agent", "AgentBody"),
        Resource::Workflow => ("Workflow", "WorkflowListed", "WorkflowBody"),
        Resource::Tool => ("Tool", "Tool", "ToolBody"),
        Resource::McpServer => ("McpServer", "McpServer", "McpServerBody"),
        Resource::KnowledgeBase => ("KnowledgeBase", "KnowledgeBase", "KnowledgeBaseBody"),
    }
}

pub(super) fn routes() -> Vec<Route> {
    Resource::ALL.into_iter().flat_map(of).collect()
}

fn of(resource: Resource) -> [Route; 7] {
    let (one, listed, body) = schemas(resource);
    let all = format!("/api/{}", resource.path());
    let each = format!("{all}/{{id}}");
    let lists = if resource == Resource::Workflow { LIST } else { &LIST[..3] };
    [
        Route::get(all.clone(), format!("list{one}s"), move |call| list(call, resource))
            .query(lists)
            .gives(200, Gives::List(listed)),
        Route::post(all, format!("create{one}"), move |call| create(call, resource))
            .reads(Reads::Json(body))
            .makes_once()
            .gives(201, Gives::Json(one))
            .answers("ETag")
            .answers("Location"),
        Route::get(each.clone(), format!("get{one}"), move |call| get(call, resource)).gives(200, Gives::Json(one)).answers("ETag"),
        Route::new(Method::PUT, each.clone(), format!("replace{one}"), move |call| put(call, resource))
            .reads(Reads::Json(body))
            .heeds("If-Match")
            .gives(200, Gives::Json(one))
            .answers("ETag"),
        Route::new(Method::PATCH, each.clone(), format!("patch{one}"), move |call| patch(call, resource))
            .reads(Reads::Json("Patch"))
            .heeds("If-Match")
            .gives(200, Gives::Json(one))
            .answers("ETag"),
        Route::new(Method::DELETE, each.clone(), format!("delete{one}"), move |call| delete(call, resource))
            .reads(Reads::Json("DeleteBody"))
            .heeds("If-Match")
            .query(&["force"])
            .gives(204, Gives::Nothing),
        Route::post(format!("{each}/duplicate"), format!("duplicate{one}"), move |call| duplicate(call, resource))
            .makes_once()
            .gives(201, Gives::Json(one))
            .answers("ETag")
            .answers("Location"),
    ]
}

/// The routes that make one, as keys are kept under.
const fn key_routes(resource: Resource) -> (&'static str, &'static str) {
    match resource {
        Resource::Agent => ("agents", "agents/duplicate"),
        Resource::Workflow => ("workflows", "workflows/duplicate"),
        Resource::Tool => ("tools", "tools/duplicate"),
        Resource::McpServer => ("mcp-servers", "mcp-servers/duplicate"),
        Resource::KnowledgeBase => ("knowledge-bases", "knowledge-bases/duplicate"),
    }
}

fn collection(call: &Call, resource: Resource) -> String {
    format!("{}/api/{}", call.base, resource.path())
}

async fn list(call: Call, resource: Resource) -> Result<Response> {
    Ok(answer::ok(&call.studio.list(&call.scope, resource, call.list()?).await?.into_json()))
}

async fn create(call: Call, resource: Resource) -> Result<Response> {
    let key = idempotency::key_of(&call.headers, key_routes(resource).0, "", &call.body)?;
    let make = call.studio.create_under(key.clone(), &call.scope, resource, &call.body);
    let made = Made::once(&call.studio, &call.scope, key.as_ref(), make).await?;
    Ok(made.tell(answer::created(&made.answer, &collection(&call, resource))))
}

async fn get(call: Call, resource: Resource) -> Result<Response> {
    let found = call.studio.get(&call.scope, resource, call.part("id")).await?;
    Ok(answer::edited(StatusCode::OK, &found, "revision"))
}

async fn put(call: Call, resource: Resource) -> Result<Response> {
    let put = call.studio.put(&call.scope, resource, call.part("id"), &call.body, call.if_match()?).await?;
    Ok(answer::edited(StatusCode::OK, &put, "revision"))
}

async fn patch(call: Call, resource: Resource) -> Result<Response> {
    let patched = call.studio.patch(&call.scope, resource, call.part("id"), &call.body, call.if_match()?).await?;
    Ok(answer::edited(StatusCode::OK, &patched, "revision"))
}

async fn delete(call: Call, resource: Resource) -> Result<Response> {
    let force = matches!(call.query("force"), Some("true" | "1"));
    call.studio.delete(&call.scope, resource, call.part("id"), &call.body, call.if_match()?, force).await?;
    Ok(answer::nothing())
}

async fn duplicate(call: Call, resource: Resource) -> Result<Response> {
    let id = call.part("id");
    let key = idempotency::key_of(&call.headers, key_routes(resource).1, id, &call.body)?;
    let make = call.studio.duplicate_under(key.clone(), &call.scope, resource, id);
    let made = Made::once(&call.studio, &call.scope, key.as_ref(), make).await?;
    Ok(made.tell(answer::created(&made.answer, &collection(&call, resource))))
}
