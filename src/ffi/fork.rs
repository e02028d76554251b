//! Owns the handling of `fork`: an epoch that identifies old objects, and three handlers.
//!
//! In the child no other thread exists, and locks are in an unknown state. So the child gets its own tables, never touches or drops objects of
//! the parent, and no thread is inside SQLite while the process forks.

#[cfg(unix)]
use std::cell::{Cell, RefCell};
#[cfg(unix)]
use std::sync::atomic::AtomicBool;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
#[cfg(unix)]
use std::time::Duration;

#[cfg(unix)]
use super::c::ticket;
#[cfg(unix)]
use super::door::process;
#[cfg(unix)]
use crate::store::db::fork as gate;

/// How long a fork waits for threads inside SQLite.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_secs(10);

static EPOCH: AtomicU32 = AtomicU32::new(0);
#[cfg(unix)]
static WATCHED: AtomicBool = AtomicBool::new(false);

/// How many forks lie between the first process and this one.
pub(crate) fn epoch() -> u32 {
    EPOCH.load(Ordering::Relaxed)
}

/// What the child takes over: engines that nobody has used yet.
#[cfg(unix)]
struct ForkState {
    engines: process::ForkState,
    tickets: ticket::ForkState,
}

#[cfg(unix)]
thread_local! {
    static HERITAGE: RefCell<Option<ForkState>> = const { RefCell::new(None) };
    /// This thread forks: handlers that are registered twice act once.
    static FORKS: Cell<bool> = const { Cell::new(false) };
}

/// Something of which each process has its own: a child starts with a fresh one and never touches its parent's.
pub(crate) struct PerProcess<T: 'static> {
    current: AtomicPtr<T>,
    make: fn() -> T,
}

impl<T: Send + Sync + 'static> PerProcess<T> {
    /// Made by `make` on first use.
    pub(crate) const fn new(make: fn() -> T) -> Self {
        Self { current: AtomicPtr::new(std::ptr::null_mut()), make }
    }

    /// This process's own.
    pub(crate) fn get(&self) -> &'static T {
        let current = self.current.load(Ordering::Acquire);
        // SAFETY: the pointer is null or comes from `Box::into_raw` below, and what it points to is never freed.
        if let Some(found) = unsafe { current.as_ref() } {
            return found;
        }
        let fresh = Box::into_raw(Box::new((self.make)()));
        match self.current.compare_exchange(std::ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: `fresh` was made above and is never freed once it is published.
            Ok(_) => unsafe { &*fresh },
            Err(first) => {
                // SAFETY: `fresh` was not published, so this is its only owner.
                drop(unsafe { Box::from_raw(fresh) });
                // SAFETY: a published pointer is never freed.
                unsafe { &*first }
            }
        }
    }

    /// In the child: another one; the parent's stays where it is, untouched.
    pub(crate) fn renew(&self, fresh: T) {
        self.current.store(Box::into_raw(Box::new(fresh)), Ordering::Release);
    }
}

/// Registers the handlers. Nobody waits for another thread here: that thread may be the parent's, and never end in this process. So threads that
/// come at once, and a child that was forked meanwhile, register them again; the handlers bear it.
pub(crate) fn watch() {
    // Where processes do not fork, there is nothing to observe.
    #[cfg(unix)]
    if !WATCHED.load(Ordering::Acquire) {
        // SAFETY: the three are plain functions that never unwind, and `-z nodelete` keeps them in memory for as long as
        // the process lives.
        unsafe {
            libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child));
        }
        WATCHED.store(true, Ordering::Release);
    }
}

#[cfg(unix)]
unsafe extern "C" fn before() {
    if FORKS.replace(true) {
        return;
    }
    gate::prepare(PATIENCE);
    let fork_state = ForkState { engines: process::fork_state(), tickets: ticket::fork_state() };
    drop(HERITAGE.try_with(|kept| kept.replace(Some(fork_state))));
}

#[cfg(unix)]
unsafe extern "C" fn in_parent() {
    if !FORKS.replace(false) {
        return;
    }
    let fork_state = HERITAGE.try_with(|kept| kept.take());
    gate::parent();
    // Whose last reference this is closes, which needs the gate.
    drop(fork_state);
}

#[cfg(unix)]
unsafe extern "C" fn in_child() {
    if !FORKS.replace(false) {
        return;
    }
    EPOCH.fetch_add(1, Ordering::Relaxed);
    gate::child();
    let fork_state = HERITAGE.try_with(|kept| kept.take()).ok().flatten();
    let (engines, tickets) = fork_state.map_or_else(Default::default, |left| (left.engines, left.tickets));
    process::inherit(engines);
    ticket::inherit(tickets);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_process_has_is_made_once_and_replaced_in_a_child() {
        static OWN: PerProcess<Vec<u32>> = PerProcess::new(|| vec![1]);
        let first = OWN.get();
        assert!(std::ptr::eq(first, OWN.get()));
        OWN.renew(vec![2]);
        assert_eq!((first.as_slice(), OWN.get().as_slice()), (&[1][..], &[2][..]));
    }
}
