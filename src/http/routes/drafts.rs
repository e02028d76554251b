//! Owns the routes of a workflow's draft and of its revisions.

use axum::response::Response;
use http::{Method, StatusCode};

use crate::error::{Error, Result};
use crate::http::answer;
use crate::http::call::Call;
use crate::http::table::{Gives, Reads, Route};

const DRAFT: &str = "/api/workflows/{id}/draft";
const REVISIONS: &str = "/api/workflows/{id}/revisions";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get(DRAFT, "getDraft", get).gives(200, Gives::Json("Draft")).gives(204, Gives::Nothing).answers("ETag"),
        Route::new(Method::PUT, DRAFT, "putDraft", put)
            .reads(Reads::Json("DraftBody"))
            .heeds("If-Match")
            .gives(200, Gives::Json("Draft"))
            .answers("ETag"),
        Route::new(Method::DELETE, DRAFT, "deleteDraft", delete)
            .reads(Reads::Json("DraftDeleteBody"))
            .heeds("If-Match")
            .gives(204, Gives::Nothing),
        Route::post(format!("{DRAFT}/save"), "saveDraft", save)
            .reads(Reads::Json("DraftSaveBody"))
            .heeds("If-Match")
            .gives(200, Gives::Json("Workflow"))
            .answers("ETag"),
        Route::get(REVISIONS, "listRevisions", revisions)
            .query(&["limit", "cursor"])
            .gives(200, Gives::List("RevisionSummary")),
        Route::get(format!("{REVISIONS}/{{revision}}"), "getRevision", revision).gives(200, Gives::Json("Workflow")),
        Route::post(format!("{REVISIONS}/{{revision}}/restore"), "restoreRevision", restore)
            .gives(200, Gives::Json("Workflow"))
            .answers("ETag"),
    ]
}

/// A revision is a number; everything else does not exist.
fn number(call: &Call) -> Result<i64> {
    let text = call.part("revision");
    text.parse().map_err(|_| Error::not_found("revision", text))
}

async fn get(call: Call) -> Result<Response> {
    let Some(draft) = call.studio.draft(&call.scope, call.part("id")).await? else { return Ok(answer::nothing()) };
    Ok(answer::edited(StatusCode::OK, &draft, "draft_revision"))
}

async fn put(call: Call) -> Result<Response> {
    let draft = call.studio.put_draft(&call.scope, call.part("id"), &call.body, call.if_match()?).await?;
    Ok(answer::edited(StatusCode::OK, &draft, "draft_revision"))
}

async fn delete(call: Call) -> Result<Response> {
    call.studio.delete_draft(&call.scope, call.part("id"), &call.body, call.if_match()?).await?;
    Ok(answer::nothing())
}

async fn save(call: Call) -> Result<Response> {
    let saved = call.studio.save_draft(&call.scope, call.part("id"), &call.body, call.if_match()?).await?;
    Ok(answer::edited(StatusCode::OK, &saved, "revision"))
}

async fn revisions(call: Call) -> Result<Response> {
    let page = call.studio.revisions(&call.scope, call.part("id"), call.list()?).await?;
    Ok(answer::ok(&page.into_json()))
}

async fn revision(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.revision(&call.scope, call.part("id"), number(&call)?).await?))
}

async fn restore(call: Call) -> Result<Response> {
    let restored = call.studio.restore_revision(&call.scope, call.part("id"), number(&call)?).await?;
    Ok(answer::edited(StatusCode::OK, &restored, "revision"))
}
