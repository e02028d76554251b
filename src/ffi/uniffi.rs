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

/// An error of a call. `code` is one of the negative codes of the C functions; `problem` is a problem document.
#[derive(Debug, thiserror::Error, uniffi::Error)]
pub enum StudioError {
    /// The only variant.
    #[error("{detail}")]
    Failed {
        /// One of the negative codes of `wfstudio.h`.
        code: i32,
        /// What happened and what to do.
        detail: String,
        /// The problem document, as JSON.
        problem: String,
    },
}

impl From<Fault> for StudioError {
    fn from(fault: Fault) -> Self {
        let detail = fault.problem.get("detail").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
        Self::Failed { code: fault.code, detail, problem: fault.text() }
    }
}

/// The host could not accept a call.
#[derive(Debug, thiserror::Error, uniffi::Error)]
pub enum HostRefused {
    /// The one case.
    #[error("{reason}")]
    Refused {
        /// The message of the failed call.
        reason: String,
    },
}

impl From<uniffi::UnexpectedUniFFICallbackError> for HostRefused {
    fn from(error: uniffi::UnexpectedUniFFICallbackError) -> Self {
        Self::Refused { reason: error.reason }
    }
}

/// The interface that a host implements to answer calls.
#[uniffi::export(foreign)]
pub trait HostCalls: Send + Sync {
    /// Receives a call `{"op","call_id","payload"}` on a thread of the library. The host answers with `complete_host_call`, immediately
    /// or later. Functions that can block return `STUDIO_REENTRANT` here.
    fn take_call(&self, call: String) -> Result<(), HostRefused>;
}

/// Returns the version of the library.
#[uniffi::export]
pub fn library_version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Returns the version of the C functions. These methods have the same results and codes.
#[uniffi::export]
pub fn abi_version() -> i32 {
    i32::try_from(studio_abi_version()).unwrap_or_default()
}

/// Closes every engine of the process and ends all callbacks. For exit hooks and hooks before a fork.
#[uniffi::export]
pub fn shutdown_all(timeout_ms: i32) {
    process::shutdown(lasting(timeout_ms));
}

/// An engine: its configuration, its database and its runs. It can be used from any thread.
#[derive(uniffi::Object)]
pub struct StudioEngine(Arc<Engine>);

/// Timeouts are signed because not all languages have unsigned integers. A negative one counts as 0.
fn lasting(timeout_ms: i32) -> Duration {
    Duration::from_millis(u64::try_from(timeout_ms).unwrap_or_default())
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[uniffi::export]
#[expect(clippy::needless_pass_by_value, reason = "uniffi hands over owned values")]
impl StudioEngine {
    /// Opens an engine. The configuration is JSON and may be empty.
    #[uniffi::constructor]
    pub fn open(config: String) -> Result<Arc<Self>, StudioError> {
        Ok(Arc::new(Self(process::open(config.as_bytes())?)))
    }

    /// Returns the engine of this name in the process. The first call opens it.
    #[uniffi::constructor]
    pub fn shared(name: String, config: String) -> Result<Arc<Self>, StudioError> {
        Ok(Arc::new(Self(process::shared(&name, config.as_bytes())?)))
    }

    /// Closes the engine and ends its streams.
    pub fn shutdown(&self, timeout_ms: i32) -> Result<(), StudioError> {
        Ok(self.0.close(lasting(timeout_ms))?)
    }

    /// Calls an operation by name, with JSON as input and output. `ops` lists the operations.
    pub fn call(&self, op: String, request: String) -> Result<String, StudioError> {
        Ok(text(self.0.call(&op, request.as_bytes())?))
    }

    /// Runs a workflow or a chat turn of an agent.
    pub fn run(&self, request: String) -> Result<Arc<EventStream>, StudioError> {
        Ok(EventStream::of(self.0.run(request.as_bytes())?))
    }

    /// Answers a pause.
    pub fn resume(&self, request: String) -> Result<Arc<EventStream>, StudioError> {
        Ok(EventStream::of(self.0.resume(request.as_bytes())?))
    }

    /// Returns the trace of a run.
    pub fn trace(&self, request: String) -> Result<String, StudioError> {
        Ok(text(self.0.trace(request.as_bytes())?))
    }

    /// Returns the usage and the costs of runs.
    pub fn usage(&self, query: String) -> Result<String, StudioError> {
        Ok(text(self.0.usage(query.as_bytes())?))
    }

    /// Handles an HTTP request. `head` as in `studio_http`.
    pub fn http(&self, head: String, body: Vec<u8>) -> Result<HttpResponse, StudioError> {
        let (head, body) = self.0.http(head.as_bytes(), body.into())?;
        Ok(HttpResponse { head: text(head), body: body.map(EventStream::of) })
    }

    /// Starts a request and returns immediately: `http`, `run`, `resume` or any operation of `call`. The stream returns calls to the
    /// host, then the head, then the body.
    pub fn start(&self, op: String, request: String, body: Vec<u8>) -> Result<Arc<EventStream>, StudioError> {
        Ok(EventStream::of(self.0.start(&op, request.as_bytes(), body.into())?))
    }

    /// Returns the numbers of up to `most` streams with new data; 0 stands for calls that wait for `next_host_call`. The list is empty if
    /// nothing arrived in time. Each stream is reported once, and again only after `next_batch` (or `next_host_call`) with a timeout of 0
    /// found nothing.
    pub fn ready(&self, timeout_ms: i32, most: i32) -> Result<Vec<i64>, StudioError> {
        let room = usize::try_from(most).unwrap_or_default();
        if room == 0 {
            return Err(Fault::invalid("`most` must be at least 1").into());
        }
        Ok(self.0.ready(timeout_ms, room)?.into_iter().filter_map(|number| i64::try_from(number).ok()).collect())
    }

    /// Returns a file descriptor that is readable while `ready` has numbers to return. The caller owns it: read it until it is empty, and
    /// close it. -1 on platforms without it.
    pub fn descriptor(&self) -> Result<i32, StudioError> {
        Ok(self.0.descriptor()?)
    }

    /// Declares what the host provides. Without an object, calls wait for `next_host_call`.
    pub fn set_host(&self, declaration: String, host: Option<Arc<dyn HostCalls>>) -> Result<(), StudioError> {
        let answering = || {
            let host = host?;
            let answering: Answering = Arc::new(move |call| host.take_call(String::from_utf8_lossy(call).into_owned()).is_ok());
            Some(answering)
        };
        Ok(self.0.host_set(declaration.as_bytes(), answering)?)
    }

    /// Returns the next call that waits for the host, or none after the timeout.
    pub fn next_host_call(&self, timeout_ms: i32) -> Result<Option<String>, StudioError> {
        Ok(self.0.host_next(timeout_ms)?.map(|call| String::from_utf8_lossy(&call).into_owned()))
    }

    /// Answers a call. `ok`: 1 is the result, 0 is a failure, 2 is a chunk that others follow.
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
    /// The body, if the head does not contain it.
    pub body: Option<Arc<EventStream>>,
}

/// The answer to a request, while it is produced. It has one consumer.
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
    /// Returns all data that is available, up to `max_bytes` (0 means 64 KiB). None at the end. Empty if nothing arrived in time, or if a
    /// call to the host or the head arrived instead.
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

    /// Returns a call to the host that arrived with the stream (`"host_calls": "inline"`).
    pub fn next_host_call(&self) -> Option<String> {
        self.calls.lock().pop_front()
    }

    /// Returns the head of the answer to `start`, once, as soon as it has arrived.
    pub fn take_head(&self) -> Option<String> {
        self.head.lock().take()
    }

    /// The number of this stream in the results of `ready`.
    pub fn number(&self) -> i64 {
        i64::try_from(self.stream.id()).unwrap_or(i64::MAX)
    }

    /// Returns a file descriptor for an event loop: it is readable while data may be available. -1 on platforms without it.
    pub fn descriptor(&self) -> Result<i32, StudioError> {
        Ok(self.stream.descriptor()?)
    }

    /// Cancels the run.
    pub fn cancel(&self) -> Result<(), StudioError> {
        Ok(self.stream.cancel()?)
    }

    /// Closes the stream. Further calls do nothing.
    pub fn finish(&self) -> Result<(), StudioError> {
        Ok(self.stream.close()?)
    }
}

