//! Owns code in the facade: its switches, exports and imports.

mod classes;
mod definition;
mod export;
mod files;
mod import;
mod import_problems;
mod incoming;
pub(super) mod registered;
mod walk;

pub use export::{ExportRequest, Exported};

use super::{Resource, Studio};
use crate::codegen::{ClassKind, Target};
use crate::error::{Error, Kind, Result};

/// What of code a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CodeAction {
    /// Writes a file.
    Export,
    /// Shows what a file would say.
    Preview,
    /// Reads classes and files.
    Import,
    /// Begins a file that people go on with.
    Begin,
}

impl Studio {
    /// The key that switches something off, if one does.
    fn code_is_off(&self, deed: CodeAction) -> Option<&'static str> {
        let codegen = &self.config().codegen;
        let own = match deed {
            CodeAction::Export => (codegen.export, "codegen.export"),
            CodeAction::Preview => (codegen.preview, "codegen.preview"),
            CodeAction::Import | CodeAction::Begin => (true, ""),
        };
        [(codegen.enabled, "codegen.enabled"), own].into_iter().find(|(on, _)| !on).map(|(_, key)| key)
    }

    /// Refuses what is switched off.
    fn code_gate(&self, deed: CodeAction) -> Result<()> {
        let Some(flag) = self.code_is_off(deed) else { return Ok(()) };
        let text = match deed {
            CodeAction::Export => format!("code is not exported here; `{flag}` turns it on; nothing was written"),
            CodeAction::Preview => format!("code is not shown here; `{flag}` turns it on"),
            CodeAction::Import => format!("code is not read here; `{flag}` turns it on"),
            CodeAction::Begin => format!("code generation is off; `{flag}` turns it on; nothing was written"),
        };
        Err(Error::new(Kind::FlagDisabled, text).with("flag", flag))
    }

    /// Refuses to make the skeleton of a tool where code is off.
    ///
    /// # Errors
    /// `codegen.enabled` is false.
    pub fn skeleton_gate(&self) -> Result<()> {
        self.code_gate(CodeAction::Begin)
    }

    /// The language that a word names; the configured one without a word.
    ///
    /// # Errors
    /// There is no such language.
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
