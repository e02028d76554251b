//! Crash safety: processes that are killed, stopped, cut off from their disk or from each other; nothing is lost, nothing done twice.

mod billing;
mod cancel;
mod disk;
mod doubts;
mod fallbacks;
mod files;
mod growth;
mod ingest;
mod keys;
mod leases;
mod long;
mod models;
#[path = "../it/support/caller.rs"]
#[expect(dead_code, reason = "shared with tests that read what was sent")]
mod caller;
#[path = "../it/support/place.rs"]
mod place;
mod program;
mod races;
mod record;
mod resume;
mod runtimes;
mod server;
mod support;
mod sweep;
mod tails;
mod two;
mod unreadable;
mod workers;
