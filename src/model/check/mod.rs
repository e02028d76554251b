//! Owns validation: what is wrong with a graph before anything runs, and what a person should know of it.

mod data;
mod issue;
mod known;
mod shape;

use serde_json::Value;

pub use issue::{Issue, IssueCode, Severity};
pub use known::{GraphLimits, Known, KnownAgent, KnownServer, KnownTool};

use super::texts::Locale;
use issue::Report;

/// Everything that can be said of a graph: errors, then warnings, each in graph order.
#[must_use]
pub fn check(graph: &Value, known: &dyn Known, limits: &GraphLimits) -> Vec<Issue> {
    let _ = known;
    let mut report = Report::new(limits.locale);
    shape::check(graph, Some(limits), &mut report);
    report.into_issues()
}

/// What keeps a graph from being understood at all, whatever is stored beside it and whatever the limits are.
#[must_use]
pub fn shape(graph: &Value) -> Vec<Issue> {
    let mut report = Report::new(Locale::En);
    shape::check(graph, None, &mut report);
    report.into_issues()
}
