//! Owns writing a definition as a class of a language.

use serde_json::Value;

use super::{ClassKind, SourceFile, Target};

/// Why a definition cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The definition has no slug that gives a class name.
    #[error("the definition has no `slug` that gives a class name")]
    NoName,
}

/// The file of a definition; a pure function of what it is given.
pub fn write(_target: Target, _kind: ClassKind, _definition: &Value, _namespace: &str) -> Result<SourceFile, WriteError> {
    Err(WriteError::NoName)
}
