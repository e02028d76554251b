//! Owns files: their rows, and the folder that holds their bytes.

pub mod attachments;
pub mod folder;
