//! Owns the open steps under unique names.

use serde_json::{Value, json};

use crate::http::adapters::event::PublishedEvent;

/// Steps that were begun and not ended, in order: id and name.
#[derive(Debug, Default)]
pub(super) struct Steps(Vec<(String, String)>);

impl Steps {
    /// Begins a step: under its title, its node's id, or that with a number, whichever is free.
    pub(super) fn begin(&mut self, published: &PublishedEvent) -> Value {
        let (title, node) = (published.text("node_title"), published.text("node_id"));
        let numbered = (2..).map(|number| format!("{node} ({number})"));
        let names = [title, node].into_iter().filter(|name| !name.is_empty()).map(str::to_owned).chain(numbered);
        let name = names.into_iter().find(|name| self.0.iter().all(|(_, open)| open != name)).unwrap_or_default();
        self.0.push((published.text("step_id").to_owned(), name.clone()));
        json!({"type": "STEP_STARTED", "stepName": name})
    }

    /// Ends a step, if this stream began it.
    pub(super) fn end(&mut self, published: &PublishedEvent) -> Option<Value> {
        let at = self.0.iter().rposition(|(step, _)| step == published.text("step_id"))?;
        let (_, name) = self.0.remove(at);
        Some(json!({"type": "STEP_FINISHED", "stepName": name}))
    }

    /// Ends all steps, the innermost first.
    pub(super) fn end_all(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.0).into_iter().rev().map(|(_, name)| json!({"type": "STEP_FINISHED", "stepName": name})).collect()
    }

    /// The stream that began them is over.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
