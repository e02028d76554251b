//! Owns the streams of an engine with new data: a list for one reader, and a socket that is readable while the list is not empty.
//!
//! A stream is on the list at most once. After it was taken, it returns when something has happened since its reader began the read that found
//! nothing. So nothing is lost, and a busy stream does not fill the list.

use std::collections::{HashMap, VecDeque};

use super::deadline::deadline;
use super::descriptor::{self, ReadableDescriptor};
use super::super::fault::{Code, Fault};
use crate::sync::{Condvar, Mutex, MutexGuard};

/// Stands for the host itself: calls to it wait.
pub(super) const HOST: u64 = 0;

/// The streams of one engine that have new data.
pub(super) struct Notification {
    state: Mutex<State>,
    heard: Condvar,
}

struct State {
    members: HashMap<u64, Mark>,
    /// Those with new data, the oldest first.
    listed: VecDeque<u64>,
    readable: Option<ReadableDescriptor>,
    /// Threads that wait.
    waiting: u32,
    closed: bool,
}

/// Where a member stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// Its reader found nothing, and nothing happened since.
    Quiet,
    /// On the list.
    Listed,
    /// Taken from the list; `again` when something happened since its reader began to look.
    Reported { again: bool },
}

impl Default for Notification {
    fn default() -> Self {
        let state = State { members: HashMap::from([(HOST, Mark::Quiet)]), listed: VecDeque::new(), readable: None, waiting: 0, closed: false };
        Self { state: Mutex::new(state), heard: Condvar::new() }
    }
}

impl State {
    fn list(&mut self, number: u64) {
        self.members.insert(number, Mark::Listed);
        self.listed.push_back(number);
        if self.readable.as_mut().is_some_and(|readable| !readable.keep_lit()) {
            self.readable = None;
        }
    }

    /// Keeps the socket readable while something is left, even if the watcher has read it meanwhile.
    fn settle(&mut self) {
        let left = !self.listed.is_empty();
        let Some(readable) = &mut self.readable else { return };
        if !left {
            readable.put_out();
        } else if !readable.light() {
            self.readable = None;
        }
    }

    fn another(&mut self) -> std::io::Result<i32> {
        if self.readable.is_none() {
            let mut readable = ReadableDescriptor::socket()?;
            if !self.listed.is_empty() {
                readable.light();
            }
            self.readable = Some(readable);
        }
        self.readable.as_ref().map_or(Ok(-1), ReadableDescriptor::another)
    }
}

impl Notification {
    /// Reports its changes from now on.
    pub(super) fn join(&self, number: u64) {
        self.state.lock().members.entry(number).or_insert(Mark::Quiet);
    }

    /// Stops reporting its changes.
    pub(super) fn leave(&self, number: u64) {
        let mut state = self.state.lock();
        if state.members.remove(&number) == Some(Mark::Listed) {
            state.listed.retain(|listed| *listed != number);
            if state.listed.is_empty() {
                state.settle();
            }
        }
    }

    /// Something happened to it.
    pub(super) fn ring(&self, number: u64) {
        let mut state = self.state.lock();
        match state.members.get_mut(&number) {
            Some(Mark::Reported { again }) => *again = true,
            Some(Mark::Quiet) => {
                state.list(number);
                self.notify(state);
            }
            Some(Mark::Listed) | None => {}
        }
    }

    /// Its reader begins to look: what happened before is seen by that.
    pub(super) fn look(&self, number: u64) {
        if let Some(Mark::Reported { again }) = self.state.lock().members.get_mut(&number) {
            *again = false;
        }
    }

    /// Its reader found nothing.
    pub(super) fn empty(&self, number: u64) {
        let mut state = self.state.lock();
        match state.members.get_mut(&number) {
            Some(Mark::Reported { again: true }) => {
                state.list(number);
                self.notify(state);
            }
            Some(mark @ Mark::Reported { again: false }) => *mark = Mark::Quiet,
            Some(Mark::Quiet | Mark::Listed) | None => {}
        }
    }

    /// Up to `room` that have new data; none if there are none in time.
    pub(super) fn take(&self, timeout_ms: i32, room: usize) -> Result<Vec<u64>, Fault> {
        let until = deadline(timeout_ms);
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return Err(Fault::closed());
            }
            if !state.listed.is_empty() {
                break;
            }
            let left = until.map(|at| at.saturating_duration_since(std::time::Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(Vec::new());
            }
            state.waiting += 1;
            state = match left {
                None => self.heard.wait(state),
                Some(left) => self.heard.wait_timeout(state, left),
            };
            state.waiting -= 1;
        }
        let most = state.listed.len().min(room);
        let taken: Vec<_> = state.listed.drain(..most).collect();
        for number in &taken {
            state.members.insert(*number, Mark::Reported { again: false });
        }
        state.settle();
        Ok(taken)
    }

    /// A descriptor for the caller to keep; all of them are of one socket. -1 where the system has none.
    pub(super) fn descriptor(&self) -> Result<i32, Fault> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Fault::closed());
        }
        let made = state.another();
        descriptor::or_none(made).map_err(|error| Fault::new(Code::Internal, &format!("no descriptor could be made: {error}")))
    }

    /// Closes it: waiting callers return, and the socket stays readable.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.readable = None;
        self.notify(state);
    }

    /// Wakes the threads that wait, if there are any.
    fn notify(&self, state: MutexGuard<'_, State>) {
        let waiting = state.waiting > 0;
        drop(state);
        if waiting {
            self.heard.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream as its producers and its one reader see it, each of them between two steps.
    struct Play {
        notification: Notification,
        /// What lies there unread.
        there: u32,
        read: u32,
        /// Of each producer: how often it still has to put something there, and whether it has done so and not rung yet.
        producers: Vec<(u32, bool)>,
        reader: Reader,
    }

    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Reader {
        /// Waits for the list.
        Waits,
        /// Was woken and has not polled yet.
        Woken,
        /// Has begun to look.
        Looks,
        /// Found nothing, and has not said so yet.
        Empty,
    }

    const STREAM: u64 = 7;

    impl Play {
        fn new(producers: usize, times: u32) -> Self {
            let notification = Notification::default();
            notification.join(STREAM);
            Self { notification, there: 0, read: 0, producers: vec![(times, false); producers], reader: Reader::Waits }
        }

        /// Who can do a step: the producers by their numbers, and the reader behind them.
        fn able(&self) -> Vec<usize> {
            let mut able: Vec<_> = (0..self.producers.len()).filter(|at| self.producers[*at] != (0, false)).collect();
            if self.reader != Reader::Waits || !self.notification.state.lock().listed.is_empty() {
                able.push(self.producers.len());
            }
            able
        }

        fn step(&mut self, who: usize) {
            let Some((left, put)) = self.producers.get_mut(who) else { return self.read() };
            if std::mem::take(put) {
                self.notification.ring(STREAM);
            } else {
                *left -= 1;
                *put = true;
                self.there += 1;
            }
        }

        fn read(&mut self) {
            self.reader = match self.reader {
                Reader::Waits => {
                    assert_eq!(self.notification.take(0, 1).ok(), Some(vec![STREAM]));
                    Reader::Woken
                }
                Reader::Woken => {
                    self.notification.look(STREAM);
                    Reader::Looks
                }
                Reader::Looks if self.there > 0 => {
                    self.there -= 1;
                    self.read += 1;
                    Reader::Woken
                }
                Reader::Looks => Reader::Empty,
                Reader::Empty => {
                    self.notification.empty(STREAM);
                    Reader::Waits
                }
            };
        }
    }

    /// Every order of the steps: `choices` says who comes next, and counts up like a number.
    fn every_order(producers: usize, times: u32) -> u64 {
        let (mut choices, mut orders): (Vec<(usize, usize)>, u64) = (Vec::new(), 0);
        loop {
            let mut play = Play::new(producers, times);
            let mut depth = 0;
            loop {
                let able = play.able();
                if able.is_empty() {
                    break;
                }
                if depth == choices.len() {
                    choices.push((0, able.len()));
                }
                play.step(able[choices[depth].0]);
                depth += 1;
            }
            assert_eq!((play.there, play.read), (0, times * u32::try_from(producers).expect("few")), "{choices:?}");
            orders += 1;
            while let Some((chosen, of)) = choices.pop() {
                if chosen + 1 < of {
                    choices.push((chosen + 1, of));
                    break;
                }
            }
            if choices.is_empty() {
                return orders;
            }
        }
    }

    #[test]
    fn nothing_is_lost_in_any_order_of_two_producers_and_a_reader() {
        let orders = every_order(1, 3) + every_order(2, 1);
        assert!(orders > 1_000, "{orders} orders");
    }

    #[test]
    fn nothing_is_lost_in_long_orders_by_chance() {
        let orders = std::env::var("STUDIO_ORDERS").map_or(5_000, |told| told.parse::<u32>().expect("a count of orders"));
        let mut bits = 88_172_645_463_325_252_u64;
        for _ in 0..orders {
            let mut play = Play::new(3, 5);
            loop {
                let able = play.able();
                bits ^= bits << 13;
                bits ^= bits >> 7;
                bits ^= bits << 17;
                let Some(who) = able.get(usize::try_from(bits >> 33).unwrap_or_default() % able.len().max(1)) else { break };
                play.step(*who);
            }
            assert_eq!((play.there, play.read), (0, 15));
        }
    }

    #[test]
    fn a_busy_stream_is_on_the_list_once_and_comes_back_after_a_look_that_found_nothing() {
        let notification = Notification::default();
        notification.join(1);
        notification.join(2);
        (0..9).for_each(|_| notification.ring(1));
        notification.ring(2);
        assert_eq!(notification.take(0, 9).ok(), Some(vec![1, 2]));
        notification.ring(1);
        assert_eq!(notification.take(0, 9).ok(), Some(vec![]));
        notification.look(1);
        notification.empty(1);
        assert_eq!(notification.take(0, 9).ok(), Some(vec![]), "it rang before the look");
        notification.ring(1);
        notification.ring(2);
        assert_eq!(notification.take(0, 9).ok(), Some(vec![1]), "the other one was not looked at");
    }

    #[test]
    fn whoever_leaves_is_not_told_and_whoever_waits_hears_the_end() {
        let notification = std::sync::Arc::new(Notification::default());
        notification.join(1);
        notification.ring(1);
        notification.leave(1);
        notification.ring(1);
        assert_eq!(notification.take(1, 9).ok(), Some(vec![]));
        let waits = std::thread::spawn({
            let notification = std::sync::Arc::clone(&notification);
            move || notification.take(-1, 9).err().map(|fault| fault.code)
        });
        std::thread::sleep(std::time::Duration::from_millis(5));
        notification.close();
        assert_eq!(waits.join().ok().flatten(), Some(Code::Closed as i32));
        assert!(notification.descriptor().is_err());
    }
}
