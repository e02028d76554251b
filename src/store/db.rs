//! Owns the verbs with which everything in the store speaks SQL: one text for every database.
//!
//! `#name` is a table with the configured prefix, `$1` a parameter. No SQL outside `store`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};

use super::error::StoreError;

/// A value given to a statement.
#[derive(Clone, Copy, Debug)]
pub enum Param<'a> {
    /// Nothing.
    Null,
    /// An integer, a truth value, or milliseconds.
    Int(i64),
    /// A number.
    Real(f64),
    /// Text, an id in text form, or JSON.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(value),
            Self::Real(value) => ValueRef::Real(value),
            Self::Text(value) => ValueRef::Text(value.as_bytes()),
            Self::Blob(value) => ValueRef::Blob(value),
        }))
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Param<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a Arc<str>> for Param<'a> {
    fn from(value: &'a Arc<str>) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Param<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Blob(value)
    }
}

impl From<i64> for Param<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for Param<'_> {
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Param<'_> {
    fn from(value: u32) -> Self {
        Self::Int(i64::from(value))
    }
}

impl From<bool> for Param<'_> {
    fn from(value: bool) -> Self {
        Self::Int(i64::from(value))
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Param::Null, Into::into)
    }
}

/// A row of an answer.
pub struct Row<'a>(&'a rusqlite::Row<'a>);

impl Row<'_> {
    /// Text that is there.
    pub fn text(&self, column: usize) -> Result<&str, StoreError> {
        self.opt_text(column)?.ok_or_else(|| wrong(column, "text"))
    }

    /// Text, or nothing.
    pub fn opt_text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        self.0.get_ref(column)?.as_str_or_null().map_err(|_| wrong(column, "text"))
    }

    /// An integer that is there.
    pub fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.opt_int(column)?.ok_or_else(|| wrong(column, "an integer"))
    }

    /// An integer, or nothing.
    pub fn opt_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        self.0.get_ref(column)?.as_i64_or_null().map_err(|_| wrong(column, "an integer"))
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
        self.0.get_ref(column)?.as_blob_or_null().map_err(|_| wrong(column, "bytes"))
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

/// A connection with its statements, kept by one database thread.
pub(super) struct Session {
    pub(super) connection: rusqlite::Connection,
    prefix: Arc<str>,
    texts: RefCell<HashMap<(usize, usize), Arc<str>>>,
}

impl Session {
    pub(super) fn new(connection: rusqlite::Connection, prefix: Arc<str>) -> Self {
        connection.set_prepared_statement_cache_capacity(192);
        Self { connection, prefix, texts: RefCell::new(HashMap::new()) }
    }

    /// Every statement that was run.
    #[cfg(test)]
    pub(super) fn texts(&self) -> Vec<Arc<str>> {
        self.texts.borrow().values().map(Arc::clone).collect()
    }

    /// The text as this database wants it, made once for each statement of the program.
    fn text(&self, sql: &'static str) -> Arc<str> {
        let key = (sql.as_ptr() as usize, sql.len());
        let mut texts = self.texts.borrow_mut();
        Arc::clone(texts.entry(key).or_insert_with(|| translated(sql, &self.prefix)))
    }
}

/// `#name` gets the prefix, `$1` becomes SQLite's `?1`.
pub(super) fn translated(sql: &str, prefix: &str) -> Arc<str> {
    let mut text = String::with_capacity(sql.len() + 64);
    let mut rest = sql.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '#' => text.push_str(prefix),
            '$' if rest.peek().is_some_and(char::is_ascii_digit) => text.push('?'),
            other => text.push(other),
        }
    }
    text.into()
}

/// A transaction: what work on the database is given.
pub struct Tx<'a>(pub(super) &'a Session);

impl Tx<'_> {
    /// Runs a statement; says how many rows it changed.
    pub fn execute(&mut self, sql: &'static str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        let text = self.0.text(sql);
        let mut statement = self.0.connection.prepare_cached(&text)?;
        let changed = statement.execute(rusqlite::params_from_iter(params))?;
        Ok(changed as u64)
    }

    /// Hands each row of an answer to `take`.
    pub fn query_each(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        take: &mut dyn FnMut(&Row<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let text = self.0.text(sql);
        let mut statement = self.0.connection.prepare_cached(&text)?;
        let mut rows = statement.query(rusqlite::params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            take(&Row(row))?;
        }
        Ok(())
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
        let text = self.0.text(sql);
        let mut statement = self.0.connection.prepare_cached(&text)?;
        let mut rows = statement.query(rusqlite::params_from_iter(params))?;
        rows.next()?.map(|row| make(&Row(row))).transpose()
    }
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
