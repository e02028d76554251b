//! Owns the version of a server's schema: brings it up to date in one transaction, refuses one that is newer.

use crate::model::Timestamp;
use crate::store::db::currency::Opened;
use crate::store::db::dialect::{Dialect, schema};
use crate::store::db::inspect::Found;
use crate::store::db::migrate::{KNOWN, MIGRATIONS};
use crate::store::db::postgres::Session;
use crate::store::error::StoreError;

/// The version that is there; 0 when there is none. Tables are those of the schema that `search_path` names first.
fn version(session: &Session, prefix: &str) -> Result<i64, StoreError> {
    let told = session.simple(&format!(
        "SELECT to_regclass(quote_ident(current_schema()) || '.{prefix}meta') IS NOT NULL, \
         (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass('{prefix}meta'))"
    ))?;
    let column = |at| told.first().and_then(|row| row.get(at));
    let (here, found) = (column(0) == Some("t"), column(1));
    match first_schema(session)? {
        Room::Is(_) if here => {}
        Room::Is(wanted) | Room::Missing(wanted) => {
            return found.map_or(Ok(0), |other| Err(elsewhere(prefix, other, &wanted)));
        }
    }
    let found = session.simple(&format!("SELECT value FROM {prefix}meta WHERE key = 'schema'"))?;
    let text = found.first().and_then(|row| row.get(0)).unwrap_or("none");
    text.parse().map_err(|_| {
        let text = format!(
            "the table `{prefix}meta` of the database tells no version of the schema that the studio knows (`{text}`); nothing was changed; restore a \
             backup, or name another schema in `search_path`"
        );
        StoreError::Place(text)
    })
}

/// The schema that `search_path` names first.
enum Room {
    Is(String),
    Missing(String),
}

fn first_schema(session: &Session) -> Result<Room, StoreError> {
    // The usual path begins with a schema of the user's own, which mostly is not there.
    let told = session.simple(
        "SELECT current_schema(), trim(split_part(regexp_replace(current_setting('search_path'), '^\\s*\"\\$user\"\\s*(,|$)', ''), ',', 1)), \
         to_regnamespace(quote_ident(current_user)) IS NOT NULL AND current_setting('search_path') ~ '^\\s*\"\\$user\"'",
    )?;
    let column = |at| told.first().and_then(|row| row.get(at)).unwrap_or_default().to_owned();
    let (current, first, own) = (column(0), column(1), column(2) == "t");
    let name = first.strip_prefix('"').and_then(|name| name.strip_suffix('"')).map_or(first.to_lowercase(), |name| name.replace("\"\"", "\""));
    if !current.is_empty() && (own || name == current) {
        return Ok(Room::Is(current));
    }
    let is_there = session.simple(&format!("SELECT to_regnamespace(quote_ident('{}')) IS NOT NULL", name.replace('\'', "''")))?;
    // A schema that is there but may not be used is passed over by the server, too.
    let passed = is_there.first().and_then(|row| row.get(0)) == Some("t") && !current.is_empty();
    Ok(if passed { Room::Is(current) } else { Room::Missing(first) })
}

fn elsewhere(prefix: &str, other: &str, wanted: &str) -> StoreError {
    StoreError::Place(format!(
        "the tables `{prefix}…` are in the schema `{other}`, and `search_path` names `{wanted}` before it; nothing was changed; name one schema in \
         `search_path`: `{other}` to use those tables, `{wanted}` for tables of its own"
    ))
}

/// What the server is, which schema it has, what its clock says.
pub(super) fn inspect(session: &Session, prefix: &str) -> Result<Found, StoreError> {
    let told = session.simple("SELECT current_setting('server_version'), (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint")?;
    let text = |column| told.first().and_then(|row| row.get(column)).unwrap_or_default();
    let now = text(1).parse().ok().map(Timestamp);
    Ok(Found { engine: format!("PostgreSQL {}", text(0)), schema: version(session, prefix)?, now })
}

/// Makes the schema that `search_path` names first, when it is not there.
fn make_room(session: &Session) -> Result<(), StoreError> {
    let Room::Missing(name) = first_schema(session)? else { return Ok(()) };
    if name.is_empty() || !name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_') {
        return Err(StoreError::Place(format!("there is no schema `{name}` to make tables in; make it, or name another `search_path`")));
    }
    session.run(&format!("CREATE SCHEMA IF NOT EXISTS {name}"))
}

/// Applies what is missing, alone: other processes wait. However long that takes, it is waited for.
pub(super) fn up_to_date(session: &Session, prefix: &str) -> Result<(), StoreError> {
    if known(version(session, prefix)?)? {
        return Ok(());
    }
    let patience = session.wait_for_answers(None);
    session.run("BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")?;
    let done = apply(session, prefix);
    let ended = session.run(if done.is_ok() { "COMMIT" } else { "ROLLBACK" });
    session.wait_for_answers(patience);
    done.and(ended)
}

fn known(found: i64) -> Result<bool, StoreError> {
    if found > KNOWN { Err(StoreError::Newer { found, known: KNOWN }) } else { Ok(found == KNOWN) }
}

fn apply(session: &Session, prefix: &str) -> Result<(), StoreError> {
    session.run(&format!("SELECT pg_advisory_xact_lock(hashtextextended('studio:{prefix}', 0))"))?;
    let found = version(session, prefix)?;
    if known(found)? {
        return Ok(());
    }
    make_room(session)?;
    for (number, (_, text)) in (1..).zip(MIGRATIONS) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_of_a_later_version_is_refused_and_an_earlier_one_is_brought_up() {
        assert_eq!((known(0), known(KNOWN - 1), known(KNOWN)), (Ok(false), Ok(false), Ok(true)));
        assert_eq!(known(KNOWN + 1), Err(StoreError::Newer { found: KNOWN + 1, known: KNOWN }));
        assert!(known(KNOWN + 9).is_err());
    }
}
