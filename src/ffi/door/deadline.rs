//! Owns the end of a wait of some milliseconds.

use std::time::{Duration, Instant};

/// When a wait of `timeout_ms` ends: zero does not wait, negative waits for ever (`None`).
pub(super) fn deadline(timeout_ms: i32) -> Option<Instant> {
    let wait = u64::try_from(timeout_ms).ok()?;
    Some(Instant::now() + Duration::from_millis(wait))
}
