//! Owns the bytes of an answer while they come, and where they end.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header;
use tokio::net::TcpStream;

use super::chunks::Chunks;
use super::pool::{Place, Pool};
use super::{Head, PIECE, unreadable};

/// Where an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// After so many bytes.
    After(u64),
    /// After the last of its chunks.
    Chunks(Chunks),
    /// Where the connection is closed.
    Close,
}

impl End {
    pub(super) fn of(head: &Head) -> io::Result<Self> {
        if matches!(head.status, 204 | 304) {
            return Ok(Self::After(0));
        }
        if let Some(coding) = head.headers.get_all(header::TRANSFER_ENCODING).iter().next_back() {
            let last = coding.as_bytes().rsplit(|byte| *byte == b',').next().unwrap_or_default().trim_ascii();
            return match last.eq_ignore_ascii_case(b"chunked") {
                _ if head.is_old => Err(unreadable("an answer of HTTP/1.0 has no chunks")),
                true => Ok(Self::Chunks(Chunks::Length)),
                false => Ok(Self::Close),
            };
        }
        let lengths = head.headers.get_all(header::CONTENT_LENGTH).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        let mut lengths = lengths.map(|text| length(text.trim_ascii()));
        let Some(first) = lengths.next() else { return Ok(Self::Close) };
        let length = first.filter(|_| lengths.all(|other| other == first));
        length.map(Self::After).ok_or_else(|| unreadable("its length is none"))
    }

    const fn is_over(self) -> bool {
        matches!(self, Self::After(0) | Self::Chunks(Chunks::Over))
    }

    /// Takes what belongs to the answer out of what came.
    fn take(&mut self, buffer: &mut BytesMut) -> io::Result<Bytes> {
        if buffer.is_empty() {
            return Ok(Bytes::new());
        }
        match self {
            Self::After(left) => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(buffer.len());
                *left -= length as u64;
                Ok(buffer.split_to(length).freeze())
            }
            Self::Chunks(chunks) => chunks.take(buffer),
            Self::Close => Ok(buffer.split().freeze()),
        }
    }
}

fn length(text: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(text).ok().filter(|text| text.bytes().all(|digit| digit.is_ascii_digit()))?;
    digits.parse().ok()
}

/// An answer behind its head. Dropping it ends the call; a connection whose answer has come whole is kept for the next one.
pub(in crate::providers) struct Body {
    stream: Option<TcpStream>,
    buffer: BytesMut,
    end: End,
    back: Option<(Arc<Pool>, Place)>,
}

impl Body {
    pub(super) const fn new(stream: TcpStream, buffer: BytesMut, end: End, back: Option<(Arc<Pool>, Place)>) -> Self {
        Self { stream: Some(stream), buffer, end, back }
    }

    /// The next bytes; none at the end.
    ///
    /// # Errors
    /// The connection broke, or what came is no answer.
    pub(in crate::providers) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let next = self.next_piece().await;
        if next.is_err() {
            self.back = None;
        }
        next
    }

    async fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let piece = self.end.take(&mut self.buffer)?;
            if !piece.is_empty() {
                return Ok(Some(piece));
            }
            if self.end.is_over() {
                self.give_back();
                return Ok(None);
            }
            let Some(stream) = &self.stream else { return Ok(None) };
            // A server that is always ahead must not keep this task from being ended.
            tokio::task::coop::consume_budget().await;
            stream.readable().await?;
            match self.read() {
                Ok(0) if self.end == End::Close => {
                    self.stream = None;
                    return Ok(None);
                }
                Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the connection was closed in the middle")),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.buffer.is_empty() {
                        self.buffer = BytesMut::new();
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads what is there.
    fn read(&mut self) -> io::Result<usize> {
        let Some(stream) = &self.stream else { return Ok(0) };
        self.buffer.reserve(PIECE);
        stream.try_read_buf(&mut self.buffer)
    }

    /// Looks for the end in what came, and whether it is there.
    fn skip(&mut self) -> io::Result<bool> {
        self.end.take(&mut self.buffer)?;
        Ok(self.end.is_over())
    }

    fn give_back(&mut self) {
        let clean = self.end.is_over() && self.buffer.is_empty();
        if let (Some(stream), Some((pool, place)), true) = (self.stream.take(), self.back.take(), clean) {
            pool.keep(place, stream);
        }
    }
}

impl Drop for Body {
    /// Readers stop at an answer's own end marker; what the connection says behind it mostly lies there already.
    fn drop(&mut self) {
        if self.stream.is_none() || self.back.is_none() {
            return;
        }
        let over = match self.skip() {
            Ok(false) => self.read().and_then(|_| self.skip()),
            over => over,
        };
        if over.unwrap_or(false) {
            self.give_back();
        }
    }
}
