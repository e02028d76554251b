//! Workflow Studio: build, test and run AI agents and graph workflows inside a web application.

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

/// What the programs in `fuzz/` are let in by.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::providers::fuzzing::{FAMILIES, read};
}

pub use classes::{StudioAgent, StudioTool, StudioWorkflow, serde_json};
pub use error::{Error, Kind, Result};
pub use studio::{Scope, Studio};

uniffi::setup_scaffolding!();
