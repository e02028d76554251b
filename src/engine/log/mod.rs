//! Owns the way from an entry to the log and to what is stored and reported beside it.

pub(in crate::engine) mod journal;
pub(in crate::engine) mod masking;
pub(in crate::engine) mod projection;
pub(in crate::engine) mod recorded;
pub(in crate::engine) mod spans;
