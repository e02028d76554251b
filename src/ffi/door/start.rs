//! Owns requests that start without waiting: the runtime does the work; head and body arrive as a stream.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{FutureExt as _, Stream as Feed, StreamExt as _};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::super::fault::{Code, Fault};
use super::stream_state::{Behind, StreamState};
use super::engine::Engine;
use super::hosting::Hosting;
use super::ops::{self, Op};
use super::requests::{self, Ready};
use super::source::{self, Chunk, Source};
use super::stream::Stream;
use super::{about, http};
use crate::http::sse;
use crate::studio::Studio;

/// Chunks that are kept ready for a reader who is slow; then the work waits.
const AHEAD: usize = 8;

/// What can be begun.
#[derive(Clone, Copy)]
enum Asked {
    Http,
    Run,
    Resume,
    Op(Op),
}

impl Asked {
    fn named(name: &str) -> Result<Self, Fault> {
        match name {
            "http" => Ok(Self::Http),
            "run" => Ok(Self::Run),
            "resume" => Ok(Self::Resume),
            _ => Op::named(name).map(Self::Op).ok_or_else(|| requests::unknown(name)),
        }
    }
}

/// The messages from the work to its stream.
enum StreamMessage {
    Chunk(Chunk),
    Failed(Fault),
    /// The rest, and the end: a short answer arrives in one message, which wakes its reader once.
    Last(Vec<Chunk>),
}

/// The reading end. Work that ends without a word has broken down.
struct Fed {
    messages: mpsc::Receiver<StreamMessage>,
    /// Chunks of the last message.
    rest: VecDeque<Chunk>,
    over: bool,
}

impl Feed for Fed {
    type Item = Result<Chunk, Fault>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.over {
            return Poll::Ready(self.rest.pop_front().map(Ok));
        }
        self.messages.poll_recv(context).map(|message| match message {
            Some(StreamMessage::Chunk(chunk)) => Some(Ok(chunk)),
            Some(StreamMessage::Failed(fault)) => {
                self.over = true;
                Some(Err(fault))
            }
            Some(StreamMessage::Last(chunks)) => {
                self.over = true;
                self.rest = chunks.into();
                self.rest.pop_front().map(Ok)
            }
            None => {
                self.over = true;
                Some(Err(Fault::new(Code::Panic, "a fault of this library; please report what was started")))
            }
        })
    }
}

/// Starts the request and returns at once. Misuse of the call is an error here, everything else comes from the stream.
pub(super) fn start(engine: &Arc<Engine>, studio: &Studio, op: &str, request: &[u8], body: Bytes) -> Result<Arc<Stream>, Fault> {
    let asked = Asked::named(op)?;
    if !body.is_empty() && !matches!(asked, Asked::Http) {
        return Err(Fault::invalid("only the request of `http` has a body"));
    }
    let mut request = requests::object(request)?;
    let brings_calls = requests::inline(&request)?;
    if matches!(asked, Asked::Op(_)) {
        // Routes would take it for a member of theirs.
        request.shift_remove("host_calls");
    }
    if matches!(asked, Asked::Op(Op::About)) {
        return Ok(Stream::answered(engine, about::about(studio).to_string().into_bytes(), brings_calls));
    }
    let (sender, messages) = mpsc::channel(AHEAD);
    let runtime = engine.runtime()?;
    let stream_state = Arc::new(StreamState::default());
    let stream = Stream::begun(engine, Box::pin(Fed { messages, rest: VecDeque::new(), over: false }), Arc::clone(&stream_state), brings_calls);
    let work = Work { studio: studio.clone(), hosting: Arc::clone(engine.hosting()), stream: stream.id(), stream_state, sender };
    drop(runtime.spawn(work.go(asked, request, body)));
    Ok(stream)
}

/// The work behind a started stream. It holds no engine: the last to let an engine go must not be one of its own threads.
struct Work {
    studio: Studio,
    hosting: Arc<Hosting>,
    stream: u64,
    stream_state: Arc<StreamState>,
    sender: mpsc::Sender<StreamMessage>,
}

impl Work {
    async fn go(self, asked: Asked, request: Map<String, Value>, body: Bytes) {
        if self.stream_state.has_left() {
            return;
        }
        let told = match asked {
            Asked::Http => self.unless_left(self.http(request, body)).await,
            Asked::Op(op) => self.unless_left(Box::pin(self.op(op, request))).await,
            // A run that begins is seen through to where it is known: only then can it be cancelled.
            Asked::Run => self.run(requests::run(&self.studio, request).await).await,
            Asked::Resume => self.run(requests::resume(&self.studio, request).await).await,
        };
        let last = match told {
            Ok(rest) => StreamMessage::Last(rest),
            Err(fault) => StreamMessage::Failed(fault.in_language_of(self.studio.config())),
        };
        drop(self.sender.send(last).await);
    }

    /// The work, given up when its reader leaves. It gives the chunks that it has not sent.
    async fn unless_left(&self, work: impl Future<Output = Result<Vec<Chunk>, Fault>>) -> Result<Vec<Chunk>, Fault> {
        tokio::select! {
            biased;
            () = self.stream_state.left() => Ok(Vec::new()),
            // A callback that wants no more lets the reading end go.
            () = self.sender.closed() => Ok(Vec::new()),
            told = work => told,
        }
    }

    async fn tell(&self, chunk: Chunk) {
        drop(self.sender.send(StreamMessage::Chunk(chunk)).await);
    }

    async fn tell_all(&self, mut source: Source) -> Result<Vec<Chunk>, Fault> {
        while let Some(chunk) = source.next().await {
            self.tell(chunk?).await;
        }
        Ok(Vec::new())
    }

    async fn http(&self, request: Map<String, Value>, body: Bytes) -> Result<Vec<Chunk>, Fault> {
        let answer = http::begin(&self.studio, &request, body).await?;
        let mut ready = vec![Chunk::Head(answer.head.to_string().into_bytes())];
        let mut source = source::body(answer.body);
        let failed = loop {
            match source.next().now_or_never() {
                Some(None) => return Ok(ready),
                Some(Some(Ok(chunk))) => ready.push(chunk),
                Some(Some(Err(fault))) => break Some(fault),
                None => break None,
            }
            if ready.len() > AHEAD {
                break None;
            }
        };
        for chunk in ready {
            self.tell(chunk).await;
        }
        failed.map_or(Ok(()), Err)?;
        self.tell_all(source).await
    }

    async fn op(&self, op: Op, request: Map<String, Value>) -> Result<Vec<Chunk>, Fault> {
        let answer = ops::answer(&self.studio, op, request).await?;
        Ok(vec![Chunk::Head(answer)])
    }

    async fn run(&self, ready: Result<Ready, Fault>) -> Result<Vec<Chunk>, Fault> {
        let Ready { source, behind, slot, .. } = ready?;
        let Behind { scope, run, cancel_on_leave: fence } = behind.clone();
        self.hosting.follow(self.stream, &run);
        if !self.stream_state.follow(behind, slot) {
            let left = fence.filter(|_| !self.stream_state.is_cancelled());
            match left {
                Some(fence) => self.studio.cancel_left(&scope, &run, fence).await?,
                None => drop(self.studio.cancel(&scope, &run).await?),
            }
            return Ok(Vec::new());
        }
        let telling = async {
            self.tell(Chunk::Head(json!({"trace_id": run}).to_string().into_bytes())).await;
            self.tell(Chunk::Bytes(Bytes::from_static(sse::opening()))).await;
            self.tell_all(source).await
        };
        self.unless_left(telling).await
    }
}
