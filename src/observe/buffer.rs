//! Owns the buffer of pieces to send: limited in number and bytes, filled without waiting.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::Serialize;

use super::piece::Piece;

/// Pieces that may wait.
const PIECES: usize = 8192;
/// Bytes that may wait.
const BYTES: usize = 16 << 20;
/// Pieces that are sent at once.
pub(super) const BATCH: usize = 512;
/// Bytes that are sent at once, about.
const BATCH_BYTES: usize = 1 << 20;

/// What became of the pieces for one system.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Counts {
    /// The system.
    pub(super) target: &'static str,
    /// Pieces that it took.
    pub(super) sent: u64,
    /// Pieces that it did not get, or refused.
    pub(super) dropped: u64,
    /// Pieces that wait.
    pub(super) waiting: usize,
    /// Requests that failed, retried ones included.
    pub(super) failures: u64,
    /// Why the last of them failed.
    pub(super) last_error: Option<String>,
}

/// Pieces that wait, and what became of others.
#[derive(Default)]
pub(super) struct Buffer {
    waiting: VecDeque<(Arc<Piece>, usize)>,
    bytes: usize,
    shut: bool,
    pub(super) counts: Counts,
}

impl Buffer {
    /// Takes a piece if there is room. True when whoever sends should look.
    pub(super) fn take(&mut self, piece: &Arc<Piece>) -> bool {
        let size = piece.size();
        if self.shut || self.waiting.len() >= PIECES || self.bytes + size > BYTES {
            self.counts.dropped += 1;
            return false;
        }
        self.bytes += size;
        self.waiting.push_back((Arc::clone(piece), size));
        self.waiting.len() == 1 || self.waiting.len() == BATCH
    }

    /// What is sent next.
    pub(super) fn batch(&mut self) -> Vec<Arc<Piece>> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some((piece, size)) = self.waiting.pop_front() else { break };
            self.bytes -= size;
            bytes += size;
            batch.push(piece);
        }
        batch
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Nothing is taken any more; what waits is given up.
    pub(super) fn shut(&mut self) {
        self.shut = true;
        self.counts.dropped += self.waiting.len() as u64;
        self.waiting.clear();
        self.bytes = 0;
    }
}
