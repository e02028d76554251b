//! Owns a C callback with its user data: called from any thread, released exactly once.

use std::ffi::c_void;

use super::super::door::within;

/// Called exactly once, on any thread, when the library no longer uses `user_data`. May be NULL.
#[expect(non_camel_case_types, reason = "its name in C")]
pub type studio_destroy_fn = Option<unsafe extern "C-unwind" fn(user_data: *mut c_void)>;

/// User data, and what lets it go.
pub(super) struct Target {
    user_data: *mut c_void,
    destroy: studio_destroy_fn,
}

// SAFETY: the header says that callbacks and what lets them go are called from threads of the library, so the host gives user
// data that may be used there; the library itself never looks behind the pointer.
unsafe impl Send for Target {}
// SAFETY: as above; the pointer is only handed on.
unsafe impl Sync for Target {}

impl Target {
    pub(super) const fn new(user_data: *mut c_void, destroy: studio_destroy_fn) -> Self {
        Self { user_data, destroy }
    }

    pub(super) const fn user_data(&self) -> *mut c_void {
        self.user_data
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy {
            // SAFETY: the host gave the pair, and a value is dropped once.
            within(|| unsafe { destroy(self.user_data) });
        }
    }
}
