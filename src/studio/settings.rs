//! Owns what the pages may know of the configuration.

use serde_json::Value;

use super::Studio;

impl Studio {
    /// Effective flags and every key with where its value comes from; never a secret.
    #[must_use]
    pub fn settings(&self) -> Value {
        self.config().settings_json()
    }
}
