//! Owns the gate: the host's decision, else its callback, else a local host name in a local environment, else the user.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{HostMarks, settings};
use crate::error::{Error, Kind, Result};
use crate::host::HostOp;
use crate::studio::Studio;

/// Silence of the host after this long means no.
const LIMIT: Duration = Duration::from_secs(5);

/// Refuses a request without authorization.
pub(super) async fn check(
    studio: &Studio,
    marks: &HostMarks,
    at_home: impl FnOnce() -> Result<()>,
    method: &Method,
    path: &str,
) -> Result<()> {
    let config = studio.config();
    let host = &studio.world().host;
    let open = match marks.gate {
        Some(decision) => Some(decision),
        None if host.answers(HostOp::Gate) => {
            let question = json!({
                "gate": config.gate, "user": marks.user, "tenant": marks.tenant, "method": method.as_str(), "path": path,
            });
            let answer = host.call(HostOp::Gate, question, LIMIT).await;
            Some(answer.is_ok_and(|answer| answer.get("allow").and_then(Value::as_bool) == Some(true)))
        }
        // Also where a user is named: a host that names the same one for every request has decided nothing.
        None if settings::is_local(config) => return at_home(),
        None if !marks.undecided && marks.user.as_ref().is_some_and(is_somebody) => Some(true),
        None => None,
    };
    let told = match open {
        Some(true) => return Ok(()),
        Some(false) => format!("the gate `{}` did not let this request in", config.gate),
        None => format!("the gate `{}` was not decided for this request; outside `environment: local` the application must allow each request with the mark `gate` or `user`", config.gate),
    };
    Err(Error::new(Kind::Forbidden, told).with("gate", config.gate.as_str()))
}

/// A user has an `id`; `false`, an empty text or an object without `id` is no user.
fn is_somebody(user: &Value) -> bool {
    user.get("id").is_some_and(|id| !id.is_null() && id.as_str() != Some(""))
}
