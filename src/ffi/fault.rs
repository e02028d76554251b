//! Owns the errors of native calls: a code, and a problem document that says what to do.

use serde_json::{Value, json};

use crate::config::Config;
use crate::error::{Error, Kind};
use crate::http;

/// The codes of faults. Append-only: hosts have the numbers compiled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Code {
    Invalid = -1,
    NotFound = -2,
    Conflict = -3,
    Cancelled = -4,
    Closed = -5,
    BadHandle = -6,
    Forked = -7,
    Panic = -8,
    Internal = -9,
    Reentrant = -11,
    Busy = -13,
}

impl Code {
    /// The code of the problem document and its title.
    const fn row(self) -> (&'static str, &'static str) {
        match self {
            Self::Invalid => ("invalid_call", "Invalid call"),
            Self::NotFound => ("not_found", "Not found"),
            Self::Conflict => ("conflict", "Opened with another configuration"),
            Self::Cancelled => ("cancelled", "Cancelled"),
            Self::Closed => ("closed", "Closed"),
            Self::BadHandle => ("bad_handle", "Not a handle of this library"),
            Self::Forked => ("forked", "Opened before a fork"),
            Self::Panic => ("panic", "A fault of this library"),
            Self::Internal => ("internal", "A fault of this library"),
            Self::Reentrant => ("reentrant", "Blocking call inside a callback"),
            Self::Busy => ("busy", "In use"),
        }
    }
}

/// Why a native call has no result.
#[derive(Debug)]
pub(crate) struct Fault {
    /// What the call returns.
    pub(crate) code: i32,
    /// The problem document.
    pub(crate) problem: Value,
    /// What it is of, when the document is still in English.
    kind: Option<Kind>,
}

impl Fault {
    /// A fault of the call itself.
    pub(crate) fn new(code: Code, message: &str) -> Self {
        let (name, title) = code.row();
        let problem = json!({
            "type": format!("urn:studio:problem:{name}"), "title": title, "detail": message, "code": name, "message": message,
        });
        Self { code: code as i32, problem, kind: None }
    }

    /// An argument that cannot be taken as it is.
    pub(crate) fn invalid(message: &str) -> Self {
        Self::new(Code::Invalid, message)
    }

    /// The engine or stream was closed.
    pub(crate) fn closed() -> Self {
        Self::new(Code::Closed, "it was closed; open another one")
    }

    /// The object belongs to the process that forked this one.
    pub(crate) fn forked() -> Self {
        Self::new(
            Code::Forked,
            "this studio was used before fork(); open one in the child (gunicorn `post_fork`, puma `on_worker_boot`, php-fpm: on the first request)",
        )
    }

    /// The problem document of a route.
    pub(crate) fn from_problem(status: u16, problem: &[u8]) -> Self {
        let problem: Value = serde_json::from_slice(problem).unwrap_or_default();
        let code = match status {
            401 | 403 => Kind::Forbidden,
            404 => Kind::NotFound,
            409 => Kind::InvalidState,
            429 => Kind::TooManyRuns,
            501 => Kind::AsyncDisabled,
            503 if problem.get("code").and_then(Value::as_str) == Some(Kind::ShuttingDown.code()) => Kind::ShuttingDown,
            503 => Kind::StoreUnavailable,
            400..=499 => Kind::ValidationFailed,
            _ => Kind::Internal,
        };
        Self { code: code.c_code(), problem, kind: None }
    }

    /// The same in the configured language; errors about misuse of the functions are in English.
    pub(crate) fn in_language_of(mut self, config: &Config) -> Self {
        if let Some(kind) = self.kind.take() {
            http::in_language_of(config, kind, &mut self.problem);
        }
        self
    }

    /// The problem document as text.
    pub(crate) fn text(&self) -> String {
        self.problem.to_string()
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let kind = error.kind;
        Self { code: kind.c_code(), problem: http::document(error), kind: Some(kind) }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::config::ConfigSources;

    #[test]
    fn a_public_error_keeps_its_members_and_its_c_code() {
        let fault = Fault::from(Error::field("message", "message is required"));
        assert_eq!(fault.code, -1);
        expect![[r#"{"type":"urn:studio:problem:validation_failed","title":"Invalid request","status":422,"detail":"message is required","code":"validation_failed","message":"message is required","errors":{"message":["message is required"]}}"#]]
            .assert_eq(&fault.text());
    }

    #[test]
    fn the_answer_of_a_route_has_the_code_of_its_status() {
        let codes = |statuses: &[u16], problem: &[u8]| statuses.iter().map(|status| Fault::from_problem(*status, problem).code).collect::<Vec<_>>();
        let wanted = [Kind::ValidationFailed, Kind::Forbidden, Kind::Forbidden, Kind::NotFound, Kind::InvalidState, Kind::ValidationFailed];
        assert_eq!(codes(&[400, 401, 403, 404, 409, 422], b"{}"), wanted.map(Kind::c_code));
        let wanted = [Kind::TooManyRuns, Kind::AsyncDisabled, Kind::StoreUnavailable, Kind::Internal];
        assert_eq!(codes(&[429, 501, 503, 500], b"{}"), wanted.map(Kind::c_code));
        assert_eq!(codes(&[503, 500], br#"{"code":"shutting_down"}"#), [Kind::ShuttingDown, Kind::Internal].map(Kind::c_code));
    }

    #[test]
    fn a_fault_is_told_in_the_language_of_the_configuration() {
        let sources = ConfigSources { json: Some(json!({"locale": "pt_BR"})), ..ConfigSources::default() };
        let config = Config::load(sources).expect("a configuration");
        let fault = Fault::from(Error::field("message", "message is required")).in_language_of(&config);
        expect![[r#"{"type":"urn:studio:problem:validation_failed","title":"Requisição inválida","status":422,"detail":"message é obrigatório","code":"validation_failed","message":"message é obrigatório","errors":{"message":["message é obrigatório"]}}"#]]
            .assert_eq(&fault.text());
        assert_eq!(Fault::closed().in_language_of(&config).text(), Fault::closed().text());
    }
}
