//! Owns the buffers that the library returns.

use super::entry::Entry;

/// Bytes that the library returns: `len` bytes, followed by a NUL that `len` does not count. Pass an empty buffer and free it with
/// `studio_buf_free`.
#[repr(C)]
#[derive(Debug)]
pub struct studio_buf {
    /// The bytes, or NULL if there are none.
    pub data: *mut u8,
    /// The number of bytes.
    pub len: usize,
    /// Used by the library.
    pub cap: usize,
}

impl studio_buf {
    pub(super) const EMPTY: Self = Self { data: std::ptr::null_mut(), len: 0, cap: 0 };

    pub(super) fn of(mut bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        bytes.push(0);
        let mut bytes = std::mem::ManuallyDrop::new(bytes);
        Self { data: bytes.as_mut_ptr(), len, cap: bytes.capacity() }
    }
}

/// Frees the bytes and makes the buffer empty. An empty buffer and NULL are allowed.
///
/// # Safety
/// `buffer` is NULL or points to a `studio_buf` that is empty or was filled by this library, and no copy of it was freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn studio_buf_free(buffer: *mut studio_buf) {
    Entry::plain(|| {
        // SAFETY: the caller's promise; NULL is none.
        let Some(buffer) = (unsafe { buffer.as_mut() }) else { return };
        let studio_buf { data, cap, .. } = std::mem::replace(buffer, studio_buf::EMPTY);
        if !data.is_null() && cap > 0 {
            // SAFETY: `of` made `data` and `cap` from a `Vec<u8>`, and emptying the buffer makes this the only time.
            drop(unsafe { Vec::from_raw_parts(data, 0, cap) });
        }
    });
}
