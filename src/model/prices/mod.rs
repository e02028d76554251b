//! Owns prices: price tables, the row that applies to a call, exact sums.

pub mod money;
mod reading;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::Timestamp;
use super::chat::Tokens;
use super::registry::without_region;
use super::usage::{Picos, Usage};

/// More tokens than any model takes or gives in one call: such a report is not believed.
const PLAUSIBLE: u64 = 100_000_000;

/// Rows of prices, those that win first.
#[derive(Clone, Debug)]
pub struct PriceTable {
    currency: String,
    rows: Rows,
    /// The rows that come with the studio, asked after all others and read when they are first needed.
    bundled: Option<OnceLock<Rows>>,
    /// The kinds of providers that have a name of their own.
    kinds: HashMap<String, String>,
}

/// Rows by provider.
type Rows = HashMap<String, Offers>;

/// The rows of a provider.
#[derive(Clone, Debug, Default)]
struct Offers {
    named: HashMap<String, Vec<Row>>,
    prefixes: Vec<Row>,
}

#[derive(Clone, Debug)]
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
    /// Input and output as they were written, and for how many tokens.
    shown: (String, String, u64),
}

/// What one token costs, in 10⁻¹² of the currency unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rates {
    input: u64,
    output: u64,
    cached: u64,
    cache_write: u64,
    /// Written to be kept for an hour.
    cache_write_1h: u64,
    reasoning: u64,
}

/// The row that counts for a call.
#[derive(Clone, Copy, Debug)]
pub struct Price<'t>(&'t Row);

impl PriceTable {
    /// The rows that come with the studio.
    #[must_use]
    pub fn bundled() -> Self {
        Self { currency: "USD".into(), rows: Rows::new(), bundled: Some(OnceLock::new()), kinds: HashMap::new() }
    }

    /// Reads one table.
    ///
    /// # Errors
    /// Everything that is wrong with it; then none of it counts.
    pub fn parse(table: &Value) -> Result<Self, Vec<String>> {
        let (currency, read) = reading::table(table)?;
        let mut rows = Rows::new();
        add(&mut rows, read);
        Ok(Self { currency, rows, bundled: None, kinds: HashMap::new() })
    }

    /// Several tables as one, in order of precedence. A table in another currency is left out, and its place is returned.
    #[must_use]
    pub fn layered(tables: impl IntoIterator<Item = Self>, currency: &str) -> (Self, Vec<usize>) {
        let mut all = Self { currency: currency.to_owned(), rows: Rows::new(), bundled: None, kinds: HashMap::new() };
        let mut left_out = Vec::new();
        for (layer, table) in tables.into_iter().enumerate() {
            if table.currency != currency {
                left_out.push(layer);
                continue;
            }
            let offers = table.rows.into_values();
            let rows = offers.flat_map(|offers| offers.named.into_values().flatten().chain(offers.prefixes));
            add(&mut all.rows, rows.map(|row| Row { layer, ..row }));
            all.bundled = all.bundled.or(table.bundled);
        }
        (all, left_out)
    }

    /// The currency of its prices.
    pub fn currency(&self) -> &str {
        &self.currency
    }

    /// It with the kinds of providers that have a name of their own.
    #[must_use]
    pub fn with_kinds(mut self, kinds: impl IntoIterator<Item = (String, String)>) -> Self {
        self.kinds.extend(kinds);
        self
    }

    /// The row for a call that begins at a time; none: its cost is not known. Rows may name the provider itself, or its kind; the
    /// bundled ones name kinds.
    pub fn lookup(&self, provider: &str, model: &str, at: Timestamp) -> Option<Price<'_>> {
        let kind = self.kinds.get(provider).map_or(provider, String::as_str);
        let among = |rows, sellers: [Option<&str>; 3]| sellers.into_iter().flatten().find_map(|seller| best(rows, seller, model, at));
        let seller = seller(kind, model);
        let bundled = || among(self.bundled.as_ref()?.get_or_init(bundled_rows), [Some(kind), seller, None]);
        among(&self.rows, [Some(provider), Some(kind), seller]).or_else(bundled).map(Price)
    }

    /// What a call took that began at a time: without a report that can be true, or without a price, it counts as unpriced.
    pub fn meter(&self, provider: &str, model: &str, tokens: Option<Tokens>, began: Timestamp) -> Usage {
        let believed = tokens.filter(|tokens| tokens.prompt.max(tokens.completion) <= PLAUSIBLE);
        let Some(tokens) = believed else { return Usage { unpriced: true, ..Usage::default() } };
        match self.lookup(provider, model, began) {
            Some(price) => Usage { tokens, cost: price.cost(&tokens), unpriced: false },
            None => Usage { tokens, unpriced: true, ..Usage::default() },
        }
    }
}

/// Whose prices hold at a provider that has none of its own: another door to the same models.
fn seller(provider: &str, model: &str) -> Option<&'static str> {
    match provider {
        "openai-responses" => Some("openai"),
        "vertex" if model.contains("claude") => Some("anthropic"),
        "vertex" => Some("gemini"),
        _ => None,
    }
}

/// The row of a name; of one that stands behind a path or a region, else that of the name alone.
fn best<'r>(rows: &'r Rows, provider: &str, model: &str, at: Timestamp) -> Option<&'r Row> {
    let offers = rows.get(provider)?;
    let dated = model.replace('@', "-");
    let inner = dated.rsplit_once('/').map_or(&*dated, |(_, name)| name);
    let names = [model, inner, if provider == "bedrock" { without_region(inner) } else { inner }];
    names.into_iter().find_map(|name| row_of(offers, name, at))
}

fn row_of<'r>(offers: &'r Offers, model: &str, at: Timestamp) -> Option<&'r Row> {
    let named = offers.named.get(model).into_iter().flatten();
    let fitting = named.chain(offers.prefixes.iter().filter(|row| model.starts_with(&row.model)));
    fitting.filter(|row| row.from <= at).min_by_key(|row| (row.layer, row.is_prefix, Reverse((row.model.len(), row.from))))
}

fn add(to: &mut Rows, rows: impl IntoIterator<Item = Row>) {
    for row in rows {
        let offers = to.entry(row.provider.clone()).or_default();
        if row.is_prefix {
            offers.prefixes.push(row);
        } else {
            offers.named.entry(row.model.clone()).or_default().push(row);
        }
    }
}

/// The rows of the file that `make prices` writes.
fn bundled_rows() -> Rows {
    let mut rows = Rows::new();
    let table = serde_json::from_str(include_str!("bundled.json")).ok();
    add(&mut rows, table.and_then(|table| reading::table(&table).ok()).map(|(_, rows)| rows).unwrap_or_default());
    rows
}

impl Price<'_> {
    /// The exact cost of a call.
    pub fn cost(&self, tokens: &Tokens) -> Picos {
        let tier = self.0.tiers.iter().filter(|(above, _)| *above < tokens.prompt).max_by_key(|(above, _)| *above);
        let rates = tier.map_or(&self.0.rates, |(_, rates)| rates);
        let plain = tokens.prompt.saturating_sub(tokens.cached).saturating_sub(tokens.cache_write);
        let spoken = tokens.completion.saturating_sub(tokens.reasoning);
        let parts = [
            (plain, rates.input),
            (tokens.cached, rates.cached),
            (tokens.cache_write.saturating_sub(tokens.cache_write_1h), rates.cache_write),
            (tokens.cache_write_1h.min(tokens.cache_write), rates.cache_write_1h),
            (spoken, rates.output),
            (tokens.reasoning, rates.reasoning),
        ];
        let sum = parts.iter().fold(0_u128, |sum, (count, rate)| sum.saturating_add(u128::from(*count) * u128::from(*rate)));
        Picos(i64::try_from(sum).unwrap_or(i64::MAX))
    }

    /// As model lists show it.
    pub fn shown(&self) -> Value {
        let (input, output, per_tokens) = &self.0.shown;
        json!({"input": input, "output": output, "per_tokens": per_tokens})
    }
}
