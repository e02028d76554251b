//! Owns a connection to an SQLite file with its statements: the verbs as SQLite runs them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

use super::super::db::{Cells, Param, Row};
use super::super::dialect::{Dialect, translated};
use super::super::error::StoreError;

/// A connection with its statements, kept by one database thread.
pub(in crate::store) struct Session {
    pub(in crate::store) connection: rusqlite::Connection,
    prefix: Arc<str>,
    texts: RefCell<HashMap<(usize, usize), Arc<str>>>,
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

    /// The text as SQLite wants it, made once for each statement of the program.
    fn text(&self, sql: &'static str) -> Arc<str> {
        let key = (sql.as_ptr() as usize, sql.len());
        let mut texts = self.texts.borrow_mut();
        Arc::clone(texts.entry(key).or_insert_with(|| translated(sql, &self.prefix, Dialect::Sqlite)))
    }

    pub(in crate::store) fn execute(&self, sql: &'static str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        let text = self.text(sql);
        let mut statement = self.connection.prepare_cached(&text)?;
        let changed = statement.execute(rusqlite::params_from_iter(params))?;
        Ok(changed as u64)
    }

    /// Stores a row; its number.
    pub(in crate::store) fn insert(&self, sql: &'static str, params: &[Param<'_>]) -> Result<i64, StoreError> {
        let text = self.text(sql);
        let mut statement = self.connection.prepare_cached(&text)?;
        Ok(statement.insert(rusqlite::params_from_iter(params))?)
    }

    /// Hands rows to `take` until it says that it has enough.
    pub(in crate::store) fn query(
        &self,
        sql: &'static str,
        params: &[Param<'_>],
        take: &mut dyn FnMut(&Row<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let text = self.text(sql);
        let mut statement = self.connection.prepare_cached(&text)?;
        let mut rows = statement.query(rusqlite::params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            if !take(&Row(Cells::Sqlite(row)))? {
                break;
            }
        }
        Ok(())
    }

    /// No transaction is under way: it ended, or SQLite gave it up.
    pub(super) fn ended(&self) -> bool {
        self.connection.is_autocommit()
    }

    /// Runs a statement without parameters and tables of ours.
    pub(super) fn run(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.prepare_cached(sql)?.execute([])?;
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
