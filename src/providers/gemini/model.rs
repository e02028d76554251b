//! Owns the paths of Gemini models, and their settings for reasoning.

use serde_json::{Value, json};

use crate::model::registry::{Facts, Reasoning};
use crate::providers::wire;

/// A model's path: `models/<name>`, or the path that its name is.
pub(super) fn path(model: &str) -> String {
    let named = if model.contains('/') { model.to_owned() } else { format!("models/{model}") };
    named.split('/').map(wire::segment).collect::<Vec<_>>().join("/")
}

/// The reasoning settings: how much, and whether to show it.
pub(super) fn thinking_config(facts: &Facts, effort: Option<&str>, shows: bool) -> Option<Value> {
    let thinks = facts.reasoning.is_some_and(|reasoning| reasoning != Reasoning::None);
    let mut config = effort.and_then(|effort| thinking(facts, effort)).unwrap_or_else(|| json!({}));
    if shows && thinks && config.get("thinkingBudget") != Some(&json!(0)) {
        config["includeThoughts"] = true.into();
    }
    (config != json!({})).then_some(config)
}

/// The setting for the amount of reasoning.
fn thinking(facts: &Facts, effort: &str) -> Option<Value> {
    let takes = |effort: &str| facts.efforts.as_ref().is_some_and(|efforts| efforts.iter().any(|one| one == effort));
    match (facts.reasoning, effort) {
        (Some(Reasoning::None), _) => None,
        (Some(Reasoning::Budget), "none") if takes("none") => Some(json!({"thinkingBudget": 0})),
        (Some(Reasoning::Budget), "none" | "minimal") => Some(json!({"thinkingBudget": 128})),
        (Some(Reasoning::Budget), "low") => Some(json!({"thinkingBudget": 1024})),
        (Some(Reasoning::Budget), "medium") => Some(json!({"thinkingBudget": 8192})),
        (Some(Reasoning::Budget), _) => Some(json!({"thinkingBudget": 24_576})),
        (_, "none" | "minimal") => Some(json!({"thinkingLevel": if takes("minimal") { "minimal" } else { "low" }})),
        (_, "low" | "medium") => Some(json!({"thinkingLevel": effort})),
        _ => Some(json!({"thinkingLevel": "high"})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_paths() {
        assert_eq!(path("gemini-2.5-pro"), "models/gemini-2.5-pro");
        assert_eq!(path("tunedModels/a b?"), "tunedModels/a%20b%3F");
    }
}
