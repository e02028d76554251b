//! Owns the facade: one method per capability.

mod fields;
pub mod lists;
pub mod requests;
pub mod slugs;
pub mod stand_in;

pub use stand_in::*;
