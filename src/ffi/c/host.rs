//! Owns the C functions of the host: its declaration, calls to it, its answers, its log.

use std::ffi::c_void;
use std::sync::Arc;

use super::super::door::{Answering, LogSink, set_log};
use super::buffer::studio_buf;
use super::engine::studio_engine;
use super::entry::{Entry, Reply, text};
use super::target::{Target, studio_destroy_fn};
use super::{STUDIO_OK, STUDIO_TIMEOUT, ticket};

/// Receives a call `{"op","call_id","payload"}` on a thread of the library and returns 0. The host answers with `studio_host_complete`,
/// immediately or later, from any thread. Any other return value makes the call fail. Inside the callback, functions of this library that
/// can block return `STUDIO_REENTRANT`.
#[expect(non_camel_case_types, reason = "its name in C")]
pub type studio_host_fn = Option<unsafe extern "C-unwind" fn(user_data: *mut c_void, call: *const u8, len: usize) -> i32>;

/// Receives a log line `{"level","target","message","fields"}` on a thread of the library.
#[expect(non_camel_case_types, reason = "its name in C")]
pub type studio_log_fn = Option<unsafe extern "C-unwind" fn(user_data: *mut c_void, line: *const u8, len: usize)>;

/// Declares what the host provides, `{"ops", "tools", "schemas", "classes"}`, and replaces the previous declaration. If `host` is NULL,
/// calls wait for `studio_host_next`, or arrive inside streams that were opened with `"host_calls": "inline"`. `destroy` is called once,
/// when another declaration replaces this one or the engine is closed. If this function fails, `destroy` is not called.
///
/// # Safety
/// `ops_json` can be read for `len` bytes; the functions may be called from any thread with `user_data` until `destroy` was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_host_set(
    engine: *mut studio_engine,
    ops_json: *const u8,
    len: usize,
    host: studio_host_fn,
    user_data: *mut c_void,
    destroy: studio_destroy_fn,
) -> i32 {
    Entry::code_only().run(|| {
        // SAFETY: the caller's promise.
        let declaration = unsafe { text(ops_json, len) }?;
        let answering = || {
            let target = Target::new(user_data, destroy);
            let host = host?;
            let answering: Answering = Arc::new(move |call| {
                // SAFETY: the caller's promise; the bytes live until the call returns.
                unsafe { host(target.user_data(), call.as_ptr(), call.len()) == STUDIO_OK }
            });
            Some(answering)
        };
        ticket::engine(engine)?.host_set(declaration, answering)?;
        Ok(Reply::DONE)
    })
}

/// Returns the next call that waits for the host. `timeout_ms`: 0 returns immediately, a negative value waits without limit.
///
/// # Safety
/// `out` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_host_next(engine: *mut studio_engine, timeout_ms: i32, out: *mut studio_buf) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { Entry::to(out) }.must_answer(|| {
        let call = ticket::engine(engine)?.host_next(timeout_ms)?;
        Ok(call.map_or(Reply::Code(STUDIO_TIMEOUT), |call| Reply::bytes(call.to_vec())))
    })
}

/// Answers a call. `ok`: 1 is the result, 0 is a failure `{"message"}`, 2 is a chunk that others follow. A failure of a tool with
/// `"ran": true` (the tool ran, but its result could not be passed on) or `"unanswered": true` (it is not known whether it ran) is never
/// repeated without a person's decision. Returns `STUDIO_NOT_FOUND` if the call is unknown, was already answered, or nobody waits for
/// its answer any more.
///
/// # Safety
/// `data` can be read for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_host_complete(engine: *mut studio_engine, call_id: u64, ok: i32, data: *const u8, len: usize) -> i32 {
    Entry::code_only().run(|| {
        // SAFETY: the caller's promise.
        let data = unsafe { text(data, len) }?;
        ticket::engine(engine)?.host_complete(call_id, ok, data)?;
        Ok(Reply::DONE)
    })
}

/// Sends the log of the process to a callback and replaces the previous callback; NULL removes it. When this function returns, the
/// previous callback is not running and its user data was destroyed.
///
/// # Safety
/// The functions may be called from any thread with `user_data` until `destroy` was called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_log_set(log: studio_log_fn, user_data: *mut c_void, destroy: studio_destroy_fn) -> i32 {
    Entry::code_only().run(|| {
        let target = Target::new(user_data, destroy);
        let sink = log.map(|log| -> LogSink {
            // SAFETY: the caller's promise; the bytes live until the call returns.
            Arc::new(move |line| unsafe { log(target.user_data(), line.as_ptr(), line.len()) })
        });
        set_log(sink);
        Ok(Reply::DONE)
    })
}
