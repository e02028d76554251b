//! Owns knowledge bases in the database: documents, their readings and editions, passages and the search for them.

pub mod documents;
pub mod editions;
pub mod fulltext;
pub mod passages;
pub mod readings;
