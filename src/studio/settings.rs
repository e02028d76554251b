//! Owns the configuration as the pages show it.

use serde_json::Value;

use super::Studio;

impl Studio {
    /// Effective flags and every key with where its value comes from; never a secret.
    pub fn settings(&self) -> Value {
        let mut settings = self.config().settings_json();
        settings["observability"] = self.observability();
        settings
    }

    /// The counters of receivers of spans: `[{target, sent, dropped, waiting, failures, last_error}]`.
    pub fn observability(&self) -> Value {
        self.world().observer.counts()
    }
}
