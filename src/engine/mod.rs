//! Owns running. Stand-in until the real one is merged.
pub use crate::studio::stand_in::{EventStream, Follow, From, Order};
