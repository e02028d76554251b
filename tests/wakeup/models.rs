//! Owns the models: sources that producers fill, and readers that wait for them as hosts do. Every model ends with all that was put in being
//! read; a reader that is not woken waits for ever, and loom says so.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};

use loom::thread::{self, JoinHandle};

use super::super::fault::Code;
use super::ready_streams::Notification;
use super::wakeup::{Wakeup, block_on};
use crate::sync::Mutex;

/// The models by name; each gives how many orders it has.
pub(crate) const ALL: [(&str, fn() -> usize); 9] = [
    ("one waiter, a stream with two producers", || orders(5, two_producers)),
    ("one waiter, two streams", || orders(4, two_streams)),
    ("a stream is reported that had news before it was listed", || orders(4, listed_late)),
    ("a reader waits inside the library", || orders(5, waiting_reader)),
    ("a future is waited for", || orders(5, future)),
    ("the descriptor of the engine", || orders(5, engine_descriptor)),
    ("the descriptor of a stream", || orders(5, stream_descriptor)),
    ("a stream leaves while it has news", || orders(3, leaving)),
    ("the engine is closed while one waits", || orders(5, closing)),
];

/// Every order with at most so many places where a thread is stopped though it could go on.
fn orders(stops: usize, model: fn()) -> usize {
    let count = Arc::new(AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(stops);
    builder.check({
        let count = Arc::clone(&count);
        move || {
            count.fetch_add(1, Ordering::Relaxed);
            model();
        }
    });
    count.load(Ordering::Relaxed)
}

/// What a stream reads from: as channels do, it wakes whoever looked last, once.
#[derive(Default)]
struct Source(Mutex<(usize, Option<Waker>)>);

impl Source {
    fn put(&self) {
        let waker = {
            let mut state = self.0.lock();
            state.0 += 1;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, waker: &Waker) -> Poll<()> {
        let mut state = self.0.lock();
        if state.0 > 0 {
            state.0 -= 1;
            return Poll::Ready(());
        }
        state.1 = Some(waker.clone());
        Poll::Pending
    }

    fn left(&self) -> bool {
        self.0.lock().0 > 0
    }
}

struct Stream {
    source: Source,
    wakeup: Arc<Wakeup>,
    waker: Waker,
}

impl Stream {
    /// As `studio_start` makes it: the source was looked at once, so that it wakes.
    fn new() -> Arc<Self> {
        let (wakeup, waker) = Wakeup::new();
        let stream = Self { source: Source::default(), wakeup, waker };
        assert_eq!(stream.source.poll(&stream.waker), Poll::Pending);
        Arc::new(stream)
    }

    fn listed(number: u64, notification: &Arc<Notification>) -> Arc<Self> {
        let stream = Self::new();
        stream.wakeup.join(notification, number);
        stream
    }

    /// `studio_stream_next`.
    fn next(&self, timeout_ms: i32) -> Option<()> {
        let found = self.wakeup.read(timeout_ms, || Ok::<_, Infallible>(self.source.poll(&self.waker)));
        found.unwrap_or_else(|never| match never {})
    }

    /// All that is there, to the `STUDIO_TIMEOUT` behind it.
    fn drain(&self) -> usize {
        std::iter::from_fn(|| self.next(0)).count()
    }
}

fn puts(stream: &Arc<Stream>, times: usize) -> JoinHandle<()> {
    let stream = Arc::clone(stream);
    thread::spawn(move || (0..times).for_each(|_| stream.source.put()))
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().expect("no thread of a model panics")
}

/// Reads those that were reported; none of the others is looked at.
fn read(streams: &[Arc<Stream>], reported: &[u64]) -> usize {
    reported.iter().map(|number| streams[usize::try_from(*number).expect("a small number") - 1].drain()).sum()
}

/// Waits for streams that have news until so much was read.
fn serve(notification: &Notification, streams: &[Arc<Stream>], room: usize, all: usize) {
    let mut found = 0;
    while found < all {
        found += read(streams, &notification.take(-1, room).expect("nobody closes it"));
    }
    assert_eq!(found, all);
}

fn two_producers() {
    let notification = Arc::new(Notification::default());
    let stream = Stream::listed(1, &notification);
    let producers = [puts(&stream, 1), puts(&stream, 1)];
    serve(&notification, &[stream], 8, 2);
    producers.into_iter().for_each(join);
}

fn two_streams() {
    let notification = Arc::new(Notification::default());
    let streams = [1, 2].map(|number| Stream::listed(number, &notification));
    let producers = [puts(&streams[0], 2), puts(&streams[1], 1)];
    serve(&notification, &streams, 1, 3);
    producers.into_iter().for_each(join);
}

fn listed_late() {
    let notification = Arc::new(Notification::default());
    let stream = Stream::new();
    let producer = puts(&stream, 2);
    let lister = thread::spawn({
        let (stream, notification) = (Arc::clone(&stream), Arc::clone(&notification));
        move || stream.wakeup.join(&notification, 1)
    });
    serve(&notification, &[stream], 8, 2);
    join(producer);
    join(lister);
}

fn waiting_reader() {
    let stream = Stream::new();
    let producers = [puts(&stream, 1), puts(&stream, 1)];
    for _ in 0..2 {
        assert!(stream.next(-1).is_some(), "it waits without limit");
    }
    producers.into_iter().for_each(join);
}

fn future() {
    let source = Arc::new(Source::default());
    let producer = thread::spawn({
        let source = Arc::clone(&source);
        move || source.put()
    });
    block_on(std::future::poll_fn(|context| source.poll(context.waker())));
    join(producer);
}

fn readable(descriptor: i32) -> bool {
    let mut asked = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which lives through the call.
    unsafe { libc::poll(&raw mut asked, 1, 0) == 1 }
}

/// An event loop that watches the engine reads what is there when its turn comes; the descriptor says whether it has to come again.
fn engine_descriptor() {
    use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
    let notification = Arc::new(Notification::default());
    let streams = [1, 2].map(|number| Stream::listed(number, &notification));
    // SAFETY: the descriptor is the caller's own.
    let descriptor = unsafe { OwnedFd::from_raw_fd(notification.descriptor().expect("a descriptor")) };
    let producers = [puts(&streams[0], 1), puts(&streams[1], 1)];
    let turn = || read(&streams, &notification.take(0, 1).expect("nobody closes it"));
    let mut all = turn() + turn();
    producers.into_iter().for_each(join);
    let left = streams.iter().any(|stream| stream.source.left());
    assert!(!left || readable(descriptor.as_raw_fd()), "something is there, and nobody is told");
    while readable(descriptor.as_raw_fd()) {
        all += turn();
    }
    assert_eq!(all, 2);
}

/// The same for one that watches the stream itself.
fn stream_descriptor() {
    let stream = Stream::new();
    let descriptor = stream.wakeup.descriptor().expect("a descriptor");
    let producers = [puts(&stream, 1), puts(&stream, 1)];
    let mut read = stream.drain();
    producers.into_iter().for_each(join);
    assert!(!stream.source.left() || readable(descriptor), "something is there, and nobody is told");
    while readable(descriptor) {
        read += stream.drain();
    }
    assert_eq!(read, 2);
}

fn leaving() {
    let notification = Arc::new(Notification::default());
    let [going, staying] = [1, 2].map(|number| Stream::listed(number, &notification));
    let producers = [puts(&going, 1), puts(&staying, 1)];
    let leaver = thread::spawn({
        let going = Arc::clone(&going);
        move || going.wakeup.leave()
    });
    while !notification.take(-1, 8).expect("nobody closes it").contains(&2) || staying.drain() == 0 {}
    producers.into_iter().for_each(join);
    join(leaver);
    assert_eq!(notification.take(0, 8).ok(), Some(vec![]), "it has left");
}

fn closing() {
    let notification = Arc::new(Notification::default());
    let stream = Stream::listed(1, &notification);
    let producer = puts(&stream, 1);
    let closer = thread::spawn({
        let notification = Arc::clone(&notification);
        move || notification.close()
    });
    // Its news may come first; then it is asked again.
    let end = std::iter::repeat_with(|| notification.take(-1, 8).map(|_| stream.drain())).find_map(Result::err);
    assert_eq!(end.map(|fault| fault.0), Some(Code::Closed));
    join(producer);
    join(closer);
}
