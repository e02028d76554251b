//! Owns the selection of a history for the window: what is sent, summarised or left out.

/// Share of the window above which room is made while a turn goes on, where nothing is summarised.
const INSIDE: f64 = 0.85;

/// A window and how it is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Tokens that a prompt may have.
    pub tokens: u64,
    /// Share of the window above which older turns are summarised.
    pub threshold: f64,
    /// Older turns are summarised, not only left out.
    pub summarises: bool,
}

/// What the parts of a prompt weigh in tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// System prompt and tools.
    pub fixed: u64,
    /// The summary as it is sent.
    pub summary: u64,
    /// The turns, oldest first.
    pub turns: Vec<u64>,
    /// The new message.
    pub new: u64,
}

impl Sizes {
    /// The whole prompt.
    pub fn total(&self) -> u64 {
        let parts = self.turns.iter().chain([&self.fixed, &self.summary, &self.new]);
        parts.fold(0, |sum, part| sum.saturating_add(*part))
    }
}

impl Window {
    /// Everything is sent as it is.
    pub fn fits(&self, sizes: &Sizes) -> bool {
        let total = sizes.total();
        if self.summarises { total as f64 <= self.threshold * self.tokens as f64 } else { total <= self.tokens }
    }

    /// How many of the oldest turns a summary shall stand for: all but the newest that, with the new message, have half the window.
    pub fn older(&self, sizes: &Sizes) -> usize {
        let mut kept = u128::from(sizes.new);
        let fits = |turn: &&u64| {
            kept += u128::from(**turn);
            2 * kept <= u128::from(self.tokens)
        };
        sizes.turns.len() - sizes.turns.iter().rev().take_while(fits).count()
    }

    /// How many of the oldest turns must be left out so that the rest fits, as far as that helps.
    pub fn left_out(&self, sizes: &Sizes) -> usize {
        let mut total = sizes.total();
        let over = |turn: &&u64| {
            let over = total > self.tokens;
            total = total.saturating_sub(**turn);
            over
        };
        sizes.turns.iter().take_while(over).count()
    }

    /// Tokens above which room is made while a turn goes on.
    pub fn most_inside(&self) -> u64 {
        let share = if self.summarises { self.threshold } else { INSIDE };
        (share * self.tokens as f64) as u64
    }

    /// Tokens that are left when room was made: far below, so that what a provider keeps of the prompt holds for many calls.
    pub const fn left_inside(&self) -> u64 {
        self.tokens.saturating_mul(3) / 5
    }

    /// Tokens that a summary may have.
    pub const fn of_summary(&self) -> u64 {
        self.tokens / 5
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn window(tokens: u64, summarises: bool) -> Window {
        Window { tokens, threshold: 0.85, summarises }
    }

    fn sizes(fixed: u64, turns: &[u64], new: u64) -> Sizes {
        Sizes { fixed, summary: 0, turns: turns.to_vec(), new }
    }

    #[test]
    fn the_threshold_counts_only_with_summaries() {
        for (total, summarises, fits) in [(850, true, true), (851, true, false), (1000, false, true), (1001, false, false)] {
            assert_eq!(window(1000, summarises).fits(&sizes(total - 1, &[], 1)), fits, "{total}");
        }
    }

    #[test]
    fn half_a_window_of_new_turns_is_kept() {
        let older = |turns: &[u64], new| window(1000, true).older(&sizes(0, turns, new));
        assert_eq!(older(&[100, 100, 100], 100), 0);
        assert_eq!(older(&[100, 200, 200], 100), 1, "exactly half stays");
        assert_eq!(older(&[100, 201, 200], 100), 2);
        assert_eq!(older(&[1, 1], 501), 2, "the new message stays in any case");
        assert_eq!(older(&[], 5000), 0);
    }

    proptest! {
        #[test]
        fn what_is_left_fits_or_nothing_can_be_left_out(
            fixed in 0_u64..600, turns in proptest::collection::vec(0_u64..400, 0..12), new in 0_u64..1200, tokens in 256_u64..1000,
        ) {
            let (window, mut rest) = (window(tokens, false), sizes(fixed, &turns, new));
            let out = window.left_out(&rest);
            rest.turns.drain(..out);
            prop_assert!(rest.total() <= tokens || rest.turns.is_empty());
            if out > 0 {
                prop_assert!(rest.total() + turns[out - 1] > tokens, "no turn is left out without need");
            }
        }

        #[test]
        fn what_stays_beside_a_summary_has_half_the_window(
            turns in proptest::collection::vec(0_u64..400, 0..12), new in 0_u64..1200, tokens in 256_u64..1000,
        ) {
            let all = sizes(0, &turns, new);
            let kept: u64 = turns[window(tokens, true).older(&all)..].iter().sum();
            prop_assert!(kept == 0 || 2 * (kept + new) <= tokens);
        }
    }
}
