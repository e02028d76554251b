//! Owns the routes of knowledge bases besides their definitions: documents, reindexing, searches.

use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::http::idempotency::{self, Made};
use crate::http::answer;
use crate::http::call::{self, Call};
use crate::http::multipart::Form;
use crate::http::ignored::Ignored;
use crate::http::table::{Gives, Reads, Route};

const BASE: &str = "/api/knowledge-bases/{id}";

pub(super) fn routes() -> Vec<Route> {
    let documents = format!("{BASE}/documents");
    let document = format!("{documents}/{{document}}");
    let mut routes = vec![
        Route::get(documents.clone(), "listDocuments", list).query(&["q", "limit", "cursor"]).gives(200, Gives::List("Document")),
        Route::post(documents, "addDocument", add)
            .reads(Reads::JsonOrUpload("DocumentBody", "DocumentForm"))
            .makes_once()
            .gives(202, Gives::Json("Document")),
        Route::get(document.clone(), "getDocument", get).gives(200, Gives::Json("Document")),
        Route::new(Method::DELETE, document.clone(), "deleteDocument", delete).gives(204, Gives::Nothing),
        Route::post(format!("{document}/reindex"), "reindexDocument", reindex_document).gives(202, Gives::Json("Document")),
        Route::post(format!("{BASE}/reindex"), "reindexKnowledgeBase", reindex_base).gives(202, Gives::Json("KnowledgeBase")),
        Route::post(format!("{BASE}/search"), "searchKnowledgeBase", search)
            .also("/knowledge-bases/{id}/search")
            .reads(Reads::Json("SearchBody"))
            .gives(200, Gives::Json("SearchAnswer")),
    ];
    routes.extend(super::documents::routes(&document));
    routes
}

async fn list(call: Call) -> Result<Response> {
    let mut found = call.studio.documents(&call.scope, call.part("id"), call.list()?).await?.into_json();
    for document in found["data"].as_array_mut().into_iter().flatten() {
        call.visit.asker.say(document.get_mut("error"));
    }
    Ok(answer::ok(&found))
}

async fn add(mut call: Call) -> Result<Response> {
    let (request, room) = call.upload.take().ok_or_else(|| Error::internal("the upload has no body"))?;
    let base = call.part("id");
    let (mut made, ignored) = if call::content_type(request.headers()).as_deref() == Some("multipart/form-data") {
        let form = Form::read(request, room).await?;
        let ignored = Ignored::against(Some("DocumentForm"), &form.names());
        let metadata = form.text("metadata").map(parse_metadata).transpose()?;
        let file = form.must_have_file()?;
        let asked = if idempotency::has_key(&call.headers) { json!([idempotency::file_json(&file), metadata]) } else { Value::Null };
        let key = idempotency::key_of(&call.headers, "document", base, &asked)?;
        let make = call.studio.add_file_under(key.clone(), &call.scope, base, &file, metadata.as_ref());
        (Made::once(&call.studio, &call.scope, key.as_ref(), make).await?, ignored)
    } else {
        let body = call::read_json(room, request).await?;
        let key = idempotency::key_of(&call.headers, "document", base, &body)?;
        let make = call.studio.add_text_under(key.clone(), &call.scope, base, &body);
        (Made::once(&call.studio, &call.scope, key.as_ref(), make).await?, Ignored::against(Some("DocumentBody"), &body))
    };
    // It may have been read since.
    if made.replayed && let Ok(now) = call.studio.document(&call.scope, base, made.answer["id"].as_str().unwrap_or_default()).await {
        made.answer = now;
    }
    let mut response = made.tell(answer::json(StatusCode::ACCEPTED, &made.answer));
    ignored.tell(response.headers_mut());
    Ok(response)
}

fn parse_metadata(text: &str) -> Result<Value> {
    call::parse(text.as_bytes()).map_err(|_| Error::field("metadata", "metadata must be a JSON object"))
}

async fn get(call: Call) -> Result<Response> {
    let mut found = call.studio.document(&call.scope, call.part("id"), call.part("document")).await?;
    call.visit.asker.say(found.get_mut("error"));
    Ok(answer::ok(&found))
}

async fn delete(call: Call) -> Result<Response> {
    call.studio.delete_document(&call.scope, call.part("id"), call.part("document")).await?;
    Ok(answer::nothing())
}

async fn reindex_document(call: Call) -> Result<Response> {
    let read = call.studio.reindex_document(&call.scope, call.part("id"), call.part("document")).await?;
    Ok(answer::json(StatusCode::ACCEPTED, &read))
}

async fn reindex_base(call: Call) -> Result<Response> {
    let read = call.studio.reindex_base(&call.scope, call.part("id")).await?;
    Ok(answer::json(StatusCode::ACCEPTED, &read))
}

async fn search(call: Call) -> Result<Response> {
    Ok(answer::ok(&call.studio.search(&call.scope, call.part("id"), &call.body).await?))
}
