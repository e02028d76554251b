//! Owns read-only checks of a database: its kind, its schema version, its clock.

use crate::model::Timestamp;
use crate::store::db::migrate::{KNOWN, MIGRATIONS};
use crate::store::error::StoreError;

/// A database as it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its engine with the version, such as `SQLite 3.50.4`.
    pub engine: String,
    /// The version of its schema; 0 when it has none.
    pub schema: i64,
    /// What its own clock says, where it has one.
    pub now: Option<Timestamp>,
}

/// The version of the schema that this program writes.
pub const SCHEMA: i64 = KNOWN;

/// The versions after `schema`, with what each brings.
pub fn missing(schema: i64) -> impl Iterator<Item = (i64, &'static str)> {
    let title = |text: &'static str| {
        let line = text.lines().next().unwrap_or_default().trim_start_matches("-- ");
        line.split_once(['.', ':', ',', ';']).map_or(line, |(title, _)| title)
    };
    (1..).zip(MIGRATIONS).filter(move |(number, _)| *number > schema).map(move |(number, (_, text))| (number, title(text)))
}

/// Refuses a schema that this program does not know.
///
/// # Errors
/// The database is of a newer version.
pub const fn must_be_known(schema: i64) -> Result<(), StoreError> {
    if schema > KNOWN { Err(StoreError::Newer { found: schema, known: KNOWN }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_has_a_title() {
        let all: Vec<(i64, &str)> = missing(0).collect();
        assert_eq!(all.len(), MIGRATIONS.len());
        assert_eq!(all[0], (1, "The first schema"));
        assert!(all.iter().all(|(_, title)| !title.is_empty()), "{all:?}");
        assert_eq!(missing(SCHEMA).count(), 0);
        assert!(must_be_known(SCHEMA).is_ok() && must_be_known(SCHEMA + 1).is_err());
    }
}
