//! Owns the entrance to the export prefix: the host's middleware speaks for a request there, the gate does not.

use axum::response::Response;

use super::area::Area;
use super::{HostMarks, settings};
use crate::config::Config;
use crate::error::{Error, Kind, Result};

/// Refuses a request that the host's middleware did not mark, except in a local environment.
pub(super) fn check(config: &Config, marks: &HostMarks) -> Result<()> {
    if marks.authorized || settings::is_local(config) {
        return Ok(());
    }
    Err(Error::new(Kind::Unauthenticated, "the host did not authorize this request"))
}

/// Finds what is asked for; routes that are switched off say by which key.
pub(super) fn route(config: &Config, area: &Area) -> Result<Response> {
    let usage = area.rest == "/usage" || area.rest.starts_with("/usage/");
    let (there, flag) = if usage && area.prefix == settings::usage_prefix(config) {
        (settings::usage_export(config), "usage.export.enabled")
    } else {
        (settings::stream_adapters(config), "stream_adapters.enabled")
    };
    if there { Err(Error::not_found("path", &area.rest)) } else { Err(disabled(flag)) }
}

/// A route that a key of the configuration switches off.
pub(super) fn disabled(flag: &str) -> Error {
    Error::new(Kind::RouteDisabled, format!("this route is off; `{flag}` turns it on")).with("flag", flag)
}
