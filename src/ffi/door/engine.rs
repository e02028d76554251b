//! Owns the engine of native callers: open, call, close; lazy, so that an unused one survives a fork.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::wakeup::block_on;
use super::callback::may_wait;
use super::stream_state::Leaving;
use super::hosting::{Answering, Asked, Hosting};
use super::ready_streams::Notification;
use super::stream::Stream;
use super::super::fault::Fault;
use super::super::fork;
use super::{about, http, logging, ops, process, requests, start};
use crate::config::{Config, ConfigSources};
use crate::host::{HostDeclaration, HostOp};
use crate::studio::{Scope, Studio};
use crate::sync::{Condvar, Mutex};

/// One engine. Opening it stores the configuration; threads and files come with the first use.
pub(in crate::ffi) struct Engine {
    studio: Studio,
    born: AtomicU32,
    used: AtomicBool,
    /// Nothing is begun any more; the host still answers what is under way.
    closing: AtomicBool,
    closed: AtomicBool,
    hosting: Arc<Hosting>,
    streams: Mutex<Vec<Weak<Stream>>>,
    callbacks: Arc<Tally>,
    /// A hash of the configuration that it was opened with.
    config: [u8; 32],
    /// The C handle, once it has one.
    pub(in crate::ffi) handle: AtomicU64,
}

/// A hash of a configuration, without the blanks between its members. Their order counts: it has a meaning in some of them.
fn hash_of(config: &[u8]) -> [u8; 32] {
    let json: Option<Value> = if config.is_empty() { Some(Value::Object(Map::new())) } else { serde_json::from_slice(config).ok() };
    Sha256::digest(json.map_or_else(|| config.to_vec(), |json| json.to_string().into_bytes())).into()
}

/// Callbacks that still run.
#[derive(Default)]
struct Tally {
    count: Mutex<usize>,
    changed: Condvar,
}

/// Held while a stream is delivered to a callback.
pub(super) struct Pushing(Arc<Tally>);

impl Drop for Pushing {
    fn drop(&mut self) {
        *self.0.count.lock() -= 1;
        self.0.changed.notify_all();
    }
}

impl Engine {
    /// Opens an engine with a configuration (a JSON object, may be empty), below the environment's variables.
    pub(super) fn open(config: &[u8]) -> Result<Arc<Self>, Fault> {
        let (hash, json) = (hash_of(config), if config.is_empty() { None } else { Some(requests::object(config)?.into()) });
        let config = Config::load(ConfigSources { json, ..ConfigSources::default() }.with_process_environment())?;
        Ok(Arc::new(Self {
            studio: Studio::open(config)?,
            born: AtomicU32::new(fork::epoch()),
            used: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            hosting: Arc::default(),
            streams: Mutex::default(),
            callbacks: Arc::default(),
            config: hash,
            handle: AtomicU64::new(0),
        }))
    }

    /// It was opened with this configuration.
    pub(super) fn is_opened_with(&self, config: &[u8]) -> bool {
        self.config == hash_of(config)
    }

    /// One operation by name; see `ops`.
    pub(in crate::ffi) fn call(&self, op: &str, request: &[u8]) -> Result<Vec<u8>, Fault> {
        // A mount asks this before the host has declared its tools: queued runs that call them wait until the first use.
        if op == ops::Op::About.name() {
            self.here()?;
            requests::object(request)?;
            return Ok(about::about(&self.studio).to_string().into_bytes());
        }
        self.enter()?;
        self.wait(ops::call(&self.studio, op, request))
    }

    /// Runs a workflow, or an agent's chat turn; the answer is a stream of its events.
    pub(in crate::ffi) fn run(self: &Arc<Self>, request: &[u8]) -> Result<Arc<Stream>, Fault> {
        self.enter()?;
        let ready = self.wait(requests::run(&self.studio, requests::object(request)?))?;
        Ok(ready.into_stream(self))
    }

    /// Answers a pause; the answer is a stream of the events that follow.
    pub(in crate::ffi) fn resume(self: &Arc<Self>, request: &[u8]) -> Result<Arc<Stream>, Fault> {
        self.enter()?;
        let ready = self.wait(requests::resume(&self.studio, requests::object(request)?))?;
        Ok(ready.into_stream(self))
    }

    /// The trace of a run.
    pub(in crate::ffi) fn trace(&self, request: &[u8]) -> Result<Vec<u8>, Fault> {
        self.call(ops::Op::TraceGet.name(), request)
    }

    /// What runs used: of one `{run}`, or the totals of a time.
    pub(in crate::ffi) fn usage(&self, query: &[u8]) -> Result<Vec<u8>, Fault> {
        self.enter()?;
        self.wait(ops::usage(&self.studio, query))
    }

    /// One HTTP request; the answer's head, and its body unless the head has it.
    pub(in crate::ffi) fn http(self: &Arc<Self>, head: &[u8], body: Bytes) -> Result<(Vec<u8>, Option<Arc<Stream>>), Fault> {
        self.enter()?;
        let answer = self.wait(http::ask(&self.studio, head, body))?;
        let stream = answer.body.map(|source| Stream::new(self, source, &[], None, answer.brings_calls));
        Ok((answer.head, stream))
    }

    /// Begins a request and does not wait; see `start`. Allowed inside a callback.
    pub(in crate::ffi) fn start(self: &Arc<Self>, op: &str, request: &[u8], body: Bytes) -> Result<Arc<Stream>, Fault> {
        self.here()?;
        if op != ops::Op::About.name() {
            self.touch()?;
        }
        start::start(self, &self.studio, op, request, body)
    }

    /// Up to `room` streams with new data, 0 for calls that wait for the host; none if there were none in time.
    pub(in crate::ffi) fn ready(&self, timeout_ms: i32, room: usize) -> Result<Vec<u64>, Fault> {
        self.answered_here()?;
        if timeout_ms != 0 {
            may_wait()?;
        }
        self.used.store(true, Ordering::Release);
        self.notification().take(timeout_ms, room)
    }

    /// A descriptor, for good, that is readable while a stream has new data; -1 if the system has no descriptors.
    pub(in crate::ffi) fn descriptor(&self) -> Result<i32, Fault> {
        self.answered_here()?;
        // The child of a fork must not watch the socket of its parent.
        self.used.store(true, Ordering::Release);
        self.notification().descriptor()
    }

    /// Declares what the host answers, and by whom.
    /// `answering` is asked for the callback only when the declaration is taken.
    pub(in crate::ffi) fn host_set(&self, declaration: &[u8], answering: impl FnOnce() -> Option<Answering>) -> Result<(), Fault> {
        self.here()?;
        let declared: HostDeclaration = serde_json::from_value(requests::object(declaration)?.into())
            .map_err(|error| Fault::invalid(&format!("this is no declaration of a host: {error}")))?;
        self.hosting.answer_by(answering());
        let asked = Arc::new(Asked(Arc::clone(&self.hosting)));
        // A log callback that blocks is not waited for: what was declared before is let go when it comes back.
        logging::tell_host(&self.hosting, Instant::now(), declared.ops.contains(&HostOp::Log).then(|| Arc::clone(&self.hosting)));
        self.studio.set_host(asked, declared);
        Ok(())
    }

    /// The next call to the host that waits to be fetched.
    pub(in crate::ffi) fn host_next(&self, timeout_ms: i32) -> Result<Option<Arc<[u8]>>, Fault> {
        self.answered_here()?;
        if timeout_ms != 0 {
            may_wait()?;
        }
        self.hosting.next(timeout_ms)
    }

    /// The host's answer to a call; see `Hosting::complete`.
    pub(in crate::ffi) fn host_complete(&self, call: u64, ok: i32, data: &[u8]) -> Result<(), Fault> {
        self.answered_here()?;
        self.hosting.complete(call, ok, self.hosting.read(call, data)?)
    }

    /// Ends its streams, waits for callbacks and for runs to be put down safely, no longer than `timeout`. Until then the host may
    /// answer the calls that it has; those that it does not answer stay open in the log.
    pub(in crate::ffi) fn close(&self, timeout: Duration) -> Result<(), Fault> {
        may_wait()?;
        self.close_by(Instant::now() + timeout, true)
    }

    /// Closes it; inside a callback, callbacks are not waited for.
    pub(super) fn close_by(&self, until: Instant, waits: bool) -> Result<(), Fault> {
        self.here()?;
        if self.closing.swap(true, Ordering::SeqCst) {
            return Err(Fault::closed());
        }
        process::forget(self);
        let streams: Vec<_> = self.streams.lock().drain(..).filter_map(|stream| stream.upgrade()).collect();
        streams.iter().for_each(|stream| stream.end(Leaving::Engine));
        let left = || until.saturating_duration_since(Instant::now());
        let used = self.used.load(Ordering::SeqCst);
        // One that nothing was asked of is not started now: it would take over runs that nobody puts down.
        if used && let Ok(runtime) = self.runtime() {
            let _context = runtime.enter();
            block_on(self.studio.shutdown(left()));
        }
        if waits {
            self.wait_for_callbacks(until);
        }
        self.hosting.close(waits.then_some(until));
        self.closed.store(true, Ordering::Release);
        self.notification().close();
        logging::tell_host(&self.hosting, until, None);
        if used {
            self.studio.stop_runtime(if waits { left() } else { Duration::ZERO });
        }
        Ok(())
    }

    fn wait_for_callbacks(&self, until: Instant) {
        let mut count = self.callbacks.count.lock();
        while *count > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            count = self.callbacks.changed.wait_timeout(count, left);
        }
    }

    /// Closed, or about to be.
    pub(in crate::ffi) fn is_closed(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Closed to the host's answers too.
    pub(in crate::ffi) fn is_over(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Nothing of it runs yet, so a child process may have it.
    pub(in crate::ffi) fn is_untouched(&self) -> bool {
        !self.used.load(Ordering::Acquire) && !self.is_closed()
    }

    /// In the child of a fork: takes it over when it is untouched.
    pub(super) fn adopt(&self) -> bool {
        let ours = self.is_untouched();
        if ours {
            self.born.store(fork::epoch(), Ordering::Release);
        }
        ours
    }

    pub(super) fn hosting(&self) -> &Arc<Hosting> {
        &self.hosting
    }

    pub(super) fn notification(&self) -> &Arc<Notification> {
        self.hosting.notification()
    }

    pub(super) fn runtime(&self) -> Result<tokio::runtime::Handle, Fault> {
        Ok(self.studio.runtime()?)
    }

    pub(super) fn pushing(&self) -> Pushing {
        *self.callbacks.count.lock() += 1;
        Pushing(Arc::clone(&self.callbacks))
    }

    pub(super) fn remember(&self, stream: &Arc<Stream>) {
        let mut streams = self.streams.lock();
        if streams.len() == streams.capacity() {
            streams.retain(|known| known.strong_count() > 0);
        }
        streams.push(Arc::downgrade(stream));
        drop(streams);
        // It was closed while the stream was made.
        if self.is_closed() {
            stream.end(Leaving::Engine);
        }
    }

    /// Cancels a run without waiting for it.
    pub(super) fn cancel(&self, scope: Scope, run: String) -> Result<(), Fault> {
        let studio = self.studio.clone();
        drop(self.runtime()?.spawn(async move { studio.cancel(&scope, &run).await.is_ok() }));
        Ok(())
    }

    /// Cancels a run whose reader has left, unless it paused or somebody else continued it since.
    pub(super) fn cancel_left(&self, scope: Scope, run: String, fence: i64) -> Result<(), Fault> {
        let studio = self.studio.clone();
        drop(self.runtime()?.spawn(async move { studio.cancel_left(&scope, &run, fence).await.is_ok() }));
        Ok(())
    }

    fn here(&self) -> Result<(), Fault> {
        if self.born.load(Ordering::Acquire) != fork::epoch() {
            return Err(Fault::forked());
        }
        if self.is_closed() { Err(Fault::closed()) } else { Ok(()) }
    }

    /// The host may answer, also while the engine is being closed.
    fn answered_here(&self) -> Result<(), Fault> {
        if self.born.load(Ordering::Acquire) != fork::epoch() {
            return Err(Fault::forked());
        }
        if self.is_over() { Err(Fault::closed()) } else { Ok(()) }
    }

    fn enter(&self) -> Result<(), Fault> {
        self.here()?;
        may_wait()?;
        self.touch()
    }

    /// Marks the start of work, unless it is being closed; a concurrent close and this call see each other.
    fn touch(&self) -> Result<(), Fault> {
        self.used.store(true, Ordering::SeqCst);
        self.here()
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let runtime = self.runtime()?;
        let _context = runtime.enter();
        block_on(work).map_err(|fault| fault.in_language_of(self.studio.config()))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.born.load(Ordering::Acquire) != fork::epoch() {
            // Its threads and files belong to another process: never let the last reference go here.
            std::mem::forget(self.studio.clone());
            return;
        }
        if !self.is_closed() {
            drop(self.close(Duration::ZERO));
        }
    }
}

