//! Owns the operation `about`: version, target, and what a host needs to mount the library.

use serde_json::{Value, json};

use super::ops::Op;
use super::super::VERSION;
use crate::http::mounts;
use crate::model::telling::EVENTS;
use crate::studio::Studio;

/// What this build can do.
fn features() -> Vec<&'static str> {
    let all = [
        ("mcp", cfg!(feature = "mcp")),
        ("script", cfg!(feature = "script")),
        ("documents", cfg!(feature = "documents")),
        ("postgres", cfg!(feature = "postgres")),
        ("otlp", cfg!(feature = "otlp")),
        ("program", cfg!(feature = "program")),
    ];
    all.into_iter().filter(|(_, built)| *built).map(|(name, _)| name).collect()
}

/// The C library that it was built for; empty on systems where there is one only.
const LIBC: &str = if cfg!(target_env = "gnu") {
    "gnu"
} else if cfg!(target_env = "musl") {
    "musl"
} else {
    ""
};

/// `{version, abi, features, target, libc, mounts, events, ops}`.
pub(super) fn about(studio: &Studio) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "abi": format!("{}.{}", VERSION >> 16, VERSION & 0xffff),
        "features": features(),
        "target": env!("STUDIO_TARGET"),
        "libc": LIBC,
        "mounts": mounts(studio.config()),
        "events": EVENTS,
        "ops": Op::ALL.map(Op::name),
    })
}
