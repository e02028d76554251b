//! Owns the older HTTP transport (`sse`): one stream of events in, one request for each message out.

use std::time::Duration;

use futures_util::StreamExt as _;
use http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::{RequestBuilder, Response, Url};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::authorization::TOKENS;
use super::server::Address;
use super::web::{self, TransportFailure};
use super::wire::{self, Broken, Ends, MESSAGE_LIMIT, Outgoing, Wire};
use crate::json;
use crate::providers::sse::Events;
use crate::tools::guard::Guard;

/// How long it may take until all waiting calls know that a message was not sent.
const NOTIFY_TIME: Duration = Duration::from_secs(1);

/// Who is asked, and with what.
#[derive(Clone)]
struct Line {
    client: reqwest::Client,
    address: Address,
    headers: http::HeaderMap,
}

impl Line {
    /// Sends a request; again with a token of the host's where the server wants one.
    async fn send(&self, request: impl Fn() -> RequestBuilder) -> Result<Response, TransportFailure> {
        let authorization = &self.address.authorization;
        let mut token = authorization.current().or_else(|| self.address.token.as_deref().map(str::to_owned));
        for _ in 0..TOKENS {
            let response = self.once(request(), token.as_deref()).await?;
            let Some((status, words)) = challenge(&response) else { return Ok(response) };
            token = match authorization.renewed(token.as_deref(), status, words).await {
                None => return Ok(response),
                Some(Ok(other)) => Some(other),
                Some(Err(text)) => return Err(TransportFailure { text, unreached: true }),
            };
        }
        self.once(request(), token.as_deref()).await
    }

    async fn once(&self, request: RequestBuilder, token: Option<&str>) -> Result<Response, TransportFailure> {
        let request = request.headers(self.headers.clone());
        let request = if let Some(token) = token { request.bearer_auth(token) } else { request };
        request.send().await.map_err(|problem| TransportFailure::from(&problem))
    }
}

/// The status and the words of a server that wants (other) authorization. It has done nothing with the request.
fn challenge(response: &Response) -> Option<(u16, &str)> {
    let words = response.headers().get(WWW_AUTHENTICATE).map(|words| words.to_str().unwrap_or_default());
    match response.status().as_u16() {
        401 => Some((401, words.unwrap_or_default())),
        403 => Some((403, words?)),
        _ => None,
    }
}

/// Opens the stream; where messages go is its first event. A message that the server does not take within `patience` ends the wire.
///
/// # Errors
/// The address must not be reached, or the server does not stream.
pub(super) async fn open(address: &Address, guard: &Guard, patience: Duration) -> Result<Wire, String> {
    let (client, url) = web::client(address, guard)?;
    let line = Line { client, address: address.clone(), headers: web::headers(address)?.into_iter().collect() };
    let asked = line.send(|| line.client.get(url.clone()).header(ACCEPT, "text/event-stream"));
    let response = asked.await.map_err(|failure| failure.to_string())?;
    let status = response.status();
    if status.as_u16() == 401 {
        return Err(web::UNAUTHORIZED.into());
    }
    let streams = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if !status.is_success() || !streams {
        return Err(format!("answered with status {} and no stream of events; try the transport `http`", status.as_u16()));
    }
    let (mut wire, Ends { outgoing, incoming }) = Wire::new();
    let (place, placed) = watch::channel(None);
    let over = CancellationToken::new();
    let written = over.clone().drop_guard();
    wire.carry(async move {
        tokio::select! {
            () = read(response, url, place, incoming) => {}
            () = over.cancelled() => {}
        }
    });
    wire.carry(async move {
        write(line, placed, outgoing, patience).await;
        drop(written);
    });
    Ok(wire)
}

async fn read(response: reqwest::Response, url: Url, place: watch::Sender<Option<Url>>, incoming: mpsc::Sender<ServerJsonRpcMessage>) {
    let (mut bytes, mut events) = (response.bytes_stream(), Events::new(MESSAGE_LIMIT));
    while let Some(Ok(piece)) = bytes.next().await {
        let Ok(found) = events.feed(&piece) else { return };
        for event in found {
            if event.name == "endpoint" {
                // Credentials go to the origin that was named in the definition, to no other.
                match url.join(event.data.trim()).ok().filter(|target| target.origin() == url.origin()) {
                    Some(target) => drop(place.send(Some(target))),
                    None => return,
                }
                continue;
            }
            let read = json::read(event.data.as_bytes());
            let message = read.map_or_else(|problem| wire::unreadable(event.data.as_bytes(), &problem), Some);
            if let Some(message) = message
                && incoming.send(message).await.is_err()
            {
                return;
            }
        }
    }
}

/// Messages go one after another. One that the server does not take in time is given up with the wire: those behind it were not sent, and
/// may go over another one.
async fn write(line: Line, mut placed: watch::Receiver<Option<Url>>, mut outgoing: mpsc::Receiver<Outgoing>, patience: Duration) {
    while let Some((message, tell)) = outgoing.recv().await {
        let Some(target) = placed.wait_for(Option::is_some).await.ok().and_then(|place| place.clone()) else { return };
        let posted = tokio::time::timeout(patience, post(&line, target, &message)).await;
        let late = posted.is_err();
        let text = || format!("did not take a message within {} ms", patience.as_millis());
        let _nobody_waits = tell.send(posted.unwrap_or_else(|_| Err(Broken { text: text(), unreached: false })));
        if late {
            outgoing.close();
            while let Some((_, tell)) = outgoing.recv().await {
                let _nobody_waits = tell.send(Err(Broken { text: format!("{}, and the next ones were not sent", text()), unreached: true }));
            }
            // Waiting calls first learn that nothing was sent; the end of the connection says less.
            tokio::time::sleep(NOTIFY_TIME).await;
        }
    }
}

async fn post(line: &Line, target: Url, message: &ClientJsonRpcMessage) -> Result<(), Broken> {
    let body = serde_json::to_vec(message).map_err(|problem| Broken { text: format!("was not asked: {problem}"), unreached: true })?;
    let posted = line.send(|| line.client.post(target.clone()).header(CONTENT_TYPE, "application/json").body(body.clone()));
    let status = posted.await.map_err(|failure| Broken { text: failure.text, unreached: failure.unreached })?.status();
    // A server that answers so did not take the message: it was started again and does not know the stream, for one.
    let refused = Broken { text: format!("answered with status {}", status.as_u16()), unreached: status.is_client_error() };
    if status.is_success() { Ok(()) } else { Err(refused) }
}
