//! Owns HTTP requests of native hosts: JSON head and body bytes in, JSON head and optionally a stream out.

use axum::body::Body;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, Response, Uri};
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};

use super::super::fault::{Code, Fault};
use super::requests::{Who, inline, object, required, text, who};
use super::source::{self, Source};
use crate::error::Error;
use crate::http::{HostMarks, dispatch, may_come};
use crate::studio::Studio;

/// The beginning of an HTTP answer.
pub(super) struct Begun {
    /// `{status, headers}`.
    pub(super) head: Value,
    pub(super) body: Body,
    /// The body is text that ends.
    text: bool,
}

/// An HTTP answer.
pub(super) struct Answer {
    /// `{status, headers, body?}`.
    pub(super) head: Vec<u8>,
    /// The body, unless the head has it or there is none.
    pub(super) body: Option<Source>,
    /// The stream is to bring the calls to the host.
    pub(super) brings_calls: bool,
}

/// Asks, and waits for the answer's head; a text body is waited for too.
pub(super) async fn ask(studio: &Studio, head: &[u8], body: Bytes) -> Result<Answer, Fault> {
    let head = object(head)?;
    let brings_calls = inline(&head)?;
    let Begun { head: mut told, body, text } = begin(studio, &head, body).await?;
    let body = if text { text_body(body, &mut told).await? } else { Some(source::body(body)) };
    Ok(Answer { head: told.to_string().into_bytes(), body, brings_calls })
}

/// Asks, and waits for the answer's head.
pub(super) async fn begin(studio: &Studio, head: &Map<String, Value>, body: Bytes) -> Result<Begun, Fault> {
    let (request, marks) = (request(head, body)?, marks(head)?);
    let answer = if asks_first(head)? {
        match may_come(studio, request, marks).await {
            Ok(most) => {
                let head = json!({"status": 100, "headers": [], "body_limit": most});
                return Ok(Begun { head, body: Body::empty(), text: true });
            }
            Err(refused) => refused,
        }
    } else {
        dispatch(studio, request, marks).await
    };
    let (parts, body) = answer.into_parts();
    let head = json!({"status": parts.status.as_u16(), "headers": headers(&parts.headers)});
    let text = is_text(&Response::from_parts(parts, ()));
    Ok(Begun { head, body, text })
}

/// True when the host has not read the body yet, and asks whether to.
fn asks_first(head: &Map<String, Value>) -> Result<bool, Fault> {
    match text(head, "expect")? {
        None => Ok(false),
        Some("100-continue") => Ok(true),
        Some(_) => Err(Error::field("expect", "`expect` is `100-continue` or absent").into()),
    }
}

fn request(head: &Map<String, Value>, body: Bytes) -> Result<Request<Bytes>, Fault> {
    let method = Method::from_bytes(required(head, "method")?.as_bytes());
    let method = method.map_err(|_| Error::field("method", "`method` is no HTTP method"))?;
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri(required(head, "path")?, text(head, "query")?)?;
    let wrong = || Error::field("headers", "`headers` is a list of [name, value] pairs of texts");
    match head.get("headers") {
        None | Some(Value::Null) => {}
        Some(Value::Array(pairs)) => {
            for pair in pairs {
                let (name, value) = header(pair).ok_or_else(wrong)?;
                request.headers_mut().append(name, value);
            }
        }
        Some(_) => return Err(wrong().into()),
    }
    Ok(request)
}

fn uri(path: &str, query: Option<&str>) -> Result<Uri, Fault> {
    if !path.starts_with('/') {
        return Err(Error::field("path", "`path` begins with `/` and is percent-encoded").into());
    }
    // What comes behind these would be cut off in silence, and another path answered than the host has looked at.
    if path.contains(['?', '#']) || query.is_some_and(|query| query.contains('#')) {
        return Err(Error::field("path", "`path` and `query` are no request target: percent-encode them").into());
    }
    let target = match query {
        None | Some("") => path.to_owned(),
        Some(query) => format!("{path}?{query}"),
    };
    let uri = Uri::builder().path_and_query(target).build();
    uri.map_err(|_| Error::field("path", "`path` and `query` are no request target: percent-encode them").into())
}

fn header(pair: &Value) -> Option<(HeaderName, HeaderValue)> {
    let [name, value] = pair.as_array()?.as_slice() else { return None };
    let name = HeaderName::from_bytes(name.as_str()?.as_bytes()).ok()?;
    Some((name, HeaderValue::from_bytes(value.as_str()?.as_bytes()).ok()?))
}

/// What the host says beside the request.
fn marks(head: &Map<String, Value>) -> Result<HostMarks, Fault> {
    let yes_or_no = |name: &str| match head.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(yes)) => Ok(Some(*yes)),
        Some(_) => Err(Fault::from(Error::field(name, format!("`{name}` is not true or false")))),
    };
    let Who { tenant, user } = who(head)?;
    Ok(HostMarks {
        user,
        tenant,
        gate: yes_or_no("gate")?,
        undecided: head.get("gate").is_some_and(Value::is_null),
        authorized: yes_or_no("authorized")?.unwrap_or(false),
        base_url: text(head, "base_url")?.map(str::to_owned),
        root_path: text(head, "root_path")?.map(str::to_owned),
    })
}

fn headers(headers: &http::HeaderMap) -> Vec<[String; 2]> {
    let shown = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| [name.as_str().to_owned(), shown(value)]).collect()
}

/// Text that ends: it fits into the head. Event streams, files and compressed bodies do not.
fn is_text<T>(answer: &Response<T>) -> bool {
    if answer.headers().contains_key(CONTENT_ENCODING) {
        return false;
    }
    let Some(kind) = answer.headers().get(CONTENT_TYPE) else { return true };
    let kind = String::from_utf8_lossy(kind.as_bytes()).to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let text = kind.starts_with("text/") || kind.ends_with("json") || kind.ends_with("javascript") || kind.ends_with("xml");
    text && kind != "text/event-stream"
}

/// All of a body.
pub(super) async fn whole(body: Body) -> Result<Bytes, Fault> {
    let broke = |error: axum::Error| Fault::new(Code::Internal, &format!("the answer broke off: {error}"));
    Ok(body.collect().await.map_err(broke)?.to_bytes())
}

/// Puts a text into the head; what turns out not to be text stays a body.
async fn text_body(body: Body, head: &mut Value) -> Result<Option<Source>, Fault> {
    let bytes = whole(body).await?;
    if bytes.is_empty() {
        return Ok(None);
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => {
            head["body"] = text.into();
            Ok(None)
        }
        Err(_) => Ok(Some(source::body(Body::from(bytes)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_what_the_head_says() {
        let head = json!({"method": "POST", "path": "/studio/a%20b", "query": "x=1&y", "headers": [["X-A", "1"], ["x-a", "ü"]]});
        let Value::Object(head) = head else { return };
        let built = request(&head, Bytes::from_static(b"body")).expect("a request");
        assert_eq!(built.uri().to_string(), "/studio/a%20b?x=1&y");
        assert_eq!(built.headers().get_all("x-a").iter().count(), 2);
        assert_eq!((built.method().as_str(), built.body().as_ref()), ("POST", b"body".as_slice()));
    }

    #[test]
    fn a_head_that_is_no_request_is_refused_by_the_name_of_the_member() {
        let cases = [
            ("method", json!({"path": "/"})),
            ("method", json!({"method": "GE T", "path": "/"})),
            ("path", json!({"method": "GET", "path": "studio"})),
            ("path", json!({"method": "GET", "path": "/a b"})),
            ("path", json!({"method": "GET", "path": "/a#b"})),
            ("path", json!({"method": "GET", "path": "/a", "query": "x#y"})),
            ("path", json!({"method": "GET", "path": "/a\r\nX: y"})),
            ("headers", json!({"method": "GET", "path": "/", "headers": {"a": "b"}})),
            ("headers", json!({"method": "GET", "path": "/", "headers": [["a", "b\r\nc: d"]]})),
        ];
        for (member, head) in cases {
            let Value::Object(head) = head else { return };
            let fault = request(&head, Bytes::new()).expect_err(member);
            assert!(fault.problem["errors"].get(member).is_some(), "{}", fault.problem);
        }
    }

    #[test]
    fn only_text_that_ends_goes_into_the_head() {
        let kinds = ["application/json", "application/problem+json", "text/html; charset=utf-8", "text/event-stream", "image/png", "TEXT/CSV"];
        let inline = kinds.map(|kind| is_text(&Response::builder().header(CONTENT_TYPE, kind).body(()).expect("an answer")));
        assert_eq!(inline, [true, true, true, false, false, true]);
    }
}
