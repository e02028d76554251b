//! Owns the checks of values that the kind of a key alone cannot make.

use serde_json::Value;

use super::time_zone;

const SEGMENTS: &str = "path segments of letters, digits, `-`, `_`, `.`, without a slash at either end";

/// What the studio's paths begin with, `api` aside.
pub(crate) const ROUTES: [&str; 11] = [
    "agents", "assets", "knowledge", "knowledge-bases", "mcp", "settings", "templates", "tools", "traces", "usage", "workflows",
];

/// What a kind alone cannot say of a value. A value that was refused before has its default in the tree: others are not held against that.
pub(super) fn check(tree: &Value, problems: &mut Vec<(String, String)>) {
    let text = |pointer: &str| tree.pointer(pointer).and_then(Value::as_str);
    let holds = |problems: &[(String, String)], path: &str| problems.iter().all(|(refused, _)| refused != path);
    let overlap_holds = ["rag.chunk_overlap_words", "rag.chunk_max_words"].iter().all(|path| holds(problems, path));
    let prefix_holds = holds(problems, "route_prefix");
    let mut refuse = |path: &str, why: &str| problems.push((path.to_owned(), why.to_owned()));
    if text("/table_prefix").is_some_and(|prefix| !is_table_prefix(prefix)) {
        refuse("table_prefix", "must match ^[a-z_][a-z0-9_]{0,30}$");
    }
    if text("/timezone").is_some_and(|name| time_zone(name).is_none()) {
        refuse("timezone", "must be the name of a time zone, such as `Europe/Lisbon`");
    }
    if text("/usage/currency").is_some_and(|code| code.len() != 3 || !code.bytes().all(|letter| letter.is_ascii_uppercase())) {
        refuse("usage.currency", "must be a currency code of three letters, such as `USD`");
    }
    if text("/database/durability") == Some("none") && tree.pointer("/usage/events/enabled") == Some(&Value::Bool(true)) {
        refuse("usage.events.enabled", "cannot be on while `database.durability` is `none`: what is not stored is never told to who bills; switch one of them");
    }
    if text("/base_url").is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
        refuse("base_url", "must begin with http:// or https://");
    }
    if text("/database/url").is_some_and(|url| !["sqlite:", "postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme))) {
        refuse("database.url", "must begin with sqlite: or postgres://");
    }
    if text("/observability/otlp/endpoint").is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
        refuse("observability.otlp.endpoint", "must begin with http:// or https://");
    }
    let studio = text("/route_prefix").unwrap_or_default();
    if !studio.is_empty() && !is_route_prefix(studio) {
        refuse("route_prefix", &format!("must be {SEGMENTS}; or `/` for the root"));
    }
    for path in ["stream_adapters.route_prefix", "usage.export.route_prefix"] {
        let Some(prefix) = text(&format!("/{}", path.replace('.', "/"))) else { continue };
        if !is_route_prefix(prefix) {
            refuse(path, &format!("must be {SEGMENTS}"));
        } else if prefix_holds && hides_routes(studio, prefix) {
            refuse(path, "would hide routes of the studio, which are below `route_prefix`; choose another prefix");
        }
    }
    let words = |name: &str| tree.pointer(&format!("/rag/{name}")).and_then(Value::as_u64);
    if overlap_holds && words("chunk_overlap_words") >= words("chunk_max_words") {
        refuse("rag.chunk_overlap_words", "must be less than rag.chunk_max_words");
    }
    for name in tree.pointer("/secrets").and_then(Value::as_object).into_iter().flat_map(|secrets| secrets.keys()) {
        if !is_secret_name(name) {
            refuse("secrets", "must have names that match ^[A-Z][A-Z0-9_]{0,63}$");
        }
    }
    for (id, provider) in tree.pointer("/providers").and_then(Value::as_object).into_iter().flatten() {
        for key in ["credential", "access_key_id", "secret_access_key", "session_token"] {
            let named = provider.get(key).and_then(Value::as_str);
            if named.is_some_and(|text| !text.strip_prefix("secret:").is_some_and(is_secret_name)) {
                refuse(&format!("providers.{id}.{key}"), "must be secret:NAME; the value itself belongs into `secrets`");
            }
        }
    }
    for (slug, server) in tree.pointer("/mcp/servers").and_then(Value::as_object).into_iter().flatten() {
        if !server.is_object() {
            refuse(&format!("mcp.servers.{slug}"), "must be an object");
        }
    }
}

fn is_table_prefix(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    text.len() <= 31
        && text.starts_with(plain)
        && text.chars().all(|letter| plain(letter) || letter.is_ascii_digit())
}

fn is_route_prefix(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    text.split('/').all(|part| !part.is_empty() && part != "." && part != ".." && part.chars().all(plain))
}

/// Would requests for the studio's own routes be taken for requests below this prefix?
fn hides_routes(studio: &str, prefix: &str) -> bool {
    let parts = |text: &'_ str| -> Vec<String> { text.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect() };
    let (studio, prefix) = (parts(studio), parts(prefix));
    match prefix.strip_prefix(studio.as_slice()) {
        None => false,
        Some([]) => true,
        Some([first]) if first == "api" => true,
        Some([first, ..]) => ROUTES.contains(&first.as_str()),
    }
}

fn is_secret_name(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    text.len() <= 64 && text.starts_with(|letter: char| letter.is_ascii_uppercase()) && text.chars().all(plain)
}
