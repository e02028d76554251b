//! Owns a connection to an SQLite file with its prepared statements, behind the verbs of the store.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::CachedStatement;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

use crate::store::db::dialect::{Dialect, translated};
use crate::store::db::{Cells, Param, Row};
use crate::store::error::StoreError;

/// A connection with its statements, kept by one database thread.
pub(in crate::store) struct Session {
    pub(in crate::store) connection: rusqlite::Connection,
    pub(super) prefix: Arc<str>,
    /// By their place and length in the program.
    texts: RefCell<HashMap<(usize, usize), Arc<str>>>,
}

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

    /// A statement of the program, prepared at its first use.
    fn statement(&self, sql: &'static str) -> Result<CachedStatement<'_>, StoreError> {
        let mut texts = self.texts.borrow_mut();
        let text = texts.entry((sql.as_ptr() as usize, sql.len())).or_insert_with(|| translated(sql, &self.prefix, Dialect::Sqlite));
        Ok(self.connection.prepare_cached(text)?)
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

    pub(in crate::store) fn execute(&self, sql: &'static str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        Ok(self.statement(sql)?.execute(rusqlite::params_from_iter(params))? as u64)
    }

    /// Stores a row; its number.
    pub(in crate::store) fn insert(&self, sql: &'static str, params: &[Param<'_>]) -> Result<i64, StoreError> {
        Ok(self.statement(sql)?.insert(rusqlite::params_from_iter(params))?)
    }

    /// Hands rows to `take` until it says that it has enough.
    pub(in crate::store) fn query(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
        take: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.statement(sql)?;
        let mut rows = statement.query(rusqlite::params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            if !take(&Row(Cells::Sqlite(row)))? {
                break;
            }
        }
        Ok(())
    }
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
