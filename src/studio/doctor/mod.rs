//! Owns the doctor: all checks of a studio as data, without changes.

mod models;
mod outside;
mod tables;

use serde_json::{Value, json};

use super::Studio;
use crate::config::Config;

named! {
    /// How a matter stands.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Level {
        /// As it should be.
        Fine = "ok",
        /// It works, but needs attention.
        Warn = "warn",
        /// It does not work.
        Fail = "fail",
    }
}

/// One matter that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What it is about: `configuration`, `database`, `migrations`, `clock`, `files`, `credentials`, `prices`, `models`, `templates`, `runs`,
    /// `queue`, `observability`, `documents`, `events`, `logs`, `providers`.
    pub name: &'static str,
    /// How it stands.
    pub level: Level,
    /// A sentence for a person: what is so, and what to do.
    pub text: String,
}

/// What the doctor found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis(pub Vec<Check>);

/// What else than the usual is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Examination {
    /// Providers are asked whether they answer.
    pub online: bool,
    /// The hash chains of all logs are walked.
    pub verify: bool,
}

impl Diagnosis {
    fn add(&mut self, name: &'static str, level: Level, text: impl Into<String>) {
        self.0.push(Check { name, level, text: text.into() });
    }

    fn fine(&mut self, name: &'static str, text: impl Into<String>) {
        self.add(name, Level::Fine, text);
    }

    fn warn(&mut self, name: &'static str, text: impl Into<String>) {
        self.add(name, Level::Warn, text);
    }

    fn fail(&mut self, name: &'static str, text: impl Into<String>) {
        self.add(name, Level::Fail, text);
    }

    /// The worst that was found.
    pub fn level(&self) -> Level {
        self.0.iter().map(|check| check.level).max().unwrap_or(Level::Fine)
    }

    /// `{status, checks: [{name, level, message}]}`.
    pub fn json(&self) -> Value {
        let checks: Vec<Value> =
            self.0.iter().map(|check| json!({"name": check.name, "level": check.level.as_str(), "message": check.text})).collect();
        json!({"status": self.level().as_str(), "checks": checks})
    }
}

impl Studio {
    /// Checks everything that a running studio needs. A check that cannot run is reported; the others still run.
    pub async fn doctor(&self, examination: Examination) -> Diagnosis {
        let mut found = Diagnosis::default();
        configuration(self.config(), &mut found);
        outside::files(self, &mut found);
        outside::prices(self, &mut found);
        if let Some(now) = tables::database(self, &mut found).await {
            tables::work(self, now, &mut found).await;
            outside::secrets_of_definitions(self, &mut found).await;
            models::models(self, &mut found).await;
            if examination.verify {
                tables::logs(self, &mut found).await;
            }
        }
        outside::credentials(self, &mut found).await;
        outside::observability(self, &mut found).await;
        if examination.online {
            outside::providers(self, &mut found).await;
        }
        found
    }
}

/// The keys are checked when a studio is opened; what that cannot see are names that nothing reads.
fn configuration(config: &Config, found: &mut Diagnosis) {
    let unknown = config.unknown_variables();
    if unknown.is_empty() {
        return found.fine("configuration", format!("environment `{}`", config.keys.environment));
    }
    let told: Vec<String> = unknown
        .into_iter()
        .map(|name| Config::meant(&name).map_or_else(|| name.clone(), |meant| format!("{name} (is {meant} meant?)")))
        .collect();
    found.warn("configuration", format!("the studio does not know {}; docs/configuration.md lists the names", told.join(", ")));
}
