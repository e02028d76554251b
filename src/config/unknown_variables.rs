//! Owns the environment variables that are named like ours and that nothing reads.

use super::Config;
use super::keys::KEYS;

impl Config {
    /// Variables that are named like ours and that nothing reads.
    pub fn unknown_variables(&self) -> Vec<String> {
        let read = |name: &str| KEYS.iter().any(|key| key.variable == name) || self.names_secret(name);
        self.environment.keys().filter(|name| name.starts_with("STUDIO_") && !read(name)).cloned().collect()
    }

    /// The variable that somebody may have meant who wrote another: one begins like the other.
    pub fn meant(unknown: &str) -> Option<&'static str> {
        let alike = |name: &&str| !name.is_empty() && (unknown.starts_with(*name) || name.starts_with(unknown));
        KEYS.iter().map(|key| key.variable).filter(alike).min_by_key(|name| name.len().abs_diff(unknown.len()))
    }

    /// A provider takes its credential from this variable.
    fn names_secret(&self, variable: &str) -> bool {
        self.providers.keys().any(|provider| self.secrets_of(provider).iter().any(|name| name == variable))
    }
}
