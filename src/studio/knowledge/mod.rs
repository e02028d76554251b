//! Owns the facade of knowledge bases: documents, and the text around a citation.

mod document_text;
pub(super) mod documents;

pub use document_text::{DocumentLocation, DocumentText};
