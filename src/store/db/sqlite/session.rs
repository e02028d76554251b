//! Owns a connection to an SQLite file with its prepared statements, behind the verbs of the store.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::CachedStatement;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

use crate::store::db::dialect::{Dialect, with_empty};
use crate::store::db::{Cells, Param, Row};
use crate::store::error::StoreError;

/// A connection with its statements, kept by one database thread.
pub(in crate::store) struct Session {
    pub(in crate::store) connection: rusqlite::Connection,
    pub(super) prefix: Arc<str>,
    texts: RefCell<HashMap<Place, Arc<str>>>,
}

/// Work in a transaction on it, with the statements that it has used: another use finds them by their place in the program, without looking for their
/// text, which is a good part of what a small statement takes.
pub(in crate::store) struct Transaction<'a> {
    pub(in crate::store) session: &'a Session,
    places: Vec<Place>,
    statements: Vec<CachedStatement<'a>>,
}

/// The place and length of a statement in the program, and which of its first parameters are empty texts.
type Place = (usize, usize, u8);

/// How a write-ahead log stands, in pages.
pub(super) struct Log {
    pub(super) length: i64,
    /// So many of them are not in the file yet.
    pub(super) waiting: i64,
}

impl Session {
    pub(in crate::store) fn new(connection: rusqlite::Connection, prefix: Arc<str>) -> Self {
        connection.set_prepared_statement_cache_capacity(192);
        Self { connection, prefix, texts: RefCell::new(HashMap::new()) }
    }

    /// Every statement that was run.
    #[cfg(test)]
    pub(in crate::store) fn texts(&self) -> Vec<Arc<str>> {
        self.texts.borrow().values().map(Arc::clone).collect()
    }

    /// The text as SQLite wants it, made once for each statement of the program and each choice of empty texts.
    fn text(&self, sql: &'static str, place: Place) -> Arc<str> {
        let mut texts = self.texts.borrow_mut();
        Arc::clone(texts.entry(place).or_insert_with(|| with_empty(sql, &self.prefix, Dialect::Sqlite, place.2)))
    }

    /// No transaction is under way: it ended, or SQLite gave it up.
    pub(super) fn ended(&self) -> bool {
        self.connection.is_autocommit()
    }

    /// How the write-ahead log stands.
    pub(super) fn log(&self) -> Result<Log, StoreError> {
        let mut look = self.connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?;
        Ok(look.query_row([], |row| {
            let (length, copied) = (row.get(1)?, row.get::<_, i64>(2)?);
            Ok(Log { length, waiting: length - copied })
        })?)
    }

    /// Runs a checkpoint: copies the write-ahead log into the file, as far as no reader needs older pages.
    pub(super) fn put_log_away(&self) -> Result<(), StoreError> {
        Ok(self.connection.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?.query_row([], |_| Ok(()))?)
    }

    /// Runs a statement without parameters and tables of ours.
    pub(super) fn run(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }
}

impl<'a> Transaction<'a> {
    pub(in crate::store) const fn new(session: &'a Session) -> Self {
        Self { session, places: Vec::new(), statements: Vec::new() }
    }

    /// A statement, and the parameters that it has.
    fn statement<'p>(
        &mut self,
        sql: &'static str,
        params: &'p [Param<'p>],
    ) -> Result<(&mut CachedStatement<'a>, &'p [Param<'p>]), StoreError> {
        let place = (sql.as_ptr() as usize, sql.len(), empty_texts(params));
        let at = match self.places.iter().position(|known| *known == place) {
            Some(at) => at,
            None => {
                self.statements.push(self.session.connection.prepare_cached(&self.session.text(sql, place))?);
                self.places.push(place);
                self.places.len() - 1
            }
        };
        let last = params.iter().enumerate().rposition(|(at, param)| at >= WRITTEN || !is_empty(param));
        Ok((&mut self.statements[at], &params[..last.map_or(0, |last| last + 1)]))
    }

    pub(in crate::store) fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        let (statement, params) = self.statement(sql, params)?;
        let changed = statement.execute(rusqlite::params_from_iter(params))?;
        Ok(changed as u64)
    }

    /// Stores a row; its number.
    pub(in crate::store) fn insert(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<i64, StoreError> {
        let (statement, params) = self.statement(sql, params)?;
        Ok(statement.insert(rusqlite::params_from_iter(params))?)
    }

    /// Hands rows to `take` until it says that it has enough.
    pub(in crate::store) fn query(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        take: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let (statement, params) = self.statement(sql, params)?;
        let mut rows = statement.query(rusqlite::params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            if !take(&Row(Cells::Sqlite(row)))? {
                break;
            }
        }
        Ok(())
    }
}

/// Empty texts among so many first parameters are written into the statement: rusqlite gives SQLite an empty text at an address where nothing
/// is, and comparing with it, which reads nothing there, is many times slower on some processors. The tenant, with which many indexes begin,
/// is mostly empty.
const WRITTEN: usize = 8;

fn is_empty(param: &Param<'_>) -> bool {
    matches!(param, Param::Text(Some("")))
}

/// Which of them are empty texts, a bit for each.
fn empty_texts(params: &[Param<'_>]) -> u8 {
    params.iter().take(WRITTEN).rev().fold(0, |bits, param| bits << 1 | u8::from(is_empty(param)))
}

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match *self {
            Self::Int(value) => value.map(ValueRef::Integer),
            Self::Real(value) => value.map(ValueRef::Real),
            Self::Text(value) => value.map(|text| ValueRef::Text(text.as_bytes())),
            Self::Blob(value) => value.map(ValueRef::Blob),
        };
        Ok(ToSqlOutput::Borrowed(value.unwrap_or(ValueRef::Null)))
    }
}
