//! Owns callbacks of the host: the check for calls inside a callback, and the time limit of one.

use std::cell::Cell;
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};

use super::super::fault::{Code, Fault};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The time after which a callback is logged and no longer waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// What a callback on a thread of its own came to; none when it blocks for longer than `patience`, and keeps its thread.
pub(super) async fn awaited<T>(what: &str, patience: Duration, called: JoinHandle<T>) -> Option<Result<T, JoinError>> {
    let came = tokio::time::timeout(patience, called).await.ok();
    if came.is_none() {
        tracing::warn!("a callback of the host blocks for more than {} ms: {what}", patience.as_millis());
    }
    came
}

struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Runs code of the host.
pub(in crate::ffi) fn within<T>(work: impl FnOnce() -> T) -> T {
    DEPTH.set(DEPTH.get() + 1);
    let _leave = Leave;
    work()
}

/// Refuses a call that may wait when the host makes it inside a callback.
pub(super) fn may_wait() -> Result<(), Fault> {
    if DEPTH.get() == 0 {
        return Ok(());
    }
    Err(Fault::new(Code::Reentrant, "this call may wait, and a callback must not: make it on a thread of your own"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_callback_that_blocks_is_not_waited_for_for_ever() {
        let (free, freed) = std::sync::mpsc::channel::<()>();
        let blocked = tokio::task::spawn_blocking(move || freed.recv().is_ok());
        assert!(awaited("a test", Duration::from_millis(5), blocked).await.is_none());
        assert!(free.send(()).is_ok(), "it was left alone, not ended");
        let quick = tokio::task::spawn_blocking(|| 7);
        assert_eq!(awaited("a test", PATIENCE, quick).await.map(|came| came.ok()), Some(Some(7)));
    }

    #[test]
    fn waiting_is_refused_inside_a_callback_and_allowed_after_it() {
        assert!(may_wait().is_ok());
        assert_eq!(within(may_wait).err().map(|fault| fault.code), Some(Code::Reentrant as i32));
        assert!(may_wait().is_ok());
    }
}
