//! What calls cost, compared with what the package genai-prices says (`scripts/test-prices.sh` makes its answers again).

use serde_json::Value;
use studio::model::Timestamp;
use studio::model::chat::Tokens;
use studio::model::prices::PriceTable;

/// 2026-11-20, the day that the answers are of.
const WHEN: Timestamp = Timestamp(1_795_132_800_000);

pub fn oracle() -> Value {
    serde_json::from_str(include_str!("oracle.json")).expect("JSON")
}

/// The costs of all calls that differ from the package's; calls with cached tokens only where `cached` says so.
fn differences(table: &PriceTable, comparable: impl Fn(&str, &Tokens) -> bool) -> (usize, Vec<String>) {
    let mut compared = 0;
    let mut different = Vec::new();
    for case in oracle()["cases"].as_array().expect("cases") {
        let number = |at: usize| case[at].as_u64().expect("a number");
        let (provider, model) = (case[0].as_str().expect("a name"), case[1].as_str().expect("a name"));
        let tokens = Tokens { prompt: number(2), cached: number(3), cache_write: number(4), completion: number(5), reasoning: 0 };
        if !comparable(provider, &tokens) {
            continue;
        }
        compared += 1;
        let price = table.lookup(provider, model, WHEN).expect("both know the model");
        let shown = price.cost(&tokens).shown();
        if shown != case[6] {
            different.push(format!("{provider} {model} {tokens:?}: {shown}, not {}", case[6]));
        }
    }
    (compared, different)
}

#[test]
fn the_arithmetic_agrees_with_the_package_on_its_own_rates() {
    let rows = oracle()["rows"].clone();
    let table = PriceTable::parse(&serde_json::json!({"version": 1, "currency": "USD", "per_tokens": 1_000_000, "models": rows}));
    let (compared, different) = differences(&table.expect("a table"), |_, _| true);
    assert!(compared > 150, "{compared}");
    assert_eq!(different, Vec::<String>::new());
}

/// The bundled table has no rates for what Gemini caches and none for its long prompts.
#[test]
fn the_bundled_rates_are_those_of_the_package() {
    let comparable = |provider: &str, tokens: &Tokens| provider != "gemini" || (tokens.cached == 0 && tokens.prompt <= 200_000);
    let (compared, different) = differences(&PriceTable::bundled(), comparable);
    assert!(compared > 120, "{compared}");
    assert_eq!(different, Vec::<String>::new());
}
