//! Owns the cutting of what was retrieved: whole chunks while they fit, the first that does not is cut, later ones are dropped.

use serde_json::Value;

use super::super::memory::text_tokens;
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

fn of_blocks(blocks: &[(&str, &str)], budget: u64) -> (String, Strategy) {
    let mut kept = String::new();
    for (separator, block) in blocks {
        let longer = format!("{kept}{separator}{block}");
        if text_tokens(&longer) <= budget {
            kept = longer;
            continue;
        }
        if kept.is_empty() {
            return cut(block, budget);
        }
        let rest = budget.saturating_sub(text_tokens(&format!("{kept}{separator}")));
        if rest < MARKER_TOKENS {
            return (kept, Strategy::Hard);
        }
        let (short, strategy) = cut(block, rest);
        return (format!("{kept}{separator}{short}"), strategy);
    }
    (kept, Strategy::Hard)
}

/// A list of chunks as JSON; none when not even one fits.
fn of_items(items: &[Value], budget: u64) -> Option<(String, Strategy)> {
    let told = |items: &[Value]| Value::Array(items.to_vec()).to_string();
    let fits = |text: &String| text_tokens(text) <= budget;
    let count = (1..items.len()).rev().find(|count| fits(&told(&items[..*count])));
    let whole = count.unwrap_or(0);
    let mut list = items[..whole].to_vec();
    let rest = budget.saturating_sub(text_tokens(&told(&list)));
    if let Some((short, strategy)) = items.get(whole).and_then(|chunk| shortened(chunk, rest)) {
        list.push(short);
        let text = told(&list);
        if fits(&text) {
            return Some((text, strategy));
        }
    }
    count.map(|count| (told(&items[..count]), Strategy::Hard))
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
    let with = |count: usize| {
        let mut short = value.clone();
        short["results"] = Value::Array(chunks[..count].to_vec());
        short["context"] = Value::String(blocks[..count].iter().flat_map(|(before, block)| [*before, *block]).collect());
        short.to_string()
    };
    let texts = (1..chunks.len()).rev().map(with);
    texts.into_iter().find(|text| text_tokens(text) <= budget).map(|text| (text, Strategy::Hard))
}
