//! Owns the C functions for event loops: start a request, list streams with new data, a descriptor for both.

use std::ffi::c_char;

use bytes::Bytes;

use super::super::fault::Fault;
use super::buffer::studio_buf;
use super::engine::studio_engine;
use super::entry::{self, Entry, Reply, Slot, name, text};
use super::stream::studio_stream;
use super::{STUDIO_TIMEOUT, ticket};

/// Starts a request and returns immediately. `op` is `http` (`request` is the head of `studio_http`, `body` is its body), `run`,
/// `resume`, or any operation of `studio_call`. The stream returns `STUDIO_HOST_CALL` (with `"host_calls": "inline"`), then `STUDIO_HEAD`
/// once, then `STUDIO_OK` with parts of the body, and at last `STUDIO_END`; or a negative code with a problem document. If the stream is
/// closed before the head, the request is cancelled. A run that already exists continues, unless it was started with
/// `"on_disconnect": "cancel"`. This function may be called inside callbacks.
///
/// # Safety
/// `op` ends with NUL; `request` and `body` can be read for their lengths; `out` and `err` are NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_start(
    engine: *mut studio_engine,
    op: *const c_char,
    request: *const u8,
    len: usize,
    body: *const u8,
    body_len: usize,
    out: *mut *mut studio_stream,
    err: *mut studio_buf,
) -> i32 {
    // SAFETY: the caller's promise.
    let (entry, out) = unsafe { (Entry::to(err), Slot::empty(out)) };
    entry.run(|| {
        out.there()?;
        // SAFETY: the caller's promise.
        let (op, request, body) = unsafe { (name(op)?, text(request, len)?, entry::body(body, body_len)?) };
        let stream = ticket::engine(engine)?.start(op, request, Bytes::copy_from_slice(body))?;
        ticket::give(&stream, out)?;
        Ok(Reply::DONE)
    })
}

/// Returns the handles of streams with new data: `*count` handles, at most `room`. The handle 0 means that calls to the host wait for
/// `studio_host_next`. Each stream is reported once. It is reported again only after `next` (for 0: `studio_host_next`) with a timeout of
/// 0 returned `STUDIO_TIMEOUT`. One waiting thread can therefore serve all streams of an engine. `timeout_ms`: 0 returns immediately, a
/// negative value waits without limit. A handle can be reported before the function that opens its stream returns on another thread.
///
/// # Safety
/// `handles` can be written for `room` numbers; `count` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_ready(engine: *mut studio_engine, timeout_ms: i32, handles: *mut u64, room: usize, count: *mut usize) -> i32 {
    Entry::code_only().run(|| {
        if count.is_null() {
            return Err(Fault::invalid("the pointer for the count is NULL"));
        }
        // SAFETY: the caller's promise.
        unsafe { count.write(0) };
        if handles.is_null() || room == 0 {
            return Err(Fault::invalid("`handles` must not be NULL and `room` must be at least 1"));
        }
        let told = ticket::engine(engine)?.ready(timeout_ms, room)?;
        // SAFETY: the caller's promise; no more than `room` are written.
        unsafe {
            std::ptr::copy_nonoverlapping(told.as_ptr(), handles, told.len());
            count.write(told.len());
        }
        Ok(if told.is_empty() { Reply::Code(STUDIO_TIMEOUT) } else { Reply::DONE })
    })
}

/// Returns a file descriptor that is readable while `studio_ready` has handles to return. The caller owns it: watch it, read it until it
/// is empty (it does not block), and close it. Read it before calling `studio_ready`. Every call returns a new descriptor of the same
/// socket. Returns -1 on platforms without it, and other negative codes as everywhere.
///
/// # Safety
/// None of its own: a handle is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_engine_fd(engine: *mut studio_engine) -> i32 {
    Entry::code_only().run(|| ticket::engine(engine)?.descriptor().map(Reply::Code))
}
