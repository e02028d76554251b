//! Owns the native interfaces: C functions and uniffi objects, two thin layers over one implementation.
//!
//! `door` is safe Rust and knows neither C nor uniffi; `c` and `uniffi` know the door and not each other. `native` is the door for programs in Rust.

pub mod c;
mod door;
pub use door::native;
mod fault;
mod fork;
pub mod uniffi;

/// Major and minor version of the functions that other languages call: `major << 16 | minor`.
const VERSION: u32 = (1 << 16) | 1;

#[cfg(test)]
mod tests;
