//! Owns usage: exact sums of tokens and cost.

use serde::{Deserialize, Serialize};

use super::chat::Tokens;
pub use super::prices::money::{Picos, show_picos};

/// What calls took: tokens and exact cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Token counts.
    #[serde(flatten)]
    pub tokens: Tokens,
    /// Exact cost.
    #[serde(default)]
    pub cost: Picos,
    /// Some part had no price, or no report.
    #[serde(default)]
    pub unpriced: bool,
}

impl Usage {
    /// Nothing was used.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what another call took.
    pub fn add(&mut self, other: &Self) {
        self.tokens.prompt += other.tokens.prompt;
        self.tokens.completion += other.tokens.completion;
        self.tokens.cached += other.tokens.cached;
        self.tokens.cache_write += other.tokens.cache_write;
        self.tokens.cache_write_1h += other.tokens.cache_write_1h;
        self.tokens.reasoning += other.tokens.reasoning;
        let sum = self.cost.0.checked_add(other.cost.0);
        self.cost.0 = sum.unwrap_or(i64::MAX);
        // More than can be kept of one run: who bills must not take the figure for exact.
        self.unpriced |= other.unpriced || sum.is_none();
    }
}
