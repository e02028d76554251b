//! Owns the native doors: C functions, uniffi objects and JSON for Rust, thin shims over one door that takes and gives bytes and JSON.
//!
//! `door` is safe Rust and knows none of the shims; these know the door and not each other.

pub mod c;
mod door;
mod fault;
mod fork;
pub mod native;
pub mod uniffi;

#[cfg(test)]
mod tests;
