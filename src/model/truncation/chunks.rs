//! Owns the truncation of retrieved text: whole chunks while they fit, then one cut chunk, later ones are dropped.

use serde_json::Value;

use super::super::memory::{quarters_of, text_tokens};
use super::super::template_text::text_of;
use super::{Cut, MARKER_TOKENS, Source, Strategy, cut};

/// A value that a rag node wrote, or a part of it, as text within its budget. `whole` is what the node wrote.
pub fn cut_retrieved(value: &Value, whole: &Value, budget: u64, field: &str, cuts: &mut Vec<Cut>) -> String {
    let text = text_of(value);
    let before = text_tokens(&text);
    if before <= budget {
        return text.into_owned();
    }
    let (short, strategy) = match (value, whole.get("results").and_then(Value::as_array)) {
        (Value::String(text), Some(chunks)) => match blocks(text, chunks) {
            Some(blocks) => of_blocks(&blocks, budget),
            None => cut(text, budget),
        },
        (Value::Array(items), _) => of_items(items, budget).unwrap_or_else(|| cut(&text, budget)),
        (Value::Object(_), Some(chunks)) => of_object(value, chunks, budget).unwrap_or_else(|| cut(&text, budget)),
        _ => cut(&text, budget),
    };
    cuts.push(Cut::new(Source::Retrieved(field), before, text_tokens(&short), strategy));
    short
}

/// The text of a retrieval as its chunks, each with what stands before it. None when it is not made of these chunks.
fn blocks<'t>(text: &'t str, chunks: &[Value]) -> Option<Vec<(&'t str, &'t str)>> {
    let mut found = Vec::with_capacity(chunks.len());
    let mut rest = text;
    for (at, chunk) in chunks.iter().enumerate() {
        let block = format!("[{}] {}", at + 1, chunk.get("content")?.as_str()?);
        let start = rest.find(&block)?;
        if found.is_empty() && start > 0 {
            return None;
        }
        found.push((&rest[..start], &rest[start..start + block.len()]));
        rest = &rest[start + block.len()..];
    }
    (rest.is_empty() && !found.is_empty()).then_some(found)
}

/// How many whole pieces fit behind `fixed` characters, by the characters of each.
fn fitting(fixed: usize, pieces: impl Iterator<Item = usize>, budget: u64) -> usize {
    let mut total = fixed as u64;
    let fits = |piece: &usize| {
        total += *piece as u64;
        total.div_ceil(4) <= budget
    };
    pieces.take_while(fits).count()
}

/// Quarters of tokens.
fn characters(text: &str) -> usize {
    text.chars().map(|letter| usize::try_from(quarters_of(letter)).unwrap_or(1)).sum()
}

fn of_blocks(blocks: &[(&str, &str)], budget: u64) -> (String, Strategy) {
    let count = fitting(0, blocks.iter().map(|(before, block)| characters(before) + characters(block)), budget);
    let mut kept: String = blocks[..count].iter().flat_map(|(before, block)| [*before, *block]).collect();
    let Some((separator, block)) = blocks.get(count) else { return (kept, Strategy::Hard) };
    if count == 0 {
        return cut(block, budget);
    }
    let rest = budget.saturating_sub(((characters(&kept) + characters(separator)) as u64).div_ceil(4));
    if rest < MARKER_TOKENS {
        return (kept, Strategy::Hard);
    }
    let (short, strategy) = cut(block, rest);
    kept.push_str(separator);
    kept.push_str(&short);
    (kept, strategy)
}

/// A list of chunks as JSON; none when not even one fits.
fn of_items(items: &[Value], budget: u64) -> Option<(String, Strategy)> {
    let told = |items: &[Value]| Value::Array(items.to_vec()).to_string();
    let sizes = items.iter().enumerate().map(|(at, item)| characters(&item.to_string()) + usize::from(at > 0));
    let count = fitting(2, sizes, budget);
    let whole = told(&items[..count]);
    let rest = budget.saturating_sub(text_tokens(&whole));
    if let Some((short, strategy)) = items.get(count).and_then(|chunk| shortened(chunk, rest)) {
        let mut list = items[..count].to_vec();
        list.push(short);
        let text = told(&list);
        if text_tokens(&text) <= budget {
            return Some((text, strategy));
        }
    }
    (count > 0).then_some((whole, Strategy::Hard))
}

/// A chunk with less content, so that it takes about as many tokens as there are.
fn shortened(chunk: &Value, rest: u64) -> Option<(Value, Strategy)> {
    let content = chunk.get("content")?.as_str()?;
    let mut short = chunk.clone();
    short["content"] = Value::String(String::new());
    // Quotes, a comma and escapes of the cut text take room too.
    let room = rest.saturating_sub(text_tokens(&short.to_string()) + 2);
    if room <= MARKER_TOKENS {
        return None;
    }
    let (text, strategy) = cut(content, room);
    short["content"] = Value::String(text);
    Some((short, strategy))
}

/// A whole retrieval as JSON with fewer chunks and the text of those; none when not even one fits.
fn of_object(value: &Value, chunks: &[Value], budget: u64) -> Option<(String, Strategy)> {
    let blocks = blocks(value.get("context")?.as_str()?, chunks)?;
    let mut short = value.clone();
    (short["results"], short["context"]) = (Value::Array(Vec::new()), Value::String(String::new()));
    let quoted = |text: String| characters(&Value::String(text).to_string()) - 2;
    let sizes = chunks.iter().zip(&blocks).enumerate().map(|(at, (chunk, (before, block)))| {
        characters(&chunk.to_string()) + usize::from(at > 0) + quoted(format!("{before}{block}"))
    });
    let count = fitting(characters(&short.to_string()), sizes, budget);
    short["results"] = Value::Array(chunks[..count].to_vec());
    short["context"] = Value::String(blocks[..count].iter().flat_map(|(before, block)| [*before, *block]).collect());
    (count > 0).then(|| (short.to_string(), Strategy::Hard))
}
