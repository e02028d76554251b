//! Owns the decision whether a failed queued run goes back into the queue.

use crate::model::event::Fault;

/// How many milliseconds a run waits for its next try (`queue_backoff` seconds); none when there is none: its tries (`queue_tries`) are used up, the
/// failure is of a kind that does not pass, or a person has to say what became of calls.
pub(super) fn delay(fault: &Fault, tries_left: u32, backoff: u64) -> Option<u64> {
    (tries_left > 0 && fault.code.is_retryable() && fault.calls.is_empty()).then_some(backoff * 1000)
}
