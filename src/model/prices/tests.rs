//! Owns the tests of price tables.

use proptest::prelude::*;

use super::super::usage::show_picos;
use super::*;

fn tokens(prompt: u64, completion: u64) -> Tokens {
    Tokens { prompt, completion, ..Tokens::default() }
}

fn table(models: &Value) -> PriceTable {
    PriceTable::parse(&json!({"version": 1, "currency": "USD", "models": models})).unwrap()
}

fn cost(table: &PriceTable, provider: &str, model: &str, tokens: &Tokens) -> String {
    table.lookup(provider, model, Timestamp(0)).unwrap().cost(tokens).shown()
}

#[test]
fn the_examples_of_the_contract_hold() {
    let bundled = PriceTable::bundled();
    let tiered = table(&json!([{"provider": "example", "model": "big-*", "match": "prefix", "input": "1.25", "output": "10",
        "tiers": [{"above_prompt_tokens": 200_000, "input": "2.50", "output": "15"}]}]));
    let per_thousand = PriceTable::parse(&json!({"currency": "USD", "per_tokens": 1000,
        "models": [{"provider": "p", "model": "m", "input": "1", "output": "2"}]}))
    .unwrap();
    assert_eq!(cost(&bundled, "openai", "gpt-4o-mini", &tokens(1000, 500)), "0.000450");
    assert_eq!(cost(&per_thousand, "p", "m", &tokens(1000, 500)), "2.000000");
    assert_eq!(cost(&bundled, "openai", "gpt-4o", &Tokens { cached: 400, ..tokens(1000, 100) }), "0.003000");
    assert_eq!(cost(&bundled, "openai", "gpt-4o-mini", &tokens(3, 0)), "0.000000");
    assert_eq!(cost(&bundled, "gemini", "gemini-2.5-flash-lite", &tokens(5, 0)), "0.000001");
    let one = bundled.lookup("openai", "gpt-4o-mini", Timestamp(0)).unwrap().cost(&tokens(3, 0));
    assert_eq!(show_picos(3 * i128::from(one.0)), "0.000001");
    assert_eq!(cost(&tiered, "example", "big-1", &tokens(200_001, 10)), "0.500153");
    assert_eq!(cost(&tiered, "example", "big-1", &tokens(200_000, 10)), "0.250100");
    assert!(bundled.lookup("openai", "unknown", Timestamp(0)).is_none());
}

#[test]
fn rerankers_cost_by_tokens_or_by_searches() {
    let bundled = PriceTable::bundled();
    for (provider, model, counted, wanted) in [
        ("cohere", "rerank-v3.5", 1, "0.002000"),
        ("cohere", "rerank-v4.0-pro", 3, "0.007500"),
        ("voyage", "rerank-2.5", 1_000_000, "0.050000"),
        ("jina", "jina-reranker-v2-base-multilingual", 26_000, "0.001300"),
    ] {
        assert_eq!(cost(&bundled, provider, model, &tokens(counted, 0)), wanted, "{provider} {model}");
    }
    assert!(bundled.lookup("jina", "jina-reranker-v9", Timestamp(0)).is_none());
    assert!(bundled.lookup("cohere", "rerank-v5.0-pro", Timestamp(0)).is_none(), "billed by tokens, which no answer was seen to report");
}

#[test]
fn every_part_has_its_rate() {
    let table = table(
        &json!([{"provider": "p", "model": "m", "input": "1", "output": "10", "cached_input": "0.1", "cache_write": "2", "reasoning": "20"}]),
    );
    let call = Tokens { prompt: 10, completion: 5, cached: 3, cache_write: 2, reasoning: 4, ..Tokens::default() };
    assert_eq!(cost(&table, "p", "m", &call), "0.000099");
    let odd = Tokens { prompt: 1, completion: 1, cached: 9, cache_write: 0, reasoning: 9, ..Tokens::default() };
    assert_eq!(table.lookup("p", "m", Timestamp(0)).unwrap().cost(&odd), Picos(180_900_000));
}

#[test]
fn own_rows_win_then_exact_then_longer_then_later() {
    let row = |model: &str, input: &str, from: &str| {
        let kind = if model.ends_with('*') { "prefix" } else { "exact" };
        json!({"provider": "p", "model": model, "match": kind, "input": input, "output": "0", "from": from})
    };
    let below = table(&json!([
        row("m-*", "1", "2026-01-01"),
        row("m-1*", "2", "2026-01-01"),
        row("m-10", "3", "2026-01-01"),
        row("m-10", "4", "2026-06-01")
    ]));
    let day = |text: &str| Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond());
    let rate = |table: &PriceTable, model: &str, at: &str| {
        table.lookup("p", model, day(at)).map(|price| price.cost(&tokens(1, 0)).0 / 1_000_000)
    };
    assert_eq!(rate(&below, "m-2", "2026-03-01T00:00:00Z"), Some(1));
    assert_eq!(rate(&below, "m-11", "2026-03-01T00:00:00Z"), Some(2));
    assert_eq!(rate(&below, "m-10", "2026-05-31T23:59:59Z"), Some(3));
    assert_eq!(rate(&below, "m-10", "2026-06-01T00:00:00Z"), Some(4));
    assert_eq!(rate(&below, "m-10", "2025-12-31T23:59:59Z"), None);
    assert_eq!(rate(&below, "x", "2026-06-01T00:00:00Z"), None);
    let (all, left_out) = PriceTable::layered([table(&json!([row("*", "9", "2026-01-01")])), below], "USD");
    assert_eq!((rate(&all, "m-10", "2026-07-01T00:00:00Z"), left_out), (Some(9), vec![]));
}

#[test]
fn a_table_in_another_currency_is_left_out() {
    let euros = PriceTable::parse(&json!({"currency": "EUR", "models": []})).unwrap();
    let (all, left_out) = PriceTable::layered([euros, PriceTable::bundled()], "USD");
    assert_eq!((all.currency(), left_out), ("USD", vec![0]));
    assert!(all.lookup("script", "anything", Timestamp(0)).is_some());
    assert_eq!(PriceTable::layered([PriceTable::bundled()], "EUR").1, [0]);
}

#[test]
fn a_wrong_rate_refuses_the_whole_table() {
    for rate in [
        json!("-1"),
        json!("1.1234567"),
        json!("1,5"),
        json!(""),
        json!("."),
        json!("1."),
        json!(0.15),
        json!("1e3"),
        json!("+1"),
        json!(" 1"),
        Value::Null,
    ] {
        let rows = json!({"models": [{"provider": "p", "model": "m", "input": "1", "output": "1"}, {"provider": "p", "model": "n", "input": rate, "output": "1"}]});
        let wrong = PriceTable::parse(&rows).unwrap_err();
        assert!(wrong.len() == 1 && wrong[0].starts_with("`models.1.input` must be"), "{rate}: {wrong:?}");
    }
    for bad in [
        json!(1),
        json!({}),
        json!({"models": [1]}),
        json!({"models": [], "per_tokens": 5}),
        json!({"models": [], "version": 2}),
        json!({"models": [{"provider": "p", "model": "m", "match": "prefix", "input": "1", "output": "1"}]}),
        json!({"models": [{"provider": "p", "model": "m", "input": "1", "output": "1", "from": "soon"}]}),
        json!({"models": [{"provider": "p", "model": "m", "input": "1", "output": "1", "tiers": [{"input": "1"}]}]}),
    ] {
        assert!(PriceTable::parse(&bad).is_err(), "{bad}");
    }
}

/// Provider, model, and the rates that the contract names: input, output, read from a cache, written to one.
const CONTRACT: &str = "
    openai gpt-4o-mini 0.15 0.60 0.075
    openai gpt-4o 2.50 10 1.25
    openai gpt-4-turbo 10 30
    openai text-embedding-3-small 0.02 0
    openai text-embedding-3-large 0.13 0
    anthropic claude-sonnet-4-20250514 3 15 0.30 3.75
    anthropic claude-3-5-sonnet-20241022 3 15 0.30 3.75
    gemini gemini-3.5-flash 1.50 9
    gemini gemini-3.1-pro-preview 2 12
    gemini gemini-3.1-pro-preview-11-2026 2 12
    gemini gemini-3-flash-preview 0.50 3
    gemini gemini-3.1-flash-lite 0.25 1.50
    gemini gemini-2.5-pro 1.25 10
    gemini gemini-2.5-flash 0.30 2.50
    gemini gemini-2.5-flash-lite 0.10 0.40
    ollama anything 0 0
    script anything 0 0
    hash hash-256 0 0";

#[test]
fn the_bundled_rows_hold_those_of_the_contract() {
    let bundled = PriceTable::bundled();
    for line in CONTRACT.lines().filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let (provider, model) = (words.next().unwrap(), words.next().unwrap());
        let rates = bundled.lookup(provider, model, Timestamp(0)).unwrap().0.rates;
        let named: Vec<u64> = words.map(|rate| reading::micros(rate).unwrap()).collect();
        assert_eq!([rates.input, rates.output, rates.cached, rates.cache_write][..named.len()], named, "{line}");
    }
    let shown = bundled.lookup("openai", "gpt-4o-mini", Timestamp(0)).unwrap().shown();
    assert_eq!(shown, json!({"input": "0.15", "output": "0.60", "per_tokens": 1_000_000}));
    let claude = Tokens { cached: 100, cache_write: 100, ..tokens(1000, 100) };
    assert_eq!(cost(&bundled, "anthropic", "claude-sonnet-4-20250514", &claude), "0.004305");
}

#[test]
fn the_bundled_file_is_small_whole_and_dated() {
    let text = include_str!("bundled.json");
    assert!(text.len() < 180_000, "{} bytes", text.len());
    let file: Value = serde_json::from_str(text).unwrap();
    let (currency, rows) = reading::table(&file).unwrap();
    assert_eq!((currency.as_str(), rows.len()), ("USD", file["models"].as_array().unwrap().len()));
    assert!(file["updated"].as_str().unwrap().parse::<jiff::civil::Date>().is_ok());
    let mut names: Vec<_> = rows.iter().map(|row| (&row.provider, &row.model, row.is_prefix, row.from)).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), rows.len(), "no row is there twice");
    let free = ["hash", "ollama", "script"];
    assert!(rows.iter().all(|row| row.rates.input > 0 || free.contains(&row.provider.as_str())), "what is not priced by tokens has no row");
}

#[test]
fn what_is_kept_for_an_hour_costs_twice_the_input() {
    let bundled = PriceTable::bundled();
    let write = |hour: u64| Tokens { cache_write: 100_000, cache_write_1h: hour, ..tokens(100_000, 0) };
    for (provider, model) in [
        ("anthropic", "claude-sonnet-4-5"),
        ("vertex", "claude-sonnet-4-5@20250929"),
        ("bedrock", "global.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ] {
        let costs = [0, 100_000, 40_000].map(|hour| cost(&bundled, provider, model, &write(hour)));
        assert_eq!(costs, ["0.375000", "0.600000", "0.465000"], "{provider}");
    }
    assert_eq!(cost(&bundled, "bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", &tokens(100_000, 0)), "0.330000");
    assert_eq!(cost(&bundled, "vertex", "gemini-2.5-flash", &tokens(100_000, 0)), "0.030000");
    let own = table(&json!([{"provider": "p", "model": "m", "input": "1", "output": "1", "cache_write": "2", "cache_write_1h": "3"}]));
    assert_eq!(cost(&own, "p", "m", &write(100_000)), "0.300000");
    let plain = table(&json!([{"provider": "p", "model": "m", "input": "1", "output": "1"}]));
    assert_eq!(cost(&plain, "p", "m", &write(100_000)), "0.100000");
}

#[test]
fn another_door_to_the_same_models_has_their_prices() {
    let at = Timestamp(0);
    let bundled = PriceTable::bundled();
    assert_eq!(cost(&bundled, "openai-responses", "gpt-4o-mini", &tokens(1000, 500)), "0.000450");
    assert!(bundled.lookup("azure-openai", "gpt-4o-mini", at).is_some() && bundled.lookup("my-own", "gpt-4o-mini", at).is_none());
    let row = |provider: &str, input: &str| table(&json!([{"provider": provider, "model": "gpt-4o-mini", "input": input, "output": "0"}]));
    let rate = |tables: [PriceTable; 2]| {
        let (all, _) = PriceTable::layered(tables, "USD");
        cost(&all, "openai-responses", "gpt-4o-mini", &tokens(1_000_000, 0))
    };
    assert_eq!(rate([row("openai", "7"), PriceTable::bundled()]), "7.000000");
    assert_eq!(rate([row("openai", "7"), row("openai-responses", "8")]), "8.000000");
}

proptest! {
    #[test]
    fn any_table_and_any_count_is_safe(json in crate::model::sketch::any_json(), prompt: u64, completion: u64, cached: u64) {
        let _ = PriceTable::parse(&json);
        let call = Tokens { prompt, completion, cached, cache_write: cached, reasoning: prompt, ..Tokens::default() };
        let dear = table(&json!([{"provider": "p", "model": "m", "input": "999999999", "output": "999999999"}]));
        prop_assert!(dear.lookup("p", "m", Timestamp(0)).unwrap().cost(&call).0 >= 0);
    }

    #[test]
    fn a_decimal_is_read_exactly(whole in 0_u64..1_000_000, fraction in 0_u64..1_000_000) {
        prop_assert_eq!(reading::micros(&format!("{whole}.{fraction:06}")), Some(whole * 1_000_000 + fraction));
    }
}

#[test]
fn a_report_that_cannot_be_true_is_none() {
    let bundled = PriceTable::bundled();
    let meter = |tokens| bundled.meter("openai", "gpt-4o-mini", tokens, Timestamp(0));
    let known = meter(Some(tokens(1000, 500)));
    assert_eq!((known.cost.shown().as_str(), known.unpriced), ("0.000450", false));
    for odd in [None, Some(tokens(1_000_000_000_000, 5)), Some(tokens(5, 100_000_001))] {
        assert_eq!(meter(odd), Usage { unpriced: true, ..Usage::default() });
    }
}

#[test]
fn a_provider_with_a_name_of_its_own_has_the_prices_of_its_kind() {
    let kinds = || [("work".to_owned(), "openai".to_owned()), ("openai".to_owned(), "openai-compatible".to_owned())];
    let own = table(&json!([{"provider": "work", "model": "gpt-4o", "input": "7", "output": "0"}]));
    let (all, _) = PriceTable::layered([own, PriceTable::bundled()], "USD");
    let all = all.with_kinds(kinds());
    assert_eq!(cost(&all, "work", "gpt-4o-mini", &tokens(1000, 500)), "0.000450");
    assert_eq!(cost(&all, "work", "gpt-4o", &tokens(1_000_000, 0)), "7.000000", "a row of its own wins");
    assert!(all.lookup("openai", "gpt-4o", Timestamp(0)).is_none(), "another server under a known name has no bundled prices");
}
