//! Owns the way into the library: every exported function goes through `Entry`, which lets no panic out, empties what will be
//! filled, and checks what comes in.

use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::fault::{Code, Fault};
use super::buffer::studio_buf;
use super::{STUDIO_OK, ticket};

/// Longest text.
const TEXT: usize = 16 * 1024 * 1024;
/// Longest body of an HTTP request.
const BODY: usize = 256 * 1024 * 1024;
/// Longest name that ends with NUL.
const NAME: usize = 4096;

/// What a call gives back.
pub(super) enum Reply {
    /// Nothing but a code.
    Code(i32),
    /// A code and bytes.
    Bytes(i32, Vec<u8>),
}

impl Reply {
    pub(super) const DONE: Self = Self::Code(STUDIO_OK);

    pub(super) fn bytes(bytes: Vec<u8>) -> Self {
        Self::Bytes(STUDIO_OK, bytes)
    }
}

/// One call from C.
pub(super) struct Entry {
    out: *mut studio_buf,
}

impl Entry {
    /// A call whose answer or problem goes to `out`, which is emptied; NULL if the caller does not want it.
    ///
    /// # Safety
    /// `out` is NULL or can be written.
    pub(super) unsafe fn to(out: *mut studio_buf) -> Self {
        if !out.is_null() {
            // SAFETY: the caller's promise. What was there is not read: it may never have been initialised.
            unsafe { out.write(studio_buf::EMPTY) };
        }
        Self { out }
    }

    /// A call that answers with a code alone.
    pub(super) const fn code_only() -> Self {
        Self { out: std::ptr::null_mut() }
    }

    /// A function without a result.
    pub(super) fn plain(work: impl FnOnce()) {
        // There is no caller to report to, and letting the panic out would end the host.
        drop(catch_unwind(AssertUnwindSafe(work)));
    }

    /// Refuses a call whose answer has nowhere to go.
    pub(super) fn must_answer(self, work: impl FnOnce() -> Result<Reply, Fault>) -> i32 {
        if self.out.is_null() { Code::Invalid as i32 } else { self.run(work) }
    }

    /// Does the work; a panic becomes a code.
    pub(super) fn run(self, work: impl FnOnce() -> Result<Reply, Fault>) -> i32 {
        let panicked = || Fault::new(Code::Panic, "a fault of this library; please report what was called");
        let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()));
        match done {
            Ok(Reply::Code(code)) => code,
            Ok(Reply::Bytes(code, bytes)) => self.put(code, bytes),
            Err(fault) => self.put(fault.code, fault.text().into_bytes()),
        }
    }

    fn put(self, code: i32, bytes: Vec<u8>) -> i32 {
        if !self.out.is_null() {
            // SAFETY: whoever made this entry promised that `out` can be written.
            unsafe { self.out.write(studio_buf::of(bytes)) };
        }
        code
    }
}

/// A pointer to a handle that a call fills: NULL is refused, what was there is overwritten.
pub(super) struct Slot<T>(*mut *mut T);

impl<T> Slot<T> {
    /// # Safety
    /// `out` is NULL or can be written.
    pub(super) unsafe fn empty(out: *mut *mut T) -> Self {
        if !out.is_null() {
            // SAFETY: the caller's promise.
            unsafe { out.write(std::ptr::null_mut()) };
        }
        Self(out)
    }

    pub(super) fn there(&self) -> Result<(), Fault> {
        if self.0.is_null() { Err(Fault::invalid("the pointer for the handle is NULL")) } else { Ok(()) }
    }

    pub(super) fn fill(self, handle: u64) {
        if !self.0.is_null() {
            // SAFETY: whoever made this slot promised that it can be written.
            unsafe { self.0.write(ticket::pointer(handle)) };
        }
    }
}

/// Bytes of the caller, for as long as the call lasts.
///
/// # Safety
/// `data` is NULL or `len` bytes from it can be read, and stay as they are, for `'a`.
unsafe fn borrowed<'a>(data: *const u8, len: usize, most: usize) -> Result<&'a [u8], Fault> {
    match (data.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Fault::invalid("the text is NULL and its length is not 0")),
        (false, len) if len > most => Err(Fault::invalid("the text is too long: at most 16 MiB, bodies of requests 256 MiB")),
        // SAFETY: the caller's promise, and `len` is far below `isize::MAX`.
        (false, len) => Ok(unsafe { std::slice::from_raw_parts(data, len) }),
    }
}

/// A text in UTF-8.
///
/// # Safety
/// As for `body`.
pub(super) unsafe fn text<'a>(data: *const u8, len: usize) -> Result<&'a [u8], Fault> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { borrowed(data, len, TEXT) }?;
    std::str::from_utf8(bytes).map(str::as_bytes).map_err(|_| Fault::invalid("the text is not UTF-8"))
}

/// The body of a request.
///
/// # Safety
/// `data` is NULL or `len` bytes from it can be read, and stay as they are, for `'a`.
pub(super) unsafe fn body<'a>(data: *const u8, len: usize) -> Result<&'a [u8], Fault> {
    // SAFETY: the caller's promise.
    unsafe { borrowed(data, len, BODY) }
}

/// A name that ends with NUL.
///
/// # Safety
/// `name` is NULL or points to bytes that can be read up to a NUL, or at least 4096 of them, for `'a`.
pub(super) unsafe fn name<'a>(name: *const c_char) -> Result<&'a str, Fault> {
    if name.is_null() {
        return Err(Fault::invalid("the name is NULL"));
    }
    let start = name.cast::<u8>();
    // SAFETY: the caller's promise; no byte behind the first NUL is read.
    let len = (0..NAME).find(|at| unsafe { start.add(*at).read() } == 0);
    let len = len.ok_or_else(|| Fault::invalid("the name is longer than 4095 bytes"))?;
    // SAFETY: the same bytes again.
    let bytes = unsafe { std::slice::from_raw_parts(start, len) };
    std::str::from_utf8(bytes).map_err(|_| Fault::invalid("the name is not UTF-8"))
}
