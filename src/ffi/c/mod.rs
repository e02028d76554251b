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

/// Major and minor version of these functions: `major << 16 | minor`. A host works with the same major and a minor not
/// below the header's.
pub const STUDIO_ABI_VERSION: u32 = (1 << 16) | 1;

/// Done.
pub const STUDIO_OK: i32 = 0;
/// The stream is over; there are no bytes with it.
pub const STUDIO_END: i32 = 1;
/// Nothing came in time.
pub const STUDIO_TIMEOUT: i32 = 2;
/// The bytes are a call to the host, `{"op","call_id","payload"}`, to be answered with `studio_host_complete`.
pub const STUDIO_HOST_CALL: i32 = 3;
/// The bytes are what a request that `studio_start` began answers first: the head of an HTTP answer `{"status","headers"}`,
/// `{"trace_id"}` of a run, or the whole answer of an operation. It comes once, before the body.
pub const STUDIO_HEAD: i32 = 4;
/// An argument is wrong.
pub const STUDIO_INVALID: i32 = -1;
/// There is no such thing.
pub const STUDIO_NOT_FOUND: i32 = -2;
/// It does not fit the state of things.
pub const STUDIO_CONFLICT: i32 = -3;
/// It was cancelled.
pub const STUDIO_CANCELLED: i32 = -4;
/// The handle was closed.
pub const STUDIO_CLOSED: i32 = -5;
/// This is no handle of this library, or one of the wrong kind, or one closed long ago.
pub const STUDIO_BAD_HANDLE: i32 = -6;
/// The handle belongs to the process that forked this one; open another engine here.
pub const STUDIO_FORKED: i32 = -7;
/// A fault of this library; the engine can be used further.
pub const STUDIO_PANIC: i32 = -8;
/// A fault of this library or of something it calls.
pub const STUDIO_INTERNAL: i32 = -9;
/// Not in this build, or switched off.
pub const STUDIO_UNSUPPORTED: i32 = -10;
/// A call that may wait was made inside a callback.
pub const STUDIO_REENTRANT: i32 = -11;
/// Refused.
pub const STUDIO_DENIED: i32 = -12;
/// Something else has it; try again.
pub const STUDIO_BUSY: i32 = -13;

/// The version of these functions; see `STUDIO_ABI_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn studio_abi_version() -> u32 {
    STUDIO_ABI_VERSION
}

/// The version of the library, such as `0.1.0`. It stays valid.
#[unsafe(no_mangle)]
pub extern "C" fn studio_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[cfg(test)]
mod tests;
