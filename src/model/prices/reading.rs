//! Owns the parser of price tables, which reports all errors at once.

use serde_json::{Map, Value};

use super::super::Timestamp;
use super::{Rates, Row};

/// The most problems of a table that one error lists.
const MOST_WRONG: usize = 100;

/// The currency and the rows of a table.
pub(super) fn table(table: &Value) -> Result<(String, Vec<Row>), Vec<String>> {
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
                if wrong.len() >= MOST_WRONG {
                    wrong.push("what comes behind that was not looked at".into());
                    break;
                }
            }
        }
    }
    if wrong.is_empty() { Ok((currency, rows)) } else { Err(wrong) }
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
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let shown = (text("input"), text("output"), self.per_tokens);
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
        let cache_write = self.rate(fields, "cache_write", Some(input))?;
        Some(Rates {
            input,
            output,
            cache_write,
            cache_write_1h: self.rate(fields, "cache_write_1h", Some(for_an_hour(input, cache_write)))?,
            cached: self.rate(fields, "cached_input", Some(input))?,
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
            if self.wrong.len() >= MOST_WRONG {
                break;
            }
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
pub(super) fn micros(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str, most: usize| (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole, 9) || !digits(fraction, 6) {
        return None;
    }
    format!("{whole}{fraction:0<6}").parse().ok()
}

/// Where writing for five minutes costs a quarter more than the input, writing for an hour costs twice the input.
const fn for_an_hour(input: u64, cache_write: u64) -> u64 {
    if cache_write > input { cache_write / 5 * 8 } else { cache_write }
}
