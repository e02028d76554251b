//! Owns the addresses and credentials of collectors.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Where OpenTelemetry receives traces below an endpoint.
const TRACES: &str = "/v1/traces";
/// Where it receives metrics.
const METRICS: &str = "/v1/metrics";
/// Langfuse's own cloud.
const LANGFUSE: &str = "https://cloud.langfuse.com";
/// Inspector's own cloud.
const INSPECTOR: &str = "https://ingest.inspector.dev";

/// The address for traces of an OpenTelemetry endpoint, which may name it itself.
pub(super) fn traces(endpoint: &str) -> String {
    let endpoint = endpoint.trim().trim_end_matches('/');
    if endpoint.ends_with(TRACES) { endpoint.to_owned() } else { format!("{endpoint}{TRACES}") }
}

/// The address for metrics of an OpenTelemetry endpoint, which may name the one for traces.
pub(super) fn metrics(endpoint: &str) -> String {
    let traces = traces(endpoint);
    format!("{}{METRICS}", traces.strip_suffix(TRACES).unwrap_or(&traces))
}

/// The address for traces of a Langfuse host.
pub(super) fn langfuse(host: Option<&str>) -> String {
    format!("{}/api/public/otel{TRACES}", with_scheme(host.unwrap_or(LANGFUSE)))
}

pub(super) fn inspector(url: Option<&str>) -> String {
    with_scheme(url.unwrap_or(INSPECTOR))
}

fn with_scheme(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    if host.contains("://") { host.to_owned() } else { format!("https://{host}") }
}

/// A user name and a password as a header says them.
pub(super) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_below_what_is_configured() {
        assert_eq!(traces("http://127.0.0.1:4318/"), "http://127.0.0.1:4318/v1/traces");
        assert_eq!(traces("https://o.example/otlp/v1/traces"), "https://o.example/otlp/v1/traces");
        assert_eq!(metrics("http://127.0.0.1:4318/"), "http://127.0.0.1:4318/v1/metrics");
        assert_eq!(metrics("https://o.example/otlp/v1/traces"), "https://o.example/otlp/v1/metrics");
        assert_eq!(langfuse(None), "https://cloud.langfuse.com/api/public/otel/v1/traces");
        assert_eq!(langfuse(Some("langfuse.example/")), "https://langfuse.example/api/public/otel/v1/traces");
        assert_eq!(inspector(Some("http://127.0.0.1:1")), "http://127.0.0.1:1");
        assert_eq!(basic("pk", "sk"), "Basic cGs6c2s=");
    }
}
