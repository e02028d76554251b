//! Owns the migrations and the version of the schema.

use crate::store::db::dialect::{Dialect, schema};

macro_rules! migration {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../migrations/", $name)))
    };
}

/// Every version of the schema with the name of its file, oldest first; what is released is never changed.
pub(in crate::store) const MIGRATIONS: [(&str, &str); 13] = [
    migration!("0001_first.sql"),
    migration!("0002_knowledge.sql"),
    migration!("0003_passage_words.sql"),
    migration!("0004_usage.sql"),
    migration!("0005_sums.sql"),
    migration!("0006_text_marks.sql"),
    migration!("0007_log_rows.sql"),
    migration!("0008_kept_turns.sql"),
    migration!("0009_numbers.sql"),
    migration!("0010_no_text_marks.sql"),
    migration!("0011_passage_places.sql"),
    migration!("0012_languages.sql"),
    migration!("0013_memory.sql"),
];

/// The version that this program writes.
pub(in crate::store) const KNOWN: i64 = MIGRATIONS.len() as i64;

/// Every version as a database of this kind runs it.
pub(in crate::store) fn texts(prefix: &str, dialect: Dialect) -> Vec<(&'static str, String)> {
    MIGRATIONS.iter().map(|(name, text)| (*name, schema(text, prefix, dialect).to_string())).collect()
}
