//! Owns responses with immutable bytes: whole, a range, or 304.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::studio::{Section, StoredFile};

/// What is asked of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Nothing: whoever asks has them.
    Known,
    Whole,
    /// First and last, both counted in.
    From(usize, usize),
    /// There is nothing in that part.
    Past,
}

/// Which bytes of a file of a size a request needs.
pub(super) fn section(tag: &str, asked: &HeaderMap, size: u64) -> Section {
    match wanted(tag, asked, usize::try_from(size).unwrap_or(usize::MAX)) {
        Part::Known | Part::Past => Section::None,
        Part::Whole => Section::Whole,
        Part::From(first, last) => Section::Part { skipped: first as u64, count: (last - first + 1) as u64 },
    }
}

/// Answers with those bytes of a file, and their tag.
pub(super) fn serve(file: &StoredFile, tag: &str, asked: &HeaderMap) -> Response {
    let length = usize::try_from(file.size).unwrap_or(usize::MAX);
    answer(file.bytes.clone(), tag, wanted(tag, asked, length), length)
}

/// Answers with a part of bytes of a length, and their tag. Whoever keeps them asks each time whether they are still there.
fn answer(bytes: Bytes, tag: &str, part: Part, length: usize) -> Response {
    let (status, bytes) = match part {
        Part::Known => (StatusCode::NOT_MODIFIED, None),
        Part::Whole => (StatusCode::OK, Some(bytes)),
        Part::From(..) => (StatusCode::PARTIAL_CONTENT, Some(bytes)),
        Part::Past => (StatusCode::RANGE_NOT_SATISFIABLE, None),
    };
    let mut response = Response::new(bytes.map_or_else(Body::empty, Body::from));
    *response.status_mut() = status;
    let range = match part {
        Part::From(first, last) => HeaderValue::try_from(format!("bytes {first}-{last}/{length}")).ok(),
        Part::Past => HeaderValue::try_from(format!("bytes */{length}")).ok(),
        Part::Known | Part::Whole => None,
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Some(range) = range {
        headers.insert(header::CONTENT_RANGE, range);
    }
    if let Some(tag) = tag_of(tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// Reads what a request asks of a small file.
#[cfg(feature = "fuzzing")]
pub(super) fn read_any(asked: &HeaderMap) {
    let bytes = Bytes::from_static(b"0123456789");
    let part = |first: u64, count: u64| bytes.iter().copied().skip(first as usize).take(count as usize).collect();
    let bytes: Bytes = match section("tag", asked, 10) {
        Section::None => Bytes::new(),
        Section::Whole => bytes.clone(),
        Section::Part { skipped, count } => part(skipped, count),
    };
    let file = StoredFile { mime_type: String::new(), name: None, size: 10, bytes };
    drop(serve(&file, "tag", asked));
}

fn tag_of(tag: &str) -> Option<HeaderValue> {
    HeaderValue::try_from(format!("\"{tag}\"")).ok()
}

/// Does `If-None-Match` name the tag?
fn is_known(tag: &HeaderValue, asked: &HeaderMap) -> bool {
    let named = asked.get_all(header::IF_NONE_MATCH).into_iter().filter_map(|tags| tags.to_str().ok());
    named.flat_map(|tags| tags.split(',')).map(str::trim).any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one).as_bytes() == tag.as_bytes())
}

/// The part that is asked for, of bytes of a length. Several at once, and what is no range, is all of them.
fn wanted(tag: &str, asked: &HeaderMap, length: usize) -> Part {
    let tag = tag_of(tag);
    if tag.as_ref().is_some_and(|tag| is_known(tag, asked)) {
        return Part::Known;
    }
    let same = asked.get(header::IF_RANGE).is_none_or(|one| tag.as_ref() == Some(one));
    let range = asked.get(header::RANGE).filter(|_| same).and_then(|range| range.to_str().ok()).and_then(bounds);
    range.map_or(Part::Whole, |(first, last)| within(first, last, length))
}

/// `bytes=0-3`, `bytes=4-` or `bytes=-2`.
fn bounds(range: &str) -> Option<(Option<usize>, Option<usize>)> {
    let (unit, part) = range.split_once('=')?;
    let (first, last) = part.trim().split_once('-')?;
    let number = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
    let (first, last) = (number(first)?, number(last)?);
    let is_range = match (first, last) {
        (None, None) => false,
        (Some(first), Some(last)) => first <= last,
        (Some(_), None) | (None, Some(_)) => true,
    };
    (unit.trim().eq_ignore_ascii_case("bytes") && is_range).then_some((first, last))
}

fn within(first: Option<usize>, last: Option<usize>, length: usize) -> Part {
    let end = length.saturating_sub(1);
    match (first, last) {
        (Some(first), last) if first < length => Part::From(first, last.unwrap_or(end).min(end)),
        (None, Some(count)) if count > 0 && length > 0 => Part::From(length.saturating_sub(count), end),
        (Some(_) | None, _) => Part::Past,
    }
}
