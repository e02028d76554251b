//! Owns the operations on runs: create, load, answer, retry, cancel.

pub(in crate::engine) mod answer;
pub(in crate::engine) mod cancel;
pub(in crate::engine) mod create;
pub(in crate::engine) mod forget_turns;
pub(in crate::engine) mod load;
pub(in crate::engine) mod names;
pub(in crate::engine) mod reopen;
pub(in crate::engine) mod run_limit;
pub(in crate::engine) mod started;
pub(in crate::engine) mod template_keys;
pub(in crate::engine) mod unreadable;
