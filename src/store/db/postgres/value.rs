//! Owns the conversion of values to and from PostgreSQL.

use bytes::BytesMut;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::store::db::Param;

type Failure = Box<dyn std::error::Error + Sync + Send>;

/// The type that a parameter has on the server.
pub(super) const fn type_of(param: &Param<'_>) -> Type {
    match param {
        Param::Int(_) => Type::INT8,
        Param::Real(_) => Type::FLOAT8,
        Param::Text(_) => Type::TEXT,
        Param::Blob(_) => Type::BYTEA,
    }
}

/// A parameter that outlives its statement's call.
#[derive(Debug)]
pub(super) enum Value {
    Int(Option<i64>),
    Real(Option<f64>),
    Text(Option<Box<str>>),
    Blob(Option<Box<[u8]>>),
}

impl From<&Param<'_>> for Value {
    fn from(param: &Param<'_>) -> Self {
        match *param {
            Param::Int(value) => Self::Int(value),
            Param::Real(value) => Self::Real(value),
            Param::Text(value) => Self::Text(value.map(storable)),
            Param::Blob(value) => Self::Blob(value.map(Into::into)),
        }
    }
}

/// The server's texts cannot hold NUL; JSON spells it in letters, so only names and previews lose it.
fn storable(text: &str) -> Box<str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

impl ToSql for Value {
    fn to_sql(&self, of: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        match self {
            Self::Int(value) => value.to_sql(of, out),
            Self::Real(value) => value.to_sql(of, out),
            Self::Text(value) => value.as_deref().to_sql(of, out),
            Self::Blob(value) => value.as_deref().to_sql(of, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// An integer of any width, or a truth value.
struct Whole(i64);

impl<'a> FromSql<'a> for Whole {
    fn from_sql(of: &Type, raw: &'a [u8]) -> Result<Self, Failure> {
        let value = match *of {
            Type::INT8 => i64::from_sql(of, raw)?,
            Type::INT4 => i64::from(i32::from_sql(of, raw)?),
            Type::INT2 => i64::from(i16::from_sql(of, raw)?),
            _ => i64::from(bool::from_sql(of, raw)?),
        };
        Ok(Self(value))
    }

    fn accepts(of: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::INT2, Type::BOOL].contains(of)
    }
}

/// An integer of a row, or nothing; none when the column holds anything else.
pub(in crate::store) fn int(row: &Row, column: usize) -> Option<Option<i64>> {
    row.try_get::<_, Option<Whole>>(column).ok().map(|value| value.map(|whole| whole.0))
}

pub(in crate::store) fn text(row: &Row, column: usize) -> Option<Option<&str>> {
    row.try_get(column).ok()
}

pub(in crate::store) fn blob(row: &Row, column: usize) -> Option<Option<&[u8]>> {
    row.try_get(column).ok()
}
