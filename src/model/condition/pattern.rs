//! Owns the regular expressions of rules: their size limit per graph and their time limit.
//!
//! A rule stores its pattern as text. The process caches compiled patterns and drops those that were not used for a while.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use regex_automata::Input;
use regex_automata::hybrid::dfa::DFA;
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{BuildError, Compiler, Config, NFA, WhichCaptures};

use crate::sync::Mutex;

/// Bytes that one compiled pattern may take.
const SIZE: usize = 1 << 20;
/// Bytes that all patterns of a graph may take together.
const GRAPH: usize = 8 << 20;
/// Bytes of a pattern as it is written, and how many bytes of its graph's room each of them takes.
const LENGTH: usize = 4_000;
const WRITTEN: usize = 16;
/// Bytes of compiled patterns that the process keeps.
const KEPT: usize = 16 << 20;
/// Bytes that one search may remember of what it saw.
const SEARCH: usize = 2 << 20;
/// How often a search may forget that before it counts as hopeless.
const FORGETS: usize = 8;
/// Letters times states, where a text is searched the slow way.
const PATIENCE: usize = 200_000_000;

/// What is left for the patterns of one graph.
#[derive(Debug)]
pub struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(GRAPH)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Pattern(Arc<str>);

impl Pattern {
    /// A pattern that was checked before.
    pub(super) fn stored(text: &str) -> Self {
        Self(text.into())
    }

    /// A pattern that compiles, and for which there is room in the graph; else says why not.
    pub(super) fn checked(text: &str, budget: &mut Budget) -> Result<Self, String> {
        let pattern = Self::stored(text);
        if budget.0 == 0 {
            return Err(pattern.no_room());
        }
        let compiled = pattern.compiled();
        // Finding that a pattern is too large was work, too.
        let size = compiled.as_ref().map_or(SIZE / 4, |compiled| compiled.size);
        let left = budget.0.checked_sub(size + WRITTEN * text.len());
        budget.0 = left.unwrap_or(0);
        compiled?;
        if left.is_some() { Ok(pattern) } else { Err(pattern.no_room()) }
    }

    fn no_room(&self) -> String {
        let shown: String = self.0.chars().take(40).collect();
        format!("`{shown}` does not fit: the regular expressions of a graph take at most {} MiB when they are compiled", GRAPH >> 20)
    }

    /// Compiles it unless that was done before; else says why it cannot be.
    pub(super) fn compiled(&self) -> Result<Arc<Compiled>, String> {
        if let Some(known) = KNOWN.lock().get(&self.0) {
            return Ok(known);
        }
        let compiled = Arc::new(Compiled::new(&self.0)?);
        KNOWN.lock().keep(&self.0, Arc::clone(&compiled));
        Ok(compiled)
    }
}

pub(super) struct Compiled {
    slow: NFA,
    fast: Option<DFA>,
    size: usize,
}

impl Compiled {
    fn new(text: &str) -> Result<Self, String> {
        if text.len() > LENGTH {
            return Err(format!("longer than {LENGTH} characters"));
        }
        let config = Config::new().nfa_size_limit(Some(SIZE)).which_captures(WhichCaptures::None);
        let slow = Compiler::new().configure(config).build(text).map_err(|error| error_text(&error))?;
        let config = DFA::config()
            .cache_capacity(SEARCH)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(FORGETS))
            // A state is as much work as there are states of the pattern: it must be worth as many letters.
            .minimum_bytes_per_state(Some(slow.states().len().max(16)))
            .unicode_word_boundary(true);
        let fast = DFA::builder().configure(config).build_from_nfa(slow.clone()).ok();
        let size = size_of::<Self>() + 512 + slow.memory_usage() + fast.as_ref().map_or(0, DFA::memory_usage);
        Ok(Self { slow, fast, size })
    }

    /// Is it found in a text? Else says why that would take too long.
    pub(super) fn is_match(&self, text: &str) -> Result<bool, String> {
        let input = Input::new(text).earliest(true);
        let found = self.fast.as_ref().and_then(|fast| fast.try_search_fwd(&mut fast.create_cache(), &input).ok());
        if let Some(found) = found {
            return Ok(found.is_some());
        }
        if text.len().saturating_mul(self.slow.states().len()) > PATIENCE {
            return Err(format!("a regular expression takes too long on a text of {} KiB; make it simpler, or test a shorter text", text.len() >> 10));
        }
        let slow = PikeVM::new_from_nfa(self.slow.clone()).map_err(|error| error_text(&error))?;
        Ok(slow.is_match(&mut slow.create_cache(), input))
    }
}

/// The last line of a syntax error says what is wrong; those before it draw the pattern.
fn error_text(error: &BuildError) -> String {
    if let Some(limit) = error.size_limit() {
        return format!("Compiled regex exceeds size limit of {limit} bytes.");
    }
    let text = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    let line = text.lines().last().unwrap_or_default();
    line.trim().trim_start_matches("error: ").to_owned()
}

/// Compiled patterns, each with when it was last asked for.
#[derive(Default)]
struct Known {
    patterns: HashMap<Arc<str>, (Arc<Compiled>, u64)>,
    bytes: usize,
    asked: u64,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

impl Known {
    fn get(&mut self, text: &str) -> Option<Arc<Compiled>> {
        self.asked += 1;
        let (compiled, asked) = self.patterns.get_mut(text)?;
        *asked = self.asked;
        Some(Arc::clone(compiled))
    }

    fn keep(&mut self, text: &Arc<str>, compiled: Arc<Compiled>) {
        self.bytes += compiled.size + text.len();
        if let Some((before, _)) = self.patterns.insert(Arc::clone(text), (compiled, self.asked)) {
            self.bytes -= before.size + text.len();
        }
        if self.bytes <= KEPT {
            return;
        }
        let mut by_age: Vec<(u64, Arc<str>)> = self.patterns.iter().map(|(text, (_, asked))| (*asked, Arc::clone(text))).collect();
        by_age.sort_unstable();
        for (_, text) in by_age {
            if self.bytes <= KEPT / 2 {
                break;
            }
            if let Some((gone, _)) = self.patterns.remove(&text) {
                self.bytes -= gone.size + text.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_has_room_for_many_small_patterns_or_few_large_ones() {
        let fit = |pattern: &str| {
            let mut budget = Budget::default();
            (0..5_000).take_while(|n| Pattern::checked(&format!("{pattern}{n}"), &mut budget).is_ok()).count()
        };
        let (small, large) = (fit("word"), fit(r"\w{20}"));
        assert!(small > 300, "{small}");
        assert!((4..300).contains(&large), "{large}");
    }

    #[test]
    fn patterns_are_kept_up_to_a_bound() {
        for n in 0..200 {
            let pattern = Pattern::stored(&format!(r"\w{{20}}{n}"));
            assert!(pattern.compiled().is_ok());
        }
        assert!(KNOWN.lock().bytes <= KEPT);
    }

    #[test]
    fn a_search_that_thrashes_is_given_up_or_ends() {
        let mut seed = 0x2545_f491_u32;
        let noise: String = std::iter::repeat_with(|| {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            if seed & 0x1000 == 0 { 'a' } else { 'b' }
        })
        .take(1 << 20)
        .collect();
        let compiled = Pattern::stored("[ab]*a[ab]{300}c").compiled().expect("a pattern");
        assert!(compiled.is_match(&noise).is_err());
        assert_eq!(compiled.is_match(&noise[..1000]), Ok(false));
        let words = Pattern::stored(r"\bé\b").compiled().expect("a pattern");
        assert_eq!(words.is_match("x é y"), Ok(true));
    }
}
