//! Owns HTTP to MCP servers: checked addresses, redirects within one origin, authorization, failures in words.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _, stream};
use http::{HeaderName, HeaderValue, StatusCode};
use reqwest::Url;
use reqwest::redirect::{Attempt, Policy};
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpClientWorker, StreamableHttpError,
    StreamableHttpPostResponse,
};
use rmcp::transport::WorkerTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use sse_stream::Sse;

use super::authorization::{Authorization, TOKENS};
use super::changes::Changes;
use super::elicitation::Elicitation;
use super::post::Post;
use super::server::Address;
use super::server_call;
use super::wire::{self, Broken, MESSAGE_LIMIT};
use crate::json;
use crate::providers::http_client;
use crate::tools::guard::{self, Guard};

/// A stream that broke off is looked for so many times, for seven seconds; then the server is taken for dead.
const RESUMED: usize = 3;
/// More redirects than this lead nowhere.
const REDIRECTS: usize = 5;

/// What to do where nobody gives a token.
pub(super) const UNAUTHORIZED: &str =
    "wants authorization (401): give it a `token` or a header with a secret that it accepts, or let the application answer `mcp.authorize`";

#[derive(Clone, Debug, thiserror::Error)]
#[error("{text}")]
pub(super) struct TransportFailure {
    pub(super) text: String,
    /// There was no connection: the server saw nothing.
    pub(super) unreached: bool,
}

impl From<&reqwest::Error> for TransportFailure {
    fn from(problem: &reqwest::Error) -> Self {
        let (unreached, why) = (problem.is_connect(), guard::why(problem));
        let text = if unreached { format!("could not be reached: {why}") } else { format!("did not answer in full: {why}") };
        Self { text, unreached }
    }
}

/// The client for one server.
///
/// # Errors
/// The address must not be reached, or no client can be made.
pub(super) fn client(address: &Address, guard: &Guard) -> Result<(reqwest::Client, Url), String> {
    let url = Url::parse(&address.url).map_err(|problem| format!("has no valid `url`: {problem}"))?;
    let mut builder = http_client::builder(guard.trust())?.redirect(Policy::custom(redirect));
    if !address.free {
        guard.check(&url).map_err(|refusal| format!("is not called: {refusal}"))?;
        builder = builder.no_proxy().dns_resolver(Arc::new(guard.clone()));
    }
    let client = builder.build().map_err(|problem| format!("cannot be called: the HTTP client could not be made: {}", http_client::cause(&problem)))?;
    Ok((client, url))
}

/// Credentials stay at their origin, and a redirect must not turn a call into something else.
fn redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let from = attempt.previous().last().map(Url::origin);
    let keeps = matches!(attempt.status().as_u16(), 307 | 308);
    if keeps && from == Some(attempt.url().origin()) && attempt.previous().len() <= REDIRECTS {
        return attempt.follow();
    }
    attempt.stop()
}

/// Header names and values that can be sent.
///
/// # Errors
/// One cannot be sent.
pub(super) fn headers(address: &Address) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let read = |(name, value): (&String, &String)| {
        let told = |what: &str| format!("cannot be called: its header `{name}` {what}");
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| told("has no valid name"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| told("has a value that cannot be sent"))?;
        value.set_sensitive(true);
        Ok((header, value))
    };
    address.headers.iter().map(read).collect()
}

/// Opens streamable HTTP; nothing is sent yet.
///
/// # Errors
/// The address must not be reached, or no client can be made.
pub(super) fn open(address: &Address, (elicitation, changes): (&Elicitation, &Changes), guard: &Guard) -> Result<WorkerTransport<StreamableHttpClientWorker<Fetch>>, String> {
    let (client, url) = client(address, guard)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).max_sse_event_size(MESSAGE_LIMIT);
    config = config.custom_headers(headers(address)?);
    let mut again = ExponentialBackoff::default();
    again.max_times = Some(RESUMED);
    config.retry_config = Arc::new(again);
    if let Some(token) = &address.token {
        config = config.auth_header(&**token);
    }
    let fetch = Fetch { client, authorization: address.authorization.clone(), elicitation: elicitation.clone(), changes: changes.clone() };
    Ok(WorkerTransport::spawn(StreamableHttpClientWorker::new(fetch, config)))
}

/// The crate's client with failures in our words, and with tokens of the host's.
#[derive(Clone)]
pub(super) struct Fetch {
    client: reqwest::Client,
    authorization: Authorization,
    elicitation: Elicitation,
    changes: Changes,
}

type Failure = StreamableHttpError<TransportFailure>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// The protocol distinguishes some failures; of the others the text is kept.
#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is the protocol library's, which adds to it")]
fn failure(problem: StreamableHttpError<reqwest::Error>) -> Failure {
    match problem {
        StreamableHttpError::Client(problem) => Failure::Client(TransportFailure::from(&problem)),
        StreamableHttpError::Sse(problem) => Failure::Sse(problem),
        StreamableHttpError::HttpStatus(status) => Failure::HttpStatus(status),
        StreamableHttpError::ServerDoesNotSupportSse => Failure::ServerDoesNotSupportSse,
        StreamableHttpError::ServerDoesNotSupportDeleteSession => Failure::ServerDoesNotSupportDeleteSession,
        StreamableHttpError::AuthRequired(challenge) => Failure::AuthRequired(challenge),
        StreamableHttpError::InsufficientScope(challenge) => Failure::InsufficientScope(challenge),
        StreamableHttpError::SessionExpired => Failure::SessionExpired,
        StreamableHttpError::UnexpectedContentType(kind) => Failure::UnexpectedContentType(kind),
        other => Failure::UnexpectedServerResponse(other.to_string().into()),
    }
}

/// A server that ends a stream is not asked again earlier than this, whatever it says, in milliseconds.
const PAUSE: u64 = 100;

/// Events of which none has more values than are read, and none makes the studio ask again at once.
fn light<E>(events: impl Stream<Item = Result<Sse, E>>) -> impl Stream<Item = Result<Sse, E>> {
    events.map(|event| {
        event.map(|mut event| {
            if let Some(data) = event.data.take_if(|data| json::is_heavy(data.as_bytes())) {
                let told = wire::unreadable(data.as_bytes(), &json::Unread::Heavy);
                event.data = told.and_then(|told| serde_json::to_string(&told).ok());
            }
            event.retry = event.retry.map(|pause| pause.max(PAUSE));
            event
        })
    })
}

/// The same for the events of an answer.
fn lightened(answer: StreamableHttpPostResponse) -> StreamableHttpPostResponse {
    if let StreamableHttpPostResponse::Sse(events, session) = answer {
        return StreamableHttpPostResponse::Sse(light(events).boxed(), session);
    }
    answer
}

/// What a refusal is marked with that is one of the session; no server can know it.
static FORGOTTEN: LazyLock<serde_json::Value> = LazyLock::new(|| uuid::Uuid::new_v4().to_string().into());
/// Codes of requests that are not taken, and those that servers choose themselves: the protocol has none for sessions.
const NOT_TAKEN: i32 = -32600;
const SERVERS_OWN: std::ops::RangeInclusive<i32> = -32099..=-32000;
/// How long it may take to learn whether a session is still known.
const ASKED: Duration = Duration::from_secs(5);
/// More is not read of a refusal.
const REFUSAL: usize = 64 << 10;

/// Whether a server refused a request unread, because it does not know its session.
pub(super) fn is_forgotten(error: &ErrorData) -> bool {
    error.data.as_ref() == Some(&*FORGOTTEN)
}

/// A refusal that names another request than that which brought it, or none, is the answer to it nevertheless. The server did not read that request: of
/// one that it read it must say the id.
fn unread<'a>(asked: Option<&RequestId>, answer: &'a mut StreamableHttpPostResponse) -> Option<&'a mut ErrorData> {
    let StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), _) = answer else { return None };
    if asked.is_none() || error.id.as_ref() == asked {
        return None;
    }
    error.id = asked.cloned();
    Some(&mut error.error)
}

/// The status and the words of a server that wants (other) authorization. It has done nothing with the request.
#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is the protocol library's, which adds to it")]
fn challenge<E: std::error::Error + Send + Sync + 'static>(problem: &StreamableHttpError<E>) -> Option<(u16, &str)> {
    match problem {
        StreamableHttpError::AuthRequired(wanted) => Some((401, &wanted.www_authenticate_header)),
        StreamableHttpError::InsufficientScope(wanted) => Some((403, &wanted.www_authenticate_header)),
        StreamableHttpError::HttpStatus(status) if status.status == 401 => Some((401, "")),
        _ => None,
    }
}

impl Fetch {
    /// A server that was started again does not know sessions from before. The protocol has a status for that (404), with which the transport sends the
    /// request again on a new session; others say 400 and refuse the message unread. Whether they refuse it because of its session, a ping tells, which
    /// does nothing: it is refused in the same way. Otherwise the refusal is that of the request, which is not made again.
    async fn forgot(&self, uri: &str, session: &str, token: Option<String>, headers: Headers, refusal: &ErrorData) -> bool {
        let ping = serde_json::json!({"jsonrpc": "2.0", "id": "session", "method": "ping"});
        let mut request = self.client.post(uri).headers(headers.into_iter().collect()).json(&ping);
        request = request.header("Accept", "application/json, text/event-stream").header("Mcp-Session-Id", session);
        if let Some(token) = self.authorization.current().or(token) {
            request = request.bearer_auth(token);
        }
        let Ok(mut answer) = request.send().await else { return false };
        if answer.status() != StatusCode::BAD_REQUEST {
            return answer.status() == StatusCode::NOT_FOUND;
        }
        let mut text = Vec::new();
        while let Ok(Some(piece)) = answer.chunk().await {
            text.extend_from_slice(&piece);
            if text.len() > REFUSAL {
                return false;
            }
        }
        let Ok(ServerJsonRpcMessage::Error(told)) = json::read(&text) else { return false };
        told.error.code == refusal.code && told.error.message == refusal.message
    }

    /// Sends a request; again with a token of the host's where the server wants one.
    async fn authorized<T, F>(&self, token: Option<String>, send: impl Fn(Option<String>) -> F + Sync) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, StreamableHttpError<reqwest::Error>>>,
    {
        let mut token = self.authorization.current().or(token);
        for _ in 0..TOKENS {
            let problem = match send(token.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(problem) => problem,
            };
            let Some((status, words)) = challenge(&problem) else { return Err(failure(problem)) };
            token = match self.authorization.renewed(token.as_deref(), status, words).await {
                None => return Err(failure(problem)),
                Some(Ok(other)) => Some(other),
                Some(Err(text)) => return Err(Failure::Client(TransportFailure { text, unreached: true })),
            };
        }
        send(token).await.map_err(failure)
    }
}

impl StreamableHttpClient for Fetch {
    type Error = TransportFailure;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        self.post_message_with_max_sse_event_size(uri, message, session, token, headers, MESSAGE_LIMIT).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        mut headers: Headers,
        limit: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let asked = if let ClientJsonRpcMessage::Request(request) = &message { Some(request.id.clone()) } else { None };
        let call = server_call::key_of(&message);
        headers.extend(server_call::trace_of(&message));
        let given = token.clone();
        let posted = self.authorized(token, |token| {
            let post = Post { uri: Arc::clone(&uri), message: message.clone(), session: session.clone(), headers: headers.clone() };
            post.send(&self.client, token, limit)
        });
        let mut answer = posted.await?;
        if let Some(refusal) = unread(asked.as_ref(), &mut answer)
            && let Some(session) = &session
            && (refusal.code.0 == NOT_TAKEN || SERVERS_OWN.contains(&refusal.code.0))
            && tokio::time::timeout(ASKED, self.forgot(&uri, session, given, headers, refusal)).await == Ok(true)
        {
            refusal.data = Some(FORGOTTEN.clone());
        }
        Ok(self.elicitation.watched(call, lightened(answer)))
    }

    async fn delete_session(&self, uri: Arc<str>, session: Arc<str>, token: Option<String>, headers: Headers) -> Result<(), Failure> {
        let token = self.authorization.current().or(token);
        self.client.delete_session(uri, session, token, headers).await.map_err(failure)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        self.get_stream_with_max_sse_event_size(uri, session, last, token, headers, MESSAGE_LIMIT).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let opened = self.authorized(token, |token| {
            let (uri, session, last, headers) = (Arc::clone(&uri), session.clone(), last.clone(), headers.clone());
            self.client.get_stream_with_max_sse_event_size(uri, session, last, token, headers, limit)
        });
        let events = light(opened.await?);
        // One that goes on behind an event is that of an answer, or what came meanwhile is told again.
        let mut listening = last.is_none().then(|| self.changes.listen());
        Ok(events.chain(stream::poll_fn(move |_| Poll::Ready(listening.take().and(None)))).boxed())
    }
}

/// What a failure of the transport says, as a sentence's end; and whether the server saw nothing of the request.
#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is the protocol library's, which adds to it")]
pub(super) fn describe_error(problem: &(dyn std::error::Error + 'static)) -> (String, bool) {
    if let Some(failure) = problem.downcast_ref::<Failure>() {
        return match failure {
            Failure::Client(failure) => (failure.text.clone(), failure.unreached),
            Failure::AuthRequired(_) => (UNAUTHORIZED.into(), true),
            Failure::InsufficientScope(_) => ("says that the credentials do not suffice (403)".into(), true),
            Failure::HttpStatus(status) => (format!("answered with status {}", status.status), false),
            Failure::UnexpectedServerResponse(text) => (format!("did not answer as a server should: {text}"), false),
            other => (format!("did not answer as a server should: {other}"), false),
        };
    }
    let unreached = problem.downcast_ref::<Broken>().is_some_and(|broken| broken.unreached);
    (problem.to_string(), unreached)
}
