//! Owns the refusal of what is switched off: exports, previews and imports of code (`flag_disabled`).

use super::Studio;
use crate::error::{Error, Kind, Result};

/// What of code a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeAction {
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
    fn code_is_off(&self, action: CodeAction) -> Option<&'static str> {
        let (flags, enabled) = (self.config().flags(), self.config().codegen.enabled);
        let (on, own) = match action {
            CodeAction::Export => (flags.can_export, "codegen.export"),
            CodeAction::Preview => (flags.can_preview, "codegen.preview"),
            CodeAction::Import | CodeAction::Begin => (flags.can_import, "codegen.enabled"),
        };
        (!on).then_some(if enabled { own } else { "codegen.enabled" })
    }

    /// Refuses what is switched off.
    pub(super) fn code_gate(&self, action: CodeAction) -> Result<()> {
        let Some(flag) = self.code_is_off(action) else { return Ok(()) };
        let text = match action {
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
}
