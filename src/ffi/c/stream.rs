//! Owns the C functions of a stream: next, next batch, descriptor, callback, cancel, close.

use std::ffi::c_void;

use super::super::door::{Listener, Next, Stream, on_event};
use super::super::fault::{Code, Fault};
use super::buffer::studio_buf;
use super::entry::{Entry, Reply};
use super::target::{Target, studio_destroy_fn};
use super::{STUDIO_END, STUDIO_HEAD, STUDIO_HOST_CALL, STUDIO_OK, STUDIO_TIMEOUT, ticket};

/// The answer to a request, while it is produced. A stream has one consumer: the caller of `next`, or one callback.
#[expect(non_camel_case_types, reason = "its name in C")]
pub struct studio_stream {
    _opaque: [u8; 0],
}

/// Receives the results of a stream on threads of the library, one call after the other: `STUDIO_OK` with whole events,
/// `STUDIO_HOST_CALL` with a call, `STUDIO_HEAD` with the first answer to `studio_start`, a negative code with a problem document, and
/// finally `STUDIO_END` without bytes, exactly once. A return value other than 0 ends the stream early. Inside the callback, functions
/// that can block return `STUDIO_REENTRANT`. Interpreters with a global lock should use `next` instead.
#[expect(non_camel_case_types, reason = "its name in C")]
pub type studio_event_fn = Option<unsafe extern "C-unwind" fn(user_data: *mut c_void, code: i32, data: *const u8, len: usize) -> i32>;

fn pulled(next: Next) -> Reply {
    match next {
        Next::Bytes(bytes) => Reply::bytes(bytes),
        Next::Head(head) => Reply::Bytes(STUDIO_HEAD, head),
        Next::HostCall(call) => Reply::Bytes(STUDIO_HOST_CALL, call),
        Next::Over => Reply::Code(STUDIO_END),
        Next::TimedOut => Reply::Code(STUDIO_TIMEOUT),
    }
}

/// Returns the next event, or the next part of a body. `timeout_ms`: 0 returns immediately, a negative value waits without limit.
///
/// # Safety
/// `out` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_stream_next(stream: *mut studio_stream, timeout_ms: i32, out: *mut studio_buf) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { Entry::to(out) }.must_answer(|| ticket::stream(stream)?.next(timeout_ms).map(pulled))
}

/// Returns all events that are available, whole events only, up to `max_bytes` (0 means 64 KiB). A single event can be longer.
///
/// # Safety
/// `out` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_stream_next_batch(stream: *mut studio_stream, timeout_ms: i32, max_bytes: usize, out: *mut studio_buf) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { Entry::to(out) }.must_answer(|| ticket::stream(stream)?.next_batch(timeout_ms, max_bytes).map(pulled))
}

/// Returns a file descriptor to watch for reading, level-triggered: while it is readable, `next` with a timeout of 0 may return
/// something. The stream owns the descriptor: do not close it. Reading it does no harm. Returns -1 on platforms without it, and other
/// negative codes as everywhere.
///
/// # Safety
/// None of its own: a handle is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_stream_fd(stream: *mut studio_stream) -> i32 {
    Entry::code_only().run(|| ticket::stream(stream)?.descriptor().map(Reply::Code))
}

/// Sends the events to a callback from now on. On success `destroy` is called once, after `STUDIO_END`. On failure neither is called.
///
/// # Safety
/// The functions may be called from any thread with `user_data` until `destroy` was called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_stream_on_event(
    stream: *mut studio_stream,
    on: studio_event_fn,
    user_data: *mut c_void,
    destroy: studio_destroy_fn,
) -> i32 {
    Entry::code_only().run(|| {
        let on = on.ok_or_else(|| Fault::invalid("the callback is NULL"))?;
        let listener = || -> Listener {
            let target = Target::new(user_data, destroy);
            Box::new(move |code, bytes| {
                let data = if code == STUDIO_END { std::ptr::null() } else { bytes.as_ptr() };
                // SAFETY: the caller's promise; the bytes live until the call returns.
                unsafe { on(target.user_data(), code, data, bytes.len()) == STUDIO_OK }
            })
        };
        on_event(&ticket::stream(stream)?, listener).map(|()| Reply::DONE)
    })
}

fn done(stream: *mut studio_stream, work: impl FnOnce(&Stream) -> Result<(), Fault>) -> i32 {
    Entry::code_only().run(|| work(&*ticket::stream(stream)?).map(|()| Reply::DONE))
}

/// Cancels the run. The stream continues and reports the end of the run. The body of an HTTP answer ends at once, with
/// `STUDIO_CANCELLED`.
///
/// # Safety
/// None of its own: a handle is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_stream_cancel(stream: *mut studio_stream) -> i32 {
    done(stream, Stream::cancel)
}

/// Closes the stream. The run continues, unless it was started with `"on_disconnect": "cancel"` and has not ended.
///
/// # Safety
/// None of its own: a handle is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_stream_close(stream: *mut studio_stream) -> i32 {
    done(stream, |found| match found.close() {
        Err(fault) if fault.code != Code::Closed as i32 => Err(fault),
        // Its engine was closed first: the handle is given back all the same.
        Ok(()) | Err(_) => {
            ticket::release(stream);
            Ok(())
        }
    })
}
