//! Owns the size limit of a route's body, from the configuration for JSON, files and documents.

use axum::body::Body;
use axum::response::Response;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};

use super::{call, settings};
use super::table::{Reads, Route};
use crate::config::Config;
use crate::error::{Error, Kind, Result};

/// Kilobytes of a form beside its file.
const FORM_KB: u64 = 64;
/// JSON spells some characters with six.
const SPELLING: u64 = 6;

/// What a body may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// The limit in messages: kilobytes of JSON, or of the file.
    pub(super) kb: u64,
    /// Kilobytes of the whole body.
    whole_kb: u64,
    /// What is too large, and which refusal that is.
    of_file: bool,
    kind: Kind,
}

/// In a request's extensions: it has no body yet, and asks whether one may come.
#[derive(Clone, Copy)]
pub(super) struct MayCome;

/// In an answer's extensions: the body may come, up to so many bytes.
#[derive(Clone, Copy)]
pub(super) struct UpTo(pub(super) u64);

impl Room {
    /// Of a route, for a body of the type that the headers name.
    pub(super) fn of(route: &Route, config: &Config, headers: &HeaderMap) -> Self {
        let json = |kb: u64| Self { kb, whole_kb: kb, of_file: false, kind: Kind::BodyTooLarge };
        let form = |kb: u64, kind| Self { kb, whole_kb: kb.saturating_add(FORM_KB), of_file: true, kind };
        let is_form = || call::content_type(headers).as_deref() == Some("multipart/form-data");
        let document_kb = settings::document_kb(config);
        match route.reads {
            Reads::Nothing | Reads::Json(_) => json(settings::body_kb(config)),
            // Three bytes are four letters.
            Reads::JsonWithFiles(_) => json((settings::attachment_kb(config).saturating_mul(4) / 3).saturating_add(settings::body_kb(config))),
            Reads::Upload(_) => form(settings::attachment_kb(config), Kind::AttachmentTooLarge),
            Reads::JsonOrUpload(..) if is_form() => form(document_kb, Kind::BodyTooLarge),
            Reads::JsonOrUpload(..) => json(document_kb.saturating_mul(SPELLING).saturating_add(settings::body_kb(config))),
        }
    }

    /// For a file, as fuzzing sends it.
    #[cfg(feature = "fuzzing")]
    pub(super) const fn of_file(kb: u64) -> Self {
        Self { kb, whole_kb: kb + FORM_KB, of_file: true, kind: Kind::AttachmentTooLarge }
    }

    /// Which refusal is that of a body that is too large.
    pub(super) const fn kind(self) -> Kind {
        self.kind
    }

    /// Bytes of the whole body.
    pub(super) const fn bytes(self) -> u64 {
        self.whole_kb.saturating_mul(1024)
    }

    /// Refuses a body whose length is named and too large, before it is read.
    pub(super) fn check(self, headers: &HeaderMap) -> Result<()> {
        let length: Option<u64> = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if length.is_some_and(|length| length > self.bytes()) { Err(self.too_large()) } else { Ok(()) }
    }

    /// The refusal of a body or file that is too large.
    pub(super) fn too_large(self) -> Error {
        let told = if self.of_file { format!("the file has more than {} KiB", self.kb) } else { format!("the body has more than {} KiB", self.kb) };
        Error::new(self.kind, told).with("limit_kb", self.kb)
    }

    /// The answer to who asks whether a body may come.
    pub(super) fn may_come(self, headers: &HeaderMap) -> Result<Response> {
        self.check(headers)?;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::CONTINUE;
        response.extensions_mut().insert(UpTo(self.bytes()));
        Ok(response)
    }
}
