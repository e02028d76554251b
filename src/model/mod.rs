//! Owns what things are: graph, state, events, runs, traces, usage. Pure: no I/O, no async, no clock, no randomness.

pub mod agent;
pub mod chat;
pub mod event;
pub mod ids;
pub mod telling;
pub mod usage;

pub use ids::{Id, Timestamp};
