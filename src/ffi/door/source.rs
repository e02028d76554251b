//! Owns the source of a stream's bytes: the events of a run, or the body of an HTTP answer.

use std::collections::VecDeque;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};

use super::super::fault::{Code, Fault};
use crate::engine::{Follow, From};
use crate::http::sse;
use crate::model::telling::Frame;
use crate::studio::{Scope, Studio};

/// Pieces of a byte body are at most this long; a frame is never split.
const PIECE: usize = 64 * 1024;

/// What a source gives at once.
pub(super) enum Chunk {
    /// What comes before the rest, once.
    Head(Vec<u8>),
    Frames(Vec<Frame>),
    Bytes(Bytes),
}

/// Where bytes come from.
pub(super) type Source = Pin<Box<dyn Stream<Item = Result<Chunk, Fault>> + Send>>;

/// The events of a run's answer. A reader that fell behind goes on from the log: it loses nothing and the run never waits.
pub(super) async fn events(studio: &Studio, scope: &Scope, run: &str, from: From) -> Result<Source, Fault> {
    let events = studio.events(scope, run, from, Follow::Answer).await?;
    Ok(match events {
        Some(events) => Box::pin(events.into_stream().map(|frames| Ok(Chunk::Frames(frames)))),
        None => Box::pin(stream::empty()),
    })
}

/// The body of an HTTP answer.
pub(super) fn body(body: axum::body::Body) -> Source {
    Box::pin(body.into_data_stream().map(|chunk| {
        chunk.map(Chunk::Bytes).map_err(|error| Fault::new(Code::Internal, &format!("the answer broke off: {error}")))
    }))
}

/// Bytes that are there, and where they may be cut.
#[derive(Default)]
pub(super) struct Pieces {
    /// Taken before all bytes.
    head: Option<Vec<u8>>,
    bytes: Vec<u8>,
    /// What comes before was taken.
    start: usize,
    /// How long each piece is.
    lengths: VecDeque<usize>,
}

impl Pieces {
    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    pub(super) const fn take_head(&mut self) -> Option<Vec<u8>> {
        self.head.take()
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    pub(super) fn add(&mut self, chunk: Chunk) {
        match chunk {
            Chunk::Head(head) => self.head = Some(head),
            Chunk::Frames(frames) => {
                for frame in &frames {
                    let before = self.bytes.len();
                    sse::encode(std::slice::from_ref(frame), &mut self.bytes);
                    self.lengths.push_back(self.bytes.len() - before);
                }
            }
            Chunk::Bytes(bytes) => bytes.chunks(PIECE).for_each(|piece| self.add_piece(piece)),
        }
    }

    pub(super) fn add_piece(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        self.lengths.push_back(piece.len());
    }

    /// As many whole pieces as fit, but at least one.
    pub(super) fn take(&mut self, most: usize) -> Vec<u8> {
        let mut length = self.lengths.pop_front().unwrap_or_default();
        while let Some(next) = self.lengths.pop_front_if(|next| length.saturating_add(*next) <= most) {
            length += next;
        }
        if self.lengths.is_empty() && self.start == 0 {
            return std::mem::take(&mut self.bytes);
        }
        let end = self.start + length;
        let taken = self.bytes.get(self.start..end).unwrap_or_default().to_vec();
        self.start = end;
        // A reader that never catches up must not keep all that it has read.
        if self.start >= self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_whole_and_in_order_whatever_the_limit() {
        for limit in [1, 2, 3, 4, 5, 100] {
            let mut pieces = Pieces::default();
            for piece in [b"aa".as_slice(), b"b", b"cccc", b"d"] {
                pieces.add_piece(piece);
            }
            let mut taken = Vec::new();
            while !pieces.is_empty() {
                let part = pieces.take(limit);
                assert!(part.len() <= limit.max(4), "{limit}: {part:?}");
                taken.push(String::from_utf8_lossy(&part).into_owned());
            }
            assert_eq!(taken.concat(), "aabccccd");
            assert!(limit < 8 || taken.len() == 1);
        }
    }

    #[test]
    fn what_was_taken_is_not_kept_by_a_reader_that_never_catches_up() {
        let mut pieces = Pieces::default();
        for number in 0..1_000_u16 {
            (0..10).for_each(|_| pieces.add_piece(&number.to_be_bytes().repeat(50)));
            let waits = pieces.len();
            assert_eq!(pieces.take(waits - 100).len(), waits - 100);
            assert!(!pieces.is_empty() && pieces.bytes.capacity() < 8_192, "{} bytes are kept", pieces.bytes.capacity());
        }
    }

    #[test]
    fn a_large_body_is_cut_into_pieces() {
        let mut pieces = Pieces::default();
        pieces.add(Chunk::Bytes(Bytes::from(vec![7; PIECE * 2 + 1])));
        assert_eq!([pieces.take(1).len(), pieces.take(1).len(), pieces.take(1).len()], [PIECE, PIECE, 1]);
    }
}
