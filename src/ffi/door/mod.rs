//! Owns the implementation behind all native interfaces: bytes and JSON in, bytes and JSON out, any thread, no C and no uniffi.

mod about;
mod accepted;
mod bell;
mod callback;
mod course;
mod deadline;
mod engine;
mod hosting;
mod http;
mod lamp;
mod logging;
mod news;
pub(super) mod ops;
pub(super) mod process;
pub mod native;
mod push;
mod requests;
mod source;
mod start;
mod stream;
#[cfg(test)]
mod tests;

pub(super) use callback::within;
pub(super) use engine::Engine;
pub(super) use hosting::Answering;
pub(super) use logging::{LogSink, set_log};
pub(super) use push::{Listener, on_event};
pub(super) use stream::{Next, Stream};
