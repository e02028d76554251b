//! Owns the effect of a disconnected reader on the run of its stream.

use crate::studio::{Scope, Studio};

/// Cancels a run when it is dropped; for runs whose starter asked for `on_disconnect: "cancel"`.
pub(super) struct CancelOnDrop(Option<(Studio, Scope, String)>);

impl CancelOnDrop {
    /// Holds a run.
    pub(super) const fn new(studio: Studio, scope: Scope, run: String) -> Self {
        Self(Some((studio, scope, run)))
    }

    /// The telling reached its end: nothing to cancel.
    pub(super) fn let_go(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some((studio, scope, run)) = self.0.take() else { return };
        let Ok(runtime) = studio.runtime() else { return };
        runtime.spawn(async move {
            if let Err(error) = studio.cancel(&scope, &run).await {
                tracing::debug!(run, "the run of a reader who left was not cancelled: {error}");
            }
        });
    }
}
