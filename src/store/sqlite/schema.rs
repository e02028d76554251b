//! Owns the version of an SQLite file's schema: brings it up to date in one transaction, refuses one that is newer.

use rusqlite::OptionalExtension as _;

use super::super::currency::Opened;
use super::super::dialect::{Dialect, schema};
use super::super::error::StoreError;
use super::super::migrate::{KNOWN, MIGRATIONS};
use super::super::StoreSettings;
use super::Session;

fn version(session: &Session) -> Result<i64, StoreError> {
    Ok(session.connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Refuses a database of a newer version before anything is written.
pub(super) fn must_be_known(session: &Session) -> Result<(), StoreError> {
    let found = version(session)?;
    if found > KNOWN { Err(StoreError::Newer { found, known: KNOWN }) } else { Ok(()) }
}

/// Applies what is missing; another process may be doing the same.
pub(super) fn up_to_date(session: &Session, settings: &StoreSettings) -> Result<(), StoreError> {
    must_be_known(session)?;
    if version(session)? == KNOWN {
        return Ok(());
    }
    let connection = &session.connection;
    connection.execute_batch("PRAGMA synchronous=FULL; BEGIN IMMEDIATE;")?;
    let done = apply(session, &settings.prefix, KNOWN);
    let ended = connection.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" });
    done?;
    ended?;
    connection.execute_batch(super::pragma(settings.synchronous))?;
    Ok(())
}

/// Applies the versions after the one found, up to `target`.
pub(in crate::store) fn apply(session: &Session, prefix: &str, target: i64) -> Result<(), StoreError> {
    must_be_known(session)?;
    let found = version(session)?;
    for (number, text) in (1..).zip(MIGRATIONS) {
        if number > found && number <= target {
            session.connection.execute_batch(&schema(text, prefix, Dialect::Sqlite))?;
        }
    }
    session.connection.pragma_update(None, "user_version", target)?;
    Ok(())
}

impl Opened for Session {
    fn first(&self, sql: &str) -> Result<Option<String>, StoreError> {
        Ok(self.connection.query_row(sql, [], |row| row.get(0)).optional()?)
    }

    fn change(&self, sql: &str) -> Result<(), StoreError> {
        Ok(self.connection.execute_batch(sql)?)
    }
}
