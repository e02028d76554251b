//! Owns the token limits and reasoning settings of Anthropic's models.

use crate::model::registry::{Facts, Reasoning};

/// The kind of reasoning setting of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    /// Not at all.
    Never,
    /// By a number of tokens.
    Budget,
    Effort,
}

/// What is left for an answer beside a budget for thinking, when nothing is said.
const ANSWER: u64 = 8192;

/// What an answer may measure when nothing is said; the interface wants a number.
pub(super) fn max_tokens(facts: &Facts) -> u64 {
    let usual = facts.usual_output.unwrap_or(ANSWER);
    facts.max_output.map_or(usual, |most| most.min(usual))
}

/// The limit of an answer, and the part of it that the model may think, when it wants to think so much.
pub(super) fn with_budget(facts: &Facts, wanted: Option<u64>, budget: u64) -> (u64, u64) {
    let answer = wanted.unwrap_or(ANSWER);
    let usual = if wanted.is_none() { max_tokens(facts) } else { 0 };
    let sum = answer.saturating_add(budget).max(usual);
    let limit = sum.min(facts.max_output.unwrap_or(sum));
    (limit, budget.min(limit - answer.min(limit / 2)))
}

/// The setting for the amount of reasoning.
pub(super) const fn thinking(facts: &Facts) -> Thinking {
    match facts.reasoning {
        Some(Reasoning::None) => Thinking::Never,
        Some(Reasoning::Effort | Reasoning::Adaptive | Reasoning::Always) => Thinking::Effort,
        Some(Reasoning::Budget) | None => Thinking::Budget,
    }
}

/// The tokens that an effort may take.
pub(super) fn budget(effort: &str) -> Option<u64> {
    match effort {
        "none" => None,
        "minimal" | "low" => Some(1024),
        "high" => Some(16_384),
        "xhigh" | "max" => Some(32_768),
        _ => Some(4096),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::registry::find;

    #[test]
    fn an_answer_has_room_beside_what_the_model_thinks() {
        for (model, wanted) in [("claude-3-haiku-20240307", 4096), ("claude-sonnet-4-20250514", 32_000), ("claude-opus-4-8", 64_000), ("qwen-3", 8192)] {
            assert_eq!(max_tokens(&find("anthropic", model).facts), wanted, "{model}");
        }
        for (model, given, budget, wanted) in [
            ("claude-sonnet-4-5", None, 4096, (64_000, 4096)),
            ("claude-sonnet-4-20250514", None, 32_768, (40_960, 32_768)),
            ("claude-opus-4-1-20250805", None, 32_768, (32_000, 23_808)),
            ("claude-opus-4-1-20250805", Some(32_000), 32_768, (32_000, 16_000)),
            ("claude-sonnet-4-5", Some(1), 1024, (1025, 1024)),
            ("qwen-3", Some(100_000), 32_768, (132_768, 32_768)),
        ] {
            assert_eq!(with_budget(&find("anthropic", model).facts, given, budget), wanted, "{model}");
        }
    }
}
