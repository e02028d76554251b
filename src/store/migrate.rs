//! Owns the schema's versions: brings a database up to date in one transaction, refuses one that is newer.

use super::{StoreSettings, sqlite};
use super::db::{Session, translated};
use super::error::StoreError;

/// Every version of the schema, oldest first; what is released is never changed.
const MIGRATIONS: [&str; 3] = [
    include_str!("../../migrations/0001_first.sql"),
    include_str!("../../migrations/0002_knowledge.sql"),
    include_str!("../../migrations/0003_passage_words.sql"),
];

/// The version that this program writes.
pub(super) const KNOWN: i64 = MIGRATIONS.len() as i64;

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
    connection.execute_batch(sqlite::pragma(settings.synchronous))?;
    Ok(())
}

/// Applies the versions after the one found, up to `target`.
pub(super) fn apply(session: &Session, prefix: &str, target: i64) -> Result<(), StoreError> {
    must_be_known(session)?;
    let found = version(session)?;
    for (number, text) in (1..).zip(MIGRATIONS) {
        if number > found && number <= target {
            session.connection.execute_batch(&translated(text, prefix))?;
        }
    }
    session.connection.pragma_update(None, "user_version", target)?;
    Ok(())
}
