//! Owns knowledge bases in the database: documents, readings, editions, passages and searches.

pub mod documents;
pub mod editions;
pub mod fulltext;
pub mod nearest;
pub mod passages;
pub mod readings;
