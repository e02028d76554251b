//! Owns the facade: one method per capability.

mod agents;
pub mod attachments;
pub mod catalog;
mod checkpoints;
mod codegen;
mod cutting;
mod definitions;
mod doctor;
mod documents;
mod drafts;
mod edits;
mod facade;
mod fields;
mod installing;
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
mod retention;
mod revisions;
mod run_lists;
mod runs;
mod secrets;
mod settings;
mod settle;
pub mod slugs;
mod sources;
mod standing;
mod sniff;
mod summaries;
mod templates;
mod threads;
mod tool_trial;
mod tools;
mod traces;
mod trial;
mod usage;
mod usage_query;
mod uses;
mod work;
mod workflows;
mod writing;

#[cfg(test)]
mod tests;

pub use codegen::{Exported, ExportRequest};
pub use attachments::{StoredFile, Upload};
pub use doctor::{Check, Diagnosis, Examination, Level};
pub use lists::{ListQuery, Page};
pub use resource::Resource;
pub use templates::TemplateQuery;
pub use facade::{Options, Scope, StreamSlot, Studio};
pub use run_lists::RunsQuery;
pub use crate::engine::{Finished, Started, Working};
pub use standing::Standing;
pub use providers::ModelQuery;
pub use traces::TraceQuery;
pub use usage::{UsageEntry, WindowUsage};
pub use usage_query::UsageWindow;
pub use work::Stop;
pub use summaries::{add_usage, run_summary};

/// Makes what all requests share, so that no thread is in the middle of that when the process forks.
pub(crate) fn prepare() {
    fields::prepare();
}
