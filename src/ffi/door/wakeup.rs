//! Owns waiting outside the runtime: a waker for threads, and a file descriptor for event loops.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use super::descriptor::{self, Lamp};
use super::ready_streams::Notification;
use crate::sync::{Condvar, Mutex};

/// Wakes the one thread or event loop that waits for a stream, a future or a queue.
#[derive(Default)]
pub(super) struct Bell {
    state: Mutex<State>,
    heard: Condvar,
    /// The second listener, and its number there.
    news: OnceLock<(Arc<Notification>, u64)>,
}

#[derive(Default)]
struct State {
    /// Rung since it was last hushed.
    rung: bool,
    /// A task that wants to be woken by the next ring.
    task: Option<Waker>,
    lamp: Option<Lamp>,
}

impl Bell {
    /// A bell and the waker that rings it.
    pub(super) fn new() -> (Arc<Self>, Waker) {
        let bell = Arc::new(Self::default());
        let waker = Waker::from(Arc::clone(&bell));
        (bell, waker)
    }

    /// Wakes all listeners.
    pub(super) fn ring(&self) {
        let mut state = self.state.lock();
        state.rung = true;
        if let Some(lamp) = &mut state.lamp {
            lamp.keep_lit();
        }
        let task = state.task.take();
        drop(state);
        self.heard.notify_all();
        if let Some(task) = task {
            task.wake();
        }
        if let Some((news, number)) = self.news.get() {
            news.ring(*number);
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
        match &mut state.lamp {
            // The watcher may have read it meanwhile.
            Some(lamp) if on => drop(lamp.light()),
            Some(lamp) => lamp.put_out(),
            None => {}
        }
    }

    /// Also wakes `news` from now on, under that number; at once if it was woken before.
    pub(super) fn join(&self, news: &Arc<Notification>, number: u64) {
        news.join(number);
        if self.news.set((Arc::clone(news), number)).is_ok() && self.state.lock().rung {
            news.ring(number);
        }
    }

    /// Stops waking `news`.
    pub(super) fn leave(&self) {
        if let Some((news, number)) = self.news.get() {
            news.leave(*number);
        }
    }

    /// For a poll without waiting: later changes are reported again.
    pub(super) fn look(&self) {
        if let Some((news, number)) = self.news.get() {
            news.look(*number);
        }
    }

    /// After such a look that found nothing.
    pub(super) fn empty(&self) {
        if let Some((news, number)) = self.news.get() {
            news.empty(*number);
        }
    }

    /// Waits until it rings; false when the deadline passed first.
    pub(super) fn listen(&self, deadline: Option<Instant>) -> bool {
        let mut state = self.state.lock();
        while !state.rung {
            state = match deadline {
                None => self.heard.wait(state),
                Some(at) => {
                    let Some(left) = at.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                        return false;
                    };
                    self.heard.wait_timeout(state, left)
                }
            };
        }
        true
    }

    /// A descriptor that is readable while there may be something; owned by the bell, made on first demand. -1 where there is none.
    pub(super) fn descriptor(&self) -> std::io::Result<i32> {
        let mut state = self.state.lock();
        if state.lamp.is_none() {
            let mut lamp = match Lamp::single() {
                Ok(lamp) => lamp,
                Err(none) => return descriptor::or_none(Err(none)),
            };
            lamp.light();
            state.lamp = Some(lamp);
        }
        Ok(state.lamp.as_ref().map_or(-1, Lamp::descriptor))
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

/// Runs a future on the calling thread. Unlike a runtime's own, it may be called anywhere.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    let (bell, waker) = Bell::new();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        bell.hush();
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        bell.listen(None);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read as _;
    use std::os::fd::FromRawFd as _;

    use super::super::deadline::deadline;
    use super::*;

    /// The bell's own descriptor, not to be closed.
    fn borrowed(bell: &Bell) -> std::mem::ManuallyDrop<std::fs::File> {
        let descriptor = bell.descriptor().expect("a descriptor");
        // SAFETY: the bell has it, and it is not closed here.
        std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(descriptor) })
    }

    fn readable(bell: &Bell) -> bool {
        let mut asked = libc::pollfd { fd: bell.descriptor().expect("a descriptor"), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which lives through the call.
        unsafe { libc::poll(&raw mut asked, 1, 0) == 1 }
    }

    #[test]
    fn a_deadline_ends_the_wait_and_a_ring_before_it_does_too() {
        let (bell, waker) = Bell::new();
        assert!(!bell.listen(deadline(0)));
        waker.wake_by_ref();
        assert!(bell.listen(deadline(-1)));
        bell.hush();
        assert!(!bell.listen(deadline(1)));
    }

    #[test]
    fn a_ring_between_looking_and_settling_is_not_lost() {
        let (bell, _) = Bell::new();
        assert!(bell.descriptor().is_ok());
        bell.hush();
        bell.ring();
        bell.settle(false);
        assert!(readable(&bell));
        bell.hush();
        bell.settle(false);
        assert!(!readable(&bell));
    }

    #[test]
    fn a_ring_before_a_look_is_seen_by_it_and_a_ring_behind_it_is_news() {
        let (bell, _) = Bell::new();
        let news = Arc::new(Notification::default());
        let told = || news.take(0, 9).ok();
        bell.join(&news, 7);
        bell.ring();
        assert_eq!(told(), Some(vec![7]));
        bell.ring();
        bell.look();
        bell.empty();
        assert_eq!(told(), Some(vec![]), "the look saw it");
        bell.ring();
        assert_eq!(told(), Some(vec![7]), "nothing was left to see");
        bell.look();
        bell.ring();
        bell.empty();
        assert_eq!(told(), Some(vec![7]), "it rang behind the look");
    }

    #[test]
    fn whoever_reads_the_descriptor_is_told_again() {
        let (bell, _) = Bell::new();
        let mut descriptor = borrowed(&bell);
        for _ in 0..3 {
            let mut rest = [0; 64];
            while descriptor.read(&mut rest).is_ok_and(|read| read > 0) {}
            assert!(!readable(&bell));
            // Something is left: the stream is reported again.
            bell.settle(true);
            assert!(readable(&bell));
            bell.hush();
            while descriptor.read(&mut rest).is_ok_and(|read| read > 0) {}
            bell.settle(false);
            assert!(!readable(&bell));
            bell.ring();
            assert!(readable(&bell));
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
