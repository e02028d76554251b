//! Owns the C functions of an engine: open, close, call, run, resume, trace, usage, http.

use std::ffi::c_char;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::super::door::{Engine, Stream, process};
use super::super::fault::{Code, Fault};
use super::buffer::studio_buf;
use super::entry::{Entry, Reply, Slot, body, name, text};
use super::stream::studio_stream;
use super::ticket;

/// An engine: its configuration, its database and its runs. All functions accept it from any thread.
#[expect(non_camel_case_types, reason = "its name in C")]
pub struct studio_engine {
    _opaque: [u8; 0],
}

fn given(handle: Result<u64, Fault>, out: Slot<studio_engine>) -> Result<Reply, Fault> {
    out.fill(handle?);
    Ok(Reply::DONE)
}

/// Opens an engine. `config` is a JSON object and may be empty; environment variables override it. The engine starts its threads and
/// opens its files at the first use, so it can be opened before a fork and used after it.
///
/// # Safety
/// `config` can be read for `len` bytes; `out` and `err` are NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_engine_open(config: *const u8, len: usize, out: *mut *mut studio_engine, err: *mut studio_buf) -> i32 {
    // SAFETY: the caller's promise.
    let (entry, out) = unsafe { (Entry::to(err), Slot::empty(out)) };
    entry.run(|| {
        out.there()?;
        // SAFETY: the caller's promise.
        let engine = process::open(unsafe { text(config, len) }?)?;
        given(ticket::of_engine(&engine), out)
    })
}

/// Returns the engine of this name in the process. The first call opens it with its configuration. Later calls return the same engine
/// until it is closed. They pass the same configuration or none; another one is refused with `STUDIO_CONFLICT`, so that two applications
/// in one process never get each other's data.
///
/// # Safety
/// `shared` ends with NUL; `config` can be read for `len` bytes; `out` and `err` are NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_engine_shared(
    shared: *const c_char,
    config: *const u8,
    len: usize,
    out: *mut *mut studio_engine,
    err: *mut studio_buf,
) -> i32 {
    // SAFETY: the caller's promise.
    let (entry, out) = unsafe { (Entry::to(err), Slot::empty(out)) };
    entry.run(|| {
        out.there()?;
        // SAFETY: the caller's promise.
        let engine = process::shared(unsafe { name(shared) }?, unsafe { text(config, len) }?)?;
        given(ticket::of_engine(&engine), out)
    })
}

/// Closes an engine: ends its streams, waits for callbacks that are running, and releases its runs so that another engine can take them
/// over. It takes at most `timeout_ms`. Until it returns, other threads can complete calls that the host is working on. Calls that are
/// not completed stay open in the log of their run, and the engine that takes the run over finds them there.
///
/// # Safety
/// None of its own: a handle is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_engine_close(engine: *mut studio_engine, timeout_ms: u32) -> i32 {
    Entry::code_only().run(|| {
        let found = ticket::engine(engine)?;
        match found.close(Duration::from_millis(timeout_ms.into())) {
            Err(fault) if fault.code != Code::Closed as i32 => return Err(fault),
            // Another thread is closing it, and lets the handle go when that is done.
            Err(_) if !found.is_over() => {}
            Ok(()) | Err(_) => ticket::release(engine),
        }
        Ok(Reply::DONE)
    })
}

/// Closes every engine of the process and ends all callbacks. For exit hooks and hooks before a fork.
///
/// # Safety
/// None of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_shutdown(timeout_ms: u32) {
    Entry::plain(|| process::shutdown(Duration::from_millis(timeout_ms.into())));
}

fn answered(engine: *mut studio_engine, work: impl FnOnce(&Engine) -> Result<Vec<u8>, Fault>) -> Result<Reply, Fault> {
    work(&*ticket::engine(engine)?).map(Reply::bytes)
}

/// Calls an operation by name, with JSON as input and output: `studio_call(engine, "ops", NULL, 0, &out)` lists the operations.
///
/// # Safety
/// `op` ends with NUL; `request` can be read for `len` bytes; `out` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_call(engine: *mut studio_engine, op: *const c_char, request: *const u8, len: usize, out: *mut studio_buf) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { Entry::to(out) }.must_answer(|| {
        // SAFETY: the caller's promise.
        let (op, request) = unsafe { (name(op)?, text(request, len)?) };
        answered(engine, |engine| engine.call(op, request))
    })
}

type Streamed = fn(&Arc<Engine>, &[u8]) -> Result<Arc<Stream>, Fault>;

/// # Safety
/// `request` can be read for `len` bytes; `out` and `err` are NULL or can be written.
unsafe fn streamed(
    engine: *mut studio_engine,
    (request, len): (*const u8, usize),
    out: *mut *mut studio_stream,
    err: *mut studio_buf,
    work: Streamed,
) -> i32 {
    // SAFETY: the caller's promise.
    let (entry, out) = unsafe { (Entry::to(err), Slot::empty(out)) };
    entry.run(|| {
        out.there()?;
        // SAFETY: the caller's promise.
        let request = unsafe { text(request, len) }?;
        let stream = work(&ticket::engine(engine)?, request)?;
        ticket::give(&stream, out)?;
        Ok(Reply::DONE)
    })
}

/// Runs a workflow (`{"workflow", "message", "state", "tenant", "user", …}`) or a chat turn of an agent (`{"agent", …}`). The stream
/// returns the events of the run as server-sent events. `"traceparent"` and `"tracestate"` name the span of the host that becomes the
/// parent of the run.
///
/// # Safety
/// `request` can be read for `len` bytes; `out` and `err` are NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_run(engine: *mut studio_engine, request: *const u8, len: usize, out: *mut *mut studio_stream, err: *mut studio_buf) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { streamed(engine, (request, len), out, err, Engine::run) }
}

/// Answers a pause (`{"trace_id", "message" or "approval", "tenant", "user", …}`). The stream returns the events that follow.
/// `"traceparent"` and `"tracestate"` as in `studio_run`.
///
/// # Safety
/// `request` can be read for `len` bytes; `out` and `err` are NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_resume(
    engine: *mut studio_engine,
    request: *const u8,
    len: usize,
    out: *mut *mut studio_stream,
    err: *mut studio_buf,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { streamed(engine, (request, len), out, err, Engine::resume) }
}

/// Returns the trace of a run as JSON: `{"trace_id", "tenant", "include"}`.
///
/// # Safety
/// `request` can be read for `len` bytes; `out` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_trace(engine: *mut studio_engine, request: *const u8, len: usize, out: *mut studio_buf) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { Entry::to(out) }.must_answer(|| {
        // SAFETY: the caller's promise.
        let request = unsafe { text(request, len) }?;
        answered(engine, |engine| engine.trace(request))
    })
}

/// Returns the usage and the costs of runs as JSON: `{"from", "to", "group_by", "tenant", …}`, or `{"run", "tenant"}` for one run.
///
/// # Safety
/// `query` can be read for `len` bytes; `out` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_usage(engine: *mut studio_engine, query: *const u8, len: usize, out: *mut studio_buf) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { Entry::to(out) }.must_answer(|| {
        // SAFETY: the caller's promise.
        let query = unsafe { text(query, len) }?;
        answered(engine, |engine| engine.usage(query))
    })
}

/// Handles an HTTP request. `head` is `{"method", "path", "query", "headers": [[name, value]], "user", "tenant", "gate", "authorized",
/// "base_url", "host_calls"}`; `path` is the whole path below `base_url`, percent-encoded. `head_out` receives `{"status", "headers",
/// "body"}`, where `body` is the text of a text answer. Binary bodies and event streams are returned in `*body_out`, which is NULL
/// otherwise. Every HTTP answer returns `STUDIO_OK`, whatever its status is.
///
/// # Safety
/// `head` and `body_in` can be read for their lengths; `body_out` is NULL or can be written; `head_out` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_http(
    engine: *mut studio_engine,
    head: *const u8,
    head_len: usize,
    body_in: *const u8,
    body_len: usize,
    body_out: *mut *mut studio_stream,
    head_out: *mut studio_buf,
) -> i32 {
    // SAFETY: the caller's promise.
    let (entry, out) = unsafe { (Entry::to(head_out), Slot::empty(body_out)) };
    entry.must_answer(|| {
        out.there()?;
        // SAFETY: the caller's promise.
        let (head, body) = unsafe { (text(head, head_len)?, body(body_in, body_len)?) };
        let (answer, stream) = ticket::engine(engine)?.http(head, Bytes::copy_from_slice(body))?;
        if let Some(stream) = stream {
            ticket::give(&stream, out)?;
        }
        Ok(Reply::bytes(answer))
    })
}
