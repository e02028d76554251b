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

/// What an answer may measure when nothing is said; the interface wants a number.
pub(super) fn max_tokens(model: &str) -> u64 {
    if generation(model).is_some_and(|generation| generation < (3, 5)) { 4096 } else { 8192 }
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
