//! Owns the truncation of texts: they are cut to a number of tokens, never inside a visible character.

mod chunks;

use serde_json::{Value, json};
use unicode_segmentation::GraphemeCursor;

pub use chunks::cut_retrieved;

use super::memory::{quarters_of, text_tokens};

/// What stands where something was cut off.
const MARKER: &str = "[truncated]";
/// Tokens of the marker and the blank line before it.
const MARKER_TOKENS: u64 = 4;
/// Characters of a token, of which some take a whole one.
const TOKEN: u64 = 4;

named! {
    /// Where a text was cut.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Strategy {
        /// At the end of a sentence.
        Sentence = "sentence",
        /// Where the budget ended.
        Hard = "hard",
    }
}

/// What was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// A value that a rag node wrote, by its place in the state.
    Retrieved(&'a str),
    /// Another value of the state.
    State(&'a str),
    /// What a tool gave.
    Tool(&'a str),
}

/// A text that was cut, as the trace shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// The `output` of the span `context_truncation`.
    pub span_output: Value,
}

impl Cut {
    fn new(source: Source<'_>, before: u64, after: u64, strategy: Strategy) -> Self {
        let (kind, key, name) = match source {
            Source::Retrieved(field) => ("rag_context", "field", field),
            Source::State(field) => ("state_field", "field", field),
            Source::Tool(tool) => ("tool_result", "tool", tool),
        };
        let strategy = strategy.as_str();
        let span_output = json!({"kind": kind, (key): name, "tokens_before": before, "tokens_after": after, "strategy": strategy});
        Self { span_output }
    }
}

/// A text within its budget, and how it was cut if it was.
pub fn within(text: String, budget: Option<u64>, source: Source<'_>, cuts: &mut Vec<Cut>) -> String {
    let Some(budget) = budget else { return text };
    let before = text_tokens(&text);
    if before <= budget {
        return text;
    }
    let (short, strategy) = cut(&text, budget);
    cuts.push(Cut::new(source, before, text_tokens(&short), strategy));
    short
}

/// The beginning of a text that is over its budget, with the marker behind it.
pub fn cut(text: &str, budget: u64) -> (String, Strategy) {
    if budget <= MARKER_TOKENS {
        return (MARKER.to_owned(), Strategy::Hard);
    }
    let room = (budget - MARKER_TOKENS).saturating_mul(TOKEN);
    let (mut used, mut kept) = (0, 0);
    let over = text.char_indices().find(|(_, letter)| {
        used += quarters_of(*letter);
        kept += usize::from(used <= room);
        used > room
    });
    let end = over.map_or(text.len(), |(at, _)| at);
    let (end, strategy) = match sentence_end(text, end, kept) {
        Some(end) => (end, Strategy::Sentence),
        None => (whole(text, end), Strategy::Hard),
    };
    match text[..end].trim_end() {
        "" => (MARKER.to_owned(), strategy),
        kept => (format!("{kept}\n\n{MARKER}"), strategy),
    }
}

/// The end of a sentence in the last tenth of the first `kept` characters, which take `end` bytes.
fn sentence_end(text: &str, end: usize, kept: usize) -> Option<usize> {
    let last_tenth = text[..end].char_indices().rev().take_while({
        let mut behind = 0;
        move |_| {
            behind += 1;
            10 * (behind - 1) < kept
        }
    });
    let mut ends = last_tenth.filter(|(_, letter)| matches!(letter, '.' | '!' | '?')).map(|(at, _)| at + 1);
    ends.find(|at| is_border(text, *at))
}

/// The last border between visible characters up to a place.
fn whole(text: &str, at: usize) -> usize {
    if is_border(text, at) {
        return at;
    }
    GraphemeCursor::new(at, text.len(), true).prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

fn is_border(text: &str, at: usize) -> bool {
    GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0).unwrap_or(false)
}

#[cfg(test)]
mod tests;
