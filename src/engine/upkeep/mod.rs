//! Owns the work that the engine does beside its runs, in the background: usage events for the host, deletion of old streamed text.

mod expired_text;
mod usage_events;
