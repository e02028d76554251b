//! Owns waiting outside the runtime: a waker that a thread can listen to, and a file descriptor that an event loop can watch.

use std::future::Future;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex};


/// Wakes the one thread or event loop that waits for a stream, a future or a queue.
#[derive(Default)]
pub(super) struct Bell {
    state: Mutex<State>,
    heard: Condvar,
}

#[derive(Default)]
struct State {
    /// Rung since it was last hushed.
    rung: bool,
    /// A byte lies in the pipe.
    lit: bool,
    /// A task that wants to be woken by the next ring.
    task: Option<Waker>,
    pipe: Option<(PipeReader, PipeWriter)>,
}

impl State {
    fn light(&mut self, on: bool) {
        let Some((reader, writer)) = &mut self.pipe else { return };
        if on == self.lit {
            return;
        }
        let done = if on { writer.write(&[1]) } else { reader.read(&mut [0]) };
        if done.is_ok() {
            self.lit = on;
        }
    }
}

impl Bell {
    /// A bell and the waker that rings it.
    pub(super) fn new() -> (Arc<Self>, Waker) {
        let bell = Arc::new(Self::default());
        let waker = Waker::from(Arc::clone(&bell));
        (bell, waker)
    }

    /// Rings: whoever listens looks again.
    pub(super) fn ring(&self) {
        let mut state = self.state.lock();
        state.rung = true;
        state.light(true);
        let task = state.task.take();
        drop(state);
        self.heard.notify_all();
        if let Some(task) = task {
            task.wake();
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
        state.light(on);
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

    /// A descriptor that is readable while there may be something; owned by the bell, made on first demand.
    #[cfg(unix)]
    pub(super) fn descriptor(&self) -> std::io::Result<i32> {
        use std::os::fd::AsRawFd;
        let mut state = self.state.lock();
        if state.pipe.is_none() {
            state.pipe = Some(std::io::pipe()?);
            state.light(true);
        }
        Ok(state.pipe.as_ref().map_or(-1, |(reader, _)| reader.as_raw_fd()))
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

/// When a wait of `timeout_ms` ends: zero does not wait, negative waits for ever (`None`).
pub(super) fn deadline(timeout_ms: i32) -> Option<Instant> {
    let wait = u64::try_from(timeout_ms).ok()?;
    Some(Instant::now() + Duration::from_millis(wait))
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

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(bell.state.lock().lit);
        bell.hush();
        bell.settle(false);
        assert!(!bell.state.lock().lit);
    }

    #[test]
    fn a_future_is_driven_by_its_waker() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || sender.send(7));
        assert_eq!(block_on(receiver).ok(), Some(7));
        assert!(thread.join().is_ok());
    }
}
