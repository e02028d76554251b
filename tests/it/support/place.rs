//! Owns where the databases of tests are: files, or schemas of the server that `STUDIO_TEST_DATABASE_URL` names.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

static MADE: AtomicU64 = AtomicU64::new(0);

/// The `database` of a configuration: `:memory:` is a fresh one, any other path is the same one for all who name it.
pub fn database(path: &str) -> Value {
    match on_server(path) {
        Some(url) => json!({"url": url}),
        None => json!({"path": path}),
    }
}

/// The URL of a schema of its own for a path; none when tests run on SQLite.
pub fn on_server(path: &str) -> Option<String> {
    let url = std::env::var("STUDIO_TEST_DATABASE_URL").ok()?;
    let mut name = DefaultHasher::new();
    path.hash(&mut name);
    if path == ":memory:" {
        (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed), std::time::SystemTime::now()).hash(&mut name);
    }
    let sign = if url.contains('?') { '&' } else { '?' };
    Some(format!("{url}{sign}options=-c%20search_path%3Dtest_{:016x}", name.finish()))
}
