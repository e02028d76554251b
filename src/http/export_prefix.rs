//! Owns the authorization of the export prefix by the host's middleware; the gate does not apply.

use super::area::Area;
use super::{HostMarks, settings};
use crate::config::Config;
use crate::error::{Error, Kind, Result};

/// Refuses a request that the host's middleware did not mark, except in a local environment.
pub(super) fn check(config: &Config, marks: &HostMarks, at_home: impl FnOnce() -> Result<()>) -> Result<()> {
    if marks.authorized {
        return Ok(());
    }
    if settings::is_local(config) {
        return at_home();
    }
    Err(Error::new(Kind::Unauthenticated, "the application did not authorize this request; outside `environment: local` it must set the mark `authorized` for each request to this path"))
}

/// Refuses what this prefix does not have, and what is switched off.
pub(super) fn must_be_there(config: &Config, area: &Area) -> Result<()> {
    let usage = area.rest == "/usage" || area.rest.starts_with("/usage/");
    let prefix = if usage { settings::usage_prefix(config) } else { settings::adapters_prefix(config) };
    if area.prefix != prefix {
        return Err(Error::not_found("path", &area.rest));
    }
    match (usage, settings::usage_export(config), settings::stream_adapters(config)) {
        (true, false, _) => Err(disabled("usage.export.enabled")),
        (false, _, false) => Err(disabled("stream_adapters.enabled")),
        (true, true, _) | (false, _, true) => Ok(()),
    }
}

/// A route that a key of the configuration switches off.
pub(super) fn disabled(flag: &str) -> Error {
    Error::new(Kind::RouteDisabled, format!("this route is off; `{flag}` turns it on")).with("flag", flag)
}
