//! Owns a provider that misbehaves: raw answers over real connections, and who asked when.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::carriers::{Carrier, Io};
use super::streams;

/// What it does with one request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Answers: status, headers besides the usual ones, pieces of the body, and what then.
    Say(u16, Vec<(&'static str, String)>, Vec<String>, Then),
    /// Answers with bytes, in these pieces.
    Bytes(u16, Vec<(&'static str, String)>, Vec<Bytes>),
    /// Takes the request and never answers.
    Mute,
    /// Takes the request and closes the connection.
    Drop,
}

/// What comes after the pieces.
#[derive(Clone, Debug)]
pub enum Then {
    /// The proper end of the body.
    End,
    /// The connection is closed in the middle of the body.
    Break,
    /// The same, once the pieces have certainly arrived.
    BreakLate,
    /// Nothing, and the connection stays open.
    Silence,
    /// The same bytes again and again.
    Forever(String),
}

impl Act {
    /// A good answer in pieces.
    pub fn good(pieces: Vec<String>) -> Self {
        Self::Say(200, Vec::new(), pieces, Then::End)
    }

    /// A refusal.
    pub fn refuse(status: u16, header: Option<(&'static str, &str)>, body: &str) -> Self {
        let headers = header.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
        Self::Say(status, headers, vec![body.to_owned()], Then::End)
    }
}

/// One request as it came.
pub struct Seen {
    pub at: Instant,
    pub head: String,
    pub body: Value,
}

/// A running provider; it ends with its last owner.
pub struct Server {
    pub address: String,
    pub seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// It does these in turn, and the last one ever after.
    pub async fn start(carrier: Carrier, acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("{}://{}", carrier.scheme(), listener.local_addr().expect("an address"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(serve(carrier, listener, acts, Arc::clone(&seen)));
        Self { address, seen, task }
    }

    /// How often it was asked.
    pub fn asked(&self) -> usize {
        self.seen.lock().expect("seen").len()
    }
}

async fn serve(carrier: Carrier, listener: TcpListener, acts: Vec<Act>, seen: Arc<Mutex<Vec<Seen>>>) {
    let mut open = tokio::task::JoinSet::new();
    while let Ok((connection, _)) = listener.accept().await {
        let (acts, seen) = (acts.clone(), Arc::clone(&seen));
        open.spawn(async move {
            // A client that goes away is part of the game.
            let Ok(mut connection) = carrier.accept(connection).await else { return };
            if carrier == Carrier::Tls2 {
                let _ = streams::serve(connection, &acts, &seen).await;
            } else {
                let _ = answer(&mut connection, &acts, &seen).await;
            }
        });
    }
}

async fn answer(connection: &mut Io, acts: &[Act], seen: &Mutex<Vec<Seen>>) -> std::io::Result<()> {
    let (head, body) = read(connection).await?;
    let number = {
        let mut seen = seen.lock().expect("seen");
        seen.push(Seen { at: Instant::now(), head, body: serde_json::from_slice(&body).unwrap_or_default() });
        seen.len() - 1
    };
    let act = acts.get(number).or(acts.last()).expect("something to do");
    match act {
        Act::Drop => Ok(()),
        Act::Mute => std::future::pending().await,
        Act::Say(status, headers, pieces, then) => {
            connection.write_all(opening(*status, headers).as_bytes()).await?;
            for piece in pieces {
                chunk(connection, piece.as_bytes()).await?;
            }
            finish(connection, then).await
        }
        Act::Bytes(status, headers, pieces) => {
            connection.write_all(opening(*status, headers).as_bytes()).await?;
            for piece in pieces {
                chunk(connection, piece).await?;
            }
            finish(connection, &Then::End).await
        }
    }
}

fn opening(status: u16, headers: &[(&str, String)]) -> String {
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status} X\r\nconnection: close\r\ntransfer-encoding: chunked\r\n{more}\r\n")
}

async fn finish(connection: &mut Io, then: &Then) -> std::io::Result<()> {
    match then {
        Then::End => {
            connection.write_all(b"0\r\n\r\n").await?;
            connection.shutdown().await
        }
        Then::Break | Then::BreakLate => Ok(()),
        Then::Silence => std::future::pending().await,
        Then::Forever(bytes) => loop {
            chunk(connection, bytes.as_bytes()).await?;
        },
    }
}

async fn chunk(connection: &mut Io, bytes: &[u8]) -> std::io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    connection.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
    connection.write_all(bytes).await?;
    connection.write_all(b"\r\n").await?;
    connection.flush().await
}

async fn read(connection: &mut Io) -> std::io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let body = bytes.split_off(at + 4);
            let head = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:")).expect("a length");
            return Ok((head.clone(), rest(connection, body, length.trim().parse().expect("a number")).await?));
        }
        let mut piece = [0; 4096];
        let count = connection.read(&mut piece).await?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..count]);
    }
}

async fn rest(connection: &mut Io, mut body: Vec<u8>, length: usize) -> std::io::Result<Vec<u8>> {
    let had = body.len();
    body.resize(length, 0);
    connection.read_exact(&mut body[had..]).await?;
    Ok(body)
}
