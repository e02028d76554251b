//! Owns the uniffi objects: the same functions as in C, with strings and bytes.
//!
//! All calls are synchronous; hosts with an event loop pull in a thread or watch `descriptor`. No name here is a keyword of a
//! language that uniffi writes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::c::studio_abi_version;
use super::door::{Answering, Engine, Next, Stream, process};
use super::fault::Fault;
use crate::sync::Mutex;

/// A call that has no result. `code` is one of the negative results of the C functions, `problem` a problem document.
#[derive(Debug, thiserror::Error, uniffi::Error)]
pub enum StudioError {
    /// The one case.
    #[error("{detail}")]
    Failed {
        /// One of the negative codes of `wfstudio.h`.
        code: i32,
        /// What happened and what to do.
        detail: String,
        /// The problem document as JSON.
        problem: String,
    },
}

impl From<Fault> for StudioError {
    fn from(fault: Fault) -> Self {
        let detail = fault.problem.get("detail").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        Self::Failed { code: fault.code, detail, problem: fault.text() }
    }
}

/// The host could not take a call.
#[derive(Debug, thiserror::Error, uniffi::Error)]
pub enum HostRefused {
    /// The one case.
    #[error("{reason}")]
    Refused {
        /// Shown as the failure of the call.
        reason: String,
    },
}

impl From<uniffi::UnexpectedUniFFICallbackError> for HostRefused {
    fn from(error: uniffi::UnexpectedUniFFICallbackError) -> Self {
        Self::Refused { reason: error.reason }
    }
}

/// What the host implements to answer calls.
#[uniffi::export(foreign)]
pub trait HostCalls: Send + Sync {
    /// Takes a call `{"op","call_id","payload"}` on a thread of the library. The answer is given with `complete_host_call`, at
    /// once or later. Calls that may wait are refused inside.
    fn take_call(&self, call: String) -> Result<(), HostRefused>;
}

/// The version of the library.
#[uniffi::export]
pub fn library_version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The version of the C functions, whose results and codes these calls share.
#[uniffi::export]
pub fn abi_version() -> i32 {
    i32::try_from(studio_abi_version()).unwrap_or_default()
}

/// Closes every engine of the process and ends all callbacks: for hooks at exit and before a fork.
#[uniffi::export]
pub fn shutdown_all(timeout_ms: i32) {
    process::shutdown(lasting(timeout_ms));
}

/// An engine: configuration, database, running work. May be used from any thread.
#[derive(uniffi::Object)]
pub struct StudioEngine(Arc<Engine>);

/// Numbers have a sign in all languages; a negative time is none.
fn lasting(timeout_ms: i32) -> Duration {
    Duration::from_millis(u64::try_from(timeout_ms).unwrap_or_default())
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[uniffi::export]
#[expect(clippy::needless_pass_by_value, reason = "uniffi hands over owned values")]
impl StudioEngine {
    /// Opens an engine with a configuration in JSON (may be empty).
    #[uniffi::constructor]
    pub fn open(config: String) -> Result<Arc<Self>, StudioError> {
        Ok(Arc::new(Self(process::open(config.as_bytes())?)))
    }

    /// The engine of that name in this process, opened by whoever asks first.
    #[uniffi::constructor]
    pub fn shared(name: String, config: String) -> Result<Arc<Self>, StudioError> {
        Ok(Arc::new(Self(process::shared(&name, config.as_bytes())?)))
    }

    /// Closes the engine; its streams end.
    pub fn shutdown(&self, timeout_ms: i32) -> Result<(), StudioError> {
        Ok(self.0.close(lasting(timeout_ms))?)
    }

    /// One operation by name, JSON in and out; `ops` lists them.
    pub fn call(&self, op: String, request: String) -> Result<String, StudioError> {
        Ok(text(self.0.call(&op, request.as_bytes())?))
    }

    /// Runs a workflow or an agent's chat turn.
    pub fn run(&self, request: String) -> Result<Arc<EventStream>, StudioError> {
        Ok(EventStream::of(self.0.run(request.as_bytes())?))
    }

    /// Answers a pause.
    pub fn resume(&self, request: String) -> Result<Arc<EventStream>, StudioError> {
        Ok(EventStream::of(self.0.resume(request.as_bytes())?))
    }

    /// The trace of a run.
    pub fn trace(&self, request: String) -> Result<String, StudioError> {
        Ok(text(self.0.trace(request.as_bytes())?))
    }

    /// What runs used and cost.
    pub fn usage(&self, query: String) -> Result<String, StudioError> {
        Ok(text(self.0.usage(query.as_bytes())?))
    }

    /// One HTTP request; `head` as in `studio_http`.
    pub fn http(&self, head: String, body: Vec<u8>) -> Result<HttpResponse, StudioError> {
        let (head, body) = self.0.http(head.as_bytes(), body.into())?;
        Ok(HttpResponse { head: text(head), body: body.map(EventStream::of) })
    }

    /// Begins a request and never waits: `http`, `run`, `resume` or any operation of `call`. Its answer comes as a stream: calls to the
    /// host, the head, the body.
    pub fn start(&self, op: String, request: String, body: Vec<u8>) -> Result<Arc<EventStream>, StudioError> {
        Ok(EventStream::of(self.0.start(&op, request.as_bytes(), body.into())?))
    }

    /// The numbers of up to `most` streams with news, 0 for calls that wait for `next_host_call`; empty when none came in time. Each is
    /// told once, and again only after a `next_batch` (or `next_host_call`) with a timeout of 0 found nothing.
    pub fn ready(&self, timeout_ms: i32, most: i32) -> Result<Vec<i64>, StudioError> {
        let room = usize::try_from(most).unwrap_or_default();
        if room == 0 {
            return Err(Fault::invalid("there is no room for numbers").into());
        }
        Ok(self.0.ready(timeout_ms, room)?.into_iter().filter_map(|number| i64::try_from(number).ok()).collect())
    }

    /// A descriptor of a socket that is readable while `ready` has news; it is the caller's, to be read, drained and closed. -1 where
    /// there is none.
    pub fn descriptor(&self) -> Result<i32, StudioError> {
        Ok(self.0.descriptor()?)
    }

    /// Declares what the host answers; without an object calls wait for `next_host_call`.
    pub fn set_host(&self, declaration: String, host: Option<Arc<dyn HostCalls>>) -> Result<(), StudioError> {
        let answering = || {
            let host = host?;
            let answering: Answering = Arc::new(move |call| host.take_call(String::from_utf8_lossy(call).into_owned()).is_ok());
            Some(answering)
        };
        Ok(self.0.host_set(declaration.as_bytes(), answering)?)
    }

    /// The next call that waits to be fetched; none when the time is over.
    pub fn next_host_call(&self, timeout_ms: i32) -> Result<Option<String>, StudioError> {
        Ok(self.0.host_next(timeout_ms)?.map(|call| String::from_utf8_lossy(&call).into_owned()))
    }

    /// Answers a call: `ok` 1 the result, 0 a failure, 2 a chunk with more to follow.
    pub fn complete_host_call(&self, call_id: i64, ok: i32, data: String) -> Result<(), StudioError> {
        // No call has a negative number.
        Ok(self.0.host_complete(u64::try_from(call_id).unwrap_or(u64::MAX), ok, data.as_bytes())?)
    }
}

/// The answer to an HTTP request.
#[derive(uniffi::Record)]
pub struct HttpResponse {
    /// `{"status", "headers", "body"}`.
    pub head: String,
    /// The body, when the head does not have it.
    pub body: Option<Arc<EventStream>>,
}

/// An answer that is still coming. It has one consumer.
#[derive(uniffi::Object)]
pub struct EventStream {
    stream: Arc<Stream>,
    calls: Mutex<VecDeque<String>>,
    head: Mutex<Option<String>>,
}

impl EventStream {
    fn of(stream: Arc<Stream>) -> Arc<Self> {
        stream.enlist(stream.id());
        Arc::new(Self { stream, calls: Mutex::default(), head: Mutex::default() })
    }
}

#[uniffi::export]
impl EventStream {
    /// All that is there, up to `max_bytes` (0: 64 KiB); none at the end; empty when nothing came in time, or when a call to
    /// the host or the head came instead.
    pub fn next_batch(&self, timeout_ms: i32, max_bytes: i64) -> Result<Option<Vec<u8>>, StudioError> {
        Ok(match self.stream.next_batch(timeout_ms, usize::try_from(max_bytes).unwrap_or_default())? {
            Next::Bytes(bytes) => Some(bytes),
            Next::TimedOut => Some(Vec::new()),
            Next::Over => None,
            Next::Head(head) => {
                *self.head.lock() = Some(text(head));
                Some(Vec::new())
            }
            Next::HostCall(call) => {
                self.calls.lock().push_back(text(call));
                Some(Vec::new())
            }
        })
    }

    /// A call to the host that came with the stream (`"host_calls": "inline"`).
    pub fn next_host_call(&self) -> Option<String> {
        self.calls.lock().pop_front()
    }

    /// The head of what `start` began, once it came; it is given once.
    pub fn take_head(&self) -> Option<String> {
        self.head.lock().take()
    }

    /// By which `ready` names it.
    pub fn number(&self) -> i64 {
        i64::try_from(self.stream.id()).unwrap_or(i64::MAX)
    }

    /// A descriptor for an event loop, readable while there may be something; -1 where there is none.
    pub fn descriptor(&self) -> Result<i32, StudioError> {
        Ok(self.stream.descriptor()?)
    }

    /// Cancels the run.
    pub fn cancel(&self) -> Result<(), StudioError> {
        Ok(self.stream.cancel()?)
    }

    /// Lets the stream go; once is enough.
    pub fn finish(&self) -> Result<(), StudioError> {
        Ok(self.stream.close()?)
    }
}

