//! Owns the version of the tables in an SQLite file: brings them up to date in one transaction, refuses those that are newer.
//!
//! The table of settings contains the version, so that tables of several prefixes, or of a host, can share a file. `user_version` contains it
//! too, unless a host uses it, because earlier versions of the studio read only that.

use rusqlite::{Connection, OptionalExtension as _};

use crate::store::StoreSettings;
use crate::store::db::currency::Opened;
use crate::store::db::dialect::{Dialect, schema};
use crate::store::db::migrate::{KNOWN, MIGRATIONS};
use crate::store::db::sqlite::Session;
use crate::store::error::StoreError;

/// The version of the tables with a prefix; 0 when there are none.
pub(super) fn version(connection: &Connection, prefix: &str) -> Result<i64, StoreError> {
    let sql = "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    let tables: i64 = connection.query_row(sql, [format!("{prefix}meta")], |row| row.get(0))?;
    if tables == 0 {
        return Ok(0);
    }
    let sql = format!("SELECT value FROM {prefix}meta WHERE key = 'schema'");
    match connection.query_row(&sql, [], |row| row.get::<_, String>(0)).optional()? {
        Some(text) => text.parse().map_err(|_| StoreError::damaged("the version of the schema is no number")),
        None => user_version(connection),
    }
}

fn user_version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Refuses a database of a newer version before anything is written.
pub(super) fn must_be_known(session: &Session) -> Result<(), StoreError> {
    let found = version(&session.connection, &session.prefix)?;
    if found > KNOWN { Err(StoreError::Newer { found, known: KNOWN }) } else { Ok(()) }
}

/// Applies what is missing; another process may be doing the same.
pub(super) fn up_to_date(session: &Session, settings: &StoreSettings) -> Result<(), StoreError> {
    must_be_known(session)?;
    let connection = &session.connection;
    if version(connection, &settings.prefix)? == KNOWN {
        return Ok(());
    }
    connection.execute_batch("PRAGMA synchronous=FULL; BEGIN IMMEDIATE;")?;
    let done = apply(session, &settings.prefix, KNOWN);
    let ended = connection.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" });
    done?;
    ended?;
    connection.execute_batch(crate::store::db::sqlite::pragma(settings.synchronous))?;
    Ok(())
}

/// Applies the versions after the one found, up to `target`.
pub(in crate::store) fn apply(session: &Session, prefix: &str, target: i64) -> Result<(), StoreError> {
    must_be_known(session)?;
    let connection = &session.connection;
    let (found, told) = (version(connection, prefix)?, user_version(connection)?);
    for (number, (_, text)) in (1..).zip(MIGRATIONS) {
        if number > found && number <= target {
            connection.execute_batch(&schema(text, prefix, Dialect::Sqlite))?;
        }
    }
    let sql = format!("INSERT INTO {prefix}meta (key, value) VALUES ('schema', ?1) ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    connection.execute(&sql, [target.to_string()])?;
    if told == 0 || told == found {
        connection.pragma_update(None, "user_version", target)?;
    }
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
