//! Owns the flags: what is switched on, taken together.

use serde::Serialize;

use super::Keys;

/// What is on, taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are the flags of the contract")]
#[expect(clippy::struct_excessive_bools, reason = "flags are independent of each other")]
pub struct Flags {
    pub can_export: bool,
    pub can_preview: bool,
    pub can_import: bool,
    pub can_build_tools: bool,
    pub async_runs: bool,
    pub usage_export: bool,
    pub stream_adapters: bool,
    pub templates: bool,
}

impl Keys {
    /// Everything is open for a developer.
    pub fn is_local(&self) -> bool {
        self.environment == "local"
    }

    /// What is on.
    pub const fn flags(&self) -> Flags {
        let codegen = &self.codegen;
        Flags {
            can_export: codegen.enabled && codegen.export,
            can_preview: codegen.enabled && codegen.preview,
            can_import: codegen.enabled,
            can_build_tools: self.allow_builder_tools,
            async_runs: self.async_runs_enabled,
            usage_export: self.usage.export.enabled,
            stream_adapters: self.stream_adapters.enabled,
            templates: self.templates_enabled,
        }
    }
}
