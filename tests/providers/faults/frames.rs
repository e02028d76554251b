//! Owns a speaker of HTTP/2 that writes its frames by hand, so that it can do what no library does.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use super::carriers::{Carrier, Io};

/// The kinds of frames (RFC 9113, 6).
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RESET: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;
/// Flags: the last frame of a stream (or a confirmation), the last of its headers.
pub const END: u8 = 1;
pub const END_HEADERS: u8 = 4;
/// Reasons (RFC 9113, 7).
pub const NO_ERROR: u32 = 0;
pub const INTERNAL_ERROR: u32 = 2;
pub const REFUSED_STREAM: u32 = 7;
pub const CANCEL: u32 = 8;
pub const CALM: u32 = 11;
/// `:status: 200` and `content-type: text/event-stream`, without compression (RFC 7541).
pub const HEAD: &[u8] = b"\x88\x0f\x10\x11text/event-stream";

/// A running server; it ends with its owner.
pub struct Raw {
    pub address: String,
    asked: Arc<AtomicUsize>,
    opened: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Raw {
    /// Each connection is played by this, which is told the connection's number, from 0, and the settings are given first.
    pub async fn start<F>(settings: &'static [(u16, u32)], play: impl Fn(usize, Link) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = std::io::Result<()>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("https://{}", listener.local_addr().expect("an address"));
        let (asked, opened, play) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(play));
        let counts = (Arc::clone(&asked), Arc::clone(&opened));
        let task = async move {
            let mut open = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                let (number, asked, play) = (counts.1.fetch_add(1, Ordering::SeqCst), Arc::clone(&counts.0), Arc::clone(&play));
                open.spawn(async move {
                    // A client that goes away is part of the game.
                    let Ok(io) = Carrier::Tls2.accept(connection).await else { return };
                    let mut link = Link { io, asked };
                    if link.greet(settings).await.is_ok() {
                        let _ = play(number, link).await;
                    }
                });
            }
        };
        Self { address, asked, opened, task: tokio::spawn(task) }
    }

    /// How many whole requests came.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// How many connections were opened.
    pub fn opened(&self) -> usize {
        self.opened.load(Ordering::SeqCst)
    }
}

/// One connection.
pub struct Link {
    io: Io,
    asked: Arc<AtomicUsize>,
}

impl Link {
    async fn greet(&mut self, settings: &[(u16, u32)]) -> std::io::Result<()> {
        let mut preface = [0; 24];
        self.io.read_exact(&mut preface).await?;
        let settings: Vec<u8> = settings.iter().flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()).collect();
        self.frame(SETTINGS, 0, 0, &settings).await
    }

    /// Writes any frame.
    pub async fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> std::io::Result<()> {
        let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, flags];
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.io.write_all(&frame).await?;
        self.io.flush().await
    }

    /// Reads one frame, and confirms what has to be confirmed: its kind, flags and stream.
    async fn read(&mut self) -> std::io::Result<(u8, u8, u32)> {
        let mut head = [0; 9];
        self.io.read_exact(&mut head).await?;
        let mut payload = vec![0; usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2])];
        self.io.read_exact(&mut payload).await?;
        let (kind, flags, stream) = (head[3], head[4], u32::from_be_bytes([head[5], head[6], head[7], head[8]]));
        match kind {
            SETTINGS | PING if flags & END == 0 => self.frame(kind, END, 0, if kind == PING { &payload } else { &[] }).await?,
            DATA if !payload.is_empty() => {
                let size = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
                self.frame(WINDOW_UPDATE, 0, 0, &size).await?;
            }
            _ => {}
        }
        Ok((kind, flags, stream))
    }

    /// The stream of the next whole request.
    pub async fn request(&mut self) -> std::io::Result<u32> {
        loop {
            let (kind, flags, stream) = self.read().await?;
            if matches!(kind, DATA | HEADERS) && flags & END != 0 {
                self.asked.fetch_add(1, Ordering::SeqCst);
                return Ok(stream);
            }
        }
    }

    /// Reads, and confirms, until the other side has gone.
    pub async fn listen(&mut self) -> std::io::Result<()> {
        loop {
            self.read().await?;
        }
    }

    /// The head of a good answer.
    pub async fn head(&mut self, stream: u32) -> std::io::Result<()> {
        self.frame(HEADERS, END_HEADERS, stream, HEAD).await
    }

    /// Pieces of a body.
    pub async fn say(&mut self, stream: u32, pieces: &[String], flags: u8) -> std::io::Result<()> {
        for (at, piece) in pieces.iter().enumerate() {
            let flags = if at + 1 == pieces.len() { flags } else { 0 };
            self.frame(DATA, flags, stream, piece.as_bytes()).await?;
        }
        Ok(())
    }

    /// Ends a stream for a reason.
    pub async fn reset(&mut self, stream: u32, reason: u32) -> std::io::Result<()> {
        self.frame(RESET, 0, stream, &reason.to_be_bytes()).await
    }

    /// Says that no stream behind this one is served.
    pub async fn go_away(&mut self, last: u32, reason: u32) -> std::io::Result<()> {
        self.frame(GOAWAY, 0, 0, &[last.to_be_bytes(), reason.to_be_bytes()].concat()).await
    }
}
