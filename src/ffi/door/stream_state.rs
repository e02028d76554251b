//! Owns the state that a stream and its work share: the run, once it exists, and whether the reader has left.

use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use crate::studio::{Scope, StreamSlot};
use crate::sync::Mutex;

/// The run behind a stream.
#[derive(Clone)]
pub(super) struct Behind {
    pub(super) scope: Scope,
    pub(super) run: String,
    /// Leaving cancels the run while it is at work under this fence.
    pub(super) cancel_on_leave: Option<i64>,
}

/// How a reader left.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaving {
    /// With its engine: runs are put down, to be taken up again.
    Engine,
    /// By itself.
    Closed,
    /// Its run is to be cancelled.
    Cancelled,
}

/// Shared by a stream and the work that feeds it.
#[derive(Default)]
pub(super) struct StreamState {
    state: Mutex<State>,
    left: CancellationToken,
}

#[derive(Default)]
struct State {
    /// The run, and one of the streams that `limits.streams` bounds: held for as long as the stream is.
    behind: Option<(Behind, StreamSlot)>,
    leaving: Option<Leaving>,
}

impl StreamState {
    /// That of a run that is known.
    pub(super) fn of(behind: Behind, slot: StreamSlot) -> Self {
        let state = State { behind: Some((behind, slot)), leaving: None };
        Self { state: Mutex::new(state), left: CancellationToken::new() }
    }

    /// Sets the run of the work. False if the reader has left and the run is to be cancelled for that.
    pub(super) fn follow(&self, behind: Behind, slot: StreamSlot) -> bool {
        let mut state = self.state.lock();
        let goes_on = match state.leaving {
            None | Some(Leaving::Engine) => true,
            Some(Leaving::Closed) => behind.cancel_on_leave.is_none(),
            Some(Leaving::Cancelled) => false,
        };
        state.behind = Some((behind, slot));
        goes_on
    }

    pub(super) fn behind(&self) -> Option<Behind> {
        self.state.lock().behind.as_ref().map(|(behind, _)| behind.clone())
    }

    /// The reader leaves; how it left first is what counts.
    pub(super) fn leave(&self, how: Leaving) {
        self.state.lock().leaving.get_or_insert(how);
        self.left.cancel();
    }

    /// The reader asked for the end of the run.
    pub(super) fn is_cancelled(&self) -> bool {
        self.state.lock().leaving == Some(Leaving::Cancelled)
    }

    /// Ends when the reader has left.
    pub(super) fn left(&self) -> WaitForCancellationFuture<'_> {
        self.left.cancelled()
    }

    pub(super) fn has_left(&self) -> bool {
        self.left.is_cancelled()
    }
}
