//! Owns a request as handlers receive it: scope, parameters, query, and a body whose type, size and depth were checked.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Query, RawPathParams};
use axum::RequestExt as _;
use bytes::Bytes;
use http::{HeaderMap, Request, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Map, Value};

use super::middleware::Visit;
use super::body_limits::Room;
use super::table::{Reads, Route};
use crate::error::{Error, Kind, Result};
use crate::model::trace_context::TraceContext;
use crate::json;
use crate::studio::lists::ListQuery;
use crate::studio::{Scope, Studio};

/// Objects and arrays inside each other.
const DEPTH: usize = 64;

/// A request on its way to a handler.
pub(super) struct Call {
    pub(super) studio: Studio,
    pub(super) scope: Scope,
    /// What the studio's paths begin with, as the outside sees them.
    pub(super) base: String,
    /// The page's way to the root, and its language.
    pub(super) visit: Visit,
    pub(super) headers: HeaderMap,
    /// The JSON body; an empty object where there is none.
    pub(super) body: Value,
    /// The body of an upload, unread, and how much of it there may be.
    pub(super) upload: Option<(Request<Body>, Room)>,
    parameters: Vec<(String, String)>,
    query: Vec<(String, String)>,
}

impl Call {
    /// Takes a request apart and reads the body that the route reads.
    pub(super) async fn receive(route: &Route, visit: Visit, mut request: Request<Body>) -> Result<Self> {
        let path = request.uri().path().to_owned();
        let raw = request.extract_parts::<RawPathParams>().await.map_err(|_| Error::not_found("path", &path))?;
        let parameters = raw.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let query = Query::<Vec<(String, String)>>::try_from_uri(request.uri());
        let Query(query) = query.map_err(|_| Error::field("query", "the query string cannot be read"))?;
        let headers = request.headers().clone();
        let room = Room::of(route, visit.studio.config(), &headers);
        let (body, upload) = match route.reads {
            Reads::Nothing => (Value::Object(Map::new()), None),
            Reads::Json(_) | Reads::JsonWithFiles(_) => (read_json(room, request).await?, None),
            Reads::Upload(_) | Reads::JsonOrUpload(..) => (Value::Object(Map::new()), Some((request, room))),
        };
        let base = format!("{}{}", visit.outside(), visit.area.prefix);
        let (studio, scope) = (visit.studio.clone(), visit.scope.clone());
        Ok(Self { studio, scope, base, visit, headers, body, upload, parameters, query })
    }

    /// Where the studio's own routes are, also for a request under the prefix of the export.
    pub(super) fn of_studio(&self) -> String {
        format!("{}{}", self.visit.outside(), super::settings::studio_prefix(self.studio.config()))
    }

    /// A part of the path that the route names. The router of a host may have named parts before it: the innermost counts.
    pub(super) fn part(&self, name: &str) -> &str {
        let found = self.parameters.iter().rev().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// A parameter of the query that is not empty.
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// A parameter of the query, also an empty one.
    pub(super) fn query_as_given(&self, name: &str) -> Option<&str> {
        self.query.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A parameter without which there is nothing to do.
    pub(super) fn required_query(&self, name: &str) -> Result<&str> {
        self.query(name).ok_or_else(|| Error::field(name, format!("{name} is required")))
    }

    /// Is a word in the comma list of a parameter?
    pub(super) fn query_names(&self, name: &str, word: &str) -> bool {
        self.query(name).is_some_and(|list| list.split(',').any(|one| one.trim() == word))
    }

    pub(super) fn list(&self) -> Result<ListQuery> {
        ListQuery::parse(self.pairs())
    }

    /// The query of a list with longer pages.
    pub(super) fn list_of(&self, usual: usize) -> Result<ListQuery> {
        ListQuery::parse_with(self.pairs(), usual)
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.query.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The span of the host that the request is part of. Several `traceparent` are none, several `tracestate` are one.
    pub(super) fn trace(&self) -> Option<Arc<TraceContext>> {
        let mut parents = self.headers.get_all("traceparent").iter();
        let (parent, None) = (parents.next()?, parents.next()) else { return None };
        let states: Vec<&str> = self.headers.get_all("tracestate").iter().map(|state| state.to_str().unwrap_or("?")).collect();
        TraceContext::parse(parent.to_str().ok()?, Some(&states.join(","))).map(Arc::new)
    }

    /// The revision that `If-Match` names. `*` fits any.
    pub(super) fn if_match(&self) -> Result<Option<i64>> {
        let Some(given) = self.headers.get(header::IF_MATCH) else { return Ok(None) };
        let tag = given.to_str().unwrap_or_default().trim();
        if tag == "*" {
            return Ok(None);
        }
        let tag = tag.strip_prefix("W/").unwrap_or(tag);
        let number = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')).unwrap_or(tag).parse();
        number.map(Some).map_err(|_| Error::field("If-Match", "If-Match must be an ETag that this resource gave"))
    }
}

/// Type and subtype of the body in lower case.
pub(super) fn content_type(headers: &HeaderMap) -> Option<String> {
    let given = headers.get(header::CONTENT_TYPE)?.to_str().unwrap_or("?");
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Some(essence).filter(|essence| !essence.is_empty())
}

/// A JSON body for which there is room.
pub(super) async fn read_json(room: Room, request: Request<Body>) -> Result<Value> {
    let kind = content_type(request.headers());
    let is_json = kind.as_deref() == Some("application/json");
    if !is_json && kind.is_some() && !http_body::Body::is_end_stream(request.body()) {
        return Err(not_json());
    }
    room.check(request.headers())?;
    let bytes = read(request.into_body(), room).await?;
    if bytes.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    if is_json { parse(&bytes) } else { Err(not_json()) }
}

fn not_json() -> Error {
    Error::new(Kind::UnsupportedMediaType, "the body must be sent with `Content-Type: application/json`")
}

pub(super) async fn read(body: Body, room: Room) -> Result<Bytes> {
    let limit = usize::try_from(room.bytes()).unwrap_or(usize::MAX);
    match Limited::new(body, limit).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(room.too_large()),
        Err(_) => Err(Error::new(Kind::MalformedJson, "the body broke off")),
    }
}

/// The JSON of a body.
pub(super) fn parse(bytes: &[u8]) -> Result<Value> {
    let found = json::measure(bytes);
    if found.depth > DEPTH {
        let told = format!("the body has more than {DEPTH} objects and arrays inside each other");
        return Err(Error::new(Kind::MalformedJson, told));
    }
    if found.bytes > json::MOST {
        return Err(Error::new(Kind::BodyTooLarge, "the body has too many values; nothing of it was read; send it in several parts"));
    }
    serde_json::from_slice(bytes).map_err(|error| Error::new(Kind::MalformedJson, format!("the body is not JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_four_levels_are_read_and_one_more_is_not() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(nested(64).as_bytes()).is_ok());
        assert_eq!(parse(nested(65).as_bytes()).map_err(|error| error.kind), Err(Kind::MalformedJson));
    }

    #[test]
    fn a_body_of_very_many_values_is_not_read() {
        let told = |text: String| parse(text.as_bytes()).map_err(|error| error.kind);
        assert_eq!(told(format!("[{}0]", "0,".repeat(1 << 20))), Err(Kind::BodyTooLarge));
        assert!(told(format!("[{}0]", "0,".repeat(1 << 18))).is_ok());
    }
}
