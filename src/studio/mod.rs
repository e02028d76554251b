//! Owns the facade: one method per capability.

mod codegen;
mod copies;
mod definition_writes;
pub mod definitions;
mod doctor;
mod facade;
mod knowledge;
pub mod lists;
mod prices;
mod purging;
mod reach;
pub mod runs;
mod settings;
mod stream_limit;
mod templates;
pub mod threads;
mod usage;

#[cfg(test)]
mod tests;

pub use crate::engine::{Finished, Started, Working};
pub use crate::studio::definitions::providers_and_models::ModelQuery;
pub use crate::studio::definitions::resource::Resource;
pub use crate::studio::runs::run_lists::RunsQuery;
pub use crate::studio::runs::standing::{NamedTurn, Standing, Turns};
pub use crate::studio::runs::traces::TraceQuery;
pub use crate::studio::runs::work::Stop;
pub use crate::studio::threads::attachments::{Section, StoredFile, Upload};
pub use crate::studio::usage::query::UsageWindow;
pub use codegen::{ExportRequest, Exported};
pub use doctor::{Check, Diagnosis, Examination, Level};
pub use facade::{Options, Scope, Studio};
pub use knowledge::{DocumentLocation, DocumentText};
pub use lists::{ListQuery, Page};
pub use stream_limit::StreamSlot;
pub use templates::TemplateQuery;
pub use usage::{UsageEntry, WindowUsage};

/// Makes what all requests share, so that no thread is in the middle of that when the process forks.
pub(crate) fn prepare() {
    definitions::fields::prepare();
}
