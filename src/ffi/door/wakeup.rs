//! Owns waiting outside the runtime: a waker for threads, and a file descriptor for event loops.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use super::deadline::deadline;
use super::descriptor::{self, ReadableDescriptor};
use super::ready_streams::Notification;
use crate::sync::{Condvar, Mutex, OnceLock};

/// Wakes the one thread or event loop that waits for a stream, a future or a queue.
#[derive(Default)]
pub(super) struct Wakeup {
    state: Mutex<State>,
    heard: Condvar,
    /// The second listener, and its number there.
    notification: OnceLock<(Arc<Notification>, u64)>,
}

#[derive(Default)]
struct State {
    /// Rung since it was last hushed.
    rung: bool,
    /// Threads that wait.
    waiting: u32,
    /// A task that wants to be woken by the next ring.
    task: Option<Waker>,
    readable: Option<ReadableDescriptor>,
}

impl Wakeup {
    /// A wakeup and the waker that rings it.
    pub(super) fn new() -> (Arc<Self>, Waker) {
        let wakeup = Arc::new(Self::default());
        let waker = Waker::from(Arc::clone(&wakeup));
        (wakeup, waker)
    }

    /// Wakes all listeners.
    pub(super) fn ring(&self) {
        let mut state = self.state.lock();
        state.rung = true;
        if let Some(readable) = &mut state.readable {
            readable.keep_lit();
        }
        let (task, waiting) = (state.task.take(), state.waiting > 0);
        drop(state);
        if waiting {
            self.heard.notify_all();
        }
        if let Some(task) = task {
            task.wake();
        }
        if let Some((notification, number)) = self.notification.get() {
            notification.ring(*number);
        }
    }

    /// The next ring wakes this task too.
    pub(super) fn forward(&self, task: &Waker) {
        let mut state = self.state.lock();
        match &mut state.task {
            Some(known) => known.clone_from(task),
            empty @ None => *empty = Some(task.clone()),
        }
    }

    /// Forgets earlier ringing; call before looking.
    pub(super) fn hush(&self) {
        self.state.lock().rung = false;
    }

    /// After looking: the descriptor is readable when something is left, or when it rang since.
    pub(super) fn settle(&self, left: bool) {
        let mut state = self.state.lock();
        let on = left || state.rung;
        match &mut state.readable {
            // The watcher may have read it meanwhile.
            Some(readable) if on => drop(readable.light()),
            Some(readable) => readable.put_out(),
            None => {}
        }
    }

    /// Also wakes `notification` from now on, under that number; at once if it was woken before.
    pub(super) fn join(&self, notification: &Arc<Notification>, number: u64) {
        notification.join(number);
        if self.notification.set((Arc::clone(notification), number)).is_ok() && self.state.lock().rung {
            notification.ring(number);
        }
    }

    /// Stops waking `notification`.
    pub(super) fn leave(&self) {
        if let Some((notification, number)) = self.notification.get() {
            notification.leave(*number);
        }
    }

    /// For a poll without waiting: later changes are reported again.
    pub(super) fn look(&self) {
        if let Some((notification, number)) = self.notification.get() {
            notification.look(*number);
        }
    }

    /// After such a look that found nothing.
    pub(super) fn empty(&self) {
        if let Some((notification, number)) = self.notification.get() {
            notification.empty(*number);
        }
    }

    /// Waits until it rings; false when the deadline passed first.
    pub(super) fn listen(&self, deadline: Option<Instant>) -> bool {
        let mut state = self.state.lock();
        while !state.rung {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            state.waiting += 1;
            state = match left {
                None => self.heard.wait(state),
                Some(left) => self.heard.wait_timeout(state, left),
            };
            state.waiting -= 1;
        }
        true
    }

    /// One read: looks until something is there; none when the time is over. Of a read that does not wait and finds nothing, what comes later
    /// is news.
    pub(super) fn read<T, E>(&self, timeout_ms: i32, mut look: impl FnMut() -> Result<Poll<T>, E>) -> Result<Option<T>, E> {
        let until = deadline(timeout_ms);
        loop {
            self.hush();
            if timeout_ms == 0 {
                self.look();
            }
            if let Poll::Ready(found) = look()? {
                self.settle(true);
                return Ok(Some(found));
            }
            self.settle(false);
            if timeout_ms == 0 {
                self.empty();
                return Ok(None);
            }
            if !self.listen(until) {
                return Ok(None);
            }
        }
    }

    /// A descriptor that is readable while there may be something; owned by the wakeup, made on first demand. -1 where there is none.
    pub(super) fn descriptor(&self) -> std::io::Result<i32> {
        let mut state = self.state.lock();
        if state.readable.is_none() {
            let mut readable = match ReadableDescriptor::single() {
                Ok(readable) => readable,
                Err(none) => return descriptor::or_none(Err(none)),
            };
            readable.light();
            state.readable = Some(readable);
        }
        Ok(state.readable.as_ref().map_or(-1, ReadableDescriptor::descriptor))
    }
}

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

/// Runs a future on the calling thread. Unlike a runtime's own, it may be called anywhere.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let (wakeup, waker) = Wakeup::new();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        wakeup.hush();
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        wakeup.listen(None);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read as _;
    use std::os::fd::FromRawFd as _;

    use super::*;

    /// The wakeup's own descriptor, not to be closed.
    fn borrowed(wakeup: &Wakeup) -> std::mem::ManuallyDrop<std::fs::File> {
        let descriptor = wakeup.descriptor().expect("a descriptor");
        // SAFETY: the wakeup has it, and it is not closed here.
        std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(descriptor) })
    }

    fn readable(wakeup: &Wakeup) -> bool {
        let mut asked = libc::pollfd { fd: wakeup.descriptor().expect("a descriptor"), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which lives through the call.
        unsafe { libc::poll(&raw mut asked, 1, 0) == 1 }
    }

    #[test]
    fn a_deadline_ends_the_wait_and_a_ring_before_it_does_too() {
        let (wakeup, waker) = Wakeup::new();
        assert!(!wakeup.listen(deadline(0)));
        waker.wake_by_ref();
        assert!(wakeup.listen(deadline(-1)));
        wakeup.hush();
        assert!(!wakeup.listen(deadline(1)));
    }

    #[test]
    fn a_ring_between_looking_and_settling_is_not_lost() {
        let (wakeup, _) = Wakeup::new();
        assert!(wakeup.descriptor().is_ok());
        wakeup.hush();
        wakeup.ring();
        wakeup.settle(false);
        assert!(readable(&wakeup));
        wakeup.hush();
        wakeup.settle(false);
        assert!(!readable(&wakeup));
    }

    #[test]
    fn a_ring_before_a_look_is_seen_by_it_and_a_ring_behind_it_is_news() {
        let (wakeup, _) = Wakeup::new();
        let notification = Arc::new(Notification::default());
        let told = || notification.take(0, 9).ok();
        wakeup.join(&notification, 7);
        wakeup.ring();
        assert_eq!(told(), Some(vec![7]));
        wakeup.ring();
        wakeup.look();
        wakeup.empty();
        assert_eq!(told(), Some(vec![]), "the look saw it");
        wakeup.ring();
        assert_eq!(told(), Some(vec![7]), "nothing was left to see");
        wakeup.look();
        wakeup.ring();
        wakeup.empty();
        assert_eq!(told(), Some(vec![7]), "it rang behind the look");
    }

    #[test]
    fn whoever_reads_the_descriptor_is_told_again() {
        let (wakeup, _) = Wakeup::new();
        let mut descriptor = borrowed(&wakeup);
        for _ in 0..3 {
            let mut rest = [0; 64];
            while descriptor.read(&mut rest).is_ok_and(|read| read > 0) {}
            assert!(!readable(&wakeup));
            // Something is left: the stream is reported again.
            wakeup.settle(true);
            assert!(readable(&wakeup));
            wakeup.hush();
            while descriptor.read(&mut rest).is_ok_and(|read| read > 0) {}
            wakeup.settle(false);
            assert!(!readable(&wakeup));
            wakeup.ring();
            assert!(readable(&wakeup));
        }
    }

    #[test]
    fn a_future_is_driven_by_its_waker() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || sender.send(7));
        assert_eq!(block_on(receiver).ok(), Some(7));
        assert!(thread.join().is_ok());
    }
}
