//! Owns the model `demo`, which plays the bundled templates: its rules are a script in JSON.

use std::sync::LazyLock;

use super::script::Script;

static DEMO: LazyLock<Option<Script>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("demo.json")).ok().and_then(|rules| Script::parse(&rules).ok())
});

/// The script of model `demo`; the rules are checked by a test.
pub fn script() -> Option<&'static Script> {
    DEMO.as_ref()
}
