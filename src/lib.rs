//! Workflow Studio: build, test and run AI agents and graph workflows inside a web application.

pub mod clock;
pub mod error;
pub mod ffi;
pub mod host;
pub mod model;
pub mod providers;

pub use error::{Error, Kind, Result};

uniffi::setup_scaffolding!();
