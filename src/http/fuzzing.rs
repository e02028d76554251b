//! Owns the entry points of fuzzing to the readers of requests.

use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Request, header};
use serde_json::Value;

use super::multipart::Form;
use super::sse::position::Position;
use super::body_limits::Room;
use super::{adapters, call, csv, range, routes};
use crate::studio::lists::{self, ListQuery};

/// Kilobytes of a file.
const ROOM: u64 = 20_480;

fn hash(bytes: &[u8]) -> (usize, u64) {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    (bytes.len(), hasher.finish())
}

/// What became of a form: its file and its texts, or the refusal.
fn read(boundary: &str, pieces: Vec<Bytes>) -> String {
    let body = Body::from_stream(stream::iter(pieces.into_iter().map(Ok::<_, Infallible>)));
    let mut request = Request::new(body);
    let Ok(kind) = HeaderValue::try_from(format!("multipart/form-data; boundary={boundary}")) else { return String::new() };
    request.headers_mut().insert(header::CONTENT_TYPE, kind);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let read = runtime.map(|runtime| runtime.block_on(Form::read(request, Room::of_file(ROOM))));
    match read {
        Ok(Ok(form)) => {
            let (names, file) = (form.names(), form.must_have_file());
            let file = file.map(|file| (file.name, file.mime_type, hash(&file.bytes))).map_err(|error| error.to_string());
            format!("{names} {file:?}")
        }
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    }
}

/// Reads a form, whole and in pieces.
///
/// # Panics
/// What is read depends on the pieces.
pub fn form(boundary: &str, bytes: &[u8], piece: usize) {
    let whole = read(boundary, vec![Bytes::copy_from_slice(bytes)]);
    let cut = form_once(boundary, bytes, piece);
    assert_eq!(whole, cut, "what is read does not depend on the pieces");
}

/// Reads a form in pieces; what became of it.
pub fn form_once(boundary: &str, bytes: &[u8], piece: usize) -> String {
    read(boundary, bytes.chunks(piece.max(1)).map(Bytes::copy_from_slice).collect())
}

/// Reads a body as the adapters do.
pub fn adapter(bytes: &[u8]) {
    if let Ok(body) = call::parse(bytes) {
        adapters::read_any(&body);
    }
}

/// Reads a text as the headers and the members of a query that have a form of their own, and writes it into a table.
///
/// # Panics
/// Something does not hold that must.
pub fn query(text: &str) {
    for order in [None, Some("ordered"), Some("live"), Some(text)] {
        if let Ok(found) = Position::parse(Some(("after", text)), order) {
            assert!(found.after.is_some() && found.not_before(5).after >= 5);
        }
    }
    let pairs: Vec<(&str, &str)> = text.split('&').filter_map(|pair| pair.split_once('=')).collect();
    if let Ok(query) = ListQuery::parse(pairs) {
        assert!((1..=100).contains(&query.limit));
    }
    assert_eq!(lists::open(&lists::seal(text)).ok().as_deref(), Some(text));
    let _refused = lists::open(text).is_err();
    routes::read_any(text);
    let mut asked = HeaderMap::new();
    for name in [header::RANGE, header::IF_NONE_MATCH, header::IF_RANGE] {
        if let Ok(value) = HeaderValue::from_str(text) {
            asked.insert(name, value);
        }
    }
    range::read_any(&asked);
    let cell = csv::cell(&Value::from(text));
    let quoted = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"'));
    let plain = quoted.map_or_else(|| cell.clone(), |cell| cell.replace("\"\"", "\""));
    assert!(plain.strip_prefix('\'').unwrap_or(&plain) == text.strip_prefix('\'').unwrap_or(text), "{cell}");
    assert!(!plain.starts_with(['=', '+', '-', '@']), "{cell}");
}
