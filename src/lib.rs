//! Workflow Studio: build, test and run AI agents and graph workflows inside a web application.

#[macro_use]
mod names;

pub mod classes;
pub mod clock;
pub mod codegen;
pub mod command;
pub mod config;
pub mod engine;
pub mod error;
pub mod ffi;
pub mod host;
pub mod http;
mod json;
pub mod knowledge;
pub mod model;
pub mod observe;
#[cfg(test)]
#[path = "../tests/it/support/place.rs"]
mod place;
pub mod providers;
pub mod secrets;
pub mod store;
pub mod studio;
mod sync;
pub mod tools;

/// The entry points of the programs in `fuzz/`.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::http::fuzzing::{adapter, form, form_once, query};
    pub use crate::providers::fuzzing::{FAMILIES, arguments, read};
    #[cfg(feature = "mcp")]
    pub use crate::tools::mcp::fuzzing::{definition, events, lines, lines_once};
    #[cfg(feature = "script")]
    pub use crate::tools::builder::fuzzing::script;

    /// A text without these secrets.
    pub fn masked(text: &str, secrets: &[&str]) -> String {
        crate::secrets::masking::masked(text, secrets.iter().copied())
    }

    /// Reads JSON of others within the bound of what its values take.
    pub fn json(text: &[u8]) -> Result<serde_json::Value, String> {
        crate::json::read(text).map_err(|problem| problem.to_string())
    }
}

pub use classes::{StudioAgent, StudioTool, StudioWorkflow, serde_json};
pub use error::{Error, Kind, Result};
pub use studio::{Scope, Studio};

uniffi::setup_scaffolding!();
