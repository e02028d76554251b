//! Owns multipart forms with one file within a limit and a few short texts.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::multipart::{Field, Multipart};
use axum::extract::{DefaultBodyLimit, FromRequest as _};
use bytes::Bytes;
use http::Request;
use serde_json::{Map, Value};

use super::call;
use super::body_limits::Room;
use crate::error::{Error, Kind, Result};
use crate::studio::Upload;

/// Bytes of a text beside the file.
const TEXT: usize = 64 * 1024;
/// The limit of form parts, because each takes time.
const PARTS: usize = 64;

/// A form that was read.
pub(super) struct Form {
    file: Option<Upload>,
    texts: BTreeMap<String, String>,
}

impl Form {
    /// Reads a form; a file for which there is no room is refused.
    pub(super) async fn read(mut request: Request<Body>, room: Room) -> Result<Self> {
        if call::content_type(request.headers()).as_deref() != Some("multipart/form-data") {
            let told = "an upload must be sent with `Content-Type: multipart/form-data`";
            return Err(Error::new(Kind::UnsupportedMediaType, told));
        }
        room.check(request.headers())?;
        // Whole: of a body that comes in small pieces, what came so far would be searched again with each of them.
        let whole = call::read(std::mem::take(request.body_mut()), room).await.map_err(|error| if error.kind == room.kind() { error } else { unreadable() })?;
        *request.body_mut() = Body::from(whole);
        DefaultBodyLimit::disable().apply(&mut request);
        let limit = Limit { room, bytes: usize::try_from(room.kb.saturating_mul(1024)).unwrap_or(usize::MAX) };
        let mut fields = Multipart::from_request(request, &()).await.map_err(|_| unreadable())?;
        let mut form = Self { file: None, texts: BTreeMap::new() };
        let mut parts = 0;
        while let Some(field) = fields.next_field().await.map_err(|_| unreadable())? {
            parts += 1;
            if parts > PARTS {
                return Err(Error::field("file", format!("the form must have at most {PARTS} parts")));
            }
            match field.name().map(str::to_owned).as_deref() {
                Some("file") => form.file = Some(limit.file(field).await?),
                Some(name) if form.texts.len() < 8 => {
                    let bytes = Limit { bytes: TEXT, ..limit }.bytes(field).await?;
                    form.texts.insert(name.to_owned(), String::from_utf8_lossy(&bytes).into_owned());
                }
                Some(_) | None => {}
            }
        }
        Ok(form)
    }

    /// The names of what came beside the file, as members of an object.
    pub(super) fn names(&self) -> Value {
        self.texts.keys().map(|name| (name.clone(), Value::Null)).collect::<Map<_, _>>().into()
    }

    /// The file, or the refusal that there is none.
    pub(super) fn must_have_file(self) -> Result<Upload> {
        self.file.ok_or_else(|| Error::field("file", "file is required"))
    }

    /// A text that is not empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }
}

#[derive(Clone, Copy)]
struct Limit {
    room: Room,
    bytes: usize,
}

impl Limit {
    async fn file(self, field: Field<'_>) -> Result<Upload> {
        let name = field.file_name().map(str::to_owned).filter(|name| !name.is_empty());
        let mime_type = field.content_type().map(str::to_owned);
        let bytes = self.bytes(field).await?;
        if bytes.is_empty() {
            return Err(Error::field("file", "file is empty"));
        }
        Ok(Upload { name, mime_type, kind: None, bytes })
    }

    async fn bytes(self, mut field: Field<'_>) -> Result<Bytes> {
        let mut bytes = Vec::new();
        while let Some(chunk) = field.chunk().await.map_err(|_| unreadable())? {
            if bytes.len() + chunk.len() > self.bytes {
                return Err(self.room.too_large());
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes.into())
    }
}

fn unreadable() -> Error {
    Error::field("file", "the form cannot be read")
}
