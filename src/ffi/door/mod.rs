//! Owns the implementation behind all native interfaces: bytes and JSON in, bytes and JSON out, any thread, no C and no uniffi.

mod about;
mod callback;
mod deadline;
mod descriptor;
mod engine;
mod hosting;
mod http;
mod logging;
pub mod native;
pub(super) mod ops;
mod pending_answers;
pub(super) mod process;
mod push;
mod ready_streams;
mod requests;
mod source;
mod start;
mod stream;
mod stream_state;
mod wakeup;
#[cfg(test)]
mod tests;

pub(super) use callback::within;
pub(super) use engine::Engine;
pub(super) use hosting::Answering;
pub(super) use logging::{LogSink, set_log};
pub(super) use push::{Listener, on_event};
pub(super) use stream::{Next, Stream};
