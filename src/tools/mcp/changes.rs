//! Owns what is known of changes of a server's tools: how many came, and whether the next one will be reported.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The changes of a server's tools, over one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    count: AtomicU64,
    streams: AtomicUsize,
}

impl Changes {
    /// The tools may be others now.
    pub(super) fn add(&self) {
        self.0.count.fetch_add(1, Ordering::AcqRel);
    }

    /// Another number after each change.
    pub(super) fn count(&self) -> u64 {
        self.0.count.load(Ordering::Acquire)
    }

    /// A stream is open over which changes come.
    pub(super) fn listen(&self) -> Listening {
        self.0.streams.fetch_add(1, Ordering::AcqRel);
        Listening(self.clone())
    }

    /// The next change will be reported.
    pub(super) fn are_reported(&self) -> bool {
        self.0.streams.load(Ordering::Acquire) > 0
    }
}

/// As long as a stream is open over which changes come. What changes after that is not reported.
#[derive(Debug)]
pub(super) struct Listening(Changes);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.0.streams.fetch_sub(1, Ordering::AcqRel);
        self.0.add();
    }
}
