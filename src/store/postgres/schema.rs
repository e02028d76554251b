//! Owns the version of a server's schema: brings it up to date in one transaction, refuses one that is newer.

use super::super::currency::Opened;
use super::super::dialect::{Dialect, schema};
use super::super::error::StoreError;
use super::super::inspect::Found;
use super::super::migrate::{KNOWN, MIGRATIONS};
use super::Session;
use crate::model::Timestamp;

/// The version that is there; 0 when there is none.
fn version(session: &Session, prefix: &str) -> Result<i64, StoreError> {
    if !is_so(session, &format!("SELECT to_regclass('{prefix}meta') IS NOT NULL"))? {
        return Ok(0);
    }
    let found = session.simple(&format!("SELECT value FROM {prefix}meta WHERE key = 'schema'"))?;
    let found = found.first().and_then(|row| row.get(0)).map(str::parse);
    found.unwrap_or(Ok(0)).map_err(|_| StoreError::damaged("the version of the schema is no number"))
}

/// What the server is, which schema it has, what its clock says.
pub(super) fn inspect(session: &Session, prefix: &str) -> Result<Found, StoreError> {
    let told = session.simple("SELECT current_setting('server_version'), (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint")?;
    let text = |column| told.first().and_then(|row| row.get(column)).unwrap_or_default();
    let now = text(1).parse().ok().map(Timestamp);
    Ok(Found { engine: format!("PostgreSQL {}", text(0)), schema: version(session, prefix)?, now })
}

fn is_so(session: &Session, question: &str) -> Result<bool, StoreError> {
    Ok(session.simple(question)?.first().and_then(|row| row.get(0)) == Some("t"))
}

/// Makes the schema that `search_path` names first, when it is not there.
fn make_room(session: &Session) -> Result<(), StoreError> {
    if is_so(session, "SELECT current_schema() IS NOT NULL")? {
        return Ok(());
    }
    let told = session.simple("SELECT split_part(current_setting('search_path'), ',', 1)")?;
    let name = told.first().and_then(|row| row.get(0)).unwrap_or_default().trim();
    if name.is_empty() || !name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_') {
        return Err(StoreError::Place(format!("there is no schema `{name}` to make tables in; make it, or name another `search_path`")));
    }
    session.run(&format!("CREATE SCHEMA IF NOT EXISTS {name}"))
}

/// Applies what is missing, alone: other processes wait.
pub(super) fn up_to_date(session: &Session, prefix: &str) -> Result<(), StoreError> {
    if known(version(session, prefix)?)? {
        return Ok(());
    }
    session.run("BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")?;
    let done = apply(session, prefix);
    let ended = session.run(if done.is_ok() { "COMMIT" } else { "ROLLBACK" });
    done.and(ended)
}

fn known(found: i64) -> Result<bool, StoreError> {
    if found > KNOWN { Err(StoreError::Newer { found, known: KNOWN }) } else { Ok(found == KNOWN) }
}

fn apply(session: &Session, prefix: &str) -> Result<(), StoreError> {
    session.run(&format!("SELECT pg_advisory_xact_lock(hashtextextended('studio:{prefix}', 0))"))?;
    make_room(session)?;
    let found = version(session, prefix)?;
    if known(found)? {
        return Ok(());
    }
    for (number, text) in (1..).zip(MIGRATIONS) {
        if number > found {
            session.run(&schema(text, prefix, Dialect::Postgres))?;
        }
    }
    session.run(&format!(
        "INSERT INTO {prefix}meta (key, value) VALUES ('schema', '{KNOWN}') ON CONFLICT (key) DO UPDATE SET value = excluded.value"
    ))
}

impl Opened for Session {
    fn first(&self, sql: &str) -> Result<Option<String>, StoreError> {
        Ok(self.simple(sql)?.first().and_then(|row| row.get(0)).map(str::to_owned))
    }

    fn change(&self, sql: &str) -> Result<(), StoreError> {
        self.run(sql)
    }
}
