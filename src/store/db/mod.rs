//! Owns the interface to SQL: one statement text for every database.
//!
//! `#name` is a table with the configured prefix, `$1` a parameter; `dialect` explains `{a|b}`. No SQL outside `store`.

pub(in crate::store) mod currency;
pub(in crate::store) mod dialect;
pub mod fork;
pub mod inspect;
pub(in crate::store) mod migrate;
pub(in crate::store) mod notifications;
#[cfg(feature = "postgres")]
pub(in crate::store) mod postgres;
pub(in crate::store) mod sqlite;
pub(in crate::store) mod workers;

use std::sync::Arc;

use super::error::StoreError;
use super::later::Later;
use crate::store::log::parts;
#[cfg(feature = "postgres")]
use crate::store::db::postgres::value;

use crate::model::IdText;

/// A value given to a statement; it has a type also when there is nothing.
#[derive(Clone, Copy, Debug)]
pub enum Param<'a> {
    /// An integer, a truth value, or milliseconds.
    Int(Option<i64>),
    /// A number.
    Real(Option<f64>),
    /// Text, an id in text form, or JSON.
    Text(Option<&'a str>),
    /// Bytes.
    Blob(Option<&'a [u8]>),
}

macro_rules! param_from {
    ($($type:ty => |$value:ident| $make:ident($inner:expr);)*) => {$(
        impl<'a> From<$type> for Param<'a> {
            fn from($value: $type) -> Self {
                Self::$make(Some($inner))
            }
        }
        impl<'a> From<Option<$type>> for Param<'a> {
            fn from(value: Option<$type>) -> Self {
                Self::$make(value.map(|$value| $inner))
            }
        }
    )*};
}

param_from! {
    &'a str => |value| Text(value);
    &'a String => |value| Text(value.as_str());
    &'a Arc<str> => |value| Text(&**value);
    &'a IdText => |value| Text(&**value);
    &'a [u8] => |value| Blob(value);
    i64 => |value| Int(value);
    u64 => |value| Int(i64::try_from(value).unwrap_or(i64::MAX));
    u32 => |value| Int(i64::from(value));
    bool => |value| Int(i64::from(value));
    f64 => |value| Real(value);
}

/// A row of an answer.
pub struct Row<'a>(pub(super) Cells<'a>);

/// A row as its engine gives it.
pub(super) enum Cells<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    #[cfg(feature = "postgres")]
    Postgres(&'a tokio_postgres::Row),
}

impl Row<'_> {
    /// Text that is there.
    pub fn text(&self, column: usize) -> Result<&str, StoreError> {
        self.opt_text(column)?.ok_or_else(|| wrong(column, "text"))
    }

    /// Text, or nothing.
    pub fn opt_text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self.0 {
            Cells::Sqlite(row) => row.get_ref(column)?.as_str_or_null().map_err(|_| wrong(column, "text")),
            #[cfg(feature = "postgres")]
            Cells::Postgres(row) => value::text(row, column).ok_or_else(|| wrong(column, "text")),
        }
    }

    /// An integer that is there.
    pub fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.opt_int(column)?.ok_or_else(|| wrong(column, "an integer"))
    }

    /// An integer, or nothing.
    pub fn opt_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self.0 {
            Cells::Sqlite(row) => row.get_ref(column)?.as_i64_or_null().map_err(|_| wrong(column, "an integer")),
            #[cfg(feature = "postgres")]
            Cells::Postgres(row) => value::int(row, column).ok_or_else(|| wrong(column, "an integer")),
        }
    }

    /// A count: an integer that is not negative.
    pub fn count(&self, column: usize) -> Result<u64, StoreError> {
        u64::try_from(self.int(column)?).map_err(|_| wrong(column, "a count"))
    }

    /// A truth value.
    pub fn truth(&self, column: usize) -> Result<bool, StoreError> {
        Ok(self.int(column)? != 0)
    }

    /// Bytes that are there.
    pub fn blob(&self, column: usize) -> Result<&[u8], StoreError> {
        self.opt_blob(column)?.ok_or_else(|| wrong(column, "bytes"))
    }

    /// Bytes, or nothing.
    pub fn opt_blob(&self, column: usize) -> Result<Option<&[u8]>, StoreError> {
        match self.0 {
            Cells::Sqlite(row) => row.get_ref(column)?.as_blob_or_null().map_err(|_| wrong(column, "bytes")),
            #[cfg(feature = "postgres")]
            Cells::Postgres(row) => value::blob(row, column).ok_or_else(|| wrong(column, "bytes")),
        }
    }

    /// An id that is there.
    pub fn id(&self, column: usize) -> Result<crate::model::Id, StoreError> {
        self.text(column)?.parse().map_err(|_| wrong(column, "an id"))
    }

    /// An id, or nothing.
    pub fn opt_id(&self, column: usize) -> Result<Option<crate::model::Id>, StoreError> {
        self.opt_text(column)?.map(|text| text.parse().map_err(|_| wrong(column, "an id"))).transpose()
    }

    /// JSON that is there.
    pub fn json<T: serde::de::DeserializeOwned>(&self, column: usize) -> Result<T, StoreError> {
        serde_json::from_str(self.text(column)?).map_err(|error| StoreError::damaged(format!("stored JSON: {error}")))
    }

    /// JSON, or nothing.
    pub fn opt_json<T: serde::de::DeserializeOwned>(&self, column: usize) -> Result<Option<T>, StoreError> {
        self.opt_text(column)?.map_or(Ok(None), |_| self.json(column).map(Some))
    }
}

fn wrong(column: usize, wanted: &str) -> StoreError {
    StoreError::Corrupt(format!("column {column} of a row does not hold {wanted}"))
}

/// The connection of a database thread.
pub(super) enum Connection<'a> {
    Sqlite(&'a sqlite::Session),
    #[cfg(feature = "postgres")]
    Postgres(&'a postgres::Session),
}

/// A transaction: what work on the database is given.
pub struct Tx<'a> {
    connection: Connection<'a>,
    later: Later,
    found_parts: parts::Found,
}

impl<'a> Tx<'a> {
    pub(super) fn new(connection: Connection<'a>) -> Self {
        Self { connection, later: Later::default(), found_parts: parts::Found::new() }
    }

    #[cfg(test)]
    pub(super) const fn connection(&self) -> &Connection<'a> {
        &self.connection
    }

    /// What counters are changed by at the end of the transaction.
    pub(super) const fn later(&mut self) -> &mut Later {
        &mut self.later
    }

    /// Which shared texts are stored, as far as this transaction has looked.
    pub(super) const fn found_parts(&mut self) -> &mut parts::Found {
        &mut self.found_parts
    }

    /// Writes what counters are changed by, so that a test can look at them in the same transaction.
    #[cfg(test)]
    pub(super) fn settle(&mut self) -> Result<(), StoreError> {
        self.found_parts.clear();
        std::mem::take(&mut self.later).apply(self)
    }

    pub(super) fn into_later(self) -> Later {
        self.later
    }

    /// Takes an exclusive lock on this place and key until the transaction ends.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "only a server knows places"))]
    pub(super) fn alone(&mut self, place: &str, key: &str) -> Result<(), StoreError> {
        match &self.connection {
            // Only one connection at a time writes.
            Connection::Sqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => session.lock(place, key),
        }
    }

    /// Whether the database is a file, to which one at a time writes.
    pub(crate) const fn is_file(&self) -> bool {
        matches!(self.connection, Connection::Sqlite(_))
    }

    /// Runs a statement; says how many rows it changed.
    pub fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        match &self.connection {
            Connection::Sqlite(session) => session.execute(sql, params),
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => session.execute(sql, params),
        }
    }

    /// Runs a statement of which nobody wants to know how many rows it changed. Where the database is on a server, nobody waits for it:
    /// a failure is reported by a later statement, at the latest by the end of the transaction.
    pub fn send(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<(), StoreError> {
        match &self.connection {
            Connection::Sqlite(session) => session.execute(sql, params).map(drop),
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => session.send(sql, params),
        }
    }

    /// Stores a new row and gives its number. The statement ends with `{| RETURNING no}`: SQLite knows the number without being asked,
    /// and would fill a table with the answer first.
    pub fn insert(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<i64, StoreError> {
        match &self.connection {
            Connection::Sqlite(session) => session.insert(sql, params),
            #[cfg(feature = "postgres")]
            Connection::Postgres(_) => self.query_one(sql, params, |row| row.int(0))?.ok_or_else(|| StoreError::damaged("a row was not stored")),
        }
    }

    /// Hands each row of an answer to `take`.
    pub fn query_each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        take: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match &self.connection {
            Connection::Sqlite(session) => session.query(sql, params, &mut |row| take(row).map(|()| true)),
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => session.query(sql, params, &mut |row| take(row).map(|()| true)),
        }
    }

    /// Runs statements for PostgreSQL that are made at run time: each name of `fill` in the text stands for what follows it.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "only a server has them"))]
    pub fn run_made(&mut self, sql: &str, fill: &[(&str, &str)]) -> Result<(), StoreError> {
        match &self.connection {
            Connection::Sqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => session.run(&filled(&session.text(sql), fill)),
        }
    }

    /// Hands each row of the answer to such a statement to `take`.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "only a server has them"))]
    pub fn query_made(
        &mut self,
        sql: &str,
        fill: &[(&str, &str)],
        take: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match &self.connection {
            Connection::Sqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => session.query_made(&filled(&session.text(sql), fill), &mut |row| take(row).map(|()| true)),
        }
    }

    /// All rows of an answer, each made into a value.
    pub fn query<T>(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        mut make: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut found = Vec::new();
        self.query_each(sql, params, &mut |row| {
            found.push(make(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// The first row of an answer, or none.
    pub fn query_one<T>(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        make: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let (mut make, mut found) = (Some(make), None);
        let mut first = |row: &Row<'_>| {
            if let Some(make) = make.take() {
                found = Some(make(row)?);
            }
            Ok(false)
        };
        match &self.connection {
            Connection::Sqlite(session) => session.query(sql, params, &mut first)?,
            #[cfg(feature = "postgres")]
            Connection::Postgres(session) => session.query(sql, params, &mut first)?,
        }
        Ok(found)
    }
}

#[cfg(feature = "postgres")]
fn filled(sql: &str, fill: &[(&str, &str)]) -> String {
    fill.iter().fold(sql.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// JSON text of a value of ours, which always has one.
pub(super) fn to_json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Fault(format!("a value has no JSON form: {error}")))
}

/// Params from anything that can be one.
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::store::db::Param::from($value)),*] };
}
pub(super) use params;
