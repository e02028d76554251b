//! Owns the page of a class or a file that can be imported, `/workflows/preview`: it stores nothing.

use axum::response::Response;

use super::application::application;
use super::missing;
use crate::error::{Kind, Result};
use crate::http::call::Call;
use crate::http::{export_prefix, settings};

pub(super) async fn preview(call: Call) -> Result<Response> {
    if !settings::codegen(call.studio.config()) {
        return Err(export_prefix::disabled("codegen.enabled"));
    }
    let named = call.query("class").map(|class| format!("class:{class}"));
    let Some(reference) = named.or_else(|| call.query("json").map(|file| format!("json:{file}"))) else {
        return Ok(missing(&call.visit));
    };
    // An unreadable source is listed too: the page says why.
    let is_missing = call.studio.registry_class(&call.scope, &reference).await.is_err_and(|error| error.kind == Kind::NotFound);
    Ok(if is_missing { missing(&call.visit) } else { application(&call.visit) })
}
