//! Owns the prices in use: `usage.prices` of the configuration, then the file `usage.prices_path`, then the bundled table.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::json;
use crate::model::prices::PriceTable;

/// Bytes of a file of prices.
const PRICES: u64 = 16 << 20;

/// What a file of prices holds.
pub(super) fn price_file(path: &Path) -> std::result::Result<Value, String> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(PRICES + 1).read_to_end(&mut text)).map_err(|error| error.to_string())?;
    if read as u64 > PRICES {
        return Err(format!("it has more than {} MiB", PRICES >> 20));
    }
    json::read(&text).map_err(|problem| problem.to_string())
}

/// Own prices win over those of a file, those over the bundled ones.
pub(super) fn prices(config: &Config) -> Result<PriceTable> {
    let wrong = |key: &str, problems: Vec<String>| Error::fields(problems.into_iter().map(|problem| (key.to_owned(), problem)));
    let mut tables = Vec::new();
    if let Some(own) = &config.usage.prices {
        tables.push(PriceTable::parse(own).map_err(|problems| wrong("usage.prices", problems))?);
    }
    if let Some(path) = &config.usage.prices_path {
        let json = price_file(path).map_err(|why| wrong("usage.prices_path", vec![format!("`{}` cannot be read: {why}", path.display())]))?;
        tables.push(PriceTable::parse(&json).map_err(|problems| wrong("usage.prices_path", problems))?);
    }
    tables.push(PriceTable::bundled());
    let kinds = config.providers.iter().filter_map(|(id, provider)| Some((id.clone(), provider.kind.clone()?)));
    Ok(PriceTable::layered(tables, &config.usage.currency).0.with_kinds(kinds))
}
