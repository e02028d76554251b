//! Owns the provider that misbehaves as a speaker of HTTP/2: the same acts, each in a stream of a connection.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::server::{self, SendResponse};
use h2::{RecvStream, SendStream};
use http::{Request, Response};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::carriers::Io;
use super::server::{Act, Seen, Then};

/// How long what was sent may be on its way before the connection is closed: what arrives together with that is lost with it.
const ON_ITS_WAY: Duration = Duration::from_millis(40);
const LATE: Duration = Duration::from_secs(4);

/// Serves one connection until it is closed by either side.
pub async fn serve(connection: Io, acts: &[Act], seen: &Arc<Mutex<Vec<Seen>>>) -> Result<(), h2::Error> {
    let mut connection = server::handshake(connection).await?;
    let (mut open, closed) = (JoinSet::new(), Arc::new(Notify::new()));
    loop {
        tokio::select! {
            next = connection.accept() => {
                let Some(next) = next else { return Ok(()) };
                let (request, respond) = next?;
                let (acts, seen, closed) = (acts.to_vec(), Arc::clone(seen), Arc::clone(&closed));
                open.spawn(async move {
                    // A client that goes away is part of the game.
                    let _ = answer(request, respond, &acts, &seen, &closed).await;
                });
            }
            () = closed.notified() => return Ok(()),
        }
    }
}

async fn answer(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    acts: &[Act],
    seen: &Mutex<Vec<Seen>>,
    closed: &Notify,
) -> Result<(), h2::Error> {
    let (head, body) = read(request).await?;
    let number = {
        let mut seen = seen.lock().expect("seen");
        seen.push(Seen { at: Instant::now(), head, body: serde_json::from_slice(&body).unwrap_or_default() });
        seen.len() - 1
    };
    match acts.get(number).or(acts.last()).expect("something to do") {
        Act::Drop => closed.notify_one(),
        Act::Mute => std::future::pending().await,
        Act::Bytes(status, headers, pieces) => {
            let mut stream = respond.send_response(opening(*status, headers), false)?;
            for piece in pieces {
                send(&mut stream, piece.clone()).await?;
            }
            stream.send_data(Bytes::new(), true)?;
        }
        Act::Say(status, headers, pieces, then) => {
            let mut stream = respond.send_response(opening(*status, headers), false)?;
            for piece in pieces {
                send(&mut stream, Bytes::from(piece.clone())).await?;
            }
            match then {
                Then::End => stream.send_data(Bytes::new(), true)?,
                Then::Break | Then::BreakLate => {
                    tokio::time::sleep(if matches!(then, Then::BreakLate) { LATE } else { ON_ITS_WAY }).await;
                    closed.notify_one();
                }
                Then::Silence => std::future::pending().await,
                Then::Forever(bytes) => {
                    let bytes = Bytes::from(bytes.clone());
                    loop {
                        send(&mut stream, bytes.clone()).await?;
                    }
                }
            }
        }
    }
    Ok(())
}

fn opening(status: u16, headers: &[(&str, String)]) -> Response<()> {
    let head = headers.iter().fold(Response::builder().status(status), |head, (name, value)| head.header(*name, value));
    head.body(()).expect("a head")
}

/// Sends as the reader makes room.
pub async fn send(stream: &mut SendStream<Bytes>, mut bytes: Bytes) -> Result<(), h2::Error> {
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let room = poll_fn(|context| stream.poll_capacity(context)).await;
        let room = room.unwrap_or(Err(h2::Reason::CANCEL.into()))?;
        stream.send_data(bytes.split_to(room.min(bytes.len())), false)?;
    }
    Ok(())
}

pub async fn read(request: Request<RecvStream>) -> Result<(String, Vec<u8>), h2::Error> {
    let (head, mut stream) = request.into_parts();
    let mut body = Vec::new();
    while let Some(piece) = stream.data().await {
        let piece = piece?;
        stream.flow_control().release_capacity(piece.len())?;
        body.extend_from_slice(&piece);
    }
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let headers = head.headers.iter().map(|(name, value)| format!("{name}: {}\r\n", String::from_utf8_lossy(value.as_bytes())));
    Ok((format!("{} {path} {:?}\r\n{}", head.method, head.version, headers.collect::<String>()).to_ascii_lowercase(), body))
}
