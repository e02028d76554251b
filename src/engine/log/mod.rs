//! Owns the path of an entry to the log, the projections and the reports.

pub(in crate::engine) mod journal;
pub(in crate::engine) mod masking;
pub(in crate::engine) mod projection;
pub(in crate::engine) mod recorded;
pub(in crate::engine) mod spans;
pub(in crate::engine) mod thread_messages;
