//! Owns the routes of attachments: upload, download, delete.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::http::call::Call;
use crate::http::multipart::Form;
use crate::http::ignored::Ignored;
use crate::http::table::{Gives, Reads, Route};
use crate::http::{answer, range};
use crate::studio::{StoredFile, Upload};

const FILE: &str = "/api/attachments/file";
/// What may stand in a header's file name as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/api/attachments", "uploadAttachment", upload)
            .reads(Reads::Upload("AttachmentForm"))
            .gives(201, Gives::Json("Attachment")),
        Route::get(FILE, "readAttachment", read).query(&["storage_key"]).gives_file(),
        Route::new(Method::DELETE, FILE, "deleteAttachment", delete).query(&["storage_key"]).gives(204, Gives::Nothing),
    ]
}

async fn upload(mut call: Call) -> Result<Response> {
    let (request, room) = call.upload.take().ok_or_else(|| Error::internal("the upload has no body"))?;
    let form = Form::read(request, room).await?;
    let ignored = Ignored::against(Some("AttachmentForm"), &form.names());
    let kind = form.text("type").map(str::to_owned);
    let upload = Upload { kind, ..form.must_have_file()? };
    let mut stored = call.studio.upload(&call.scope, upload).await?;
    if let Value::Object(stored) = &mut stored {
        let key = stored.get("storage_key").and_then(Value::as_str).unwrap_or_default();
        let url = format!("{}{FILE}?storage_key={key}", call.base);
        stored.insert("url".into(), url.into());
    }
    let mut response = answer::json(StatusCode::CREATED, &stored);
    ignored.tell(response.headers_mut());
    Ok(response)
}

async fn read(call: Call) -> Result<Response> {
    let key = call.required_query("storage_key")?;
    let (tag, asked) = (key.to_owned(), call.headers.clone());
    let file = call.studio.attachment_part(&call.scope, key, move |size| range::section(&tag, &asked, size)).await?;
    let mut response = range::serve(&file, key, &call.headers);
    describe(&file, response.headers_mut());
    Ok(response)
}

pub(super) fn describe(file: &StoredFile, headers: &mut HeaderMap) {
    let unknown = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, HeaderValue::try_from(&file.mime_type).unwrap_or(unknown));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    let shown = if file.mime_type.starts_with("image/") { "inline" } else { "attachment" };
    let encoded = |name| format!("; filename*=UTF-8''{}", utf8_percent_encode(name, PLAIN));
    let named = file.name.as_deref().map_or_else(String::new, encoded);
    if let Ok(value) = HeaderValue::try_from(format!("{shown}{named}")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
}

async fn delete(call: Call) -> Result<Response> {
    call.studio.delete_attachment(&call.scope, call.required_query("storage_key")?).await?;
    Ok(answer::nothing())
}
