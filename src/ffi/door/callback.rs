//! Owns the mark of a thread that is inside a callback of the host: there, calls that would wait are refused.

use std::cell::Cell;

use super::super::fault::{Code, Fault};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
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

    #[test]
    fn waiting_is_refused_inside_a_callback_and_allowed_after_it() {
        assert!(may_wait().is_ok());
        assert_eq!(within(may_wait).err().map(|fault| fault.code), Some(Code::Reentrant as i32));
        assert!(may_wait().is_ok());
    }
}
