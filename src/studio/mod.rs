//! Owns the facade: one method per capability.

mod agents;
pub mod attachments;
pub mod catalog;
mod checkpoints;
mod definitions;
mod drafts;
mod edits;
mod fields;
mod known;
mod knowledge;
mod listing;
pub mod lists;
mod mcp_servers;
mod messages;
pub mod pinning;
mod providers;
mod reach;
mod registry;
pub mod requests;
pub mod resource;
mod revisions;
mod secrets;
mod settings;
mod settle;
pub mod slugs;
mod sniff;
mod stand_in;
mod summaries;
mod threads;
mod tools;
mod uses;
mod workflows;
mod writing;

#[cfg(test)]
mod tests;

pub use attachments::{StoredFile, Upload};
pub use lists::{ListQuery, Page};
pub use resource::Resource;
pub use stand_in::*;
pub use summaries::{add_usage, run_summary};
