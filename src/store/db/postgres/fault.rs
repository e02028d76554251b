//! Owns the meaning of a PostgreSQL error: for the caller, the transaction and the connection.

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::store::error::StoreError;

/// What becomes of the transaction in which something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// Others were in the way: it is taken back and may be done again.
    Again,
    /// The connection is of no use any more.
    Lost,
}

/// What a failure means.
pub(super) fn of(error: &Error) -> (Option<FailureKind>, StoreError) {
    let Some(db) = error.as_db_error() else {
        let lost = error.is_closed() || std::error::Error::source(error).is_some_and(|cause| cause.is::<std::io::Error>());
        let told = if lost { StoreError::Io(whole(error)) } else { StoreError::Fault(whole(error)) };
        return (lost.then_some(FailureKind::Lost), told);
    };
    let text = db.message();
    let code = db.code();
    let class = code.code().get(..2).unwrap_or_default();
    match *code {
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => (Some(FailureKind::Again), StoreError::Busy),
        // The failure before it has the reason.
        SqlState::IN_FAILED_SQL_TRANSACTION => (None, StoreError::Fault(text.to_owned())),
        SqlState::LOCK_NOT_AVAILABLE => (None, locked()),
        // By somebody who administers the server: the session knows when it was the time that a statement may take.
        SqlState::QUERY_CANCELED => (Some(FailureKind::Again), cancelled()),
        SqlState::TOO_MANY_CONNECTIONS => (Some(FailureKind::Lost), StoreError::Crowded(text.to_owned())),
        // What this connection is known by or has prepared is not there: another client's connection is behind it now.
        SqlState::DIVISION_BY_ZERO
        | SqlState::INVALID_SQL_STATEMENT_NAME
        | SqlState::DUPLICATE_PSTATEMENT
        | SqlState::PROTOCOL_VIOLATION => (Some(FailureKind::Lost), pooled()),
        SqlState::DISK_FULL => (None, StoreError::Full),
        SqlState::READ_ONLY_SQL_TRANSACTION => (Some(FailureKind::Lost), read_only()),
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => (None, StoreError::Corrupt(text.to_owned())),
        // A plan that a migration of another process made wrong.
        SqlState::FEATURE_NOT_SUPPORTED => (Some(FailureKind::Lost), StoreError::Io(text.to_owned())),
        _ => match class {
            "23" => (None, StoreError::Conflict(text.to_owned())),
            "08" | "57" | "25" => (Some(FailureKind::Lost), StoreError::Io(text.to_owned())),
            "28" | "3D" | "3F" | "42" if is_setup(code) => (
                Some(FailureKind::Lost),
                StoreError::Place(format!("the database server refused: {text}; check `database.url` and the rights of its user")),
            ),
            _ => (None, StoreError::Fault(format!("a statement failed: {text} [{}]", code.code()))),
        },
    }
}

/// Transactions of a connection went to different processes of the server.
pub(super) fn pooled() -> StoreError {
    let text = "a pooler in transaction mode stands between the studio and the database server, where one connection does not stay one: nothing was \
                changed; use the pooler's session mode, or name the server itself in `database.url`";
    StoreError::Server(text.to_owned())
}

/// A statement took longer than it may.
pub(super) fn slow() -> StoreError {
    let text = "a statement took longer than 60 seconds at the database server; nothing was changed; try again when the server has less to do";
    StoreError::Server(text.to_owned())
}

fn cancelled() -> StoreError {
    StoreError::Server("a statement was cancelled at the database server; nothing was changed; try again".to_owned())
}

fn locked() -> StoreError {
    let text = "a lock was not given at the database server within 20 seconds; nothing was changed; try again, and end what holds it (`pg_locks` \
                shows it)";
    StoreError::Server(text.to_owned())
}

fn read_only() -> StoreError {
    let text = "the database server is read-only (a standby, or `default_transaction_read_only`); nothing was changed; name the primary in \
                `database.url`, or allow writes";
    StoreError::Server(text.to_owned())
}

/// Something that only the administrator of the server can change.
fn is_setup(code: &SqlState) -> bool {
    [
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        SqlState::INVALID_CATALOG_NAME,
        SqlState::INVALID_SCHEMA_NAME,
        SqlState::INSUFFICIENT_PRIVILEGE,
    ]
    .contains(code)
}

/// An error with its causes.
fn whole(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = next.source();
    }
    text
}
