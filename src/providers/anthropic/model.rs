//! Owns what Anthropic's models take, which depends on their generation.

/// How a model is told how much to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinking {
    /// Not at all.
    Never,
    /// By a number of tokens.
    Budget,
    /// By an effort.
    Effort,
}

/// Major and minor number of a model's generation; none for other makers' models behind the same interface.
fn generation(model: &str) -> Option<(u32, u32)> {
    let name = model.rsplit('/').next()?.strip_prefix("claude-")?;
    let mut numbers = name.split(['-', '@', '.']).filter(|part| part.len() <= 2).filter_map(|part| part.parse().ok());
    Some((numbers.next()?, numbers.next().unwrap_or(0)))
}

/// What is left for an answer beside a budget for thinking, when nothing is said.
const ANSWER: u64 = 8192;
/// Generations before 4.5 refuse a request whose prompt and limit are together larger than their context.
const BESIDE_LONG_PROMPTS: u64 = 32_000;

/// The most that an answer may measure, what the model thinks included; none for models that nobody knows.
fn most(model: &str) -> Option<u64> {
    Some(match generation(model)? {
        old if old < (3, 5) => 4096,
        old if old < (3, 7) => 8192,
        old if old < (4, 5) && model.contains("opus") => 32_000,
        _ => 64_000,
    })
}

/// What an answer may measure when nothing is said: as much as the model can, for what it thinks is part of it. The interface wants a number.
pub(super) fn max_tokens(model: &str) -> u64 {
    let most = most(model).unwrap_or(ANSWER);
    if generation(model).is_some_and(|generation| generation >= (4, 5)) { most } else { most.min(BESIDE_LONG_PROMPTS) }
}

/// The limit of an answer, and the part of it that the model may think, when it wants to think so much.
pub(super) fn with_budget(model: &str, wanted: Option<u64>, budget: u64) -> (u64, u64) {
    let answer = wanted.unwrap_or(ANSWER);
    let usual = if wanted.is_none() { max_tokens(model) } else { 0 };
    let sum = answer.saturating_add(budget).max(usual);
    let limit = sum.min(most(model).unwrap_or(sum));
    (limit, budget.min(limit - answer.min(limit / 2)))
}

/// It answers in the form of a JSON Schema.
pub(super) fn takes_format(model: &str) -> bool {
    generation(model).is_some_and(|generation| generation >= (4, 5))
}

/// How it is told how much to think.
pub(super) fn thinking(model: &str) -> Thinking {
    match generation(model) {
        Some(old) if old < (3, 7) => Thinking::Never,
        Some(current) if current >= (4, 6) => Thinking::Effort,
        Some(_) | None => Thinking::Budget,
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

    #[test]
    fn an_answer_has_room_beside_what_the_model_thinks() {
        for (model, wanted) in [("claude-3-haiku-20240307", 4096), ("claude-sonnet-4-20250514", 32_000), ("claude-opus-4-8", 64_000), ("qwen-3", 8192)] {
            assert_eq!(max_tokens(model), wanted, "{model}");
        }
        for (model, given, budget, wanted) in [
            ("claude-sonnet-4-5", None, 4096, (64_000, 4096)),
            ("claude-sonnet-4-20250514", None, 32_768, (40_960, 32_768)),
            ("claude-opus-4-1-20250805", None, 32_768, (32_000, 23_808)),
            ("claude-opus-4-1-20250805", Some(32_000), 32_768, (32_000, 16_000)),
            ("claude-sonnet-4-5", Some(1), 1024, (1025, 1024)),
            ("qwen-3", Some(100_000), 32_768, (132_768, 32_768)),
        ] {
            assert_eq!(with_budget(model, given, budget), wanted, "{model}");
        }
    }

    #[test]
    fn generations_are_read_from_names() {
        for (name, wanted) in [
            ("claude-3-5-sonnet-20241022", Some((3, 5))),
            ("claude-3-opus-20240229", Some((3, 0))),
            ("claude-3-7-sonnet-latest", Some((3, 7))),
            ("claude-sonnet-4-20250514", Some((4, 0))),
            ("claude-opus-4-1-20250805", Some((4, 1))),
            ("claude-haiku-5-5", Some((5, 5))),
            ("anthropic/claude-sonnet-4.5", Some((4, 5))),
            ("claude-instant", None),
            ("qwen-3", None),
        ] {
            assert_eq!(generation(name), wanted, "{name}");
        }
    }
}
