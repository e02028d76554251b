//! Owns calls to providers on this machine or network, over HTTP/1.1 without TLS and without a proxy. The run's own task writes and
//! reads: no other is woken on the way of a token, and a call that waits holds a connection and nothing else.
//!
//! What needs more (TLS, HTTP/2, proxies, credentials inside a URL) goes by the client that `outbound` makes.

mod body;
mod chunks;
mod pool;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::{Arc, OnceLock};

use bytes::{Buf as _, Bytes, BytesMut};
use http::header::{ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, TRANSFER_ENCODING, USER_AGENT};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::net::tcp::ReadHalf;

pub(super) use body::Body;
use body::End;
use pool::Pool;

/// A longer head of an answer is not read.
const HEAD_LIMIT: usize = 64 << 10;
/// More headers are not read.
const MOST_HEADERS: usize = 128;
/// So much is read at once, at least.
const PIECE: usize = 8 << 10;
/// The first read takes no more: mostly a short answer, in memory that is quickly had.
const FIRST: usize = 1000;

/// The client of plain connections.
pub(super) struct Plain {
    heeds_proxies: bool,
    /// Those of the environment, as it was at the first call.
    proxies: OnceLock<Matcher>,
    pool: Arc<Pool>,
}

/// The beginning of an answer.
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// HTTP/1.0 closes a connection after each answer.
    is_old: bool,
}

/// Where a request goes.
pub(super) struct Target {
    authority: Authority,
    path: String,
}

impl Plain {
    /// A client; with `heeds_proxies`, those of the environment.
    pub(super) fn new(heeds_proxies: bool) -> Self {
        Self { heeds_proxies, proxies: OnceLock::new(), pool: Arc::default() }
    }

    /// Where this URL leads, when a plain connection does and nothing in it has to be written otherwise.
    pub(super) fn target(&self, url: &str) -> Option<Target> {
        let uri: Uri = url.parse().ok().filter(|_| !url.contains('#'))?;
        let authority = uri.authority().filter(|authority| uri.scheme() == Some(&Scheme::HTTP) && !authority.as_str().contains('@'))?;
        let port = authority.as_str().strip_prefix(authority.host())?;
        let path = uri.path_and_query()?.as_str();
        let plain = (port.is_empty() || (port != ":80" && authority.port_u16().is_some())) && is_plain(path);
        let proxied = || self.heeds_proxies && self.proxies.get_or_init(Matcher::from_system).intercept(&uri).is_some();
        (plain && !proxied()).then(|| Target { authority: authority.clone(), path: path.to_owned() })
    }

    /// Posts JSON and waits for the beginning of the answer.
    ///
    /// # Errors
    /// Nothing of an answer came, or its beginning cannot be read.
    pub(super) async fn post(&self, target: Target, headers: &[(HeaderName, HeaderValue)], body: Bytes) -> io::Result<(Head, Body)> {
        let head = request(&target, headers, body.len());
        let place = pool::Place::of(&target.authority);
        let (mut stream, kept) = match self.pool.take(&place) {
            Some(stream) => (stream, true),
            None => (pool::connect(&target.authority).await?, false),
        };
        let mut buffer = BytesMut::new();
        let mut exchanged = exchange(&mut stream, head.clone().chain(body.clone()), &mut buffer).await;
        // A server may close a connection that was kept just as it is used again: it has not read the request.
        if kept && buffer.is_empty() && exchanged.as_ref().is_err_and(was_closed) {
            stream = pool::connect(&target.authority).await?;
            exchanged = exchange(&mut stream, head.chain(body), &mut buffer).await;
        }
        let (head, all_sent) = exchanged?;
        let end = End::of(&head)?;
        let ours = headers.iter().all(|(name, _)| name != CONNECTION) && !says(&head.headers, CONNECTION, "close");
        let clear = !(head.headers.contains_key(TRANSFER_ENCODING) && head.headers.contains_key(CONTENT_LENGTH));
        let back = (all_sent && ours && clear && !head.is_old).then(|| (Arc::clone(&self.pool), place));
        Ok((head, Body::new(stream, buffer, end, back)))
    }
}

fn was_closed(problem: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(problem.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// Nothing in a path has to be escaped or taken out.
fn is_plain(path: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~.:/?&=%@+,;!$()*".contains(&byte);
    path.starts_with('/') && path.bytes().all(plain) && !path.contains("/.") && !path.contains("%2e") && !path.contains("%2E")
}

/// How long the body is, is nobody else's to say.
const OURS: [HeaderName; 3] = [CONTENT_LENGTH, TRANSFER_ENCODING, EXPECT];

fn request(target: &Target, headers: &[(HeaderName, HeaderValue)], length: usize) -> Bytes {
    let mut head = Vec::with_capacity(512);
    let mut write = |parts: &[&[u8]]| parts.iter().for_each(|part| head.extend_from_slice(part));
    write(&[b"POST ", target.path.as_bytes(), b" HTTP/1.1\r\n"]);
    let own = [
        (HOST, target.authority.as_str()),
        (CONTENT_TYPE, "application/json"),
        (ACCEPT, "*/*"),
        (USER_AGENT, super::outbound::USER_AGENT),
    ];
    for (name, value) in own.iter().filter(|(name, _)| headers.iter().all(|(given, _)| given != name)) {
        write(&[name.as_ref(), b": ", value.as_bytes(), b"\r\n"]);
    }
    for (name, value) in headers.iter().filter(|(name, _)| !OURS.contains(name)) {
        write(&[name.as_ref(), b": ", value.as_bytes(), b"\r\n"]);
    }
    write(&[b"content-length: ", length.to_string().as_bytes(), b"\r\n\r\n"]);
    Bytes::from(head)
}

/// Sends a request and reads the head of its answer, which may come before all was sent; tells whether all was.
async fn exchange(stream: &mut TcpStream, mut request: impl bytes::Buf, buffer: &mut BytesMut) -> io::Result<(Head, bool)> {
    let (reader, mut writer) = stream.split();
    let sending = writer.write_all_buf(&mut request);
    let reading = read_head(&reader, buffer);
    tokio::pin!(sending, reading);
    let failed = tokio::select! {
        biased;
        sent = &mut sending => sent.err(),
        head = &mut reading => {
            let head = head?;
            // Who refuses wants no more; who has begun to answer still waits for the rest.
            let all = head.status < 300 && sending.await.is_ok();
            return Ok((head, all));
        }
    };
    // A server that refuses a long request may close its door before it has read it all; its answer lies here nevertheless.
    match (reading.await, failed) {
        (Ok(head), failed) => Ok((head, failed.is_none())),
        (Err(_), Some(failed)) | (Err(failed), None) => Err(failed),
    }
}

async fn read_head(reader: &ReadHalf<'_>, buffer: &mut BytesMut) -> io::Result<Head> {
    let mut seen = 0;
    loop {
        if !buffer.is_empty() && let Some(head) = parse(buffer)? {
            return Ok(head);
        }
        if seen > HEAD_LIMIT {
            return Err(unreadable("its head is too long"));
        }
        // A server that is always ahead must not keep this task from being ended.
        tokio::task::coop::consume_budget().await;
        reader.readable().await?;
        buffer.reserve(if seen == 0 { FIRST } else { PIECE });
        match reader.try_read_buf(buffer) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed before an answer came")),
            Ok(length) => seen += length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Takes the head of an answer out of what came, once it is whole; what is told before an answer is left out.
fn parse(buffer: &mut BytesMut) -> io::Result<Option<Head>> {
    loop {
        let mut places = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut answer = httparse::Response::new(&mut places);
        let read = answer.parse(buffer).map_err(|problem| unreadable(&problem.to_string()))?;
        let httparse::Status::Complete(length) = read else { return Ok(None) };
        let status = answer.code.unwrap_or(0);
        if status == 101 {
            return Err(unreadable("it wants to speak another protocol"));
        }
        if status < 200 {
            buffer.advance(length);
            continue;
        }
        let is_old = answer.version == Some(0);
        let mut headers = HeaderMap::with_capacity(answer.headers.len());
        for header in answer.headers.iter() {
            let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|problem| unreadable(&problem.to_string()))?;
            let value = HeaderValue::from_bytes(header.value).map_err(|problem| unreadable(&problem.to_string()))?;
            headers.append(name, value);
        }
        buffer.advance(length);
        return Ok(Some(Head { status, headers, is_old }));
    }
}

/// Whether one of the words of a header is this one.
fn says(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|said| said.trim().eq_ignore_ascii_case(word))
}

fn unreadable(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the answer cannot be read: {why}"))
}
