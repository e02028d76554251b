//! Owns the number of host answers that were accepted but not delivered to their calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// How many there are.
#[derive(Default)]
pub(super) struct Accepted {
    count: AtomicUsize,
    fewer: Notify,
}

impl Accepted {
    /// Waits until none is left.
    pub(super) async fn reach_their_calls(self: Arc<Self>) {
        loop {
            let mut fewer = std::pin::pin!(self.fewer.notified());
            fewer.as_mut().enable();
            if self.count.load(Ordering::SeqCst) == 0 {
                return;
            }
            fewer.await;
        }
    }
}

/// One of them: it goes with the answer, and is dropped where that arrives.
pub(super) struct OnItsWay(Arc<Accepted>);

impl OnItsWay {
    pub(super) fn new(accepted: &Arc<Accepted>) -> Self {
        accepted.count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(accepted))
    }
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
        self.0.fewer.notify_waiters();
    }
}
