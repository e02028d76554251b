//! Owns the errors of the store, each with a sentence that says what to do.

use rusqlite::{Error as SqliteError, ErrorCode, ffi};

use crate::error::{Error, Kind};
use crate::model::Id;

/// Why the store did not do something. Nothing of the refused work was kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No space, or the quota is used up.
    #[error("the disk that holds the database is full; nothing was changed; free space and try again")]
    Full,
    /// The file or its folder may not be written.
    #[error("the database is read-only; nothing was changed; give the process the right to write the file and its folder")]
    ReadOnly,
    /// Another process held the lock for longer than the busy timeout.
    #[error("the database is locked by another process; nothing was changed; try again, and end the program that keeps it locked")]
    Busy,
    /// The file is damaged or is no database of ours.
    #[error("the database is damaged or not a database ({0}); restore a backup or choose another `database.path`")]
    Corrupt(String),
    /// A later version of the studio made the file.
    #[error("the database has schema {found} and this version knows {known}; it was left untouched; use the newer version of the studio")]
    Newer {
        /// The version in the file.
        found: i64,
        /// The latest that is known here.
        known: i64,
    },
    /// Another owner took the run, or its log went on: the write of a late former owner.
    #[error("another worker has taken this run; the late write was refused")]
    Fenced,
    /// A row that must be unique or unchanged is not.
    #[error("{0}")]
    Conflict(String),
    /// A turn is running on the thread.
    #[error("a turn is running on this thread; wait for its end or stop it")]
    ThreadBusy(Id),
    /// The turn that a new one should replace was replaced by another one.
    #[error("the answer was replaced by another one meanwhile; nothing was changed; load the chat again")]
    TurnReplaced,
    /// The thread is another entity's.
    #[error("the thread belongs to another agent or workflow")]
    OtherThread,
    /// A file that a request names was removed since it was looked up.
    #[error("the file `{0}` was removed since it was uploaded; nothing was changed; upload it again and send the request with its new key")]
    FileRemoved(String),
    /// Another request with the same key was accepted at the same time.
    #[error("the first request with this Idempotency-Key is still being accepted; nothing was done; send it again")]
    KeyTaken,
    /// The file was moved, deleted or replaced while it was open.
    #[error("the database file was replaced while it was open; nothing was written; it is opened anew with the next request")]
    Replaced,
    /// The place of the file is refused.
    #[error("{0}")]
    Place(String),
    /// The operating system failed.
    #[error("the database cannot be used: {0}; nothing was changed; check the disk or the server and try again")]
    Io(String),
    /// The connection to a server broke while it committed, and it could not be asked afterwards.
    #[error("the connection to the database broke, and it is not known whether the change was stored; check before you try again")]
    Unknown,
    /// The server did not do it, for a reason that may pass.
    #[error("{0}")]
    Server(String),
    /// The server gives this process no more connections.
    #[error("the database server takes no more connections ({0}); nothing was changed; raise its limit, or run fewer processes: each takes up to ten")]
    Crowded(String),
    /// The store was closed.
    #[error("the studio is shutting down; nothing was changed")]
    Closed,
    /// Work on a database thread failed in a way of its own.
    #[error("{0}")]
    Fault(String),
}

impl StoreError {
    /// A row that does not hold what its column promises.
    pub fn damaged(what: impl std::fmt::Display) -> Self {
        Self::Corrupt(what.to_string())
    }

    /// Whether the same work may succeed later, as it is.
    pub(crate) const fn passes(&self) -> bool {
        match self {
            Self::Full
            | Self::ReadOnly
            | Self::Busy
            | Self::Io(_)
            | Self::Replaced
            | Self::Server(_)
            | Self::Crowded(_)
            | Self::Unknown => true,
            Self::Corrupt(_)
            | Self::Newer { .. }
            | Self::Fenced
            | Self::Conflict(_)
            | Self::ThreadBusy(_)
            | Self::TurnReplaced
            | Self::OtherThread
            | Self::FileRemoved(_)
            | Self::KeyTaken
            | Self::Place(_)
            | Self::Closed
            | Self::Fault(_) => false,
        }
    }

    /// Whether the whole file, not one piece of work, is in trouble: the connection is opened anew.
    pub(super) const fn spoils_connection(&self) -> bool {
        match self {
            Self::Replaced | Self::Corrupt(_) | Self::Io(_) | Self::ReadOnly => true,
            Self::Full
            | Self::Busy
            | Self::Newer { .. }
            | Self::Fenced
            | Self::Conflict(_)
            | Self::ThreadBusy(_)
            | Self::TurnReplaced
            | Self::OtherThread
            | Self::FileRemoved(_)
            | Self::KeyTaken
            | Self::Place(_)
            | Self::Server(_)
            | Self::Crowded(_)
            | Self::Unknown
            | Self::Closed
            | Self::Fault(_) => false,
        }
    }
}

impl From<SqliteError> for StoreError {
    fn from(error: SqliteError) -> Self {
        if let SqliteError::SqliteFailure(failure, text) = error {
            of_code(failure, text)
        } else {
            Self::Fault(format!("a statement could not be run: {error}"))
        }
    }
}

fn of_code(failure: ffi::Error, text: Option<String>) -> StoreError {
    let text = text.unwrap_or_else(|| failure.to_string());
    match failure.code {
        ErrorCode::DiskFull => StoreError::Full,
        ErrorCode::ReadOnly if failure.extended_code == ffi::SQLITE_READONLY_DBMOVED => StoreError::Replaced,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreError::ReadOnly,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt(text),
        ErrorCode::ConstraintViolation => StoreError::Conflict(text),
        ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::FileLockingProtocolFailed => {
            StoreError::Io(format!("{text} [{}]", failure.extended_code))
        }
        ErrorCode::InternalMalfunction
        | ErrorCode::OperationAborted
        | ErrorCode::OutOfMemory
        | ErrorCode::OperationInterrupted
        | ErrorCode::NotFound
        | ErrorCode::SchemaChanged
        | ErrorCode::TooBig
        | ErrorCode::TypeMismatch
        | ErrorCode::ApiMisuse
        | ErrorCode::NoLargeFileSupport
        | ErrorCode::AuthorizationForStatementDenied
        | ErrorCode::ParameterOutOfRange
        | ErrorCode::Unknown
        | _ => StoreError::Fault(format!("a statement failed: {text} [{}]", failure.extended_code)),
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::OtherThread => return Self::field("thread_id", error.to_string()),
            StoreError::FileRemoved(_) => return Self::field("attachments", error.to_string()),
            StoreError::ThreadBusy(run) => return Self::new(Kind::ThreadBusy, error.to_string()).with("trace_id", run.to_string()),
            StoreError::Full
            | StoreError::ReadOnly
            | StoreError::Busy
            | StoreError::Corrupt(_)
            | StoreError::Newer { .. }
            | StoreError::Replaced
            | StoreError::Place(_)
            | StoreError::Server(_)
            | StoreError::Crowded(_)
            | StoreError::Unknown
            | StoreError::Io(_) => Kind::StoreUnavailable,
            StoreError::Fenced | StoreError::Conflict(_) | StoreError::TurnReplaced => Kind::InvalidState,
            StoreError::KeyTaken => Kind::IdempotencyInProgress,
            StoreError::Closed => Kind::ShuttingDown,
            StoreError::Fault(_) => Kind::Internal,
        };
        Self::new(kind, error.to_string()).caused_by(error)
    }
}
