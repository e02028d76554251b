//! Owns code in the facade: exports and imports.

mod definition;
mod export;
mod files;
mod flags;
mod import;
mod import_problems;
mod importable_classes;
mod incoming;
pub(super) mod registered;
mod walk;

pub use export::{ExportRequest, Exported};

use super::{Resource, Studio};
use crate::codegen::{ClassKind, Target};
use crate::error::{Error, Result};

impl Studio {
    /// The language that a word names; the configured one without a word.
    pub fn code_target(&self, word: Option<&str>) -> Result<Target> {
        let word = word.unwrap_or(&self.config().codegen.target);
        Target::named(word).ok_or_else(|| {
            let names: Vec<&str> = Target::ALL.iter().map(|target| target.name()).collect();
            Error::field("target", format!("target must be one of {}", names.join(", ")))
        })
    }
}

/// What a kind of class is as a resource.
const fn resource_of(kind: ClassKind) -> Resource {
    match kind {
        ClassKind::Workflow => Resource::Workflow,
        ClassKind::Agent => Resource::Agent,
        ClassKind::Tool => Resource::Tool,
    }
}
