//! Owns the built files of the pages, as embedded in the library.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::error::{Error, Result};
use crate::http::call::Call;

/// A file, and the same packed where the build made that.
pub(crate) struct Asset {
    pub(crate) path: &'static str,
    pub(crate) mime: &'static str,
    pub(crate) etag: &'static str,
    pub(crate) bytes: &'static [u8],
    pub(crate) gz: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The file at a path below the root.
pub(super) fn find(path: &str) -> Option<&'static Asset> {
    let at = ASSETS.binary_search_by(|asset| asset.path.cmp(path)).ok()?;
    ASSETS.get(at)
}

/// A file that is text.
pub(super) fn text(path: &str) -> Option<&'static str> {
    find(path).and_then(|asset| std::str::from_utf8(asset.bytes).ok())
}

/// Every file.
pub(super) fn all() -> &'static [Asset] {
    ASSETS
}

/// The application's files as the library serves them below `assets/`, for a web server that shall serve them itself.
pub fn files() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let named = all().iter().filter_map(|asset| Some((asset.path.strip_prefix("assets/")?, asset.bytes)));
    named.filter(|(path, _)| !path.is_empty())
}

/// Answers with a file; its name carries a hash of what is in it.
pub(super) async fn file(call: Call) -> Result<Response> {
    let path = format!("assets/{}", call.part("path"));
    let asset = find(&path).ok_or_else(|| Error::not_found("path", &format!("/{path}")))?;
    Ok(serve(asset, &call.headers))
}

fn serve(asset: &'static Asset, asked: &HeaderMap) -> Response {
    let gz = asset.gz.filter(|_| takes_gzip(asked));
    let bytes = gz.unwrap_or(asset.bytes);
    let tags = asked.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let known = tags.is_some_and(|tags| tags.contains(asset.etag));
    let mut response = Response::new(if known { Body::empty() } else { Body::from(Bytes::from_static(bytes)) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.mime));
    headers.insert(header::ETAG, HeaderValue::from_static(asset.etag));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if gz.is_some() {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

fn takes_gzip(asked: &HeaderMap) -> bool {
    let accepted = asked.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|one| {
        let (coding, quality) = one.split_once(';').unwrap_or((one, ""));
        let refused = quality.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
        coding.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Asset = Asset { path: "assets/a.js", mime: "text/javascript", etag: "\"1\"", bytes: b"plain", gz: Some(b"gz") };

    fn headers(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn the_packed_form_is_the_one_that_is_accepted() {
        for (accepted, wanted) in [("gzip, deflate, br", true), ("br;q=0, GZIP;q=0.5", true), ("gzip;q=0", false), ("identity", false), ("", false)] {
            assert_eq!(takes_gzip(&headers(header::ACCEPT_ENCODING, accepted)), wanted, "{accepted}");
        }
    }

    #[test]
    fn a_known_file_is_not_sent_again() {
        static KEPT: Asset = FILE;
        assert_eq!(serve(&KEPT, &headers(header::IF_NONE_MATCH, "\"0\", \"1\"")).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(serve(&KEPT, &headers(header::IF_NONE_MATCH, "\"2\"")).status(), StatusCode::OK);
    }

    #[test]
    fn the_table_is_in_order() {
        assert!(ASSETS.is_sorted_by(|a, b| a.path < b.path));
    }
}
