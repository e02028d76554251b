//! Owns what tokens cost: price tables, which row counts for a call, and exact sums.

use serde_json::{Map, Value, json};

use super::Timestamp;
use super::chat::Tokens;
use super::usage::Picos;

/// Rows of prices, those that win first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceTable {
    currency: String,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    /// 0 for the table that wins over all others.
    layer: usize,
    provider: String,
    /// Without the `*` of a prefix.
    model: String,
    is_prefix: bool,
    from: Timestamp,
    rates: Rates,
    tiers: Vec<(u64, Rates)>,
    shown: Value,
}

/// What one token costs, in 10⁻¹² of the currency unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rates {
    input: u64,
    output: u64,
    cached: u64,
    cache_write: u64,
    reasoning: u64,
}

/// The row that counts for a call.
#[derive(Clone, Copy, Debug)]
pub struct Price<'t>(&'t Row);

impl PriceTable {
    /// The rows that come with the studio.
    #[must_use]
    pub fn bundled() -> Self {
        let empty = || Self { currency: "USD".into(), rows: Vec::new() };
        let table = serde_json::from_str(include_str!("prices.json")).ok().map(|json| Self::parse(&json));
        table.and_then(Result::ok).unwrap_or_else(empty)
    }

    /// Reads one table.
    ///
    /// # Errors
    /// Everything that is wrong with it; then none of it counts.
    pub fn parse(table: &Value) -> Result<Self, Vec<String>> {
        let mut wrong = Vec::new();
        let Some(fields) = table.as_object() else { return Err(vec!["a price table must be an object".into()]) };
        if fields.get("version").is_some_and(|version| version.as_i64() != Some(1)) {
            wrong.push("`version` must be 1".into());
        }
        let per_tokens = match fields.get("per_tokens").map_or(Some(1_000_000), Value::as_u64) {
            Some(per @ (1_000 | 1_000_000)) => per,
            Some(_) | None => {
                wrong.push("`per_tokens` must be 1000 or 1000000".into());
                1_000_000
            }
        };
        let currency = fields.get("currency").map_or(Some("USD"), Value::as_str).unwrap_or_default().to_owned();
        if currency.is_empty() {
            wrong.push("`currency` must be text".into());
        }
        let mut rows = Vec::new();
        match fields.get("models").and_then(Value::as_array) {
            None => wrong.push("`models` must be a list".into()),
            Some(models) => {
                for (n, model) in models.iter().enumerate() {
                    let mut at = Reading { wrong: &mut wrong, at: format!("models.{n}"), per_tokens };
                    rows.extend(at.row(model));
                }
            }
        }
        if wrong.is_empty() { Ok(Self { currency, rows }) } else { Err(wrong) }
    }

    /// Several tables as one, those that win first. A table in another currency is left out; its place is told.
    #[must_use]
    pub fn layered(tables: impl IntoIterator<Item = Self>, currency: &str) -> (Self, Vec<usize>) {
        let mut all = Self { currency: currency.to_owned(), rows: Vec::new() };
        let mut left_out = Vec::new();
        for (layer, table) in tables.into_iter().enumerate() {
            if table.currency == currency {
                all.rows.extend(table.rows.into_iter().map(|row| Row { layer, ..row }));
            } else {
                left_out.push(layer);
            }
        }
        (all, left_out)
    }

    /// The currency of its prices.
    #[must_use]
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// The row for a call that begins at a time; none: its cost is not known.
    #[must_use]
    pub fn lookup(&self, provider: &str, model: &str, at: Timestamp) -> Option<Price<'_>> {
        let fits = |row: &&Row| {
            let named = if row.is_prefix { model.starts_with(&row.model) } else { model == row.model };
            named && row.provider == provider && row.from <= at
        };
        let rows = self.rows.iter().filter(fits);
        rows.min_by_key(|row| (row.layer, row.is_prefix, std::cmp::Reverse((row.model.len(), row.from)))).map(Price)
    }
}

impl Price<'_> {
    /// The exact cost of a call.
    #[must_use]
    pub fn cost(&self, tokens: &Tokens) -> Picos {
        let tier = self.0.tiers.iter().filter(|(above, _)| *above < tokens.prompt).max_by_key(|(above, _)| *above);
        let rates = tier.map_or(&self.0.rates, |(_, rates)| rates);
        let plain = tokens.prompt.saturating_sub(tokens.cached).saturating_sub(tokens.cache_write);
        let spoken = tokens.completion.saturating_sub(tokens.reasoning);
        let parts = [
            (plain, rates.input),
            (tokens.cached, rates.cached),
            (tokens.cache_write, rates.cache_write),
            (spoken, rates.output),
            (tokens.reasoning, rates.reasoning),
        ];
        let sum = parts.iter().fold(0_u128, |sum, (count, rate)| sum.saturating_add(u128::from(*count) * u128::from(*rate)));
        Picos(i64::try_from(sum).unwrap_or(i64::MAX))
    }

    /// As model lists show it: `{input, output, per_tokens}`.
    #[must_use]
    pub const fn shown(&self) -> &Value {
        &self.0.shown
    }
}

/// Reads one row and collects what is wrong with it.
struct Reading<'w> {
    wrong: &'w mut Vec<String>,
    at: String,
    per_tokens: u64,
}

impl Reading<'_> {
    fn refuse<T>(&mut self, name: &str, expected: &str) -> Option<T> {
        self.wrong.push(format!("`{}.{name}` must be {expected}", self.at));
        None
    }

    fn row(&mut self, row: &Value) -> Option<Row> {
        let before = self.wrong.len();
        let Some(fields) = row.as_object() else {
            self.wrong.push(format!("`{}` must be an object", self.at));
            return None;
        };
        let provider = self.text(fields, "provider");
        let is_prefix = match fields.get("match").map_or(Some("exact"), Value::as_str) {
            Some("exact") => Some(false),
            Some("prefix") => Some(true),
            Some(_) | None => self.refuse("match", "`exact` or `prefix`"),
        };
        let mut model = self.text(fields, "model");
        if is_prefix == Some(true) {
            model = match model.as_deref().map(|model| model.strip_suffix('*').map(str::to_owned)) {
                Some(None) => self.refuse("model", "a name that ends with `*`"),
                Some(prefix) => prefix,
                None => None,
            };
        }
        let from = self.from(fields);
        let rates = self.rates(fields, None);
        let tiers = rates.map(|rates| self.tiers(fields, rates)).unwrap_or_default();
        if self.wrong.len() > before {
            return None;
        }
        let shown = json!({"input": fields.get("input"), "output": fields.get("output"), "per_tokens": self.per_tokens});
        Some(Row {
            layer: 0,
            provider: provider?,
            model: model?,
            is_prefix: is_prefix?,
            from: from?,
            rates: rates?,
            tiers,
            shown,
        })
    }

    fn text(&mut self, fields: &Map<String, Value>, name: &str) -> Option<String> {
        match fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()) {
            Some(text) => Some(text.to_owned()),
            None => self.refuse(name, "text"),
        }
    }

    /// The beginning of a day in UTC; a row without one has always counted.
    fn from(&mut self, fields: &Map<String, Value>) -> Option<Timestamp> {
        let Some(from) = fields.get("from").filter(|from| !from.is_null()) else { return Some(Timestamp(i64::MIN)) };
        let day = from.as_str().filter(|text| text.len() == 10).and_then(|text| text.parse::<jiff::civil::Date>().ok());
        let start = day.and_then(|day| day.to_zoned(jiff::tz::TimeZone::UTC).ok());
        start.map_or_else(
            || self.refuse("from", "a date such as `2026-01-01`"),
            |start| Some(Timestamp(start.timestamp().as_millisecond())),
        )
    }

    /// The rates of a row, or of a tier, which takes `input` and `output` of its row where it says none.
    fn rates(&mut self, fields: &Map<String, Value>, row: Option<Rates>) -> Option<Rates> {
        let input = self.rate(fields, "input", row.map(|row| row.input))?;
        let output = self.rate(fields, "output", row.map(|row| row.output))?;
        Some(Rates {
            input,
            output,
            cached: self.rate(fields, "cached_input", Some(input))?,
            cache_write: self.rate(fields, "cache_write", Some(input))?,
            reasoning: self.rate(fields, "reasoning", Some(output))?,
        })
    }

    fn rate(&mut self, fields: &Map<String, Value>, name: &str, default: Option<u64>) -> Option<u64> {
        let given = fields.get(name).filter(|value| !value.is_null());
        if let (None, Some(default)) = (given, default) {
            return Some(default);
        }
        let micros = given.and_then(Value::as_str).and_then(micros);
        match micros {
            Some(micros) => Some(micros * (1_000_000 / self.per_tokens)),
            None => {
                self.refuse(name, "a decimal text such as `\"0.15\"`, not below zero, with at most six digits after the point")
            }
        }
    }

    fn tiers(&mut self, fields: &Map<String, Value>, row: Rates) -> Vec<(u64, Rates)> {
        let Some(tiers) = fields.get("tiers").filter(|tiers| !tiers.is_null()) else { return Vec::new() };
        let Some(tiers) = tiers.as_array() else {
            self.refuse::<()>("tiers", "a list");
            return Vec::new();
        };
        let outer = self.at.clone();
        let mut read = Vec::with_capacity(tiers.len());
        for (n, tier) in tiers.iter().enumerate() {
            self.at = format!("{outer}.tiers.{n}");
            let above = tier.get("above_prompt_tokens").and_then(Value::as_u64);
            let above = above.or_else(|| self.refuse("above_prompt_tokens", "a whole number"));
            let rates = tier.as_object().and_then(|tier| self.rates(tier, Some(row)));
            read.extend(above.zip(rates));
        }
        self.at = outer;
        read
    }
}

/// A decimal text in millionths.
fn micros(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str, most: usize| (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole, 9) || !digits(fraction, 6) {
        return None;
    }
    format!("{whole}{fraction:0<6}").parse().ok()
}

#[cfg(test)]
mod tests {
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
    fn every_part_has_its_rate() {
        let table = table(
            &json!([{"provider": "p", "model": "m", "input": "1", "output": "10", "cached_input": "0.1", "cache_write": "2", "reasoning": "20"}]),
        );
        let call = Tokens { prompt: 10, completion: 5, cached: 3, cache_write: 2, reasoning: 4 };
        assert_eq!(cost(&table, "p", "m", &call), "0.000099");
        let odd = Tokens { prompt: 1, completion: 1, cached: 9, cache_write: 0, reasoning: 9 };
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

    #[test]
    fn the_bundled_rows_are_those_of_the_contract() {
        let bundled = PriceTable::bundled();
        assert_eq!(bundled.rows.len(), 17);
        let shown = bundled.lookup("openai", "gpt-4o-mini", Timestamp(0)).unwrap().shown().clone();
        assert_eq!(shown, json!({"input": "0.15", "output": "0.60", "per_tokens": 1_000_000}));
        let claude = Tokens { cached: 100, cache_write: 100, ..tokens(1000, 100) };
        assert_eq!(cost(&bundled, "anthropic", "claude-sonnet-4-20250514", &claude), "0.004305");
    }

    proptest! {
        #[test]
        fn any_table_and_any_count_is_safe(json in crate::model::sketch::any_json(), prompt: u64, completion: u64, cached: u64) {
            let _ = PriceTable::parse(&json);
            let call = Tokens { prompt, completion, cached, cache_write: cached, reasoning: prompt };
            prop_assert!(PriceTable::bundled().lookup("openai", "gpt-4o", Timestamp(0)).unwrap().cost(&call).0 >= 0);
        }

        #[test]
        fn a_decimal_is_read_exactly(whole in 0_u64..1_000_000, fraction in 0_u64..1_000_000) {
            prop_assert_eq!(micros(&format!("{whole}.{fraction:06}")), Some(whole * 1_000_000 + fraction));
        }
    }
}
