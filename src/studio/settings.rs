//! Owns what the pages may know of the configuration.

use serde_json::Value;

use super::Studio;

impl Studio {
    /// Effective flags and every key with where its value comes from; never a secret.
    #[must_use]
    pub fn settings(&self) -> Value {
        let mut settings = self.config().settings_json();
        settings["observability"] = self.observability();
        settings
    }

    /// What became of the pieces of runs that other systems are told: `[{target, sent, dropped, waiting, failures, last_error}]`.
    #[must_use]
    pub fn observability(&self) -> Value {
        self.world().observer.counts()
    }
}
