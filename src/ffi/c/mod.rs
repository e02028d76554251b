//! Owns the C functions: what `include/wfstudio.h` declares, and nothing else.

pub mod buffer;
pub mod engine;
pub mod host;
pub mod start;
pub mod stream;

mod entry;
mod target;
pub(super) mod ticket;

use std::ffi::c_char;

const _: () = assert!(STUDIO_ABI_VERSION == super::VERSION, "one version");

/// The version of these functions: `major << 16 | minor`. A host works with a library that has the same major version and at least the
/// minor version of its header.
pub const STUDIO_ABI_VERSION: u32 = (1 << 16) | 1;

/// Success.
pub const STUDIO_OK: i32 = 0;
/// The stream has ended. No bytes are returned.
pub const STUDIO_END: i32 = 1;
/// Nothing arrived within the timeout.
pub const STUDIO_TIMEOUT: i32 = 2;
/// The bytes are a call to the host, `{"op","call_id","payload"}`. Answer it with `studio_host_complete`.
pub const STUDIO_HOST_CALL: i32 = 3;
/// The bytes are the first answer to `studio_start`: the head of an HTTP answer `{"status","headers"}`, the `{"trace_id"}` of a run, or
/// the complete answer of an operation. It arrives once, before the body.
pub const STUDIO_HEAD: i32 = 4;
/// An argument is invalid.
pub const STUDIO_INVALID: i32 = -1;
/// The object does not exist.
pub const STUDIO_NOT_FOUND: i32 = -2;
/// The object is in a state that does not allow this.
pub const STUDIO_CONFLICT: i32 = -3;
/// The operation was cancelled.
pub const STUDIO_CANCELLED: i32 = -4;
/// The handle is closed.
pub const STUDIO_CLOSED: i32 = -5;
/// This is not a handle of this library, it has the wrong kind, or it was closed long ago.
pub const STUDIO_BAD_HANDLE: i32 = -6;
/// The handle belongs to the parent process. Open another engine in this process.
pub const STUDIO_FORKED: i32 = -7;
/// A bug in this library. The engine can still be used.
pub const STUDIO_PANIC: i32 = -8;
/// An error inside this library or inside something that it calls.
pub const STUDIO_INTERNAL: i32 = -9;
/// Not part of this build, or disabled.
pub const STUDIO_UNSUPPORTED: i32 = -10;
/// A function that can block was called inside a callback.
pub const STUDIO_REENTRANT: i32 = -11;
/// Permission denied.
pub const STUDIO_DENIED: i32 = -12;
/// The object is in use. Try again.
pub const STUDIO_BUSY: i32 = -13;

/// Returns the version of these functions; see `STUDIO_ABI_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn studio_abi_version() -> u32 {
    STUDIO_ABI_VERSION
}

/// Returns the version of the library, such as `0.1.0`. The string stays valid.
#[unsafe(no_mangle)]
pub extern "C" fn studio_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[cfg(test)]
mod tests;
