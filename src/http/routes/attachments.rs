//! Owns the routes of attachments: uploads, their bytes, their end.

use axum::body::Body;
use axum::extract::multipart::{Field, Multipart, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest as _};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::error::{Error, Kind, Result};
use crate::http::call::{self, Call};
use crate::http::table::{Gives, Reads, Route};
use crate::http::{answer, settings};
use crate::studio::{StoredFile, Upload};

const FILE: &str = "/api/attachments/file";
/// Kilobytes of a form beside its file.
const ROOM_KB: u64 = 64;
/// What may stand in a header's file name as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_');

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/api/attachments", "uploadAttachment", upload)
            .reads(Reads::Upload("AttachmentForm"))
            .gives(201, Gives::Json("Attachment")),
        Route::get(FILE, "readAttachment", read).query(&["storage_key"]).gives(200, Gives::Bytes),
        Route::new(Method::DELETE, FILE, "deleteAttachment", delete).query(&["storage_key"]).gives(204, Gives::Nothing),
    ]
}

async fn upload(mut call: Call) -> Result<Response> {
    let limit_kb = settings::attachment_kb(call.studio.config());
    let request = call.upload.take().ok_or_else(|| Error::internal("the upload has no body"))?;
    let upload = read_form(request, limit_kb).await?;
    let mut stored = call.studio.upload(&call.scope, upload).await?;
    if let Value::Object(stored) = &mut stored {
        let key = stored.get("storage_key").and_then(Value::as_str).unwrap_or_default();
        let url = format!("{}{FILE}?storage_key={key}", call.base);
        stored.insert("url".into(), url.into());
    }
    Ok(answer::json(StatusCode::CREATED, &stored))
}

async fn read_form(mut request: Request<Body>, limit_kb: u64) -> Result<Upload> {
    if call::content_type(request.headers()).as_deref() != Some("multipart/form-data") {
        let told = "an upload must be sent with `Content-Type: multipart/form-data`";
        return Err(Error::new(Kind::UnsupportedMediaType, told));
    }
    DefaultBodyLimit::max(bytes_of(limit_kb.saturating_add(ROOM_KB))).apply(&mut request);
    let mut form = Multipart::from_request(request, &()).await.map_err(|_| unreadable())?;
    let (mut file, mut kind) = (None, None);
    while let Some(field) = form.next_field().await.map_err(|error| broken(&error, limit_kb))? {
        match field.name() {
            Some("file") => file = Some(read_file(field, limit_kb).await?),
            Some("type") => {
                let bytes = read_field(field, 1).await?;
                kind = Some(String::from_utf8_lossy(&bytes).into_owned()).filter(|kind| !kind.is_empty());
            }
            Some(_) | None => {}
        }
    }
    let mut upload = file.ok_or_else(|| Error::field("file", "file is required"))?;
    upload.kind = kind;
    Ok(upload)
}

async fn read_file(field: Field<'_>, limit_kb: u64) -> Result<Upload> {
    let name = field.file_name().map(str::to_owned).filter(|name| !name.is_empty());
    let mime_type = field.content_type().map(str::to_owned);
    let bytes = read_field(field, limit_kb).await?;
    if bytes.is_empty() {
        return Err(Error::field("file", "file is empty"));
    }
    Ok(Upload { name, mime_type, kind: None, bytes })
}

async fn read_field(mut field: Field<'_>, limit_kb: u64) -> Result<Bytes> {
    let mut bytes = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(|error| broken(&error, limit_kb))? {
        if bytes.len() + chunk.len() > bytes_of(limit_kb) {
            return Err(too_large(limit_kb));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.into())
}

fn bytes_of(kb: u64) -> usize {
    usize::try_from(kb.saturating_mul(1024)).unwrap_or(usize::MAX)
}

fn broken(error: &MultipartError, limit_kb: u64) -> Error {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE { too_large(limit_kb) } else { unreadable() }
}

fn too_large(limit_kb: u64) -> Error {
    Error::new(Kind::AttachmentTooLarge, format!("the file has more than {limit_kb} KiB")).with("limit_kb", limit_kb)
}

fn unreadable() -> Error {
    Error::field("file", "the form cannot be read")
}

async fn read(call: Call) -> Result<Response> {
    let file = call.studio.attachment(&call.scope, call.required_query("storage_key")?).await?;
    let mut response = Response::new(Body::from(file.bytes.clone()));
    describe(&file, response.headers_mut());
    Ok(response)
}

fn describe(file: &StoredFile, headers: &mut HeaderMap) {
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
