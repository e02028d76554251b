//! Owns one POST of the streamable HTTP transport. An answer is measured before values are made of it, so a server cannot fill the host's memory.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use reqwest::Response;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::SseStream;

use super::wire;
use crate::json;

/// More is not read of a refusal.
const REFUSAL: usize = 64 << 10;
/// More of a body is not shown in an error.
const SHOWN: usize = 256;

type Problem = StreamableHttpError<reqwest::Error>;

/// A message, and where it goes.
pub(super) struct Post {
    pub(super) uri: Arc<str>,
    pub(super) message: ClientJsonRpcMessage,
    pub(super) session: Option<Arc<str>>,
    pub(super) headers: HashMap<HeaderName, HeaderValue>,
}

impl Post {
    /// Sends it; of an answer, and of each event of one, at most `limit` bytes are read.
    pub(super) async fn send(self, client: &reqwest::Client, token: Option<String>, limit: usize) -> Result<StreamableHttpPostResponse, Problem> {
        let mut request = client.post(&*self.uri).header(ACCEPT, format!("{EVENT_STREAM_MIME_TYPE}, {JSON_MIME_TYPE}"));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        for (name, value) in &self.headers {
            if *name == ACCEPT || [HEADER_SESSION_ID, HEADER_LAST_EVENT_ID].iter().any(|own| name.as_str().eq_ignore_ascii_case(own)) {
                return Err(Problem::ReservedHeaderConflict(name.to_string()));
            }
            request = request.header(name, value);
        }
        if let Some(session) = &self.session {
            request = request.header(HEADER_SESSION_ID, &**session);
        }
        let answer = request.json(&self.message).send().await.map_err(Problem::Client)?;
        let status = answer.status();
        if let Some(challenge) = challenge(&answer) {
            return Err(challenge);
        }
        match status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => Ok(StreamableHttpPostResponse::Accepted),
            StatusCode::NOT_FOUND if self.session.is_some() => Err(Problem::SessionExpired),
            _ if status.is_success() => self.answered(answer, limit).await,
            _ => self.refused(answer, status).await,
        }
    }

    /// The id that an answer must have; none where none is waited for.
    fn asked(&self) -> Option<&RequestId> {
        if let ClientJsonRpcMessage::Request(request) = &self.message { Some(&request.id) } else { None }
    }

    async fn answered(&self, answer: Response, limit: usize) -> Result<StreamableHttpPostResponse, Problem> {
        let asked = self.asked();
        if asked.is_none() && answer.content_length() == Some(0) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let (kind, session) = (header(&answer, CONTENT_TYPE.as_str()), header(&answer, HEADER_SESSION_ID));
        if kind.as_deref().is_some_and(|kind| kind.starts_with(EVENT_STREAM_MIME_TYPE)) {
            let mut size = EventSize::default();
            let pieces = answer.bytes_stream().map(move |piece| {
                let piece = piece.map_err(std::io::Error::other)?;
                if size.add(&piece) > limit {
                    return Err(std::io::Error::other(format!("an event is longer than {} MiB", limit >> 20)));
                }
                Ok(piece)
            });
            return Ok(StreamableHttpPostResponse::Sse(SseStream::from_bytes_stream(pieces).boxed(), session));
        }
        if !kind.as_deref().is_some_and(|kind| kind.starts_with(JSON_MIME_TYPE)) {
            return Err(Problem::UnexpectedContentType(kind));
        }
        let unread = |id: &RequestId, why: String| StreamableHttpPostResponse::Json(wire::unread(id.clone(), why), session.clone());
        let (body, whole) = body(answer, limit).await?;
        let Some(id) = asked else {
            let message = if whole { json::read(&body).ok() } else { None };
            return Ok(message.map_or(StreamableHttpPostResponse::Accepted, |message| StreamableHttpPostResponse::Json(message, session)));
        };
        if !whole {
            return Ok(unread(id, format!("the answer is longer than {} MiB and was not read", limit >> 20)));
        }
        match json::read(&body) {
            Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
            Err(problem @ json::Unread::Heavy) => Ok(unread(id, format!("the answer could not be read: {problem}"))),
            Err(problem) => Err(unexpected(format!("{problem}: {}", shown(&body)))),
        }
    }

    /// A refusal may be a JSON-RPC error, which is kept.
    async fn refused(&self, answer: Response, status: StatusCode) -> Result<StreamableHttpPostResponse, Problem> {
        let json = header(&answer, CONTENT_TYPE.as_str()).is_some_and(|kind| kind.starts_with(JSON_MIME_TYPE));
        let busy = status == StatusCode::TOO_MANY_REQUESTS;
        let failed = (busy || status.is_server_error()).then(|| HttpStatusError::new(status.as_u16(), header(&answer, RETRY_AFTER.as_str())));
        let failed = match failed {
            Some(failed) if busy || !json => return Err(failed.into()),
            other => other,
        };
        let session = header(&answer, HEADER_SESSION_ID);
        let (text, whole) = body(answer, REFUSAL).await.unwrap_or_default();
        let error = if let (true, Ok(ServerJsonRpcMessage::Error(error))) = (whole, json::read(&text)) { Some(error) } else { None };
        let credentials = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if let (Some(id), true) = (self.discovers(), status.is_client_error() && !credentials) {
            let told = || ErrorData::invalid_request(format!("refused with status {status}: {}", shown(&text)), None);
            let error = error.map_or_else(told, |error| error.error);
            return Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::error(error, Some(id.clone())), None));
        }
        match (error, failed) {
            (Some(error), _) if json && !credentials => Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), session)),
            (_, Some(failed)) => Err(failed.into()),
            (_, None) => Err(unexpected(format!("HTTP {status}: {}", shown(&text)))),
        }
    }

    /// Of a request that asks which protocol a server speaks: older servers refuse it, and their refusals may have any id.
    fn discovers(&self) -> Option<&RequestId> {
        let ClientJsonRpcMessage::Request(request) = &self.message else { return None };
        (self.session.is_none() && matches!(request.request, ClientRequest::DiscoverRequest(_))).then_some(&request.id)
    }
}

fn unexpected(text: String) -> Problem {
    Problem::UnexpectedServerResponse(text.into())
}

fn header(answer: &Response, name: &str) -> Option<String> {
    answer.headers().get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// What a server says that wants (other) credentials.
fn challenge(answer: &Response) -> Option<Problem> {
    let words = header(answer, WWW_AUTHENTICATE.as_str())?;
    match answer.status() {
        StatusCode::UNAUTHORIZED => Some(Problem::AuthRequired(AuthRequiredError::new(words))),
        StatusCode::FORBIDDEN => Some(Problem::InsufficientScope(InsufficientScopeError::new(words, None))),
        _ => None,
    }
}

/// The beginning of a body, and whether it is the whole.
async fn body(mut answer: Response, limit: usize) -> Result<(Vec<u8>, bool), Problem> {
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(Problem::Client)? {
        if body.len() + piece.len() > limit {
            return Ok((body, false));
        }
        body.extend_from_slice(&piece);
    }
    Ok((body, true))
}

fn shown(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(SHOWN)]).into_owned()
}

/// The size of the event that comes.
#[derive(Default)]
struct EventSize {
    bytes: usize,
    line: usize,
    returned: bool,
}

impl EventSize {
    /// The largest size that an event had within this piece.
    fn add(&mut self, piece: &[u8]) -> usize {
        let mut most = 0;
        for byte in piece {
            match byte {
                b'\n' if self.returned => {}
                b'\r' | b'\n' if self.line == 0 => self.bytes = 0,
                b'\r' | b'\n' => self.line = 0,
                _ => self.line += 1,
            }
            self.returned = *byte == b'\r';
            self.bytes += 1;
            most = most.max(self.bytes);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_the_size_of_its_lines_however_they_come() {
        let text = b"data: 0123456789\r\ndata: 0123456789\r\n\r\ndata: 1\n\ndata: 2\n\n";
        for pieces in [1, 3, 7, 100] {
            let mut size = EventSize::default();
            let most = text.chunks(pieces).map(|piece| size.add(piece)).max();
            assert_eq!(most, Some(36), "in pieces of {pieces}");
        }
    }
}
