//! Owns what things are: graph, state, events, runs, traces, usage. Pure: no I/O, no async, no clock, no randomness.

pub mod address;
pub mod agent;
pub mod arguments;
pub mod chat;
pub mod check;
pub mod checkpoint_input;
pub mod condition;
pub mod event;
pub mod fallback;
pub mod fallback_codes;
pub mod filter;
pub mod graph;
pub mod graph_schema;
pub mod hex;
pub mod ids;
pub mod mcp_environment;
pub mod memory;
pub mod node;
pub mod parts;
pub mod path;
pub mod plan;
pub mod prices;
pub mod redaction;
pub mod registry;
pub mod run;
pub mod schema;
pub mod secret;
#[doc(hidden)]
pub mod sketch;
pub mod state;
pub mod telling;
pub mod template_text;
pub mod texts;
pub mod trace;
pub mod trace_context;
pub mod truncation;
pub mod usage;
mod wiring;

pub use ids::{Id, Timestamp};
pub(crate) use ids::IdText;

/// Makes what all runs share, so that no thread is in the middle of that when the process forks.
pub(crate) fn prepare() {
    texts::prepare();
}
