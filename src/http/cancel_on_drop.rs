//! Owns the effect of a disconnected reader on the run of its stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::studio::{Scope, Studio};

/// Cancels a run that is at work when it is dropped; for runs whose starter asked for `on_disconnect: "cancel"`. A run that paused, or
/// that somebody else has continued since, stays as it is.
pub(super) struct CancelOnDrop(Option<(Studio, Scope, String, Arc<AtomicI64>)>);

impl CancelOnDrop {
    /// Holds a run that this process drives.
    pub(super) fn new(studio: Studio, scope: Scope, run: String) -> Self {
        let fence = Arc::new(AtomicI64::new(studio.fence_here(&run).unwrap_or(0)));
        Self(Some((studio, scope, run, fence)))
    }

    /// The fence under which the run is held, for a request that continues it several times.
    pub(super) fn fence(&self) -> Option<Arc<AtomicI64>> {
        self.0.as_ref().map(|(_, _, _, fence)| Arc::clone(fence))
    }

    /// The stream reached its end: nothing to cancel.
    pub(super) fn let_go(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some((studio, scope, run, fence)) = self.0.take() else { return };
        let Ok(runtime) = studio.runtime() else { return };
        runtime.spawn(async move {
            let fence = fence.load(Ordering::SeqCst);
            if let Err(error) = studio.cancel_left(&scope, &run, fence).await {
                tracing::debug!(run, "the run of a reader who left was not cancelled: {error}");
            }
        });
    }
}
