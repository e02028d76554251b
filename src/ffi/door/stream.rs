//! Owns a stream for its reader: wait, read a batch, watch a descriptor, cancel, close.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::super::fault::{Code, Fault};
use super::super::fork;
use super::wakeup::Wakeup;
use super::callback::may_wait;
use super::stream_state::{Behind, Leaving, StreamState};
use super::engine::Engine;
use super::source::{Chunk, Pieces, Source};
use crate::studio::StreamSlot;
use crate::sync::{Mutex, MutexGuard};

/// Bytes of a batch when the caller does not say.
const BATCH: usize = 64 * 1024;

static STREAMS: AtomicU64 = AtomicU64::new(1);

/// What a consumer gets.
pub(in crate::ffi) enum Next {
    /// What comes before the body of a started request, once.
    Head(Vec<u8>),
    /// Whole frames, or bytes of a body.
    Bytes(Vec<u8>),
    /// A call to the host, on a stream that brings calls.
    HostCall(Vec<u8>),
    /// There will be no more.
    Over,
    /// Nothing came in time.
    TimedOut,
}

/// An answer that is still coming.
pub(in crate::ffi) struct Stream {
    id: u64,
    born: u32,
    engine: Arc<Engine>,
    reader: Mutex<Reader>,
    wakeup: Arc<Wakeup>,
    waker: Waker,
    stream_state: Arc<StreamState>,
    brings_calls: bool,
    pushed: AtomicBool,
    over: AtomicBool,
    cancelled: AtomicBool,
    closed: AtomicBool,
}

struct Reader {
    source: Option<Source>,
    pieces: Pieces,
    /// Delivered after the earlier pieces.
    failed: Option<Fault>,
}

impl Stream {
    pub(super) fn new(engine: &Arc<Engine>, source: Source, opening: &[u8], behind: Option<(Behind, StreamSlot)>, brings_calls: bool) -> Arc<Self> {
        let run = behind.as_ref().map(|(behind, _)| behind.run.clone());
        let stream_state = behind.map_or_else(Arc::default, |(behind, slot)| Arc::new(StreamState::of(behind, slot)));
        let mut pieces = Pieces::default();
        if !opening.is_empty() {
            pieces.add_piece(opening);
        }
        let stream = Self::made(engine, Reader { source: Some(source), pieces, failed: None }, stream_state, brings_calls, run);
        // The source was not polled yet.
        stream.wakeup.ring();
        stream
    }

    /// The answer to a request that has just begun; it rings when its first part comes.
    pub(super) fn begun(engine: &Arc<Engine>, source: Source, stream_state: Arc<StreamState>, brings_calls: bool) -> Arc<Self> {
        let stream = Self::made(engine, Reader { source: Some(source), pieces: Pieces::default(), failed: None }, stream_state, brings_calls, None);
        let nothing_yet = stream.fill(&mut stream.reader.lock(), 1);
        debug_assert!(nothing_yet.is_ok(), "the source is there and the runtime too");
        stream
    }

    /// An answer that is there already: no runtime is needed for it.
    pub(super) fn answered(engine: &Arc<Engine>, head: Vec<u8>, brings_calls: bool) -> Arc<Self> {
        let mut pieces = Pieces::default();
        pieces.add(Chunk::Head(head));
        let stream = Self::made(engine, Reader { source: None, pieces, failed: None }, Arc::default(), brings_calls, None);
        stream.over.store(true, Ordering::Release);
        stream.bring_no_more();
        stream.wakeup.ring();
        stream
    }

    fn made(engine: &Arc<Engine>, reader: Reader, stream_state: Arc<StreamState>, brings_calls: bool, run: Option<String>) -> Arc<Self> {
        let (wakeup, waker) = Wakeup::new();
        let stream = Arc::new(Self {
            id: STREAMS.fetch_add(1, Ordering::Relaxed),
            born: fork::epoch(),
            engine: Arc::clone(engine),
            reader: Mutex::new(reader),
            wakeup,
            waker,
            stream_state,
            brings_calls,
            pushed: AtomicBool::new(false),
            over: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        });
        if brings_calls {
            engine.hosting().bring(stream.id, run, Arc::clone(&stream.wakeup));
        }
        engine.remember(&stream);
        stream
    }

    /// Its number in `studio_ready`.
    pub(in crate::ffi) fn enlist(&self, number: u64) {
        self.wakeup.join(self.engine.notification(), number);
    }

    /// Its number in this process.
    pub(in crate::ffi) const fn id(&self) -> u64 {
        self.id
    }

    /// One piece: one frame of events, or up to 64 KiB of a body.
    pub(in crate::ffi) fn next(&self, timeout_ms: i32) -> Result<Next, Fault> {
        self.take(timeout_ms, 1)
    }

    /// As many whole pieces as fit into `most` bytes (0: 64 KiB), but at least one.
    pub(in crate::ffi) fn next_batch(&self, timeout_ms: i32, most: usize) -> Result<Next, Fault> {
        self.take(timeout_ms, if most == 0 { BATCH } else { most })
    }

    fn take(&self, timeout_ms: i32, most: usize) -> Result<Next, Fault> {
        self.here()?;
        if timeout_ms != 0 {
            may_wait()?;
        }
        self.not_pushed()?;
        let mut reader = self.reader()?;
        self.not_pushed()?;
        let next = self.wakeup.read(timeout_ms, || self.look(&mut reader, most))?;
        Ok(next.unwrap_or(Next::TimedOut))
    }

    fn not_pushed(&self) -> Result<(), Fault> {
        if self.pushed.load(Ordering::Acquire) {
            return Err(Fault::new(Code::Busy, "the events of this stream go to a callback"));
        }
        Ok(())
    }

    fn reader(&self) -> Result<MutexGuard<'_, Reader>, Fault> {
        let busy = || Fault::new(Code::Busy, "another thread waits for this stream; it has one consumer");
        self.reader.try_lock().ok_or_else(busy)
    }

    /// Takes what is there. When nothing is, the wakeup will ring.
    fn look(&self, reader: &mut Reader, most: usize) -> Result<Poll<Next>, Fault> {
        self.here()?;
        if self.cancelled.load(Ordering::Acquire) {
            return Err(Fault::new(Code::Cancelled, "the stream was cancelled"));
        }
        if let Some(call) = self.brings_calls.then(|| self.engine.hosting().next_for(self.id)).flatten() {
            return Ok(Poll::Ready(Next::HostCall(call.to_vec())));
        }
        self.fill(reader, most)?;
        if let Some(head) = reader.pieces.take_head() {
            return Ok(Poll::Ready(Next::Head(head)));
        }
        if !reader.pieces.is_empty() {
            return Ok(Poll::Ready(Next::Bytes(reader.pieces.take(most))));
        }
        if let Some(fault) = reader.failed.take() {
            return Err(fault);
        }
        if reader.source.is_some() {
            return Ok(Poll::Pending);
        }
        // A source may be missing because somebody closed the stream since this look began: that is no end.
        self.here()?;
        Ok(Poll::Ready(Next::Over))
    }

    fn fill(&self, reader: &mut Reader, most: usize) -> Result<(), Fault> {
        let Some(source) = &mut reader.source else { return Ok(()) };
        if reader.pieces.len() >= most {
            return Ok(());
        }
        let runtime = self.engine.runtime()?;
        let _context = runtime.enter();
        let mut context = Context::from_waker(&self.waker);
        while reader.pieces.len() < most {
            match source.as_mut().poll_next(&mut context) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Some(Ok(chunk))) => reader.pieces.add(chunk),
                Poll::Ready(Some(Err(fault))) => {
                    reader.source = None;
                    reader.failed = Some(fault);
                    self.bring_no_more();
                    return Ok(());
                }
                Poll::Ready(None) => {
                    reader.source = None;
                    self.over.store(true, Ordering::Release);
                    self.bring_no_more();
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// For delivery to a callback: like `next_batch`, with a waker instead of waiting.
    pub(super) fn poll_next(&self, context: &Context<'_>) -> Poll<Result<Next, Fault>> {
        // No other reader is possible: `next` refuses a stream with a callback.
        let mut reader = self.reader.lock();
        self.wakeup.hush();
        self.wakeup.forward(context.waker());
        match self.look(&mut reader, BATCH) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(next)) => Poll::Ready(Ok(next)),
            Err(fault) => Poll::Ready(Err(fault)),
        }
    }

    /// Connects this stream to a callback; once.
    pub(super) fn begin_push(&self) -> Result<(), Fault> {
        self.here()?;
        if self.pushed.swap(true, Ordering::AcqRel) {
            return Err(Fault::new(Code::Busy, "this stream has a callback already"));
        }
        // A caller inside `next` would race with the callback for the same events.
        let busy = self.reader().err();
        self.pushed.store(busy.is_none(), Ordering::Release);
        busy.map_or_else(
            || {
                self.wakeup.leave();
                Ok(())
            },
            Err,
        )
    }

    /// The callback has received the end: nothing more is read.
    pub(super) fn let_go(&self) {
        self.bring_no_more();
        if let Ok(mut reader) = self.reader() {
            reader.source = None;
        }
        self.wakeup.ring();
    }

    /// Calls of its run go another way; a stream that has ended holds up none.
    fn bring_no_more(&self) {
        if self.brings_calls {
            self.engine.hosting().bring_no_more(self.id);
        }
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// A descriptor for an event loop, readable while there may be something; owned by the stream.
    pub(in crate::ffi) fn descriptor(&self) -> Result<i32, Fault> {
        self.here()?;
        self.wakeup.descriptor().map_err(|error| Fault::new(Code::Internal, &format!("no descriptor could be made: {error}")))
    }

    /// Cancels the run; the stream then delivers its end. A body without a known run ends here.
    pub(in crate::ffi) fn cancel(&self) -> Result<(), Fault> {
        self.here()?;
        match self.stream_state.behind() {
            Some(behind) => self.engine.cancel(behind.scope, behind.run),
            None => {
                self.stream_state.leave(Leaving::Cancelled);
                self.cancelled.store(true, Ordering::Release);
                self.wakeup.ring();
                // A run that became known meanwhile has not seen that its reader left.
                self.stream_state.behind().map_or(Ok(()), |behind| self.engine.cancel(behind.scope, behind.run))
            }
        }
    }

    /// Closes it: waiting callers return, and a run with `on_disconnect: cancel` is cancelled.
    pub(in crate::ffi) fn close(&self) -> Result<(), Fault> {
        self.here()?;
        self.end(Leaving::Closed);
        self.wakeup.leave();
        let left = self.stream_state.behind().filter(|_| !self.over.load(Ordering::Acquire));
        let left = left.and_then(|behind| Some((behind.cancel_on_leave?, behind)));
        left.map_or(Ok(()), |(fence, behind)| self.engine.cancel_left(behind.scope, behind.run, fence))
    }

    /// Ends because it or its engine was closed. Marked as closed first, so that the end of its source is not delivered as an end.
    pub(super) fn end(&self, leaving: Leaving) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        self.stream_state.leave(leaving);
        self.let_go();
    }

    fn here(&self) -> Result<(), Fault> {
        if self.born != fork::epoch() {
            return Err(Fault::forked());
        }
        if self.closed.load(Ordering::Acquire) { Err(Fault::closed()) } else { Ok(()) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.born == fork::epoch() {
            // Dropping the stream also means that the reader left; a closed one is marked here.
            drop(self.close());
            self.wakeup.leave();
            return;
        }
        std::mem::forget(Arc::clone(&self.stream_state));
        // The source belongs to a runtime that this process does not have.
        std::mem::forget(self.reader.get_mut().source.take());
    }
}
