//! Owns the framing of server-sent events: frames as bytes, and the body of a stream.

pub(super) mod position;
pub(super) mod tail;

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{FutureExt as _, Stream, StreamExt as _, future, stream};
use http::{HeaderValue, header};
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep};

use crate::engine::EventStream;
use crate::error;
use crate::http::cancel_on_drop::CancelOnDrop;
use crate::http::settings;
use crate::model::telling::Frame;
use crate::studio::{StreamSlot, Studio};

/// A comment that keeps idle connections open.
const HEARTBEAT: &[u8] = b": hb\n\n";

/// What every stream begins with.
pub const fn opening() -> &'static [u8] {
    b"retry: 2000\n\n"
}

/// Appends frames: three lines each and a blank one.
pub fn encode(frames: &[Frame], into: &mut Vec<u8>) {
    for frame in frames {
        into.extend_from_slice(b"id: ");
        frame.write_id(into);
        into.extend_from_slice(b"\nevent: ");
        into.extend_from_slice(frame.event().as_bytes());
        into.extend_from_slice(b"\ndata: ");
        frame.write_data(into);
        into.extend_from_slice(b"\n\n");
    }
}

/// How an answer keeps time.
pub(super) struct Pace {
    /// When a comment comes.
    pub(super) silence: Silence,
    /// After how long it ends, whether the run goes on or not.
    pub(super) most: Option<Duration>,
}

impl Pace {
    /// Comes when the answer is to end.
    fn over(&self) -> impl Future<Output = ()> + Send + use<> {
        let _entered = self.silence.runtime.enter();
        self.most.map_or_else(|| future::Either::Left(future::pending()), |most| future::Either::Right(tokio::time::sleep(most)))
    }
}

/// The pace of the configuration.
pub(super) fn pace(studio: &Studio) -> error::Result<Pace> {
    let silence = Silence::new(settings::heartbeat(studio.config()), studio.runtime()?);
    Ok(Pace { silence, most: settings::longest_stream(studio.config()) })
}

/// The answer that streams a run. [`CancelOnDrop`] cancels the run if the answer is dropped before its end; an answer whose time is over has
/// come to its end, for its reader comes back.
pub(super) fn answer(events: EventStream, slot: StreamSlot, cancel_on_drop: Option<CancelOnDrop>, pace: Pace) -> Response {
    let chunks = Box::pin(encoded(events.cut_when_behind()).take_until(pace.over()));
    let silence = pace.silence;
    let mut response = Response::new(Body::new(EventBody { opened: false, ..EventBody::new(chunks, slot, cancel_on_drop, silence) }));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// A clock of silence, bound to the studio's own runtime so that any executor may poll the body.
pub(super) struct Silence {
    longest: Duration,
    runtime: Handle,
    sleep: Pin<Box<Sleep>>,
}

impl Silence {
    pub(super) fn new(longest: Duration, runtime: Handle) -> Self {
        let sleep = {
            let _entered = runtime.enter();
            Box::pin(tokio::time::sleep(longest))
        };
        Self { longest, runtime, sleep }
    }

    fn broken(&mut self) {
        self.sleep.as_mut().reset(Instant::now() + self.longest);
    }

    fn poll_too_long(&mut self, context: &mut Context<'_>) -> Poll<()> {
        ready!(self.sleep.poll_unpin(context));
        self.broken();
        Poll::Ready(())
    }
}

/// The reader fell too far behind; what it missed it can ask for again.
pub(super) struct Cut;

/// A reader's batches as bytes; the last item says so when the reader was cut.
fn encoded(events: EventStream) -> impl Stream<Item = Result<Bytes, Cut>> + Send {
    stream::unfold(Some(events), |events| async move {
        let mut events = events?;
        let Some(frames) = events.next_batch().await else {
            return events.was_cut().then_some((Err(Cut), None));
        };
        let mut bytes = Vec::with_capacity(frames.len() * 256);
        encode(&frames, &mut bytes);
        Some((Ok(bytes.into()), Some(events)))
    })
}

type Part = http_body::Frame<Bytes>;

/// The body of a response that streams a run.
pub(super) struct EventBody<S> {
    chunks: S,
    silence: Silence,
    opened: bool,
    cancel_on_drop: Option<CancelOnDrop>,
    _slot: StreamSlot,
}

impl<S> EventBody<S> {
    /// For chunks that are sent unchanged, without an opening.
    pub(super) const fn new(chunks: S, slot: StreamSlot, cancel_on_drop: Option<CancelOnDrop>, silence: Silence) -> Self {
        Self { chunks, silence, opened: true, cancel_on_drop, _slot: slot }
    }
}

impl<S: Stream<Item = Result<Bytes, Cut>> + Unpin> http_body::Body for EventBody<S> {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Part, Self::Error>>> {
        let runtime = self.silence.runtime.clone();
        let _entered = runtime.enter();
        let told = |bytes| Poll::Ready(Some(Ok(Part::data(bytes))));
        if !self.opened {
            self.opened = true;
            return told(Bytes::from_static(opening()));
        }
        match Pin::new(&mut self.chunks).poll_next(context) {
            Poll::Ready(Some(Ok(bytes))) => {
                self.silence.broken();
                told(bytes)
            }
            Poll::Ready(Some(Err(Cut))) => Poll::Ready(None),
            Poll::Ready(None) => {
                if let Some(cancel_on_drop) = self.cancel_on_drop.take() {
                    cancel_on_drop.let_go();
                }
                Poll::Ready(None)
            }
            Poll::Pending => {
                ready!(self.silence.poll_too_long(context));
                told(Bytes::from_static(HEARTBEAT))
            }
        }
    }
}

#[cfg(test)]
mod tests;
