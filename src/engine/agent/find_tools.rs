//! Owns the tool `find_tools`: the model of an agent with many tools searches them by words.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::binding::{self, ToolTable};
use crate::model::event::ToolOutcome;
use crate::providers::ToolOffer;
use crate::tools::{BoundTool, Tool, ToolInvocation, ToolReply};

/// The name of the tool that searches.
pub(super) const FIND_TOOLS: &str = "find_tools";
/// Tools that one search finds, at most.
const MOST: usize = 16;
/// Characters of a query that are looked at, and words of it that are looked for: a model may write any number.
const QUERY: usize = 400;
const WORDS: usize = 32;
/// Characters of a description that are looked at; servers write any number.
const LOOKED_AT: usize = 2_000;
/// Characters of a description in a search result.
const DESCRIPTION: usize = 300;

/// The tool that searches among others.
pub(super) fn tool<'o>(offers: impl Iterator<Item = &'o ToolOffer>) -> BoundTool {
    let index = Index(offers.map(|offer| (offer.name.clone(), offer.description.clone())).collect());
    let description = format!(
        "Finds further tools by what they do: there are {} that you are not shown yet. Those that are found can be called from your next turn on.",
        index.0.len()
    );
    BoundTool {
        offer: ToolOffer { name: FIND_TOOLS.into(), description, input_schema: schema() },
        require_approval: false,
        idempotent: true,
        timeout: Duration::from_secs(60),
        fixed: Map::new(),
        config: Map::new(),
        tool: Arc::new(index),
    }
}

fn schema() -> Value {
    let words = "What the tool should do, in a few words";
    let mut schema = binding::one_input(words);
    if let Some(members) = schema.as_object_mut() {
        members.insert("properties".into(), json!({"query": {"type": "string", "description": words}}));
        members.insert("required".into(), json!(["query"]));
    }
    schema
}

/// What a search found, as the log has it, is offered from the next call on. Older logs have it in the text alone.
pub(super) fn take(tools: &ToolTable<'_>, outcome: &ToolOutcome, found: &mut Vec<String>) {
    if !tools.searches() || outcome.name != FIND_TOOLS {
        return;
    }
    let names = if outcome.found.is_empty() { named(&outcome.result) } else { outcome.found.clone() };
    for name in names.into_iter().take(MOST) {
        if !found.contains(&name) {
            found.push(name);
        }
    }
}

fn named(result: &str) -> Vec<String> {
    let told: Value = serde_json::from_str(result).unwrap_or_default();
    let names = told.get("tools").and_then(Value::as_array).into_iter().flatten().filter_map(|tool| tool.get("name")?.as_str());
    names.map(str::to_owned).collect()
}

/// Names and descriptions, in the order in which they are configured.
struct Index(Vec<(String, String)>);

impl Tool for Index {
    fn call(&self, invocation: ToolInvocation) -> BoxFuture<'static, ToolReply> {
        let told = self.found(&invocation.arguments);
        let found = named(&told.to_string());
        Box::pin(async move { ToolReply { found, ..ToolReply::value(&told) } })
    }
}

impl Index {
    /// What a search with these arguments tells the model.
    fn found(&self, arguments: &Value) -> Value {
        let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default();
        let query: String = query.chars().take(QUERY).collect();
        let found = self.ranked(&query).into_iter().map(|at| {
            let (name, description) = &self.0[at];
            json!({"name": name, "description": description.chars().take(DESCRIPTION).collect::<String>()})
        });
        let found: Vec<Value> = found.collect();
        let note = if found.is_empty() { "No tool fits these words; try others." } else { "You can call these from your next turn on." };
        json!({"tools": found, "note": note})
    }

    /// The tools that fit the words of a query, the best first.
    fn ranked(&self, query: &str) -> Vec<usize> {
        let index = |text: &str| words(text.get(..text.floor_char_boundary(LOOKED_AT)).unwrap_or(text)).into_iter().collect::<HashSet<_>>();
        let indexed: Vec<_> = self.0.iter().map(|(name, description)| (index(name), index(description))).collect();
        let mut scores = vec![0.0_f64; indexed.len()];
        for word in words(query).into_iter().take(WORDS) {
            let weights: Vec<f64> = indexed.iter().map(|(name, description)| 3.0 * weight(name, &word) + weight(description, &word)).collect();
            let with = weights.iter().filter(|weight| **weight > 0.0).count();
            // Words that few tools have say more.
            let rarity = (1.0 + indexed.len() as f64 / with.max(1) as f64).ln();
            scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += weight * rarity);
        }
        let mut found: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > 0.0).collect();
        found.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]).then(one.cmp(other)));
        found.truncate(MOST);
        found
    }
}

/// The word itself, else a word that has it as a part.
fn weight(text: &HashSet<String>, word: &str) -> f64 {
    if text.contains(word) {
        return 1.0;
    }
    let part = word.chars().count() > 2 || !word.is_ascii();
    if part && text.iter().any(|known| known.contains(word) || (known.len() > 3 && word.contains(known.as_str()))) { 0.4 } else { 0.0 }
}

/// Words in small letters, in their order; `sendMail` and `send_mail` are two.
fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut small = false;
    for letter in text.chars().chain([' ']) {
        let ends = !letter.is_alphanumeric() || (small && letter.is_uppercase());
        if ends && !word.is_empty() {
            let word = std::mem::take(&mut word);
            if !found.contains(&word) {
                found.push(word);
            }
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        small = letter.is_lowercase();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &str) -> Vec<&'static str> {
        let tools = [
            ("send_mail", "Sends an e-mail to somebody"),
            ("listInvoices", "All invoices of a customer, newest first"),
            ("refund", "Gives money back for an invoice"),
            ("weather", "The weather in a city"),
            ("メール送信", "メールを送る"),
        ];
        let index = Index(tools.iter().map(|(name, description)| ((*name).to_owned(), (*description).to_owned())).collect());
        index.ranked(query).into_iter().map(|at| tools[at].0).collect()
    }

    #[test]
    fn tools_are_found_by_words_of_their_names_and_descriptions() {
        assert_eq!(found("mail"), ["send_mail"]);
        assert_eq!(found("invoices"), ["listInvoices", "refund"]);
        assert_eq!(found("give a refund for an invoice")[0], "refund");
        assert_eq!(found("メール"), ["メール送信"]);
        assert_eq!(found("zebra"), Vec::<&str>::new());
        assert_eq!(found(""), Vec::<&str>::new());
    }

    #[test]
    fn a_search_finds_sixteen_at_most_in_a_fixed_order() {
        let index = Index((0..100).map(|n| (format!("tool_{n}"), "does something".to_owned())).collect());
        assert_eq!(index.ranked("something"), (0..16).collect::<Vec<_>>());
        assert_eq!(index.ranked("tool 42")[0], 42);
    }

    #[test]
    fn a_query_of_any_length_is_little_work() {
        let index = Index((0..300).map(|n| (format!("tool_{n}"), "does many things with words ".repeat(200))).collect());
        for query in [(0..100_000).map(|n| format!("w{n} ")).collect::<String>(), "x".repeat(1 << 20)] {
            // The fastest of some tries: a busy machine makes any one of them slow.
            let tries = (0..5).map(|_| {
                let begun = std::time::Instant::now();
                let arguments = json!({"query": query});
                let query: String = arguments["query"].as_str().unwrap_or_default().chars().take(QUERY).collect();
                assert!(index.ranked(&query).is_empty());
                begun.elapsed()
            });
            let fastest = tries.min().expect("a time");
            assert!(fastest < Duration::from_secs(2), "{fastest:?}");
        }
    }
}
