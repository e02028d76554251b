//! Owns the public error: a kind for the host, a sentence for a person, members for the problem document.

use serde_json::{Map, Value};

/// What went wrong, decided by what a caller would do about it. One row each: code, HTTP status, C code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the problem codes of the contract")]
pub enum Kind {
    MalformedJson,
    Unauthenticated,
    Forbidden,
    CrossOrigin,
    FlagDisabled,
    NotFound,
    RouteDisabled,
    MethodNotAllowed,
    InvalidState,
    PauseNotPending,
    PauseAmbiguous,
    AlreadyResumed,
    CheckpointInvalid,
    RevisionConflict,
    SlugTaken,
    InUse,
    Locked,
    ThreadBusy,
    IdempotencyInProgress,
    BodyTooLarge,
    AttachmentTooLarge,
    UnsupportedMediaType,
    ValidationFailed,
    GraphInvalid,
    WrongAnswerKind,
    IdempotencyKeyReused,
    ImportInvalid,
    TooManyStreams,
    TooManyRuns,
    Internal,
    AsyncDisabled,
    UpstreamFailed,
    StoreUnavailable,
    ShuttingDown,
}

impl Kind {
    /// Code of the problem document, HTTP status and C result, from one table.
    const fn row(self) -> (&'static str, u16, i32) {
        match self {
            Self::MalformedJson => ("malformed_json", 400, -1),
            Self::Unauthenticated => ("unauthenticated", 401, -12),
            Self::Forbidden => ("forbidden", 403, -12),
            Self::CrossOrigin => ("cross_origin", 403, -12),
            Self::FlagDisabled => ("flag_disabled", 403, -12),
            Self::NotFound => ("not_found", 404, -2),
            Self::RouteDisabled => ("route_disabled", 404, -2),
            Self::MethodNotAllowed => ("method_not_allowed", 405, -1),
            Self::InvalidState => ("invalid_state", 409, -3),
            Self::PauseNotPending => ("pause_not_pending", 409, -3),
            Self::PauseAmbiguous => ("pause_ambiguous", 409, -3),
            Self::AlreadyResumed => ("already_resumed", 409, -3),
            Self::CheckpointInvalid => ("checkpoint_invalid", 409, -3),
            Self::RevisionConflict => ("revision_conflict", 409, -3),
            Self::SlugTaken => ("slug_taken", 409, -3),
            Self::InUse => ("in_use", 409, -3),
            Self::Locked => ("locked", 409, -3),
            Self::ThreadBusy => ("thread_busy", 409, -3),
            Self::IdempotencyInProgress => ("idempotency_in_progress", 409, -3),
            Self::BodyTooLarge => ("body_too_large", 413, -1),
            Self::AttachmentTooLarge => ("attachment_too_large", 413, -1),
            Self::UnsupportedMediaType => ("unsupported_media_type", 415, -1),
            Self::ValidationFailed => ("validation_failed", 422, -1),
            Self::GraphInvalid => ("graph_invalid", 422, -1),
            Self::WrongAnswerKind => ("wrong_answer_kind", 422, -1),
            Self::IdempotencyKeyReused => ("idempotency_key_reused", 422, -1),
            Self::ImportInvalid => ("import_invalid", 422, -1),
            Self::TooManyStreams => ("too_many_streams", 429, -13),
            Self::TooManyRuns => ("too_many_runs", 429, -13),
            Self::Internal => ("internal", 500, -9),
            Self::AsyncDisabled => ("async_disabled", 501, -10),
            Self::UpstreamFailed => ("upstream_failed", 502, -9),
            Self::StoreUnavailable => ("store_unavailable", 503, -13),
            Self::ShuttingDown => ("shutting_down", 503, -5),
        }
    }

    /// The stable code, such as `not_found`.
    pub const fn code(self) -> &'static str {
        self.row().0
    }

    /// Its HTTP status.
    pub const fn status(self) -> u16 {
        self.row().1
    }

    /// The result of a C function with this error.
    pub const fn c_code(self) -> i32 {
        self.row().2
    }
}

/// The error of every public call.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What to do about it.
    pub kind: Kind,
    /// What happened, what was not done and what to do next.
    pub message: String,
    /// Further members of the problem document (`errors`, `current`, `run_status`, …).
    pub members: Map<String, Value>,
    /// The cause, for logs; never shown to clients.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// A result with the public error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of a kind with a message.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), members: Map::new(), source: None }
    }

    /// Adds a member of the problem document.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// Keeps the cause for logs.
    #[must_use]
    pub fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// One wrong field: `errors` maps its dotted path to the text.
    pub fn field(path: &str, text: impl Into<String>) -> Self {
        Self::fields([(path.to_owned(), text.into())])
    }

    /// Wrong fields; the first text is the message. The iterator must not be empty.
    pub fn fields(found: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut errors = Map::new();
        let mut first = None;
        for (path, text) in found {
            first.get_or_insert_with(|| text.clone());
            if let Value::Array(texts) = errors.entry(path).or_insert_with(|| Value::Array(Vec::new())) {
                texts.push(Value::String(text));
            }
        }
        Self::new(Kind::ValidationFailed, first.unwrap_or_else(|| "the request is invalid".into()))
            .with("errors", errors)
    }

    /// An id, slug or path that is not known here.
    pub fn not_found(resource: &str, id: &str) -> Self {
        Self::new(Kind::NotFound, format!("there is no {resource} `{id}`")).with("resource", resource).with("id", id)
    }

    /// A fault of ours; the text never holds a secret.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, message)
    }
}
