//! Owns the limit of open streams (`limits.streams`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Studio;
use crate::error::{Error, Kind, Result};

/// How many streams are open.
#[derive(Debug, Default)]
pub(super) struct OpenStreams(Arc<AtomicU64>);

/// One of the open streams that `limits.streams` bounds.
#[derive(Debug)]
pub struct StreamSlot(Arc<AtomicU64>);

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Studio {
    /// Takes one of the open streams; it is given back when dropped.
    pub fn stream_slot(&self) -> Result<StreamSlot> {
        let most = self.config().limits.streams;
        let OpenStreams(open) = self.open_streams();
        let before = open.fetch_add(1, Ordering::Relaxed);
        let slot = StreamSlot(Arc::clone(open));
        if before < most {
            return Ok(slot);
        }
        Err(Error::new(Kind::TooManyStreams, format!("{most} streams are open (`limits.streams`); try again soon")))
    }
}
