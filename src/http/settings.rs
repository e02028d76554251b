//! Owns the configuration keys of the HTTP interface.

use std::time::Duration;

use crate::config::Config;

/// Does the environment open the gate by itself?
pub(super) fn is_local(config: &Config) -> bool {
    config.environment == "local"
}

/// Are texts in Portuguese rather than English?
pub(super) fn in_portuguese(config: &Config) -> bool {
    config.locale == "pt_BR"
}

/// A prefix as paths begin with it: empty, or `/` and its segments.
fn as_path(prefix: &str) -> String {
    let bare = prefix.trim_matches('/');
    if bare.is_empty() { String::new() } else { format!("/{bare}") }
}

/// What the studio's own routes begin with.
pub(super) fn studio_prefix(config: &Config) -> String {
    as_path(&config.route_prefix)
}

/// What the stream adapters' routes begin with.
pub(super) fn adapters_prefix(config: &Config) -> String {
    as_path(&config.stream_adapters.route_prefix)
}

/// What the usage export's routes begin with.
pub(super) fn usage_prefix(config: &Config) -> String {
    let own = config.usage.export.route_prefix.as_deref();
    own.map_or_else(|| adapters_prefix(config), as_path)
}

/// All prefixes, each once.
pub(super) fn prefixes(config: &Config) -> Vec<String> {
    let mut all = vec![studio_prefix(config), adapters_prefix(config), usage_prefix(config)];
    all.sort();
    all.dedup();
    all
}

/// Where the studio is reached, if the operator said so.
pub(super) fn base_url(config: &Config) -> Option<&str> {
    config.base_url.as_deref().filter(|url| !url.is_empty())
}

/// Are routes of the usage export there?
pub(super) fn usage_export(config: &Config) -> bool {
    config.usage.export.enabled
}

/// Are routes of the stream adapters there?
pub(super) fn stream_adapters(config: &Config) -> bool {
    config.stream_adapters.enabled
}

/// May classes be read and written?
pub(super) fn codegen(config: &Config) -> bool {
    config.codegen.enabled
}

/// Kilobytes of a JSON body.
pub(super) fn body_kb(config: &Config) -> u64 {
    config.limits.body_kb
}

/// Kilobytes of an uploaded file.
pub(super) fn attachment_kb(config: &Config) -> u64 {
    config.attachments.max_size_kb
}

/// Kilobytes of a document of a knowledge base.
pub(super) fn document_kb(config: &Config) -> u64 {
    config.rag.max_document_kb
}

/// How long a stream may be silent.
pub(super) fn heartbeat(config: &Config) -> Duration {
    Duration::from_secs(config.sse.heartbeat_seconds.max(1))
}

/// How long an answer may stream the events of a run; none without end.
pub(super) fn longest_stream(config: &Config) -> Option<Duration> {
    Some(config.sse.max_seconds).filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

/// Where days begin and end.
pub(super) fn time_zone(config: &Config) -> jiff::tz::TimeZone {
    config.time_zone()
}
