//! Owns what Gemini models take, which depends on their generation, and where they are found.

use serde_json::{Value, json};

use crate::providers::wire;

/// A model's path: `models/<name>`, or the path that its name is.
pub(super) fn path(model: &str) -> String {
    let named = if model.contains('/') { model.to_owned() } else { format!("models/{model}") };
    named.split('/').map(wire::segment).collect::<Vec<_>>().join("/")
}

/// `3` of `gemini-3.5-flash`; names without a number are the latest.
fn generation(model: &str) -> u32 {
    let number = model.rsplit('/').next().and_then(|name| name.strip_prefix("gemini-"));
    number.and_then(|name| name.split(['.', '-']).next()?.parse().ok()).unwrap_or(u32::MAX)
}

/// It gives structured answers also when tools are on offer.
pub(super) fn mixes_format_and_tools(model: &str) -> bool {
    generation(model) >= 3
}

/// How it is told how much to think.
pub(super) fn thinking(model: &str, effort: &str) -> Option<Value> {
    let pro = model.contains("-pro");
    match (generation(model), effort) {
        (0..2, _) => None,
        (2, "none") if !pro => Some(json!({"thinkingBudget": 0})),
        (2, "none" | "minimal") => Some(json!({"thinkingBudget": 128})),
        (2, "low") => Some(json!({"thinkingBudget": 1024})),
        (2, "medium") => Some(json!({"thinkingBudget": 8192})),
        (2, _) => Some(json!({"thinkingBudget": 24_576})),
        (_, "none" | "minimal") => Some(json!({"thinkingLevel": if pro { "low" } else { "minimal" }})),
        (_, "low" | "medium") => Some(json!({"thinkingLevel": effort})),
        _ => Some(json!({"thinkingLevel": "high"})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_paths_and_generations() {
        assert_eq!(path("gemini-2.5-pro"), "models/gemini-2.5-pro");
        assert_eq!(path("tunedModels/a b?"), "tunedModels/a%20b%3F");
        for (model, wanted) in [("gemini-2.5-pro", 2), ("models/gemini-3-flash", 3), ("gemini-flash-latest", u32::MAX), ("x", u32::MAX)] {
            assert_eq!(generation(model), wanted, "{model}");
        }
    }
}
