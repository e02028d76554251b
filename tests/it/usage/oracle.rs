//! What calls cost by the bundled table, compared with what the package genai-prices says (`scripts/test-prices.sh` asks it again).

use std::collections::BTreeSet;

use serde_json::Value;
use wfstudio::model::Timestamp;
use wfstudio::model::chat::Tokens;
use wfstudio::model::prices::PriceTable;

pub fn oracle() -> Value {
    serde_json::from_str(include_str!("oracle.json")).expect("JSON")
}

fn tokens(amount: &Value) -> Tokens {
    let count = |at: usize| amount[at].as_u64().expect("a count");
    Tokens { prompt: count(0), cached: count(1), cache_write: count(2), completion: count(3), reasoning: 0, ..Tokens::default() }
}

/// How far a cost may be off: nothing, or what rounding a rate to six digits makes of so many tokens.
fn allowed(rounded: bool, tokens: &Tokens) -> u64 {
    if rounded { (tokens.prompt + tokens.completion) / 2 + 1 } else { 0 }
}

/// Two things differ on purpose and are not asked here. Rates that change with the hour are what they are at noon (UTC), as for most of
/// the day. Rows that genai-prices does not know come from LiteLLM's list, which nothing else is compared with.
#[test]
fn every_model_that_both_know_costs_the_same() {
    let (oracle, table) = (oracle(), PriceTable::bundled());
    let rounded: BTreeSet<&str> = oracle["rounded"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
    let amounts: Vec<Tokens> = oracle["amounts"].as_array().expect("amounts").iter().map(tokens).collect();
    let mut different = Vec::new();
    let mut providers = BTreeSet::new();
    let answers = oracle["answers"].as_array().expect("answers");
    for answer in answers {
        let (provider, model) = (answer[0].as_str().expect("a name"), answer[1].as_str().expect("a name"));
        let at = Timestamp(answer[2].as_i64().expect("a time"));
        let price = table.lookup(provider, model, at).unwrap_or_else(|| panic!("{provider}/{model} has no row"));
        let off = rounded.contains(&*format!("{provider}/{model}"));
        for (tokens, wanted) in amounts.iter().zip(answer[3].as_array().expect("costs")) {
            let (cost, wanted) = (price.cost(tokens).0, wanted.as_i64().expect("a cost"));
            if cost.abs_diff(wanted) > allowed(off, tokens) {
                different.push(format!("{provider}/{model} {tokens:?}: {cost}, not {wanted}"));
            }
        }
        providers.insert(provider);
    }
    assert_eq!(different, Vec::<String>::new());
    assert!(answers.len() > 900 && providers.len() == 11, "{} models of {providers:?}", answers.len());
    assert!(rounded.len() < 20, "{rounded:?}");
}
