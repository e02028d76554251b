//! Owns the C functions of a stream: next, next batch, descriptor, callback, cancel, close.

use std::ffi::c_void;

use super::super::door::{Listener, Next, Stream, on_event};
use super::super::fault::{Code, Fault};
use super::buffer::studio_buf;
use super::entry::{Entry, Reply};
use super::target::{Target, studio_destroy_fn};
use super::{STUDIO_END, STUDIO_HEAD, STUDIO_HOST_CALL, STUDIO_OK, STUDIO_TIMEOUT, ticket};

/// An answer that is still coming. It has one consumer: whoever calls `next`, or one callback.
#[expect(non_camel_case_types, reason = "its name in C")]
pub struct studio_stream {
    _opaque: [u8; 0],
}

/// Told by threads of the library, one call after the other: `STUDIO_OK` and whole frames, `STUDIO_HOST_CALL` and a call,
/// `STUDIO_HEAD` and the head of what `studio_start` began, a negative code and a problem, at last `STUDIO_END` without bytes,
/// exactly once. Any result but 0 ends it early. Calls that may wait are refused inside. Interpreters with a lock should pull instead.
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

/// The next event, or the next piece of a body. `timeout_ms`: 0 does not wait, negative waits for ever.
///
/// # Safety
/// `out` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_stream_next(stream: *mut studio_stream, timeout_ms: i32, out: *mut studio_buf) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { Entry::to(out) }.must_answer(|| ticket::stream(stream)?.next(timeout_ms).map(pulled))
}

/// All that is there, in whole events, up to `max_bytes` (0: 64 KiB); one event may be longer.
///
/// # Safety
/// `out` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_stream_next_batch(stream: *mut studio_stream, timeout_ms: i32, max_bytes: usize, out: *mut studio_buf) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { Entry::to(out) }.must_answer(|| ticket::stream(stream)?.next_batch(timeout_ms, max_bytes).map(pulled))
}

/// A descriptor to watch for reading, level-triggered: while it is readable, `next` with a timeout of 0 may have something.
/// It belongs to the stream: do not close it; reading it does no harm. -1 where there is none, other negative codes as everywhere.
///
/// # Safety
/// None of its own: a handle is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_stream_fd(stream: *mut studio_stream) -> i32 {
    Entry::code_only().run(|| ticket::stream(stream)?.descriptor().map(Reply::Code))
}

/// Has the events told to a callback from now on. On success `destroy` is called once, after `STUDIO_END`; on an error
/// neither is called.
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

/// Cancels the run; the stream goes on and tells its end. The body of an HTTP answer ends at once, with `STUDIO_CANCELLED`.
///
/// # Safety
/// None of its own: a handle is checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_stream_cancel(stream: *mut studio_stream) -> i32 {
    done(stream, Stream::cancel)
}

/// Closes the stream. The run goes on, unless it was started with `"on_disconnect": "cancel"` and is not at its end.
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
